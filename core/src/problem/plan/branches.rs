//! Where the two branches of the formula meet, and which poles they are written for.

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

/// Largest pole, energy and width of the fast loops: products of four of them are finite. Larger poles are summed by
/// the definition.
pub const LARGEST: f64 = 1e30;

/// Relative to gamma: of smaller poles `|delw|²` may fall to `TOL_ZERO` within the second branch.
pub const SMALLEST: f64 = 2e-6;

/// Largest `|w − ω̃|²` of the second branch.
pub fn near2(limits: Limits, pole: Complex64) -> f64 {
    limits.limittwo.max(pole.norm_sqr() / limits.limitone)
}
