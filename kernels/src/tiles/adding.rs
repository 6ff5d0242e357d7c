//! The order in which products are added up.

use num_complex::Complex;

use crate::grid::each;
use crate::real::Real;

/// Adds `m` times a real factor to each of `N` sums.
///
/// An FP64 instruction with three operands of its own takes three cycles to read them and only two
/// to issue. The order is such that each shares one with the instruction before, which the hardware
/// then need not read again: the factor, then a part of `m`, in turn.
#[inline(always)]
pub(super) fn add<R: Real, const N: usize>(
    sums: &mut [Complex<R>; N],
    m: Complex<R>,
    factors: [R; N],
) {
    each::<N>(|at| {
        let (sum, factor) = (&mut sums[at], factors[at]);
        if at % 2 == 0 {
            sum.re = sum.re + m.re * factor;
            sum.im = sum.im + m.im * factor;
        } else {
            sum.im = sum.im + m.im * factor;
            sum.re = sum.re + m.re * factor;
        }
    });
}
