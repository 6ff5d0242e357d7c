//! The layout of v14: v9's, with lists of a slab's pairs in the place of the mask.

use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;

use gpp_kernels::arguments::{Arguments, PaperArguments};
use gpp_kernels::extents;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::lists;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::planned::Planned;
use super::{Pairs, PairsAt, Preparation, Words};
use crate::error::Result;
use crate::problem::memory::{Array, Extents};
use crate::problem::{BandOrder, Bands, Batch, Frame, Lists, OddPoles, SlabView};

/// The layout of v14.
pub struct Listed;

/// The pairs of a slab: those of lists, and the odd ones.
struct ListedPairs {
    lists: Lists,
    odd: OddPoles,
}

/// Bytes of the lists of a slab at most.
fn bytes(slab: Extents) -> u64 {
    lists::words(slab.ngpown as u64, slab.ncouls as u64).saturating_mul(4)
}

impl Preparation for Listed {
    fn own(&self, keeps_order: bool) -> Vec<&'static Array> {
        Planned.own(keeps_order)
    }

    fn aqsn<'a>(&self, bands: &'a Bands, order: &BandOrder) -> Result<Cow<'a, [Complex64]>> {
        Planned.aqsn(bands, order)
    }

    fn occ<'a>(&self, bands: &'a Bands, order: &BandOrder) -> Cow<'a, [f64]> {
        Planned.occ(bands, order)
    }

    fn bands(&self, order: &BandOrder) -> Vec<usize> {
        Planned.bands(order)
    }

    fn energies<'a>(&self, bands: &Bands, batch: &'a Batch) -> Cow<'a, [f64]> {
        Planned.energies(bands, batch)
    }

    fn aqsm_local<'a>(
        &self,
        slab: SlabView<'a>,
        order: &BandOrder,
    ) -> Result<Cow<'a, [Complex64]>> {
        Planned.aqsm_local(slab, order)
    }

    fn pairs(
        &self,
        frame: &Frame,
        slab: SlabView,
        batch: &Batch,
        kernel: &Kernel,
    ) -> Arc<dyn Pairs> {
        let odd = frame.odd(slab, batch, kernel.poles);
        Arc::new(ListedPairs { lists: Lists::of(slab, &odd, batch.plan().has_static()), odd })
    }

    fn pairs_at(&self, batch: &Batch, kernel: &Kernel) -> Option<PairsAt> {
        Planned.pairs_at(batch, kernel)
    }

    fn bytes_of_pairs(&self, slab: Extents) -> u64 {
        Planned.bytes_of_pairs(slab).saturating_add(bytes(slab))
    }

    fn bytes_while_made(&self, slab: Extents, poles: Poles) -> u64 {
        // The records before they are put together.
        Planned.bytes_while_made(slab, poles).saturating_add(bytes(slab).saturating_mul(2))
    }

    fn bytes_kept(&self, problem: Extents, batches: usize, granted: u64) -> u64 {
        let most = Planned.bytes_kept(problem, batches, granted);
        if batches == 1 { most.saturating_add(bytes(problem)) } else { most }
    }
}

impl Pairs for ListedPairs {
    fn arrays(&self) -> Vec<Words<'_>> {
        let mut arrays = self.odd.arrays();
        let words = &self.lists.words;
        arrays[0] = Words { name: "lists of pairs", words, spare: words.len() / 8 };
        arrays
    }

    fn counted<'a>(&'a self, of: extents::Extents<'a>) -> extents::Extents<'a> {
        extents::Extents { parts: self.lists.records, ..self.odd.counted(of) }
    }

    fn arguments(
        &self,
        common: PaperArguments,
        at: (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments> {
        self.odd.arguments(common, at, arrays)
    }
}
