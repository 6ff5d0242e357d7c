//! Purely real poles: `q = 1/(w − ω̃)` and `y = 1/(w² − ω̃²)` are real, so each accumulation is two
//! fused operations, and one reciprocal gives both.
//!
//! With `d = w − ω̃` and `s = w + ω̃` the two branches are the same quotient of another denominator:
//! `z = (near ? −2ω̃ : d) · s`, `y = 1/z`, and away from the pole `q = s·y`.

use core::array::{from_fn, from_mut};
use core::hint::select_unpredictable;
use core::marker::PhantomData;

use num_complex::Complex;

use super::bands::Bands;
use super::energies::Energies;
use super::far::{FarBands, LikeEmpty};
use super::near::{self, NearTest};
use super::{Fraction, add};
use crate::arrays::Arrays;
use crate::grid::each;
use crate::plan::Poles;
use crate::quotient::reciprocal_unless;
use crate::real::Real;
use crate::sums::Sums;
use crate::table::{EnergiesFrom, Table};
use crate::tiling::Place;

/// Quotients of purely real, positive poles, reciprocals approximated and corrected once.
pub struct RealPoles<B, E, N, F>(PhantomData<(B, E, N, F)>);

/// How `q` is summed over far bands.
pub trait FarSums: FarBands {
    /// The sums of one pair.
    type Of<R: Real, const NW: usize>: Copy;

    /// Nothing summed yet.
    fn zero<R: Real, const NW: usize>() -> Self::Of<R, NW>;

    /// Adds a band with energies `w`, for the pole `wtilde`.
    fn add<R: Real, const NW: usize>(
        sums: &mut Self::Of<R, NW>,
        m: Complex<R>,
        w: &[R; NW],
        wtilde: R,
        table: &Table,
    );

    /// `q`, the sums over the other bands, with those over far bands.
    fn join<R: Real, const NW: usize>(
        q: [Complex<R>; NW],
        sums: &Self::Of<R, NW>,
        table: &Table,
    ) -> [Complex<R>; NW];
}

impl FarSums for LikeEmpty {
    type Of<R: Real, const NW: usize> = ();

    #[inline(always)]
    fn zero<R: Real, const NW: usize>() {}

    #[inline(always)]
    fn add<R: Real, const NW: usize>(_: &mut (), _: Complex<R>, _: &[R; NW], _: R, _: &Table) {}

    #[inline(always)]
    fn join<R: Real, const NW: usize>(q: [Complex<R>; NW], (): &(), _: &Table) -> [Complex<R>; NW] {
        q
    }
}

/// What the loops need of one pole.
#[derive(Clone, Copy)]
struct Pole<R: Real, N: NearTest> {
    wtilde: R,
    /// Of the largest |w − ω̃| of the second branch.
    near: N::Bound<R>,
}

impl<R: Real, N: NearTest> Pole<R, N> {
    /// Whether `d = w − ω̃` takes the second branch.
    #[inline(always)]
    fn is_near(&self, d: R) -> bool {
        N::is_near(d, self.near)
    }

    /// `d`, `s`, `z`, and whether `d` is near.
    #[inline(always)]
    fn denominators(&self, w: R) -> (R, R, R, bool) {
        let (d, s) = (w - self.wtilde, w + self.wtilde);
        let near = self.is_near(d);
        (d, s, select_unpredictable(near, self.wtilde * R::of(-2.0), d) * s, near)
    }

    /// `y` and `q` of an energy that nothing cuts off; a `q` near the pole is next to nothing, one
    /// selection instead of two.
    #[inline(always)]
    fn quotients(&self, w: R) -> (R, R) {
        let (_, s, z, near) = self.denominators(w);
        let y = reciprocal_unless(false, z);
        (y, s.upper_unless(near) * y)
    }

    /// `y` and `q` of an energy that may be cut off, with the cutoff of `a`.
    #[inline(always)]
    fn cut_quotients(&self, a: &Arrays, w: R) -> (R, R) {
        let (d, _, z, near) = self.denominators(w);
        let bound = self.wtilde * self.wtilde / R::of(a.limits.sexcut);
        let cut = w < R::zero() && z * z < bound * bound;
        (reciprocal_unless(cut, z), reciprocal_unless(near, d))
    }

    /// `q`.
    #[inline(always)]
    fn quotient(&self, w: R) -> R {
        let d = w - self.wtilde;
        reciprocal_unless(self.is_near(d), d)
    }
}

/// A sum of `M·q`, without what is left of those near the pole.
#[inline(always)]
fn flushed<R: Real>(q: Complex<R>) -> Complex<R> {
    Complex::new(q.re.flushed(), q.im.flushed())
}

impl<B: Bands, E: Energies, N: NearTest, F: FarSums> Fraction for RealPoles<B, E, N, F> {
    const POLES: Poles = Poles::Real;
    const ENERGIES: EnergiesFrom = E::FROM;

    #[inline(always)]
    unsafe fn sums<R: Real, const NW: usize, const T: usize, const W: usize>(
        a: &Arrays,
        place: Place,
    ) -> Sums<R, NW> {
        let (plan, table) = (&a.plan, &a.plan.table);
        let poles: [Pole<R, N>; T] = from_fn(|t| {
            // SAFETY: the launch contract.
            let wtilde = unsafe { place.wtilde::<R>(a, t) };
            Pole { wtilde: wtilde.re, near: N::bound(near::largest2(a, wtilde).sqrt()) }
        });
        // SAFETY: the launch contract.
        let weight = |t: usize| unsafe { place.weight::<R>(a, t) } * poles[t].wtilde;
        let far_begin = F::begin(a);
        let zero = [[Complex::new(R::zero(), R::zero()); NW]; T];
        let (mut q, mut y) = (zero, zero);

        // SAFETY: the launch contract; the classes end within nbands.
        unsafe {
            B::each::<T, W, E>(a, place, 0, plan.plain, |n, band| {
                let w: [R; NW] = band.wx(a, n);
                each::<T>(|t| {
                    let m = band.matngmatmgp(t);
                    let both = w.map(|w| poles[t].quotients(w));
                    add(&mut y[t], m, both.map(|(y, _)| y));
                    add(&mut q[t], m, both.map(|(_, q)| q));
                });
            });
            B::each::<T, W, E>(a, place, plan.plain, plan.occupied, |n, band| {
                let (w, occ): ([R; NW], R) = (band.wx(a, n), a.occ(n));
                each::<T>(|t| {
                    let m = band.matngmatmgp(t);
                    each::<NW>(|e| {
                        let (one, quotient) = poles[t].cut_quotients(a, w[e]);
                        add(from_mut(&mut y[t][e]), m, [one * occ]);
                        add(from_mut(&mut q[t][e]), m, [quotient]);
                    });
                });
            });
        }
        let mut sums = Sums::zero();
        each::<T>(|t| {
            let omega2 = weight(t) * poles[t].wtilde;
            each::<NW>(|e| sums.asx[e] = sums.asx[e] - omega2 * y[t][e]);
        });
        let mut far = [F::zero::<R, NW>(); T];
        // SAFETY: as above.
        unsafe {
            B::each::<T, W, E>(a, place, plan.occupied, far_begin, |n, band| {
                let w: [R; NW] = band.wx(a, n);
                each::<T>(|t| {
                    add(&mut q[t], band.matngmatmgp(t), w.map(|w| poles[t].quotient(w)));
                });
            });
            B::each::<T, W, E>(a, place, far_begin, a.nbands, |n, band| {
                let w: [R; NW] = band.wx(a, n);
                each::<T>(|t| {
                    F::add(&mut far[t], band.matngmatmgp(t), &w, poles[t].wtilde, table);
                });
            });
        }
        each::<T>(|t| {
            let half = weight(t) * R::of(0.5);
            let q = F::join(q[t].map(flushed), &far[t], table);
            each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * q[e]);
        });
        sums
    }
}
