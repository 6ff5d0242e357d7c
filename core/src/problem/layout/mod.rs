//! How a problem is prepared for the kernels of each layout: a file for each, and a line in [`preparation`].

mod cells;
mod original;
mod planned;
mod swapped;

use std::borrow::Cow;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use gpp_kernels::arguments::{Arguments, PaperArguments};
use gpp_kernels::extents;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::memory::{self, AQSM_LOCAL, AQSN, ARRAYS, Array, EPS, Extents, OCC, Of, WTILDE, WX};
use super::{BandOrder, Bands, Batch, Frame, Id, SlabView};
use crate::error::Result;

/// How a problem is prepared for the kernels of a layout.
pub trait Preparation: Sync {
    /// The arrays that it has of its own, where the plan's order of bands is the problem's or not.
    fn own(&self, keeps_order: bool) -> Vec<&'static Array>;

    /// Whether an array is among [those](Preparation::own).
    fn has_own(&self, array: &'static Array, keeps_order: bool) -> bool {
        self.own(keeps_order).into_iter().any(|own| ptr::eq(own, array))
    }

    /// Matrix elements of G; borrowed where they stand so.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory), as of all that is made here.
    fn aqsn<'a>(&self, bands: &'a Bands, _: &BandOrder) -> Result<Cow<'a, [Complex64]>> {
        Ok(bands.aqsn().into())
    }

    /// Occupations; borrowed where they stand so.
    fn occ<'a>(&self, bands: &'a Bands, _: &BandOrder) -> Cow<'a, [f64]> {
        bands.occ().into()
    }

    /// The arrays of the bands.
    ///
    /// # Errors
    /// As [`Preparation::aqsn`].
    fn of_bands<'a>(&self, bands: &'a Bands, order: &BandOrder) -> Result<BandArrays<'a>> {
        Ok(BandArrays { aqsn: self.aqsn(bands, order)?, occ: self.occ(bands, order) })
    }

    /// Whether bands are fastest in an array of matrix elements.
    fn has_bands_fastest(&self, _array: &'static Array) -> bool {
        false
    }

    /// The bands (0-based) of matrix elements in their order.
    fn bands(&self, order: &BandOrder) -> Vec<usize> {
        (0..order.bands().len()).collect()
    }

    /// The energies of a batch; borrowed where they stand so.
    fn energies<'a>(&self, _: &Bands, batch: &'a Batch) -> Cow<'a, [f64]> {
        batch.wx().into()
    }

    /// A slab's matrix elements of G′; borrowed where they stand so.
    ///
    /// # Errors
    /// As [`Preparation::aqsn`].
    fn aqsm_local<'a>(&self, slab: SlabView<'a>, order: &BandOrder)
    -> Result<Cow<'a, [Complex64]>>;

    /// What its kernels read of a slab's pairs beside `wtilde` and `eps`, or in their place.
    fn pairs(
        &self,
        frame: &Frame,
        slab: SlabView,
        batch: &Batch,
        kernel: &Kernel,
    ) -> Arc<dyn Pairs>;

    /// What these depend on beside the slab, if on anything.
    fn pairs_at(&self, _batch: &Batch, _kernel: &Kernel) -> Option<PairsAt> {
        None
    }

    /// Bytes of theirs on a device, beside `wtilde` and `eps`, of a slab of these extents.
    fn bytes_of_pairs(&self, _slab: Extents) -> u64 {
        0
    }

    /// Bytes of the host's memory that they and what they are made in take.
    fn bytes_while_made(&self, _slab: Extents, _poles: Poles) -> u64 {
        0
    }

    /// Bytes of them that stay on the host for the next calculation at most, those of all slabs at some batches of
    /// so many in all; `granted` are those that a run allows.
    fn bytes_kept(&self, _problem: Extents, _batches: usize, _granted: u64) -> u64 {
        0
    }

    /// Whether they take the place of `wtilde` and `eps`, so that on a device nothing of other layouts stays beside
    /// them.
    fn replaces(&self) -> bool {
        false
    }
}

/// The preparation for a layout.
pub fn preparation(layout: Layout) -> &'static dyn Preparation {
    match layout {
        Layout::Original => &original::Original,
        Layout::Swapped => &swapped::Swapped,
        Layout::Planned => &planned::Planned,
        Layout::Cells => &cells::ByCells,
    }
}

/// Which batch, and what poles kernels take.
pub type PairsAt = ((Id, Range<usize>), Poles);

/// What was made of a slab's pairs, and what it depends on beside the slab.
pub type MadePairs = (Option<PairsAt>, Arc<dyn Pairs>);

/// What kernels read of a slab's pairs beside `wtilde` and `eps`, or in their place.
pub trait Pairs: Send + Sync {
    /// The arrays of it.
    fn arrays(&self) -> Vec<Words<'_>>;

    /// With what the size of a grid depends on of it.
    fn counted<'a>(&'a self, of: extents::Extents<'a>) -> extents::Extents<'a> {
        of
    }

    /// What a kernel is given at a batch: that which all are given, and where [`Pairs::arrays`] are.
    ///
    /// # Panics
    /// Where they are of another slab.
    fn arguments(
        &self,
        common: PaperArguments,
        at: (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments>;
}

/// An array as it is copied to a device.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// What it is.
    pub name: &'static str,
    /// Its words.
    pub words: &'a [u32],
    /// Words that the next slab may have more.
    pub spare: usize,
}

impl Extents {
    /// Most bytes that a device needs for the arrays of the bands or of a slab in one layout, with one batch
    /// of energies. A slab's include sums, and odd poles up to one in 16 pairs or indices of sorted ones.
    pub fn device_bytes(self, of: Of) -> u64 {
        let batch = Extents { nw: self.nw.min(memory::MOST_TOGETHER), ..self };
        let most =
            |bytes: &dyn Fn(Layout) -> u64| Layout::ALL.into_iter().map(bytes).max().unwrap_or(0);
        let beside = match of {
            Of::Bands => 0,
            Of::Slab => most(&|layout| preparation(layout).bytes_of_pairs(batch))
                .saturating_add(memory::partial_sums(batch)),
        };
        let arrays = ARRAYS.into_iter().filter(|array| array.of == of);
        let arrays = arrays.map(|array| most(&|layout| array.bytes(batch, layout)));
        arrays.fold(beside, u64::saturating_add)
    }

    /// Bytes of what a layout has of its own beside the original, of the bands or of a slab;
    /// `keeps_order` as in [`Preparation::own`].
    pub fn bytes_beside(self, of: Of, layout: Layout, keeps_order: bool) -> u64 {
        let own = preparation(layout).own(keeps_order).into_iter().filter(|array| array.of == of);
        own.fold(0, |sum, array| sum.saturating_add(array.bytes(self, layout)))
    }
}

/// The arrays of a problem's bands in one layout, for all of its energies.
#[derive(Clone, Debug)]
pub struct BandArrays<'a> {
    aqsn: Cow<'a, [Complex64]>,
    occ: Cow<'a, [f64]>,
}

impl<'a> BandArrays<'a> {
    /// Matrix elements of G.
    pub fn aqsn(&self) -> &Cow<'a, [Complex64]> {
        &self.aqsn
    }

    /// Occupations.
    pub fn occ(&self) -> &Cow<'a, [f64]> {
        &self.occ
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
    /// [Energies](Preparation::energies) in the layout.
    pub wx: &'a [f64],
    /// Matrix elements of G′ in the layout.
    pub aqsm_local: &'a [Complex64],
}

impl<'a> Laid<'a> {
    /// What a kernel of the layout is given from energy `iw` on, with what it reads of the slab's pairs and room for
    /// the sums of all blocks.
    ///
    /// # Panics
    /// Where an array has not the size that the layout gives it, and where the pairs are of another slab.
    pub fn arguments(
        self,
        kernel: &Kernel,
        pairs: &'a dyn Pairs,
        iw: u32,
        partials: &'a mut [f64],
    ) -> Shared<'a> {
        let Laid { bands, batch, slab, of_bands: BandArrays { aqsn, occ }, wx, aqsm_local } = self;
        let extents = Extents { ngpown: slab.len(), nw: batch.nw(), ..bands.extents() };
        for (array, length) in [
            (&WTILDE, slab.wtilde().len()),
            (&EPS, slab.eps().len()),
            (&AQSN, aqsn.len()),
            (&AQSM_LOCAL, aqsm_local.len()),
            (&WX, wx.len()),
            (&OCC, occ.len()),
        ] {
            let needed = array.elements(extents, kernel.layout);
            assert_eq!(length as u64, needed, "{}", array.name);
        }
        let limits = bands.limits();
        let common = PaperArguments {
            wtilde: slab.wtilde().as_ptr(),
            eps: slab.eps().as_ptr(),
            aqsn: aqsn.as_ptr(),
            aqsm_local: aqsm_local.as_ptr(),
            wx: wx.as_ptr(),
            vcoul_loc: slab.vcoul_loc().as_ptr(),
            occ: occ.as_ptr(),
            partials: partials.as_mut_ptr(),
            nbands: extents.nbands as u32,
            ngpown: extents.ngpown as u32,
            ncouls: extents.ncouls as u32,
            nw: extents.nw as u32,
            iw,
            limittwo: limits.limittwo,
            limitone: limits.limitone,
            sexcut: limits.sexcut,
        };
        let own: Vec<_> = pairs.arrays().iter().map(|array| array.words.as_ptr().cast()).collect();
        let arguments = pairs.arguments(common, (batch, kernel), &own);
        Shared { arguments, borrowed: PhantomData }
    }
}

/// What a kernel is given, for threads to share, while what it points to is borrowed.
pub struct Shared<'a> {
    arguments: Box<dyn Arguments>,
    borrowed: PhantomData<&'a [Complex64]>,
}

// SAFETY: each block writes its own sums; the other pointers are only read through, and what they point to is
// borrowed for `'a`.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    /// Where the arguments stand.
    pub fn address(&self) -> *const () {
        self.arguments.address()
    }
}
