//! The layout of v7 and v8: bands fastest in `wx` and `aqsm_local`.

use std::borrow::Cow;
use std::ptr;
use std::sync::Arc;

use gpp_kernels::kernel::Kernel;
use num_complex::Complex64;

use super::original::AsTheyAre;
use super::{Pairs, Preparation};
use crate::error::Result;
use crate::problem::memory::{AQSM_LOCAL, Array, WX, zeros};
use crate::problem::{BandOrder, Bands, Batch, Frame, SlabView};

/// The layout of v7 and v8.
pub struct Swapped;

impl Preparation for Swapped {
    fn own(&self, _: bool) -> Vec<&'static Array> {
        vec![&AQSM_LOCAL, &WX]
    }

    fn has_bands_fastest(&self, array: &'static Array) -> bool {
        ptr::eq(array, &AQSM_LOCAL)
    }

    fn energies<'a>(&self, bands: &Bands, batch: &'a Batch) -> Cow<'a, [f64]> {
        let nbands = bands.header().nbands;
        let of_energy = |iw: usize| (0..nbands).map(move |n| batch.of_band(n)[iw]);
        (0..batch.nw()).flat_map(of_energy).collect()
    }

    fn aqsm_local<'a>(&self, slab: SlabView<'a>, _: &BandOrder) -> Result<Cow<'a, [Complex64]>> {
        let all = slab.aqsm_local();
        Ok(transposed(all.columns(), all.rows())?.into())
    }

    fn pairs(&self, _: &Frame, _: SlabView, _: &Batch, _: &Kernel) -> Arc<dyn Pairs> {
        Arc::new(AsTheyAre)
    }
}

/// A matrix of `rows` rows given by its columns, transposed.
fn transposed<'a>(
    columns: impl ExactSizeIterator<Item = &'a [Complex64]> + Clone,
    rows: usize,
) -> Result<Vec<Complex64>> {
    let mut all = zeros(AQSM_LOCAL.name, rows * columns.len())?;
    for (row, to) in all.chunks_exact_mut(columns.len()).enumerate() {
        to.iter_mut().zip(columns.clone()).for_each(|(to, column)| *to = column[row]);
    }
    Ok(all)
}
