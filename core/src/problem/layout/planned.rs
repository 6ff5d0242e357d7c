//! The layout of v9 and later: bands in the plan's order, padded, and a slab's odd poles.

use std::borrow::Cow;
use std::ffi::c_void;
use std::iter::repeat_n;
use std::sync::Arc;

use gpp_kernels::arguments::{Arguments, PaperArguments, PlannedArguments};
use gpp_kernels::extents;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::{Plan, Poles};
use num_complex::Complex64;

use super::{Pairs, PairsAt, Preparation, Words};
use crate::error::Result;
use crate::problem::memory::{AQSM_LOCAL, AQSN, Array, Extents, OCC, WX};
use crate::problem::{BandOrder, Bands, Batch, Frame, OddPoles, SlabView};

/// The layout of v9 and later.
pub struct Planned;

/// Bytes of the host's memory that are taken for odd poles at a part of the energies.
const MOST_BYTES: u64 = 1 << 30;

/// Elements of a band in an array, padded.
fn padded(array: &Array, of: Extents) -> usize {
    array.extents(of, Layout::Planned)[0] as usize
}

impl Preparation for Planned {
    fn own(&self, keeps_order: bool) -> Vec<&'static Array> {
        let mut own: Vec<&Array> = vec![&AQSM_LOCAL, &WX];
        if !keeps_order {
            own.extend([&AQSN, &OCC]);
        }
        own
    }

    fn aqsn<'a>(&self, bands: &'a Bands, order: &BandOrder) -> Result<Cow<'a, [Complex64]>> {
        if order.is_kept() {
            return Ok(bands.aqsn().into());
        }
        let ncouls = bands.header().ncouls;
        let column = |n| &bands.aqsn()[n * ncouls..(n + 1) * ncouls];
        Ok(order.reordered(&AQSN, ncouls, column)?.into())
    }

    fn occ<'a>(&self, bands: &'a Bands, order: &BandOrder) -> Cow<'a, [f64]> {
        if order.is_kept() {
            return bands.occ().into();
        }
        order.bands().iter().map(|&n| bands.occ()[n]).collect()
    }

    fn bands(&self, order: &BandOrder) -> Vec<usize> {
        order.bands().to_vec()
    }

    fn energies<'a>(&self, bands: &Bands, batch: &'a Batch) -> Cow<'a, [f64]> {
        let padded = padded(&WX, Extents { nw: batch.nw(), ..bands.extents() });
        let zeros = repeat_n(0.0, padded - batch.nw());
        let of_band = |&n: &usize| batch.of_band(n).iter().copied().chain(zeros.clone());
        batch.plan().order().iter().flat_map(of_band).collect()
    }

    fn aqsm_local<'a>(
        &self,
        slab: SlabView<'a>,
        order: &BandOrder,
    ) -> Result<Cow<'a, [Complex64]>> {
        let all = slab.aqsm_local();
        let of_band = Extents { nbands: 1, ngpown: slab.len(), ncouls: 1, nw: 1 };
        Ok(order.reordered(&AQSM_LOCAL, padded(&AQSM_LOCAL, of_band), |n| all.column(n))?.into())
    }

    fn pairs(
        &self,
        frame: &Frame,
        slab: SlabView,
        batch: &Batch,
        kernel: &Kernel,
    ) -> Arc<dyn Pairs> {
        Arc::new(frame.odd(slab, batch, kernel.poles))
    }

    fn pairs_at(&self, batch: &Batch, kernel: &Kernel) -> Option<PairsAt> {
        (kernel.poles != Poles::Unread).then(|| (batch.id(), kernel.poles))
    }

    fn bytes_of_pairs(&self, slab: Extents) -> u64 {
        slab.odd_bytes()
    }

    fn bytes_while_made(&self, slab: Extents, _: Poles) -> u64 {
        OddPoles::bytes_while_made(slab)
    }

    fn bytes_kept(&self, problem: Extents, batches: usize, _: u64) -> u64 {
        let all = problem.odd_bytes();
        if batches == 1 { all } else { all.saturating_mul(batches as u64).min(MOST_BYTES) }
    }
}

impl Pairs for OddPoles {
    fn arrays(&self) -> Vec<Words<'_>> {
        vec![
            Words { name: "mask of odd poles", words: self.mask(), spare: 0 },
            Words { name: "odd pairs", words: self.pairs(), spare: self.pairs().len() / 8 },
            Words { name: "begins of odd pairs", words: self.begins(), spare: 0 },
        ]
    }

    fn counted<'a>(&'a self, of: extents::Extents<'a>) -> extents::Extents<'a> {
        extents::Extents { odd_begins: self.begins(), ..of }
    }

    fn arguments(
        &self,
        common: PaperArguments,
        (batch, kernel): (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments> {
        assert_eq!(self.begins().len(), common.ngpown as usize + 1, "the slab's odd poles");
        let plan = Plan {
            odd_mask: arrays[0].cast(),
            odd_pairs: arrays[1].cast(),
            odd_begins: arrays[2].cast(),
            ..batch.plan().view(kernel, self)
        };
        Box::new(PlannedArguments::new(common, plan))
    }
}
