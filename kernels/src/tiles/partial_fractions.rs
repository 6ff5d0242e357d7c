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
use core::marker::PhantomData;

use num_complex::Complex;

use super::bands::Bands;
use super::energies::Energies;
use super::far::FarBands;
use super::near::{self, NearTest};
use super::{Fraction, add};
use crate::arrays::Arrays;
use crate::grid::each;
use crate::plan::Poles;
use crate::quotient::reciprocal_unless;
use crate::real::Real;
use crate::sums::Sums;
use crate::table::EnergiesFrom;
use crate::tiling::Place;

/// Partial fractions of any poles, reciprocals approximated and corrected once. Bands that are far for
/// `F` are summed without a test for the second branch.
pub struct PartialFractions<B, E, N, F>(PhantomData<(B, E, N, F)>);

/// What the loops need of one pole.
#[derive(Clone, Copy)]
struct Pole<R: Real, N: NearTest> {
    re: R,
    /// Square of the imaginary part.
    im2: R,
    /// Of the largest |w − ω̃|² of the second branch.
    near: N::Bound<R>,
}

impl<R: Real, N: NearTest> Pole<R, N> {
    /// Whether `d2 = |w − ω̃|²` takes the second branch.
    #[inline(always)]
    fn is_near(&self, d2: R) -> bool {
        N::is_near(d2, self.near)
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

impl<B: Bands, E: Energies, N: NearTest, F: FarBands> Fraction for PartialFractions<B, E, N, F> {
    const POLES: Poles = Poles::Any;
    const ENERGIES: EnergiesFrom = E::FROM;

    #[inline(always)]
    unsafe fn sums<R: Real, const NW: usize, const T: usize, const W: usize>(
        a: &Arrays,
        place: Place,
    ) -> Sums<R, NW> {
        let poles: [Pole<R, N>; T] = from_fn(|t| {
            // SAFETY: the launch contract.
            let wtilde = unsafe { place.wtilde::<R>(a, t) };
            let near = N::bound(near::largest2(a, wtilde));
            Pole { re: wtilde.re, im2: wtilde.im * wtilde.im, near }
        });
        // The factors ω̃ and ½·vcoul·ω̃·eps, read again where they are needed, not held in the loops.
        // SAFETY: the launch contract.
        let factors = |t: usize| unsafe {
            let wtilde = place.wtilde::<R>(a, t);
            (wtilde, place.weight::<R>(a, t) * (wtilde * R::of(0.5)))
        };
        let far_begin = F::begin(a);
        let mut sums = Sums::zero();
        let zero = [[Split::zero(); NW]; T];
        let (mut q, mut y) = (zero, zero);

        // SAFETY: the launch contract; the classes end within nbands.
        unsafe {
            B::each::<T, W, E>(a, place, 0, a.plan.plain, |n, band| {
                let w: [R; NW] = band.wx(a, n);
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
            // SAFETY: as above.
            unsafe {
                B::each::<T, W, E>(a, place, a.plan.plain, a.plan.occupied, |n, band| {
                    let (energies, occ): ([R; NW], R) = (band.wx(a, n), a.occ(n));
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
        // SAFETY: as above.
        unsafe {
            B::each::<T, W, E>(a, place, a.plan.occupied, far_begin, |n, band| {
                let w: [R; NW] = band.wx(a, n);
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
            B::each::<T, W, E>(a, place, far_begin, a.nbands, |n, band| {
                let w: [R; NW] = band.wx(a, n);
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
}
