//! What threads, blocks and launches sum.

use num_complex::Complex;

use crate::real::Real;

/// Values that one energy contributes, in the order in which blocks store them: `Re asx`, `Im asx`,
/// `Re ach`, `Im ach`.
pub const VALUES: usize = 4;

/// Most values of a launch: three energies.
pub const MAX_VALUES: usize = 3 * VALUES;

/// What one thread, one block or one launch has summed: a complex pair for each energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums<R, const NW: usize> {
    /// Screened-exchange sums, with the sign of the definition.
    pub asx: [Complex<R>; NW],
    /// Coulomb-hole sums.
    pub ach: [Complex<R>; NW],
}

impl<R: Real, const NW: usize> Sums<R, NW> {
    /// Nothing summed yet.
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = Complex::new(R::zero(), R::zero());
        Sums { asx: [zero; NW], ach: [zero; NW] }
    }
}
