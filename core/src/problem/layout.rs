//! The arrays that depend on the band, in the orders that kernels need, each made on request.

use std::borrow::Cow;
use std::marker::PhantomData;

use gpp_kernels::arguments::CellsArguments;
use gpp_kernels::arrays::{Arrays, Limits};
use gpp_kernels::cells::BANDS;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Plan;
use num_complex::Complex64;
use rayon::prelude::*;

use super::memory::{AQSM_LOCAL, AQSN, Extents, OCC, WX};
use super::{BandOrder, Bands, Batch, Cells, OddPoles, SlabView};

/// The arrays of a problem's bands in one layout, for all of its energies.
#[derive(Clone, Debug)]
pub struct BandArrays<'a> {
    aqsn: Cow<'a, [Complex64]>,
    occ: Cow<'a, [f64]>,
}

impl<'a> BandArrays<'a> {
    /// In `layout`; borrowed where that changes nothing.
    pub fn of(bands: &'a Bands, order: &BandOrder, layout: Layout) -> BandArrays<'a> {
        let original = BandArrays { aqsn: bands.aqsn().into(), occ: bands.occ().into() };
        let ncouls = bands.header().ncouls;
        match layout {
            Layout::Cells => {
                let aqsn = bands_fastest(bands.aqsn().chunks_exact(ncouls).collect(), ncouls);
                BandArrays { aqsn: aqsn.into(), ..original }
            }
            Layout::Planned if !order.is_kept() => {
                let aqsn = |n: usize| &bands.aqsn()[n * ncouls..(n + 1) * ncouls];
                BandArrays {
                    aqsn: order.reordered(ncouls, aqsn).into(),
                    occ: order.reordered(1, |n| &bands.occ()[n..=n]).into(),
                }
            }
            _ => original,
        }
    }

    /// The same but matrix elements of G, which are elsewhere.
    pub fn without_aqsn(bands: &'a Bands, order: &BandOrder, layout: Layout) -> BandArrays<'a> {
        let occ = match layout {
            Layout::Planned if !order.is_kept() => {
                order.reordered(1, |n| &bands.occ()[n..=n]).into()
            }
            _ => bands.occ().into(),
        };
        BandArrays { aqsn: (&[]).into(), occ }
    }

    /// Matrix elements of G.
    pub fn aqsn(&self) -> &Cow<'a, [Complex64]> {
        &self.aqsn
    }

    /// Occupations.
    pub fn occ(&self) -> &Cow<'a, [f64]> {
        &self.occ
    }
}

/// The energies of a batch in `layout`; borrowed where that changes nothing.
pub fn energies<'a>(bands: &Bands, batch: &'a Batch, layout: Layout) -> Cow<'a, [f64]> {
    let extents = Extents { nw: batch.nw(), ..bands.extents() };
    let columns = || (0..extents.nbands).map(|n| batch.of_band(n));
    match layout {
        Layout::Original | Layout::Cells => batch.wx().into(),
        Layout::Swapped => transposed(columns(), extents.nw).into(),
        Layout::Planned => {
            let [padded, _] = WX.extents(extents, layout);
            batch.plan().bands().reordered(padded, |n| batch.of_band(n)).into()
        }
    }
}

/// A slab's matrix elements of G′ in `layout`; borrowed where they stand so.
pub fn aqsm_local<'a>(
    slab: SlabView<'a>,
    order: &BandOrder,
    layout: Layout,
) -> Cow<'a, [Complex64]> {
    let all = slab.aqsm_local();
    match (layout, all.whole()) {
        (Layout::Original, Some(whole)) => whole.into(),
        (Layout::Original, None) => all.columns().collect::<Vec<_>>().concat().into(),
        (Layout::Swapped, _) => transposed(all.columns(), all.rows()).into(),
        (Layout::Cells, _) => bands_fastest(all.columns().collect(), all.rows()).into(),
        (Layout::Planned, _) => {
            let extents = Extents { nbands: 1, ngpown: slab.len(), ncouls: 1, nw: 1 };
            let [padded, _] = AQSM_LOCAL.extents(extents, layout);
            order.reordered(padded, |n| all.column(n)).into()
        }
    }
}

/// All that the kernels of one layout read of a slab at some energies.
#[derive(Clone, Copy)]
pub struct Laid<'a> {
    /// The bands.
    pub bands: &'a Bands,
    /// The energies.
    pub batch: &'a Batch,
    /// The slab.
    pub slab: SlabView<'a>,
    /// The arrays of the bands in the layout.
    pub of_bands: &'a BandArrays<'a>,
    /// [`energies`] in the layout.
    pub wx: &'a [f64],
    /// Matrix elements of G′ in the layout.
    pub aqsm_local: &'a [Complex64],
}

impl<'a> Laid<'a> {
    /// The view of a kernel of the layout, with the slab's odd poles where it follows a plan.
    ///
    /// # Panics
    /// Where an array has not the size that the layout gives it, and where the kernel needs odd poles and
    /// none are given, or those of another slab.
    pub fn arrays(self, kernel: &Kernel, odd: Option<&'a OddPoles>) -> SharedArrays<'a> {
        let (ngpown, nw) = (self.slab.len(), self.batch.nw());
        let extents = Extents { ngpown, nw, ..self.bands.extents() };
        let (BandArrays { aqsn, occ }, wx) = (self.of_bands, self.wx);
        self.check(extents, kernel.layout);
        let plan = match (kernel.layout, odd) {
            (Layout::Planned, Some(odd)) => {
                assert!(odd.begins().len() == self.slab.len() + 1);
                self.batch.plan().view(kernel, odd)
            }
            (Layout::Planned, None) => panic!("the planned layout needs a plan"),
            _ => Plan::NONE,
        };
        let arrays = Arrays {
            wtilde: self.slab.wtilde().as_ptr(),
            eps: self.slab.eps().as_ptr(),
            aqsn: aqsn.as_ptr(),
            aqsm_local: self.aqsm_local.as_ptr(),
            wx: wx.as_ptr(),
            vcoul_loc: self.slab.vcoul_loc().as_ptr(),
            occ: occ.as_ptr(),
            nbands: extents.nbands as u32,
            ngpown: extents.ngpown as u32,
            ncouls: extents.ncouls as u32,
            nw: extents.nw as u32,
            limits: self.bands.limits(),
            plan,
        };
        SharedArrays { arrays, borrowed: PhantomData }
    }
}

/// What kernels of the layout of cells are given, for threads to share, while what it points to is borrowed.
pub struct SharedCells<'a> {
    arguments: CellsArguments,
    borrowed: PhantomData<&'a [Complex64]>,
}

// SAFETY: each block writes its own sums; the other pointers are only read through, and what they point to is
// borrowed for `'a`.
unsafe impl Sync for SharedCells<'_> {}

impl SharedCells<'_> {
    /// The arguments.
    pub fn get(&self) -> &CellsArguments {
        &self.arguments
    }
}

impl<'a> Laid<'a> {
    /// What kernels of the layout of cells are given, with the slab's pairs and room for the blocks' sums.
    ///
    /// # Panics
    /// Where an array has not the size that the layout gives it.
    pub fn cells(self, cells: &'a Cells, partials: &'a mut [f64]) -> SharedCells<'a> {
        let (ngpown, nw) = (self.slab.len(), self.batch.nw());
        let extents = Extents { ngpown, nw, ..self.bands.extents() };
        let (BandArrays { aqsn, occ }, wx) = (self.of_bands, self.wx);
        self.check(extents, Layout::Cells);
        let Limits { limittwo, limitone, sexcut } = self.bands.limits();
        let (poles, parts) = cells.pointers();
        let arguments = CellsArguments {
            poles,
            parts,
            aqsn: aqsn.as_ptr(),
            aqsm_local: self.aqsm_local.as_ptr(),
            wx: wx.as_ptr(),
            vcoul_loc: self.slab.vcoul_loc().as_ptr(),
            occ: occ.as_ptr(),
            partials: partials.as_mut_ptr(),
            count: cells.count(),
            nbands: extents.nbands as u32,
            rows: extents.nbands.next_multiple_of(BANDS as usize) as u32,
            nw: extents.nw as u32,
            limittwo,
            limitone,
            sexcut,
        };
        SharedCells { arguments, borrowed: PhantomData }
    }

    /// Fails where an array has not the size that a layout gives it.
    fn check(&self, extents: Extents, layout: Layout) {
        let (BandArrays { aqsn, occ }, wx) = (self.of_bands, self.wx);
        let sizes = [
            (&AQSN, aqsn.len()),
            (&AQSM_LOCAL, self.aqsm_local.len()),
            (&WX, wx.len()),
            (&OCC, occ.len()),
        ];
        for (array, length) in sizes {
            assert_eq!(length as u64, array.elements(extents, layout), "{}", array.name);
        }
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

/// A matrix of `rows` rows given by its columns, one for each band, transposed, with zeros behind the last
/// band.
fn bands_fastest(columns: Vec<&[Complex64]>, rows: usize) -> Vec<Complex64> {
    /// Rows at a time, so that what is read next to each other is used before it is gone.
    const TILE: usize = 32;
    let padded = columns.len().next_multiple_of(BANDS as usize);
    let mut all = vec![Complex64::ZERO; padded * rows];
    all.par_chunks_mut(padded * TILE).enumerate().for_each(|(tile, out)| {
        for (n, column) in columns.iter().enumerate() {
            let own = &column[tile * TILE..rows.min((tile + 1) * TILE)];
            own.iter().enumerate().for_each(|(row, value)| out[row * padded + n] = *value);
        }
    });
    all
}

/// A matrix of `rows` rows given by its columns, transposed.
fn transposed<'a, T: Copy + 'a>(
    columns: impl Iterator<Item = &'a [T]> + Clone,
    rows: usize,
) -> Vec<T> {
    (0..rows).flat_map(|row| columns.clone().map(move |column| column[row])).collect()
}
