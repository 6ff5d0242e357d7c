//! How a problem is prepared for the kernels of each layout.

use std::borrow::Cow;
use std::ffi::c_void;
use std::iter::repeat_n;
use std::ptr;
use std::sync::Arc;

use gpp_kernels::arrays::{Arguments, Layout, NO_INDEX, PaperArguments, Planned, PlannedArguments};
use gpp_kernels::kernel::Kernel;
use gpp_kernels::sigma::{BANDS, ClusterArguments};
use gpp_kernels::single;
use num_complex::{Complex32, Complex64};
use rayon::prelude::*;

use crate::error::Result;
use crate::os::memory::zeros;
use crate::problem::arrays::{AQSM_LOCAL, AQSN, ArraySpec, Extents, MatrixRef, MatrixRows, WX};
use crate::problem::plan::{BandOrder, Batch, EVEN_ON_GPU, FallbackPairs, Lists, SortedCells};
use crate::problem::{CheckedBands, Problem, SlabView, range};

/// How a problem is prepared for the kernels of a layout.
///
/// - [`Layout::Original`], the reference's: all arrays as they are
/// - [`Layout::Swapped`], of v7 and v8: bands fastest in `wx` and `aqsm_local`
/// - [`Layout::Planned`], of v9 and later: bands in the plan's order, padded, and a slab's fallback pairs
/// - [`Layout::Listed`], of v14: the same with lists of a slab's pairs
/// - [`Layout::Single`]: as planned, and matrix elements in FP32 too
/// - [`Layout::Clusters`]: bands fastest, pairs sorted by their poles
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preparation(pub Layout);

impl Preparation {
    /// Whether `aqsn` is another than in the original layout; `keeps_order`: the plan's order is the problem's.
    pub fn has_own_aqsn(self, keeps_order: bool) -> bool {
        match self.0 {
            Layout::Original | Layout::Swapped => false,
            Layout::Planned | Layout::Listed => !keeps_order,
            Layout::Single | Layout::Clusters => true,
        }
    }

    pub fn aqsn<'a>(self, bands: &'a CheckedBands, order: &BandOrder) -> Result<LaidElements<'a>> {
        let ncouls = bands.header().ncouls;
        let matrix = MatrixRows::new(bands.aqsn(), ncouls);
        Ok(LaidElements::Made(match self.0 {
            Layout::Single => with_copy(&AQSN, ncouls, ncouls, &order.bands, |n| matrix.column(n))?,
            Layout::Clusters => {
                let padded = bands.header().nbands.next_multiple_of(BANDS as usize);
                bands_fastest(&AQSN, matrix.columns().collect(), ncouls, padded)?
            }
            _ => return Ok(LaidElements::Columns(matrix, self.bands(order), ncouls)),
        }))
    }

    pub fn occ<'a>(self, bands: &'a CheckedBands, order: &BandOrder) -> Cow<'a, [f64]> {
        if self.is_planned() && !order.is_kept() {
            return order.bands.iter().map(|&n| bands.occ()[n]).collect();
        }
        bands.occ().into()
    }

    pub fn is_planned(self) -> bool {
        matches!(self.0, Layout::Planned | Layout::Listed | Layout::Single)
    }

    pub fn has_bands_fastest(self, array: &'static ArraySpec) -> bool {
        match self.0 {
            Layout::Original | Layout::Planned | Layout::Listed | Layout::Single => false,
            Layout::Swapped => ptr::eq(array, &AQSM_LOCAL),
            Layout::Clusters => true,
        }
    }

    pub fn bands(self, order: &BandOrder) -> Vec<usize> {
        match self.is_planned() {
            true => order.bands.clone(),
            false => (0..order.bands.len()).collect(),
        }
    }

    pub fn energies<'a>(self, bands: &CheckedBands, batch: &'a Batch) -> Cow<'a, [f64]> {
        match self.0 {
            Layout::Original | Layout::Clusters => batch.wx[..].into(),
            Layout::Swapped => {
                let nbands = bands.header().nbands;
                let of_energy = |iw: usize| (0..nbands).map(move |n| batch.of_band(n)[iw]);
                (0..batch.nw()).flat_map(of_energy).collect()
            }
            Layout::Planned | Layout::Listed | Layout::Single => {
                let of_batch = Extents { nw: batch.nw(), ..bands.extents() };
                let padded = WX.extents(of_batch, self.0)[0] as usize;
                let zeros = repeat_n(0.0, padded - batch.nw());
                let of_band = |&n: &usize| batch.of_band(n).iter().copied().chain(zeros.clone());
                batch.plan.order().iter().flat_map(of_band).collect()
            }
        }
    }

    pub fn aqsm_local<'a>(self, slab: SlabView<'a>, order: &BandOrder) -> Result<LaidElements<'a>> {
        let elements = slab.aqsm_local();
        let (nbands, columns) = (slab.nbands(), || elements.columns().collect());
        let laid = match self.0 {
            Layout::Swapped => bands_fastest(&AQSM_LOCAL, columns(), elements.rows(), nbands)?,
            Layout::Clusters => {
                let padded = nbands.next_multiple_of(BANDS as usize);
                bands_fastest(&AQSM_LOCAL, columns(), elements.rows(), padded)?
            }
            Layout::Single => {
                let height = Planned::rows(slab.len() as u32) as usize;
                let (bands, column) = (self.bands(order), |n| elements.column(n));
                with_copy(&AQSM_LOCAL, height, slab.len(), &bands, column)?
            }
            Layout::Original | Layout::Planned | Layout::Listed => {
                let of_band = Extents { nbands: 1, ngpown: slab.len(), ncouls: 1, nw: 1 };
                let padded = AQSM_LOCAL.extents(of_band, self.0)[0] as usize;
                return Ok(LaidElements::Columns(elements, self.bands(order), padded));
            }
        };
        Ok(LaidElements::Made(laid))
    }

    /// What its kernels read of a slab's pairs besides `wtilde` and `eps`, or in their place.
    pub fn pairs(
        self,
        problem: &Problem,
        slab: SlabView,
        batch: &Batch,
        kernel: &Kernel,
    ) -> Result<Arc<PreparedPairs>> {
        Ok(Arc::new(match self.0 {
            Layout::Original | Layout::Swapped => PreparedPairs::Original,
            Layout::Planned => {
                PreparedPairs::Fallback(problem.fallback(slab, batch, kernel.poles), None)
            }
            Layout::Single => {
                PreparedPairs::Fallback(problem.fallback_in_single(slab, batch, kernel), None)
            }
            Layout::Listed => {
                let fallback = problem.fallback(slab, batch, kernel.poles);
                let lists = Lists::new(slab, &fallback, batch.plan.has_static());
                PreparedPairs::Fallback(fallback, Some(lists))
            }
            Layout::Clusters => {
                let is_alone = kernel.is_sigma_alone;
                PreparedPairs::Sorted(SortedCells::for_slab(problem, slab, EVEN_ON_GPU, is_alone)?)
            }
        }))
    }

    /// Whether the pairs replace `wtilde` and `eps`, so that on a device nothing of other layouts stays with them.
    pub fn replaces(self) -> bool {
        self.0 == Layout::Clusters
    }
}

/// What kernels read of a slab's pairs besides `wtilde` and `eps`, or in their place.
pub enum PreparedPairs {
    Original,
    /// Fallback pairs, and lists of the others if kernels read these.
    Fallback(FallbackPairs, Option<Lists>),
    Sorted(SortedCells),
}

impl PreparedPairs {
    pub fn bound(&self) -> f64 {
        match self {
            PreparedPairs::Fallback(fallback, _) => fallback.bound,
            _ => 0.0,
        }
    }

    /// As they are copied to a device: names, words, and how many more the next slab may have.
    pub fn arrays(&self) -> Vec<(&'static str, &[u32], usize)> {
        match self {
            PreparedPairs::Original => Vec::new(),
            PreparedPairs::Fallback(FallbackPairs { mask, pairs, begins, .. }, lists) => vec![
                match lists {
                    Some(Lists { words, .. }) => ("lists of pairs", &words[..], words.len() / 8),
                    None => ("mask of fallback pairs", &mask[..], 0),
                },
                ("fallback pairs", &pairs[..], pairs.len() / 8),
                ("begins of fallback pairs", &begins[..], 0),
            ],
            PreparedPairs::Sorted(cells) => {
                let (poles, parts) = cells.words();
                vec![
                    ("sorted pairs", poles, poles.len() / 64),
                    ("parts of sorted pairs", parts, parts.len() / 8),
                ]
            }
        }
    }

    /// Where the fallback pairs of each igp begin, and how many records or parts there are.
    pub fn counts(&self) -> (&[u32], u32) {
        match self {
            PreparedPairs::Original => (&[], 0),
            PreparedPairs::Fallback(fallback, lists) => {
                (&fallback.begins, lists.as_ref().map_or(0, |lists| lists.records))
            }
            PreparedPairs::Sorted(cells) => (&[], cells.count()),
        }
    }

    /// The arguments of a kernel at a batch: those that all have, and where [`PreparedPairs::arrays`] are.
    ///
    /// # Panics
    /// If these are of another slab.
    pub fn arguments(
        &self,
        common: PaperArguments,
        (batch, kernel): (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments> {
        match self {
            PreparedPairs::Original => Box::new(common),
            PreparedPairs::Fallback(fallback, _) => {
                assert_eq!(fallback.begins.len(), common.ngpown as usize + 1, "of another slab");
                let plan = batch.plan.view(kernel, &fallback.begins, arrays);
                Box::new(PlannedArguments::new(common, plan))
            }
            PreparedPairs::Sorted(cells) => {
                let PaperArguments { aqsn, aqsm_local, wx, vcoul_loc, occ, partials, .. } = common;
                let PaperArguments { nbands, nw, limittwo, limitone, sexcut, .. } = common;
                Box::new(ClusterArguments {
                    poles: arrays[0].cast(),
                    clusters: arrays[1].cast(),
                    aqsn,
                    aqsm_local,
                    wx,
                    vcoul_loc,
                    occ,
                    partials,
                    count: cells.count(),
                    nbands,
                    rows: nbands.next_multiple_of(BANDS),
                    nw,
                    limittwo,
                    limitone,
                    sexcut,
                })
            }
        }
    }
}

pub enum LaidElements<'a> {
    /// The columns of a matrix in the order of these bands, each with zeros added up to so many rows.
    Columns(MatrixRows<'a>, Vec<usize>, usize),
    Made(Vec<Complex64>),
    /// Of a matrix on the host, `Spaced` or `Single`, the elements at these indices, the first ones fastest, with so many
    /// elements from one to the next; zero for [`NO_INDEX`].
    Picked(MatrixRef<'a>, [Vec<u32>; 2], [usize; 2]),
}

impl<'a> LaidElements<'a> {
    pub fn count(&self) -> usize {
        match self {
            LaidElements::Columns(_, bands, padded) => padded * bands.len(),
            LaidElements::Made(elements) => elements.len(),
            LaidElements::Picked(_, [inner, outer], _) => inner.len() * outer.len(),
        }
    }

    /// All of them, borrowed if they are in place.
    pub fn whole(self, name: &str) -> Result<Cow<'a, [Complex64]>> {
        let padded = match self {
            LaidElements::Made(elements) => return Ok(elements.into()),
            LaidElements::Columns(matrix, ref bands, padded) => match matrix.whole() {
                Some(whole) if padded == matrix.rows() && bands.is_sorted() => {
                    return Ok(whole.into());
                }
                _ => padded,
            },
            LaidElements::Picked(_, [ref inner, _], _) => inner.len(),
        };
        let mut whole = zeros(name, self.count())?;
        let columns = whole.par_chunks_mut(padded).enumerate();
        columns.for_each(|(column, to)| _ = self.copy(column * padded, to));
        Ok(whole.into())
    }

    /// Copies those from `at` on. Returns whether all that it picks are within bounds of factors; others were checked before.
    pub fn copy(&self, mut at: usize, mut to: &mut [Complex64]) -> bool {
        let (matrix, bands, padded) = match self {
            LaidElements::Made(elements) => {
                to.copy_from_slice(&elements[at..at + to.len()]);
                return true;
            }
            LaidElements::Columns(matrix, bands, padded) => (matrix, bands, *padded),
            LaidElements::Picked(MatrixRef::Spaced(from, _), picked, strides) => {
                return copy_picked(from, |z| *z, picked, *strides, at, to);
            }
            LaidElements::Picked(MatrixRef::Single(from, _), picked, strides) => {
                let widened = |z: &Complex32| Complex64::new(z.re.into(), z.im.into());
                return copy_picked(from, widened, picked, *strides, at, to);
            }
            LaidElements::Picked(..) => unreachable!("the others are not picked on the host"),
        };
        while !to.is_empty() {
            let (column, row) = (matrix.column(bands[at / padded]), at % padded);
            let (here, next) = to.split_at_mut(to.len().min(padded - row));
            let column = &column[row.min(column.len())..];
            let (elements, zeros) = here.split_at_mut(here.len().min(column.len()));
            elements.copy_from_slice(&column[..elements.len()]);
            zeros.fill(Complex64::ZERO);
            (at, to) = (at + padded - row, next);
        }
        true
    }
}

/// As [`LaidElements::copy`].
fn copy_picked<T>(
    from: &[T],
    number: impl Fn(&T) -> Complex64,
    [inner, outer]: &[Vec<u32>; 2],
    strides: [usize; 2],
    mut at: usize,
    mut to: &mut [Complex64],
) -> bool {
    let mut all = true;
    while !to.is_empty() {
        let (first, other) = (at % inner.len(), outer[at / inner.len()]);
        let (here, next) = to.split_at_mut(to.len().min(inner.len() - first));
        for (to, &one) in here.iter_mut().zip(&inner[first..]) {
            *to = match one == NO_INDEX || other == NO_INDEX {
                true => Complex64::ZERO,
                false => number(&from[one as usize * strides[0] + other as usize * strides[1]]),
            };
        }
        all &= range::remain(here);
        (at, to) = (at + here.len(), next);
    }
    all
}

/// The columns of an array in the order of these bands, each with zeros added up to `height` rows, and behind it a copy of
/// the first `rows` rows in single precision.
fn with_copy<'a>(
    array: &ArraySpec,
    height: usize,
    rows: usize,
    bands: &[usize],
    column: impl Fn(usize) -> &'a [Complex64] + Sync,
) -> Result<Vec<Complex64>> {
    let copied = single::elements(rows as u64, bands.len() as u64) as usize;
    let mut all = zeros(array.name(), height * (bands.len() + copied.div_ceil(height)))?;
    let (matrix, behind) = all.split_at_mut(height * bands.len());
    matrix.par_chunks_mut(height).zip(bands).for_each(|(to, &n)| {
        let from = column(n);
        to[..from.len()].copy_from_slice(from);
    });
    copy_in_single(matrix, bytemuck::cast_slice_mut(behind), height, rows);
    Ok(all)
}

/// Makes the copy of the first `rows` rows of a matrix of this height: see [`single`].
fn copy_in_single(matrix: &[Complex64], copy: &mut [Complex32], height: usize, rows: usize) {
    let padded = single::rows(rows as u32) as usize;
    let mut largest = vec![0.0_f64; rows];
    for column in matrix.chunks_exact(height) {
        largest.par_iter_mut().zip(column).with_min_len(1 << 12).for_each(|(most, element)| {
            *most = most.max(element.re.abs()).max(element.im.abs());
        });
    }
    let (times, scales): (Vec<f64>, Vec<f32>) = largest.into_iter().map(single::scales).unzip();
    let (elements, end) = copy.split_at_mut(padded * (matrix.len() / height));
    elements.par_chunks_mut(padded).zip(matrix.par_chunks(height)).for_each(|(to, from)| {
        for (to, (from, times)) in to.iter_mut().zip(from.iter().zip(&times)) {
            let scaled = from * times;
            *to = Complex32::new(scaled.re as f32, scaled.im as f32);
        }
    });
    bytemuck::cast_slice_mut::<_, f32>(end)[..rows].copy_from_slice(&scales);
}

/// A matrix of `rows` rows, by its columns, one for each band, transposed, with zeros added up to `padded` bands.
fn bands_fastest(
    array: &ArraySpec,
    columns: Vec<&[Complex64]>,
    rows: usize,
    padded: usize,
) -> Result<Vec<Complex64>> {
    /// Rows at a time, so that a cache line is used before it is evicted.
    const TILE: usize = 32;
    let mut transposed = zeros(array.name(), padded * rows)?;
    transposed.par_chunks_mut(padded * TILE).enumerate().for_each(|(tile, out)| {
        for (n, column) in columns.iter().enumerate() {
            let chunk = &column[tile * TILE..rows.min((tile + 1) * TILE)];
            chunk.iter().enumerate().for_each(|(row, value)| out[row * padded + n] = *value);
        }
    });
    Ok(transposed)
}

#[cfg(test)]
mod tests;
