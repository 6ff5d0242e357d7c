//! What threads, blocks and launches sum.

use num_complex::{Complex, Complex64};

/// Values that one energy contributes, in the order in which blocks store them: `Re asx`, `Im asx`,
/// `Re ach`, `Im ach`.
pub const VALUES: usize = 4;

/// Most values of a launch: three energies.
pub const MAX_VALUES: usize = 3 * VALUES;

/// What one thread, one block or one launch has summed: a complex pair for each energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums<const NW: usize> {
    /// Screened-exchange sums, with the sign of the definition.
    pub asx: [Complex64; NW],
    /// Coulomb-hole sums.
    pub ach: [Complex64; NW],
}

impl<const NW: usize> Sums<NW> {
    /// Nothing summed yet.
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = Complex::new(0.0, 0.0);
        Sums { asx: [zero; NW], ach: [zero; NW] }
    }
}
