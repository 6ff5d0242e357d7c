//! Where the matrix elements of many bands come from.

use num_complex::Complex64;

use crate::problem::System;
use crate::problem::synthesis;

/// `A_l(ig,n)` of bands l.
pub trait Elements: Sync {
    /// Bands l.
    fn bands(&self) -> usize;

    /// Fills in `A_l(:,n)`, all ig of a band l and an n (0-based).
    fn column(&self, l: usize, n: usize, column: &mut [Complex64]);
}

/// Those of a built-in system: any l and n by the seed alone, falling with |G| as `aqsn` does.
pub struct Synthesised<'a> {
    columns: synthesis::Elements<'a>,
    bands: usize,
}

impl<'a> Synthesised<'a> {
    /// Of so many bands of a system.
    pub fn new(system: &'a System, seed: u64, bands: usize) -> Synthesised<'a> {
        Synthesised { columns: synthesis::Elements::new(system, seed), bands }
    }
}

impl Elements for Synthesised<'_> {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.columns.column(l, n, column);
    }
}
