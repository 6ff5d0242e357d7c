//! Purely real poles: `q = 1/(w − ω̃)` and `y = 1/(w² − ω̃²)` are real, so each accumulation is two
//! fused operations, and one reciprocal gives both.
//!
//! With `d = w − ω̃` and `s = w + ω̃` the two branches are the same quotient of another denominator:
//! `z = (near ? −2ω̃ : d) · s`, `y = 1/z`, and away from the pole `q = s·y`.

use core::array::{from_fn, from_mut};
use core::hint::select_unpredictable;
use core::marker::PhantomData;

use num_complex::{Complex, Complex64};

use crate::arrays::Arrays;
use crate::formula::{Sums, reciprocal_unless};
use crate::grid::each;
use crate::intrinsics::sqrt;
use crate::plan::{EnergiesFrom, Poles, Table};
use crate::tiles;
use crate::tiles::{Bands, Energies, FarBands, Fraction, LikeEmpty, NearTest, add};
use crate::tiling::Place;

/// Quotients of purely real, positive poles, reciprocals approximated and corrected once.
pub struct RealPoles<B, E, N, F>(PhantomData<(B, E, N, F)>);

/// How `q` is summed over far bands.
pub trait FarSums: FarBands {
    /// The sums of one pair.
    type Of<const NW: usize>: Copy;

    fn zero<const NW: usize>() -> Self::Of<NW>;

    /// Adds a band with energies `w`, for the pole `wtilde`.
    fn add<const NW: usize>(
        sums: &mut Self::Of<NW>,
        m: Complex64,
        w: &[f64; NW],
        wtilde: f64,
        table: &Table,
    );

    /// `q`, the sums over the other bands, with those over far bands.
    fn join<const NW: usize>(
        q: [Complex64; NW],
        sums: &Self::Of<NW>,
        table: &Table,
    ) -> [Complex64; NW];
}

impl FarSums for LikeEmpty {
    type Of<const NW: usize> = ();

    #[inline(always)]
    fn zero<const NW: usize>() {}

    #[inline(always)]
    fn add<const NW: usize>(_: &mut (), _: Complex64, _: &[f64; NW], _: f64, _: &Table) {}

    #[inline(always)]
    fn join<const NW: usize>(q: [Complex64; NW], (): &(), _: &Table) -> [Complex64; NW] {
        q
    }
}

/// What the loops need of one pole.
#[derive(Clone, Copy)]
pub struct Pole<N: NearTest> {
    pub wtilde: f64,
    /// Of the largest |w − ω̃| of the second branch.
    near: N::Bound,
}

impl<N: NearTest> Pole<N> {
    #[inline(always)]
    pub fn of(a: &Arrays, wtilde: Complex64) -> Self {
        Pole { wtilde: wtilde.re, near: N::bound(sqrt(tiles::largest2(a, wtilde))) }
    }

    /// Whether `d = w − ω̃` takes the second branch.
    #[inline(always)]
    fn is_near(&self, d: f64) -> bool {
        N::is_near(d, self.near)
    }

    /// `d`, `s`, `z`, and whether `d` is near.
    #[inline(always)]
    fn denominators(&self, w: f64) -> (f64, f64, f64, bool) {
        let (d, s) = (w - self.wtilde, w + self.wtilde);
        let near = self.is_near(d);
        (d, s, select_unpredictable(near, self.wtilde * -2.0, d) * s, near)
    }

    /// `y` and `q` of an energy that nothing cuts off; a `q` near the pole is next to nothing, one
    /// selection instead of two.
    #[inline(always)]
    pub fn quotients(&self, w: f64) -> (f64, f64) {
        let (_, s, z, near) = self.denominators(w);
        let y = reciprocal_unless(false, z);
        (y, upper_unless(near, s) * y)
    }

    /// `y` and `q` of an energy that may be cut off, with the cutoff of `a`.
    #[inline(always)]
    pub fn cut_quotients(&self, a: &Arrays, w: f64) -> (f64, f64) {
        let (d, _, z, near) = self.denominators(w);
        let bound = self.wtilde * self.wtilde / a.limits.sexcut;
        let cut = w < 0.0 && z * z < bound * bound;
        (reciprocal_unless(cut, z), reciprocal_unless(near, d))
    }

    #[inline(always)]
    pub fn quotient(&self, w: f64) -> f64 {
        let d = w - self.wtilde;
        reciprocal_unless(self.is_near(d), d)
    }
}

/// `x`, or without its upper word where `near` holds: next to nothing, below 1e-313.
#[inline(always)]
fn upper_unless(near: bool, x: f64) -> f64 {
    let (upper, lower) = ((x.to_bits() >> 32) as u32, x.to_bits() as u32);
    let upper = select_unpredictable(near, 0, upper);
    f64::from_bits(u64::from(upper) << 32 | u64::from(lower))
}

/// A sum of `M·q`, without what [`upper_unless`] left of those near the pole.
#[inline(always)]
pub fn flushed(q: Complex64) -> Complex64 {
    let flush = |x: f64| if x.abs() < 1e-280 { 0.0 } else { x };
    Complex::new(flush(q.re), flush(q.im))
}

impl<B: Bands, E: Energies, N: NearTest, F: FarSums> Fraction for RealPoles<B, E, N, F> {
    const POLES: Poles = Poles::Real;
    const ENERGIES: EnergiesFrom = E::FROM;

    #[inline(always)]
    unsafe fn sums<const NW: usize, const T: usize, const W: usize>(
        a: &Arrays,
        place: Place,
    ) -> Sums<NW> {
        let (plan, table) = (&a.plan, &a.plan.table);
        let poles: [Pole<N>; T] = from_fn(|t| Pole::of(a, place.wtilde(a, t)));
        let weight = |t: usize| place.weight(a, t) * poles[t].wtilde;
        let far_begin = F::begin(a);
        let zero = [[Complex::new(0.0, 0.0); NW]; T];
        let (mut q, mut y) = (zero, zero);

        // The classes end within nbands.
        B::each::<T, W, E>(a, place, 0, plan.plain, |n, band| {
            let w: [f64; NW] = band.wx(a, n);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                let both = w.map(|w| poles[t].quotients(w));
                add(&mut y[t], m, both.map(|(y, _)| y));
                add(&mut q[t], m, both.map(|(_, q)| q));
            });
        });
        B::each::<T, W, E>(a, place, plan.plain, plan.occupied, |n, band| {
            let (w, occ): ([f64; NW], f64) = (band.wx(a, n), a.occ(n));
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| {
                    let (one, quotient) = poles[t].cut_quotients(a, w[e]);
                    add(from_mut(&mut y[t][e]), m, [one * occ]);
                    add(from_mut(&mut q[t][e]), m, [quotient]);
                });
            });
        });
        let mut sums = Sums::zero();
        each::<T>(|t| {
            let omega2 = weight(t) * poles[t].wtilde;
            each::<NW>(|e| sums.asx[e] = sums.asx[e] - omega2 * y[t][e]);
        });
        let mut far = [F::zero::<NW>(); T];
        B::each::<T, W, E>(a, place, plan.occupied, far_begin, |n, band| {
            let w: [f64; NW] = band.wx(a, n);
            each::<T>(|t| {
                add(&mut q[t], band.matngmatmgp(t), w.map(|w| poles[t].quotient(w)));
            });
        });
        B::each::<T, W, E>(a, place, far_begin, a.nbands, |n, band| {
            let w: [f64; NW] = band.wx(a, n);
            each::<T>(|t| {
                F::add(&mut far[t], band.matngmatmgp(t), &w, poles[t].wtilde, table);
            });
        });
        each::<T>(|t| {
            let half = weight(t) * 0.5;
            let q = F::join(q[t].map(flushed), &far[t], table);
            each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * q[e]);
        });
        sums
    }
}

// One reciprocal for two energies of a far band.
//
// `q = 1/(w − ω̃)` of a far band ([`crate::plan`]): with `x` between two energies, less `ω̃`, and half of
// their difference, `h`, both are `1/(x ∓ h) = (x ± h)/(x² − h²)`, sums of `1/(x² − h²)` and of
// `x/(x² − h²)`. `|x| ≥ 3h`, so neither the denominator nor the sums of the two cancel.

/// Far bands have a loop of their own, without the test for the second branch and with one reciprocal
/// for the first two energies.
pub struct PairedReciprocal;

impl FarBands for PairedReciprocal {
    #[inline(always)]
    fn begin(a: &Arrays) -> u32 {
        a.plan.far_begin
    }
}

impl FarSums for PairedReciprocal {
    /// Of `M/(x² − h²)` and `M·x/(x² − h²)`, then of `M/(w − ω̃)` for a third energy; or of
    /// `M/(w − ω̃)` for a single one.
    type Of<const NW: usize> = [Complex64; NW];

    #[inline(always)]
    fn zero<const NW: usize>() -> [Complex64; NW] {
        [Complex::new(0.0, 0.0); NW]
    }

    #[inline(always)]
    fn add<const NW: usize>(
        sums: &mut [Complex64; NW],
        m: Complex64,
        w: &[f64; NW],
        wtilde: f64,
        table: &Table,
    ) {
        let c = -wtilde;
        let single = |e: usize| reciprocal_unless(false, w[e] + c);
        if NW == 1 {
            return add(sums, m, [single(0); NW]);
        }
        let x = w[0] + (c + table.half);
        let one = reciprocal_unless(false, x * x - table.square);
        add(
            sums,
            m,
            from_fn(|e| match e {
                0 => one,
                1 => x * one,
                _ => single(e),
            }),
        );
    }

    #[inline(always)]
    fn join<const NW: usize>(
        q: [Complex64; NW],
        sums: &[Complex64; NW],
        table: &Table,
    ) -> [Complex64; NW] {
        if NW == 1 {
            return from_fn(|e| q[e] + sums[e]);
        }
        let (one, x) = (sums[0] * table.half, sums[1 % NW]);
        from_fn(|e| {
            q[e] + match e {
                0 => x + one,
                1 => x - one,
                _ => sums[e],
            }
        })
    }
}
