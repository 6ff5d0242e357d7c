//! The terms as they are, less what depends on the pair only: one branch, exact divisions.
//!
//! With `s = w + ω̃` the second branch is `ssx = −Ω²/(2ω̃·s)`, so both are `Ω²·y` with a `y` that is
//! one complex reciprocal.

use num_complex::Complex;

use super::{ENERGIES, Shape, each_band, near2, odd_pair};
use crate::arrays::{Arrays, Sums};
use crate::formula::{first_denominator, second_denominator, wdiff};
use crate::grid::{Thread, each};
use crate::real::Real;
use crate::versions::v1::reciprocal;

/// Its shape.
pub const SHAPE: Shape = Shape { tile: 1, warps: 8 };

/// One thread's sums, one pair a thread.
///
/// # Safety
/// Arrays and plan valid for their extents.
#[inline(always)]
pub unsafe fn body<R: Real, const NW: usize>(a: &Arrays, thread: Thread) -> Sums<R, NW> {
    if SHAPE.is_odd(a, thread) {
        // SAFETY: the caller's contract.
        return unsafe { odd_pair(a, thread.index) };
    }
    let place = SHAPE.place(a, thread);
    // SAFETY: the caller's contract.
    let (wtilde, weight) = unsafe { (place.wtilde::<R>(a, 0), place.weight::<R>(a, 0)) };
    let near2 = near2(a, wtilde);
    let wtilde2 = wtilde * wtilde;
    // |Ω²·y| > sexcut·|eps| is |y|² > bound.
    let sexcut = R::of(a.limits.sexcut);
    let bound = sexcut * sexcut / wtilde2.norm_sqr();
    let zero = Complex::new(R::zero(), R::zero());
    let (mut q, mut y) = ([zero; NW], [zero; NW]);

    // SAFETY: the caller's contract.
    unsafe {
        each_band::<1, ENERGIES>(a, place, 0, a.plan.occupied, |n, band| {
            let m = band.matngmatmgp::<R>(0);
            let occ = a.occ::<R>(n);
            each::<NW>(|e| {
                let w = band.w::<R>(e);
                let d = wdiff(w, wtilde);
                let denominator = if d.norm_sqr() > near2 {
                    q[e] = q[e] + m * reciprocal(d);
                    first_denominator(w + wtilde.re, d, wtilde, wtilde2)
                } else {
                    -second_denominator(w + wtilde.re, wtilde)
                };
                let one = reciprocal(denominator);
                // At w = −ω̃ it is infinite, NaN in the arithmetic: not below the bound either.
                if w >= R::zero() || one.norm_sqr() <= bound {
                    y[e] = y[e] + m * one * occ;
                }
            });
        });
        each_band::<1, ENERGIES>(a, place, a.plan.occupied, a.nbands, |_, band| {
            let m = band.matngmatmgp::<R>(0);
            each::<NW>(|e| {
                let d = wdiff(band.w::<R>(e), wtilde);
                if d.norm_sqr() > near2 {
                    q[e] = q[e] + m * reciprocal(d);
                }
            });
        });
    }
    let mut sums = Sums::zero();
    let (omega2, half) = (weight * wtilde2, weight * (wtilde * R::of(0.5)));
    each::<NW>(|e| {
        sums.asx[e] = sums.asx[e] - omega2 * y[e];
        sums.ach[e] = sums.ach[e] + half * q[e];
    });
    sums
}
