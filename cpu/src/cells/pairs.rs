//! Pairs with their poles, and those next to each other that are summed together.

use num_complex::Complex64;

/// Pairs of a part at most.
pub const PAIRS: usize = 4096;

/// A pair with its pole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pole {
    /// ω̃ in eV.
    pub wtilde: f64,
    /// Its G.
    pub ig: u32,
    /// Its G′.
    pub igp: u32,
    /// `δ − ε⁻¹`.
    pub eps: Complex64,
}

/// Pairs next to each other, of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// No pole of the cell is below, in eV; not a number where all are summed one by one.
    pub low: f64,
    /// No pole of the cell is above.
    pub high: f64,
    /// The first pair.
    pub begin: usize,
    /// Behind the last one.
    pub end: usize,
}
