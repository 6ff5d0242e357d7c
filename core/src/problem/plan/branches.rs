//! Where the two branches of the formula meet.

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

/// Largest `|w − ω̃|²` of the second branch.
pub fn near2(limits: Limits, pole: Complex64) -> f64 {
    limits.limittwo.max(pole.norm_sqr() / limits.limitone)
}
