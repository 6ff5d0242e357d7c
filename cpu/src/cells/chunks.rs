//! Matrix elements, chunk by chunk of the bands.

use num_complex::Complex64;
use rayon::prelude::*;

use super::CHUNK;
use crate::prefetch::prefetch;

/// A matrix of complex numbers whose columns are bands, chunk by chunk: of each row the real parts of the
/// chunk's bands, then the imaginary ones; zeros behind the last band.
#[derive(Clone, Debug)]
pub struct Chunks {
    values: Vec<f64>,
    /// Numbers of a column.
    pub(super) rows: usize,
}

impl Chunks {
    /// Of columns of `rows` numbers.
    ///
    /// # Panics
    /// Where a column has another length.
    pub fn of(columns: &[&[Complex64]], rows: usize) -> Chunks {
        assert!(columns.iter().all(|column| column.len() == rows), "columns of {rows}");
        let mut values = vec![0.0; columns.len().div_ceil(CHUNK) * rows * 2 * CHUNK];
        let chunks = values.par_chunks_mut((rows * 2 * CHUNK).max(1));
        chunks.zip(columns.par_chunks(CHUNK)).for_each(|(chunk, columns)| {
            for (row, parts) in chunk.chunks_exact_mut(2 * CHUNK).enumerate() {
                let (re, im) = parts.split_at_mut(CHUNK);
                for ((re, im), column) in re.iter_mut().zip(im).zip(columns) {
                    (*re, *im) = (column[row].re, column[row].im);
                }
            }
        });
        Chunks { values, rows }
    }

    /// Bytes of so many columns of `rows` numbers.
    pub fn bytes(columns: usize, rows: usize) -> u64 {
        let of_row = columns.div_ceil(CHUNK) * 2 * CHUNK * size_of::<f64>();
        (of_row as u64).saturating_mul(rows as u64)
    }

    /// A row of a chunk.
    #[inline(always)]
    pub(super) fn row(&self, chunk: usize, row: usize) -> &[f64; 2 * CHUNK] {
        let at = (chunk * self.rows + row) * 2 * CHUNK;
        self.values[at..at + 2 * CHUNK].try_into().expect("as long")
    }

    /// Has a row of a chunk on its way to the cache.
    #[inline(always)]
    pub(super) fn fetch(&self, chunk: usize, row: usize) {
        prefetch(self.row(chunk, row));
    }

    /// A number.
    #[inline(always)]
    pub(super) fn at(&self, band: usize, row: usize) -> Complex64 {
        let parts = self.row(band / CHUNK, row);
        Complex64::new(parts[band % CHUNK], parts[CHUNK + band % CHUNK])
    }
}
