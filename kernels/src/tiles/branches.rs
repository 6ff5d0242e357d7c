//! The terms as they are, less what depends on the pair only: one branch, exact divisions.
//!
//! With `s = w + ω̃` the second branch is `ssx = −Ω²/(2ω̃·s)`, so both are `Ω²·y` with a `y` that is
//! one complex reciprocal.

use core::array::from_fn;
use core::marker::PhantomData;

use num_complex::{Complex, Complex64};

use crate::arrays::Arrays;
use crate::formula::{Sums, first_denominator, reciprocal, second_denominator, wdiff};
use crate::grid::each;
use crate::plan::{EnergiesFrom, Poles};
use crate::tiles;
use crate::tiles::{Bands, Energies, Fraction, NearTest, Unread};
use crate::tiling::Place;

/// Terms with a branch, far bands like other empty ones.
pub struct Branches<B, E, N>(PhantomData<(B, E, N)>);

/// What the loops need of one pole.
#[derive(Clone, Copy)]
struct Pole<N: NearTest> {
    wtilde: Complex64,
    wtilde2: Complex64,
    near: N::Bound,
    /// |Ω²·y| > sexcut·|eps| is |y|² above this.
    cutoff: f64,
}

impl<B: Bands, E: Energies, N: NearTest> Fraction for Branches<B, E, N> {
    const POLES: Poles = Poles::Any;
    const ENERGIES: EnergiesFrom = E::FROM;

    #[inline(always)]
    unsafe fn sums<const NW: usize, const T: usize, const W: usize>(
        a: &Arrays,
        place: Place,
    ) -> Sums<NW> {
        let poles: [Pole<N>; T] = from_fn(|t| {
            let wtilde = place.wtilde(a, t);
            let wtilde2 = wtilde * wtilde;
            let sexcut = a.limits.sexcut;
            let cutoff = sexcut * sexcut / wtilde2.norm_sqr();
            Pole { wtilde, wtilde2, near: N::bound(tiles::largest2(a, wtilde)), cutoff }
        });
        let zero = [[Complex::new(0.0, 0.0); NW]; T];
        let (mut q, mut y) = (zero, zero);

        // The classes end within nbands.
        B::each::<T, W, E>(a, place, 0, a.plan.occupied, |n, band| {
            let (energies, occ) = (band.wx::<NW>(a, n), a.occ(n));
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
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
                    if w >= 0.0 || one.norm_sqr() <= cutoff {
                        y[t][e] = y[t][e] + m * one * occ;
                    }
                });
            });
        });
        B::each::<T, W, E>(a, place, a.plan.occupied, a.nbands, |n, band| {
            let energies = band.wx::<NW>(a, n);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| {
                    let d = wdiff(energies[e], poles[t].wtilde);
                    if !N::is_near(d.norm_sqr(), poles[t].near) {
                        q[t][e] = q[t][e] + m * reciprocal(d);
                    }
                });
            });
        });
        let mut sums = Sums::zero();
        each::<T>(|t| {
            let Pole { wtilde, wtilde2, .. } = poles[t];
            let weight = place.weight(a, t);
            let (omega2, half) = (weight * wtilde2, weight * (wtilde * 0.5));
            each::<NW>(|e| {
                sums.asx[e] = sums.asx[e] - omega2 * y[t][e];
                sums.ach[e] = sums.ach[e] + half * q[t][e];
            });
        });
        sums
    }
}

// The static CH: sums of `M` over all bands, each times `−½·vcoul·eps` of its pair. Poles, energies and
// occupations have no part in it.

/// The static CH, as the `ach` of one energy.
pub struct StaticCh<B>(PhantomData<B>);

impl<B: Bands> Fraction for StaticCh<B> {
    const POLES: Poles = Poles::Unread;
    const ENERGIES: EnergiesFrom = EnergiesFrom::Nowhere;

    #[inline(always)]
    unsafe fn sums<const NW: usize, const T: usize, const W: usize>(
        a: &Arrays,
        place: Place,
    ) -> Sums<NW> {
        let mut of_pairs = [Complex::new(0.0, 0.0); T];
        B::each::<T, W, Unread>(a, place, 0, a.nbands, |_, band| {
            each::<T>(|t| band.add_matngmatmgp(t, &mut of_pairs[t]));
        });
        let mut sums = Sums::zero();
        each::<T>(|t| {
            let weight = place.weight(a, t) * -0.5;
            sums.ach[0] = sums.ach[0] + weight * of_pairs[t];
        });
        sums
    }
}
