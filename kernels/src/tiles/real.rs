//! Purely real poles: `q = 1/(w − ω̃)` and `y = 1/(w² − ω̃²)` are real, so each accumulation is two
//! fused operations, and one reciprocal gives both.
//!
//! With `d = w − ω̃` and `s = w + ω̃` the two branches are the same quotient of another denominator:
//! `z = (near ? −2ω̃ : d) · s`, `y = 1/z`, and away from the pole `q = s·y`.

use core::array::{from_fn, from_mut};
use core::hint::select_unpredictable;

use num_complex::Complex;

use super::{ENERGIES, Place, Shape, add, near2, odd_pair};
use crate::arrays::{Arrays, Sums};
use crate::grid::{Thread, each};
use crate::quotient::reciprocal_unless;
use crate::real::Real;
use crate::target::each_staged_band;

/// What the loops need of one pole.
#[derive(Clone, Copy)]
pub(super) struct Pole<R> {
    pub(super) wtilde: R,
    /// Largest |w − ω̃| of the second branch, its upper word.
    near: f32,
}

impl<R: Real> Pole<R> {
    /// The pole of column `t`.
    ///
    /// # Safety
    /// Arrays and plan valid for their extents.
    #[inline(always)]
    pub(super) unsafe fn of(a: &Arrays, place: Place, t: usize) -> Self {
        // SAFETY: the caller's contract.
        let wtilde = unsafe { place.wtilde::<R>(a, t) };
        Pole { wtilde: wtilde.re, near: near2(a, wtilde).sqrt().upper() }
    }

    /// Whether `d = w − ω̃` takes the second branch. No energy is near enough to the bound for the
    /// lower word to matter: such poles are odd.
    #[inline(always)]
    pub(super) fn is_near(&self, d: R) -> bool {
        d.upper() <= self.near
    }

    /// `d`, `s`, `z`, and whether `d` is near.
    #[inline(always)]
    pub(super) fn denominators(&self, w: R) -> (R, R, R, bool) {
        let (d, s) = (w - self.wtilde, w + self.wtilde);
        let near = self.is_near(d);
        (d, s, select_unpredictable(near, self.wtilde * R::of(-2.0), d) * s, near)
    }

    /// `y` and `q` of an energy that nothing cuts off; a `q` near the pole is next to nothing, one
    /// selection instead of two.
    #[inline(always)]
    pub(super) fn quotients(&self, w: R) -> (R, R) {
        let (_, s, z, near) = self.denominators(w);
        let y = reciprocal_unless(false, z);
        (y, s.upper_unless(near) * y)
    }

    /// `y` and `q` of an energy that may be cut off, with the cutoff of `a`.
    #[inline(always)]
    pub(super) fn cut_quotients(&self, a: &Arrays, w: R) -> (R, R) {
        let (d, _, z, near) = self.denominators(w);
        let bound = self.wtilde * self.wtilde / R::of(a.limits.sexcut);
        let cut = w < R::zero() && z * z < bound * bound;
        (reciprocal_unless(cut, z), reciprocal_unless(near, d))
    }

    /// `q`.
    #[inline(always)]
    pub(super) fn quotient(&self, w: R) -> R {
        let d = w - self.wtilde;
        reciprocal_unless(self.is_near(d), d)
    }
}

/// A sum of `M·q`, without what is left of those near the pole.
#[inline(always)]
pub(super) fn flushed<R: Real>(q: Complex<R>) -> Complex<R> {
    Complex::new(q.re.flushed(), q.im.flushed())
}

/// One thread's sums over tiles of `T` columns, `W` warps a block.
///
/// # Safety
/// Arrays and plan valid for their extents, all poles that are not odd real and positive.
#[inline(always)]
pub unsafe fn body<R: Real, const NW: usize, const T: usize, const W: usize>(
    a: &Arrays,
    thread: Thread,
) -> Sums<R, NW> {
    let shape = Shape { tile: T as u32, warps: W as u32 };
    if shape.is_odd(a, thread) {
        // SAFETY: the caller's contract.
        return unsafe { odd_pair(a, thread.index) };
    }
    let place = shape.place(a, thread);
    // SAFETY: the caller's contract.
    let poles: [Pole<R>; T] = from_fn(|t| unsafe { Pole::of(a, place, t) });
    let zero = [[Complex::new(R::zero(), R::zero()); NW]; T];
    let (mut q, mut y) = (zero, zero);

    // SAFETY: the caller's contract.
    unsafe {
        each_staged_band::<T, W, ENERGIES>(a, place, 0, a.plan.plain, |_, band| {
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                let both: [(R, R); NW] = from_fn(|e| poles[t].quotients(band.w(e)));
                add(&mut y[t], m, both.map(|(y, _)| y));
                add(&mut q[t], m, both.map(|(_, q)| q));
            });
        });
        each_staged_band::<T, W, ENERGIES>(a, place, a.plan.plain, a.plan.occupied, |n, band| {
            let occ = a.occ::<R>(n);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| {
                    let (one, quotient) = poles[t].cut_quotients(a, band.w(e));
                    add(from_mut(&mut y[t][e]), m, [one * occ]);
                    add(from_mut(&mut q[t][e]), m, [quotient]);
                });
            });
        });
    }
    let mut sums = Sums::zero();
    each::<T>(|t| {
        // SAFETY: the caller's contract.
        let omega2 = unsafe { place.weight::<R>(a, t) } * (poles[t].wtilde * poles[t].wtilde);
        each::<NW>(|e| sums.asx[e] = sums.asx[e] - omega2 * y[t][e]);
    });
    // SAFETY: the caller's contract.
    unsafe {
        each_staged_band::<T, W, ENERGIES>(a, place, a.plan.occupied, a.nbands, |_, band| {
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                add(&mut q[t], m, from_fn(|e| poles[t].quotient(band.w(e))));
            });
        });
    }
    each::<T>(|t| {
        // SAFETY: the caller's contract.
        let half = unsafe { place.weight::<R>(a, t) } * (poles[t].wtilde * R::of(0.5));
        each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * flushed(q[t][e]));
    });
    sums
}
