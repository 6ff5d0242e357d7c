//! The arrays that depend on the band, in the orders that kernels want, each made when it is asked for.

use std::borrow::Cow;
use std::marker::PhantomData;

use gpp_kernels::arrays::Arrays;
use gpp_kernels::plan::Plan;
use gpp_kernels::registry::Layout;
use num_complex::Complex64;

use super::memory::{AQSM_LOCAL, Extents, WX};
use super::{BandPlan, Bands, OddPoles, SlabView};

/// The arrays of a problem's bands in one layout.
#[derive(Clone, Debug)]
pub struct BandArrays<'a> {
    aqsn: Cow<'a, [Complex64]>,
    wx: Cow<'a, [f64]>,
    occ: Cow<'a, [f64]>,
}

impl<'a> BandArrays<'a> {
    /// In `layout`; borrowed where that changes nothing.
    pub fn of(bands: &'a Bands, plan: &BandPlan, layout: Layout) -> BandArrays<'a> {
        let original = BandArrays {
            aqsn: bands.aqsn().into(),
            wx: bands.wx().into(),
            occ: bands.occ().into(),
        };
        let columns = || 0..bands.header().nbands;
        match layout {
            Layout::Original => original,
            Layout::Swapped => {
                let wx = transposed(columns().map(|n| bands.energies(n)), bands.nw());
                BandArrays { wx: wx.into(), ..original }
            }
            Layout::Planned => {
                let [padded, _] = WX.extents(bands.extents(), layout);
                let wx = plan.reordered(padded, |n| bands.energies(n)).into();
                if plan.keeps_order() {
                    return BandArrays { wx, ..original };
                }
                let ncouls = bands.header().ncouls;
                let aqsn = |n: usize| &bands.aqsn()[n * ncouls..(n + 1) * ncouls];
                BandArrays {
                    aqsn: plan.reordered(ncouls, aqsn).into(),
                    wx,
                    occ: plan.reordered(1, |n| &bands.occ()[n..=n]).into(),
                }
            }
        }
    }

    /// Matrix elements of G.
    pub fn aqsn(&self) -> &Cow<'a, [Complex64]> {
        &self.aqsn
    }

    /// Energies.
    pub fn wx(&self) -> &Cow<'a, [f64]> {
        &self.wx
    }

    /// Occupations.
    pub fn occ(&self) -> &Cow<'a, [f64]> {
        &self.occ
    }
}

/// A slab's matrix elements of G′ in `layout`; borrowed where they stand so.
pub fn aqsm_local<'a>(slab: SlabView<'a>, plan: &BandPlan, layout: Layout) -> Cow<'a, [Complex64]> {
    let all = slab.aqsm_local();
    match (layout, all.whole()) {
        (Layout::Original, Some(whole)) => whole.into(),
        (Layout::Original, None) => all.columns().collect::<Vec<_>>().concat().into(),
        (Layout::Swapped, _) => transposed(all.columns(), all.rows()).into(),
        (Layout::Planned, _) => {
            let extents = Extents { nbands: 1, ngpown: slab.len(), ncouls: 1, nw: 1 };
            let [padded, _] = AQSM_LOCAL.extents(extents, layout);
            plan.reordered(padded, |n| all.column(n)).into()
        }
    }
}

/// All arrays of a slab that depend on the band, in one layout.
#[derive(Clone, Debug)]
pub struct Reordered<'a> {
    bands: &'a Bands,
    slab: SlabView<'a>,
    layout: Layout,
    of_bands: BandArrays<'a>,
    aqsm_local: Cow<'a, [Complex64]>,
}

impl<'a> Reordered<'a> {
    /// Those of a slab of the problem with these bands and this plan.
    pub fn of(
        bands: &'a Bands,
        slab: SlabView<'a>,
        plan: &BandPlan,
        layout: Layout,
    ) -> Reordered<'a> {
        Reordered {
            bands,
            slab,
            layout,
            of_bands: BandArrays::of(bands, plan, layout),
            aqsm_local: aqsm_local(slab, plan, layout),
        }
    }

    /// Arrays of the bands.
    pub fn of_bands(&self) -> &BandArrays<'a> {
        &self.of_bands
    }

    /// Matrix elements of G′.
    pub fn aqsm_local(&self) -> &Cow<'a, [Complex64]> {
        &self.aqsm_local
    }

    /// The kernels' view of the slab's arrays, with its plan where the layout is [`Layout::Planned`].
    ///
    /// # Panics
    /// Where the layout needs a plan and none is given, or one of another slab.
    pub fn arrays<'b>(&'b self, plan: Option<(&'b BandPlan, &'b OddPoles)>) -> SharedArrays<'b> {
        let Extents { nbands, ncouls, nw, .. } = self.bands.extents();
        let plan = match (self.layout, plan) {
            (Layout::Planned, Some((plan, odd))) => {
                assert!(plan.order().len() == nbands && odd.begins().len() == self.slab.len() + 1);
                plan.view(odd)
            }
            (Layout::Planned, None) => panic!("the planned layout needs a plan"),
            _ => Plan::NONE,
        };
        let arrays = Arrays {
            wtilde: self.slab.wtilde().as_ptr(),
            eps: self.slab.eps().as_ptr(),
            aqsn: self.of_bands.aqsn.as_ptr(),
            aqsm_local: self.aqsm_local.as_ptr(),
            wx: self.of_bands.wx.as_ptr(),
            vcoul_loc: self.slab.vcoul_loc().as_ptr(),
            occ: self.of_bands.occ.as_ptr(),
            nbands: nbands as u32,
            ngpown: self.slab.len() as u32,
            ncouls: ncouls as u32,
            nw: nw as u32,
            limits: self.bands.limits(),
            plan,
        };
        SharedArrays { arrays, borrowed: PhantomData }
    }
}

/// The kernels' view of a slab's arrays for threads to share, while what it points to is borrowed.
pub struct SharedArrays<'a> {
    arrays: Arrays,
    borrowed: PhantomData<&'a [Complex64]>,
}

// SAFETY: the pointers are only read through, and what they point to is borrowed for `'a`.
unsafe impl Sync for SharedArrays<'_> {}

impl SharedArrays<'_> {
    /// The arrays.
    pub fn get(&self) -> &Arrays {
        &self.arrays
    }
}

/// A matrix of `rows` rows given by its columns, transposed.
fn transposed<'a, T: Copy + 'a>(
    columns: impl Iterator<Item = &'a [T]> + Clone,
    rows: usize,
) -> Vec<T> {
    (0..rows).flat_map(|row| columns.clone().map(move |column| column[row])).collect()
}
