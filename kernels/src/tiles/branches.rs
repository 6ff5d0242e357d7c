//! The terms as they are, less what depends on the pair only: one branch, exact divisions.
//!
//! With `s = w + ω̃` the second branch is `ssx = −Ω²/(2ω̃·s)`, so both are `Ω²·y` with a `y` that is
//! one complex reciprocal.

use core::array::from_fn;
use core::marker::PhantomData;

use num_complex::Complex;

use super::Fraction;
use super::bands::Bands;
use super::energies::Energies;
use super::near::{self, NearTest};
use crate::arrays::Arrays;
use crate::formula::{first_denominator, second_denominator, wdiff};
use crate::grid::each;
use crate::plan::Poles;
use crate::quotient::reciprocal;
use crate::real::Real;
use crate::sums::Sums;
use crate::table::EnergiesFrom;
use crate::tiling::Place;

/// Terms with a branch, far bands like other empty ones.
pub struct Branches<B, E, N>(PhantomData<(B, E, N)>);

/// What the loops need of one pole.
#[derive(Clone, Copy)]
struct Pole<R: Real, N: NearTest> {
    wtilde: Complex<R>,
    wtilde2: Complex<R>,
    near: N::Bound<R>,
    /// |Ω²·y| > sexcut·|eps| is |y|² above this.
    cutoff: R,
}

impl<B: Bands, E: Energies, N: NearTest> Fraction for Branches<B, E, N> {
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
            let wtilde2 = wtilde * wtilde;
            let sexcut = R::of(a.limits.sexcut);
            let cutoff = sexcut * sexcut / wtilde2.norm_sqr();
            Pole { wtilde, wtilde2, near: N::bound(near::largest2(a, wtilde)), cutoff }
        });
        let zero = [[Complex::new(R::zero(), R::zero()); NW]; T];
        let (mut q, mut y) = (zero, zero);

        // SAFETY: the launch contract; the classes end within nbands.
        unsafe {
            B::each::<T, W, E>(a, place, 0, a.plan.occupied, |n, band| {
                let (energies, occ) = (band.wx::<R, NW>(a, n), a.occ::<R>(n));
                each::<T>(|t| {
                    let m = band.matngmatmgp::<R>(t);
                    let Pole { wtilde, wtilde2, near, cutoff } = poles[t];
                    each::<NW>(|e| {
                        let w = energies[e];
                        let d = wdiff(w, wtilde);
                        let denominator = if !N::is_near(d.norm_sqr(), near) {
                            q[t][e] = q[t][e] + m * reciprocal(d);
                            first_denominator(w + wtilde.re, d, wtilde, wtilde2)
                        } else {
                            -second_denominator(w + wtilde.re, wtilde)
                        };
                        let one = reciprocal(denominator);
                        // At w = −ω̃ it is infinite, NaN in the arithmetic: not below the cutoff either.
                        if w >= R::zero() || one.norm_sqr() <= cutoff {
                            y[t][e] = y[t][e] + m * one * occ;
                        }
                    });
                });
            });
            B::each::<T, W, E>(a, place, a.plan.occupied, a.nbands, |n, band| {
                let energies = band.wx::<R, NW>(a, n);
                each::<T>(|t| {
                    let m = band.matngmatmgp::<R>(t);
                    each::<NW>(|e| {
                        let d = wdiff(energies[e], poles[t].wtilde);
                        if !N::is_near(d.norm_sqr(), poles[t].near) {
                            q[t][e] = q[t][e] + m * reciprocal(d);
                        }
                    });
                });
            });
        }
        let mut sums = Sums::zero();
        each::<T>(|t| {
            let Pole { wtilde, wtilde2, .. } = poles[t];
            // SAFETY: the launch contract.
            let weight = unsafe { place.weight::<R>(a, t) };
            let (omega2, half) = (weight * wtilde2, weight * (wtilde * R::of(0.5)));
            each::<NW>(|e| {
                sums.asx[e] = sums.asx[e] - omega2 * y[t][e];
                sums.ach[e] = sums.ach[e] + half * q[t][e];
            });
        });
        sums
    }
}
