//! Some rows of a matrix.

use std::ops::Range;

use num_complex::Complex64;

/// Neighbouring rows of a column-major matrix.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    all: &'a [Complex64],
    /// Rows of the whole matrix.
    stride: usize,
    begin: usize,
    end: usize,
}

impl<'a> Rows<'a> {
    /// All rows of a matrix of so many.
    pub(super) fn of(all: &'a [Complex64], rows: usize) -> Rows<'a> {
        Rows { all, stride: rows, begin: 0, end: rows }
    }

    /// Those of these rows, by their numbers among them (0-based).
    pub(super) fn part(self, rows: Range<usize>) -> Rows<'a> {
        Rows { begin: self.begin + rows.start, end: self.begin + rows.end, ..self }
    }

    /// The rows of column `n` (0-based), next to each other.
    pub fn column(self, n: usize) -> &'a [Complex64] {
        &self.all[n * self.stride..(n + 1) * self.stride][self.begin..self.end]
    }

    /// All columns one after the other.
    pub fn columns(self) -> impl ExactSizeIterator<Item = &'a [Complex64]> + Clone {
        self.all.chunks_exact(self.stride).map(move |column| &column[self.begin..self.end])
    }

    /// How many rows.
    pub fn rows(self) -> usize {
        self.end - self.begin
    }

    /// The matrix, where these are all of its rows.
    pub fn whole(self) -> Option<&'a [Complex64]> {
        (self.rows() == self.stride).then_some(self.all)
    }
}

impl PartialEq for Rows<'_> {
    fn eq(&self, other: &Rows) -> bool {
        self.columns().eq(other.columns())
    }
}
