//! The layout of cells: bands fastest, pairs sorted by their poles.

use std::borrow::Cow;
use std::ffi::c_void;
use std::sync::Arc;

use gpp_kernels::arguments::{Arguments, CellsArguments, PaperArguments};
use gpp_kernels::cells::BANDS;
use gpp_kernels::extents;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rayon::prelude::*;

use super::{Pairs, Preparation, Words};
use crate::error::Result;
use crate::problem::memory::{AQSM_LOCAL, AQSN, Array, Extents, zeros};
use crate::problem::{BandOrder, Bands, Batch, Cells, Evaluator, Frame, SlabView};

/// The layout of cells.
pub struct ByCells;

/// Bytes of a sorted pair beside its pole and its `eps`.
const SORTED: u64 = 8;

impl Preparation for ByCells {
    fn own(&self, _: bool) -> Vec<&'static Array> {
        vec![&AQSM_LOCAL, &AQSN]
    }

    fn aqsn<'a>(&self, bands: &'a Bands, _: &BandOrder) -> Result<Cow<'a, [Complex64]>> {
        let ncouls = bands.header().ncouls;
        let columns = bands.aqsn().chunks_exact(ncouls).collect();
        Ok(bands_fastest(&AQSN, columns, ncouls)?.into())
    }

    fn has_bands_fastest(&self, _: &'static Array) -> bool {
        true
    }

    fn aqsm_local<'a>(&self, slab: SlabView<'a>, _: &BandOrder) -> Result<Cow<'a, [Complex64]>> {
        let all = slab.aqsm_local();
        Ok(bands_fastest(&AQSM_LOCAL, all.columns().collect(), all.rows())?.into())
    }

    fn pairs(&self, frame: &Frame, slab: SlabView, _: &Batch, _: &Kernel) -> Arc<dyn Pairs> {
        Arc::new(frame.cells(slab, Evaluator::Gpu))
    }

    fn bytes_of_pairs(&self, slab: Extents) -> u64 {
        SORTED.saturating_mul(slab.ncouls as u64).saturating_mul(slab.ngpown as u64)
    }

    fn bytes_while_made(&self, slab: Extents, poles: Poles) -> u64 {
        Cells::bytes_while_made(slab, poles)
    }

    fn bytes_kept(&self, _: Extents, _: usize, granted: u64) -> u64 {
        granted
    }

    fn replaces(&self) -> bool {
        true
    }
}

impl Pairs for Cells {
    fn arrays(&self) -> Vec<Words<'_>> {
        let (poles, parts) = self.words();
        vec![
            Words { name: "sorted pairs", words: poles, spare: poles.len() / 64 },
            Words { name: "parts of sorted pairs", words: parts, spare: parts.len() / 8 },
        ]
    }

    fn counted<'a>(&'a self, of: extents::Extents<'a>) -> extents::Extents<'a> {
        extents::Extents { parts: self.count(), ..of }
    }

    fn arguments(
        &self,
        common: PaperArguments,
        _: (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments> {
        let PaperArguments { aqsn, aqsm_local, wx, vcoul_loc, occ, partials, .. } = common;
        let PaperArguments { nbands, nw, limittwo, limitone, sexcut, .. } = common;
        Box::new(CellsArguments {
            poles: arrays[0].cast(),
            parts: arrays[1].cast(),
            aqsn,
            aqsm_local,
            wx,
            vcoul_loc,
            occ,
            partials,
            count: self.count(),
            nbands,
            rows: nbands.next_multiple_of(BANDS),
            nw,
            limittwo,
            limitone,
            sexcut,
        })
    }
}

/// A matrix of `rows` rows given by its columns, one for each band, transposed, with zeros behind the last
/// band.
fn bands_fastest(array: &Array, columns: Vec<&[Complex64]>, rows: usize) -> Result<Vec<Complex64>> {
    /// Rows at a time, so that what is read next to each other is used before it is gone.
    const TILE: usize = 32;
    let padded = columns.len().next_multiple_of(BANDS as usize);
    let mut all = zeros(array.name, padded * rows)?;
    all.par_chunks_mut(padded * TILE).enumerate().for_each(|(tile, out)| {
        for (n, column) in columns.iter().enumerate() {
            let own = &column[tile * TILE..rows.min((tile + 1) * TILE)];
            own.iter().enumerate().for_each(|(row, value)| out[row * padded + n] = *value);
        }
    });
    Ok(all)
}
