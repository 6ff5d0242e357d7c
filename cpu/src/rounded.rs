//! For cpu:single, `aqsn` and `aqsm` rounded to single precision, sixteen bands of one `ig` or `igp` in a row.

use fearless_simd::prelude::*;
use rayon::prelude::*;

use crate::simd::{Lines, WIDTH};

/// Bands of a row.
pub const BANDS: usize = 2 * WIDTH;

/// A number of each band of a row.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub struct Row(pub [f32; BANDS]);

impl Row {
    #[inline(always)]
    pub fn vector<S: Simd>(&self, token: S, lane: usize) -> S::f32s {
        let lane = lane.min(BANDS - S::f32s::LEN);
        S::f32s::from_slice(token, &self.0[lane..lane + S::f32s::LEN])
    }
}

/// The largest power of two below a number, 1 for zero.
pub fn power_of_two(x: f64) -> f64 {
    let exponent = x.to_bits() >> 52;
    if exponent == 0 { 1.0 } else { f64::from_bits(exponent << 52) }
}

/// Lane by lane the larger one of a number and the size of another, which NaN never is.
#[inline(always)]
fn larger(than: [f64; WIDTH], x: &[f64; WIDTH]) -> [f64; WIDTH] {
    std::array::from_fn(|lane| if x[lane].abs() > than[lane] { x[lane].abs() } else { than[lane] })
}

/// Rounds a row of matrix elements for all bands, and returns the power of two that they have lost.
#[inline(always)]
pub fn round(from: &[Lines], to: &mut [[Row; 2]]) -> f64 {
    // Four maxima, so that none waits for the one before.
    let mut largest = [[0.0; WIDTH]; 4];
    let mut pairs = from.chunks_exact(2);
    for lines in &mut pairs {
        for at in 0..4 {
            largest[at] = larger(largest[at], &lines[at / 2][at % 2].0);
        }
    }
    for part in pairs.remainder().iter().flatten() {
        largest[0] = larger(largest[0], &part.0);
    }
    let scale = power_of_two(largest.into_iter().flatten().fold(0.0, f64::max));
    let inverse = 1.0 / scale;
    for (row, lines) in to.iter_mut().zip(from.chunks(2)) {
        *row = [Row::default(); 2];
        for (half, line) in lines.iter().enumerate() {
            for part in 0..2 {
                for lane in 0..WIDTH {
                    row[part].0[half * WIDTH + lane] = (line[part].0[lane] * inverse) as f32;
                }
            }
        }
    }
    scale
}

/// Columns of matrix elements, bands next to each other, in single precision.
#[derive(Default)]
pub struct Rounded {
    rows: Vec<[Row; 2]>,
    of_column: usize,
    /// What each column is divided by, a power of two.
    pub scales: Vec<f64>,
}

impl Rounded {
    /// Rounds columns of `of_column` lines each.
    pub fn new(lines: &[Lines], of_column: usize) -> Rounded {
        let (columns, of_row) = (lines.len() / of_column.max(1), of_column.div_ceil(2));
        let mut rounded = Rounded {
            rows: vec![[Row::default(); 2]; columns * of_row],
            of_column: of_row,
            scales: vec![1.0; columns],
        };
        let columns = lines.par_chunks(of_column.max(1)).zip(&mut rounded.scales);
        let rows = rounded.rows.par_chunks_mut(of_row.max(1));
        rows.zip(columns).for_each(|(to, (from, scale))| *scale = round(from, to));
        rounded
    }

    pub fn bytes(columns: usize, of_column: usize) -> u64 {
        (columns * of_column.div_ceil(2) * size_of::<[Row; 2]>()) as u64
    }

    #[inline(always)]
    pub fn column(&self, column: usize) -> &[[Row; 2]] {
        &self.rows[column * self.of_column..][..self.of_column]
    }
}
