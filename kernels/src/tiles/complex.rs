//! Complex poles, in partial fractions.
//!
//! With `q = 1/(w − ω̃)`, zero near the pole, and `p = 1/(w + ω̃)`, both branches are
//! `ssx = ½ω̃·eps·(q − p)` and `sch = ω̃·eps·q`: no choice of denominators is left. And with
//! `1/z = conj(z)/|z|²`, where `Im z = ∓Im ω̃` is the pair's own, a sum over `M·q` or `M·(q − p)` is two
//! sums of `M` times something real.
//!
//! `q − p` is taken term by term. Where `|w|` is `κ` times `|ω̃|` it loses `3κ` roundings, which the
//! plan bounds; the difference of two sums would lose as many for each band.

use core::array::from_fn;
use core::hint::select_unpredictable;

use num_complex::Complex;

use super::{ENERGIES, RawBand, Shape, add, bands, near2, odd_pair};
use crate::arrays::{Arrays, Sums};
use crate::grid::{Thread, each};
use crate::quotient::reciprocal_unless;
use crate::real::Real;

/// What the loops need of one pole.
#[derive(Clone, Copy)]
struct Pole<R> {
    re: R,
    /// Square of the imaginary part.
    im2: R,
    /// Largest |w − ω̃|² of the second branch, its upper word.
    near2: f32,
}

impl<R: Real> Pole<R> {
    /// Whether `d2 = |w − ω̃|²` takes the second branch. No energy is near enough to the bound for
    /// the lower word to matter: such poles are odd.
    #[inline(always)]
    fn is_near(&self, d2: R) -> bool {
        d2.upper() <= self.near2
    }
}

/// The sum of `M·f` for factors `f` whose imaginary part is a real number times the pair's `Im ω̃`: the
/// sums of `M` times that number and of `M·Re f`.
#[derive(Clone, Copy)]
struct Split<R>([Complex<R>; 2]);

impl<R: Real> Split<R> {
    fn zero() -> Self {
        Split([Complex::new(R::zero(), R::zero()); 2])
    }

    /// Adds `M·f` for `Im f / Im ω̃` and `Re f`.
    #[inline(always)]
    fn add(&mut self, m: Complex<R>, im: R, re: R) {
        add(&mut self.0, m, [im, re]);
    }

    /// The sum, for `im = Im ω̃`.
    #[inline(always)]
    fn sum(&self, im: R) -> Complex<R> {
        let Split([factor, re]) = self;
        Complex::new(re.re - im * factor.im, re.im + im * factor.re)
    }
}

/// One thread's sums over tiles of `T` columns, `W` warps a block, bands from global memory.
///
/// # Safety
/// Arrays and plan valid for their extents.
#[inline(always)]
pub unsafe fn direct<R: Real, const NW: usize, const T: usize, const W: usize>(
    a: &Arrays,
    thread: Thread,
) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { body::<R, NW, T, W, ENERGIES, false>(a, thread) }
}

/// [`direct`] with bands staged in shared memory.
///
/// # Safety
/// As [`direct`].
#[inline(always)]
pub unsafe fn staged<R: Real, const NW: usize, const T: usize, const W: usize>(
    a: &Arrays,
    thread: Thread,
) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { body::<R, NW, T, W, ENERGIES, true>(a, thread) }
}

/// [`staged`] with energies from the constant memory, and far bands for themselves.
///
/// # Safety
/// As [`direct`].
#[inline(always)]
pub unsafe fn constant<R: Real, const NW: usize, const T: usize, const W: usize>(
    a: &Arrays,
    thread: Thread,
) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { body::<R, NW, T, W, 0, true>(a, thread) }
}

/// One thread's sums; the bands hold `E` energies, or none where they are in the constant memory.
///
/// # Safety
/// As [`direct`].
#[inline(always)]
unsafe fn body<
    R: Real,
    const NW: usize,
    const T: usize,
    const W: usize,
    const E: usize,
    const STAGED: bool,
>(
    a: &Arrays,
    thread: Thread,
) -> Sums<R, NW> {
    let shape = Shape { tile: T as u32, warps: W as u32 };
    if shape.is_odd(a, thread) {
        // SAFETY: the caller's contract.
        return unsafe { odd_pair(a, thread.index) };
    }
    let place = shape.place(a, thread);
    let poles: [Pole<R>; T] = from_fn(|t| {
        // SAFETY: the caller's contract.
        let wtilde = unsafe { place.wtilde::<R>(a, t) };
        Pole { re: wtilde.re, im2: wtilde.im * wtilde.im, near2: near2(a, wtilde).upper() }
    });
    // The factors ω̃ and ½·vcoul·ω̃·eps, read again where they are needed, not held in the loops.
    // SAFETY: the caller's contract.
    let factors = |t: usize| unsafe {
        let wtilde = place.wtilde::<R>(a, t);
        (wtilde, place.weight::<R>(a, t) * (wtilde * R::of(0.5)))
    };
    // SAFETY: the caller's contract.
    let energies = |n: u32, band: &RawBand<T, E>| unsafe {
        if E > 0 { from_fn(|e| band.w::<R>(e)) } else { a.plan.table.energies::<R, NW>(n) }
    };
    let far = if E > 0 { a.nbands } else { a.plan.far };
    let mut sums = Sums::zero();
    let zero = [[Split::zero(); NW]; T];
    let (mut q, mut y) = (zero, zero);

    // SAFETY: the caller's contract.
    unsafe {
        bands::<T, W, E, STAGED>(a, place, 0, a.plan.plain, |n, band| {
            let w = energies(n, band);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                let pole = &poles[t];
                each::<NW>(|e| {
                    let (d, s) = (w[e] - pole.re, w[e] + pole.re);
                    let (d2, s2) = (d * d + pole.im2, s * s + pole.im2);
                    let one_q = reciprocal_unless(pole.is_near(d2), d2);
                    let one_p = reciprocal_unless(false, s2);
                    let re = d * one_q;
                    q[t][e].add(m, one_q, re);
                    y[t][e].add(m, one_q + one_p, re - s * one_p);
                });
            });
        });
    }
    if a.plan.plain < a.plan.occupied {
        // SAFETY: the caller's contract.
        unsafe {
            bands::<T, W, E, STAGED>(a, place, a.plan.plain, a.plan.occupied, |n, band| {
                let (energies, occ) = (energies(n, band), a.occ::<R>(n));
                each::<T>(|t| {
                    let m = band.matngmatmgp(t);
                    let pole = &poles[t];
                    let size2 = pole.re * pole.re + pole.im2;
                    let bound = size2 / R::of(a.limits.sexcut);
                    each::<NW>(|e| {
                        let w = energies[e];
                        let (d, s) = (w - pole.re, w + pole.re);
                        let (d2, s2) = (d * d + pole.im2, s * s + pole.im2);
                        let near = pole.is_near(d2);
                        let z2 = select_unpredictable(near, size2 * R::of(4.0), d2) * s2;
                        let cut = w < R::zero() && z2 < bound * bound;
                        let one_q = reciprocal_unless(near, d2);
                        let one_p = reciprocal_unless(cut, s2);
                        let re = d * one_q;
                        q[t][e].add(m, one_q, re);
                        let m = m * select_unpredictable(cut, R::zero(), occ);
                        y[t][e].add(m, one_q + one_p, re - s * one_p);
                    });
                });
            });
        }
    }
    each::<T>(|t| {
        let (wtilde, half) = factors(t);
        each::<NW>(|e| sums.asx[e] = sums.asx[e] - half * y[t][e].sum(wtilde.im));
    });
    // SAFETY: the caller's contract.
    unsafe {
        bands::<T, W, E, STAGED>(a, place, a.plan.occupied, far, |n, band| {
            let w = energies(n, band);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                let pole = &poles[t];
                each::<NW>(|e| {
                    let d = w[e] - pole.re;
                    let d2 = d * d + pole.im2;
                    let one = reciprocal_unless(pole.is_near(d2), d2);
                    q[t][e].add(m, one, d * one);
                });
            });
        });
        // No pole is near.
        bands::<T, W, E, STAGED>(a, place, far, a.nbands, |n, band| {
            let w = energies(n, band);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                let pole = &poles[t];
                each::<NW>(|e| {
                    let d = w[e] - pole.re;
                    let one = reciprocal_unless(false, d * d + pole.im2);
                    q[t][e].add(m, one, d * one);
                });
            });
        });
    }
    each::<T>(|t| {
        let (wtilde, half) = factors(t);
        each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * q[t][e].sum(wtilde.im));
    });
    sums
}
