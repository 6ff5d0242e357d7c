//! How terms of regular poles are written, in partial fractions.
//!
//! With `q = 1/(w − ω̃)`, zero near the pole, and `p = 1/(w + ω̃)`, `ssx = ½ω̃·eps·(q − p)` and `sch = ω̃·eps·q` in both
//! branches. `q − p` is taken term by term: a difference of two sums would lose digits. Each class of bands has a loop:
//! only occupied bands have an `ssx`, and nothing cuts off the plain ones.

use fearless_simd::prelude::*;

use crate::planned::{BandSums, Fraction, PairSums, PairVector, Rows, Span, over_bands};
use crate::simd::{Complex, array, reciprocal, reciprocals, registers};

/// Poles of any kind: see [`gpp_kernels::versions::v10`].
///
/// `1/z = conj(z)/|z|²` has the pair's own `Im ω̃`, so a sum over `M·q` is two sums of `M` times something real.
pub struct AnyPoles;

/// What the loops over bands need of poles.
struct AnyPole<S: Simd> {
    token: S,
    re: S::f64s,
    /// Square of the imaginary part.
    im2: S::f64s,
    largest2: S::f64s,
}

/// The sum of `M·f` for factors `f` whose imaginary part is a real number times the pair's `Im ω̃`: the
/// sums of `M` times that number and of `M·Re f`.
struct Split<S: Simd, const NW: usize> {
    factor: BandSums<S, NW>,
    re: BandSums<S, NW>,
}

impl<S: Simd, const NW: usize> Split<S, NW> {
    #[inline(always)]
    fn zero(token: S) -> Self {
        Split { factor: BandSums::zero(token), re: BandSums::zero(token) }
    }

    #[inline(always)]
    fn add(&mut self, e: usize, m: Complex<S>, im: S::f64s, re: S::f64s) {
        self.factor.chain[e] = self.factor.chain[e].add_scaled(m, im);
        self.re.chain[e] = self.re.chain[e].add_scaled(m, re);
    }

    #[inline(always)]
    fn end_chain(&mut self, token: S) {
        self.factor.end_chain(token);
        self.re.end_chain(token);
    }

    #[inline(always)]
    fn add_chain(&mut self, token: S) {
        self.factor.add_chain(token);
        self.re.add_chain(token);
    }

    /// The sum of energy `e`, for `im = Im ω̃`.
    #[inline(always)]
    fn sum(&self, e: usize, im: S::f64s) -> Complex<S> {
        let (factor, re) = (self.factor.sum(e), self.re.sum(e));
        Complex::new((-im).mul_add(factor.im, re.re), im.mul_add(factor.re, re.im))
    }
}

struct Denominators<S: Simd> {
    /// `w − Re ω̃`, `w + Re ω̃`.
    d: S::f64s,
    s: S::f64s,
    /// `|w − ω̃|²`, `|w + ω̃|²`.
    d2: S::f64s,
    s2: S::f64s,
}

impl<S: Simd> AnyPole<S> {
    #[inline(always)]
    fn splat(&self, value: f64) -> S::f64s {
        S::f64s::splat(self.token, value)
    }

    #[inline(always)]
    fn denominators(&self, w: S::f64s) -> Denominators<S> {
        let (d, s) = (w - self.re, w + self.re);
        Denominators { d, s, d2: d.mul_add(d, self.im2), s2: s.mul_add(s, self.im2) }
    }

    /// Adds a band that nothing cuts off.
    #[inline(always)]
    fn plain<const NW: usize>(
        &self,
        (e, m, w): (usize, Complex<S>, S::f64s),
        q: &mut Split<S, NW>,
        y: &mut Split<S, NW>,
    ) {
        let Denominators { d, s, d2, s2 } = self.denominators(w);
        // Neither is zero: regular poles are on no occupied energy.
        let [one_q, one_p] = reciprocals(self.token, [d2, s2], registers::<S>() >= 32);
        let one_q = d2.simd_le(self.largest2).select(self.splat(0.0), one_q);
        let re = d * one_q;
        q.add(e, m, one_q, re);
        y.add(e, m, one_q + one_p, (-s).mul_add(one_p, re));
    }

    /// Adds a band of any occupation and any energy.
    #[inline(always)]
    fn occupied<const NW: usize>(
        &self,
        sexcut: f64,
        (e, m, w, occ): (usize, Complex<S>, S::f64s, S::f64s),
        q: &mut Split<S, NW>,
        y: &mut Split<S, NW>,
    ) {
        let zero = self.splat(0.0);
        let Denominators { d, s, d2, s2 } = self.denominators(w);
        let size2 = self.re.mul_add(self.re, self.im2);
        let bound = size2 / self.splat(sexcut);
        let near = d2.simd_le(self.largest2);
        let z2 = near.select(size2 * self.splat(4.0), d2) * s2;
        let cut = w.simd_lt(zero) & z2.simd_lt(bound * bound);
        // Of an empty band nothing needs `p`, which is infinite where its energy is −ω̃.
        let cut = cut | occ.simd_le(zero);
        let one_q = near.select(zero, reciprocal(self.token, d2));
        let one_p = cut.select(zero, reciprocal(self.token, s2));
        let re = d * one_q;
        q.add(e, m, one_q, re);
        let m = m.scale(cut.select(zero, occ));
        y.add(e, m, one_q + one_p, (-s).mul_add(one_p, re));
    }

    #[inline(always)]
    fn empty<const NW: usize>(
        &self,
        (e, m, w): (usize, Complex<S>, S::f64s),
        q: &mut Split<S, NW>,
    ) {
        let d = w - self.re;
        let d2 = d.mul_add(d, self.im2);
        let near = d2.simd_le(self.largest2);
        let one = near.select(self.splat(0.0), reciprocal(self.token, d2));
        q.add(e, m, one, d * one);
    }

    /// Adds far bands: of no two energies is a pole near.
    #[inline(always)]
    fn far<const NW: usize>(&self, m: Complex<S>, w: [S::f64s; NW], q: &mut Split<S, NW>) {
        let d = array!(NW, e => w[e] - self.re);
        let d2 = array!(NW, e => d[e].mul_add(d[e], self.im2));
        let one = reciprocals(self.token, d2, registers::<S>() >= 32);
        for e in 0..NW {
            q.add(e, m, one[e], d[e] * one[e]);
        }
    }
}

impl Fraction for AnyPoles {
    #[inline(always)]
    fn sums<S: Simd, R: Rows<S>, const NW: usize>(pairs: &PairVector<S, R>) -> PairSums<S, NW> {
        let (token, classes, sexcut) = (pairs.token, pairs.classes, pairs.limits.sexcut);
        let Complex { re, im } = pairs.wtilde;
        let pole = AnyPole { token, re, im2: im * im, largest2: pairs.largest2 };
        let (mut q, mut y) = (Split::<S, NW>::zero(token), Split::<S, NW>::zero(token));
        over_bands!(pairs, 0, classes.plain, [q, y], band => {
            for e in 0..NW {
                pole.plain((e, band.m, band.w[e]), &mut q, &mut y);
            }
        });
        over_bands!(pairs, classes.plain, classes.occupied, [q, y], band => {
            for e in 0..NW {
                pole.occupied(sexcut, (e, band.m, band.w[e], band.occ), &mut q, &mut y);
            }
        });
        let half = (pairs.weight * pairs.wtilde).scale(pairs.splat(0.5));
        let minus = pairs.splat(-1.0);
        let asx = array!(NW, e => (half * y.sum(e, im)).scale(minus));
        over_bands!(pairs, classes.occupied, classes.far_begin, [q], band => {
            for e in 0..NW {
                pole.empty((e, band.m, band.w[e]), &mut q);
            }
        });
        over_bands!(pairs, classes.far_begin, classes.end, [q], band => {
            pole.far(band.m, band.w, &mut q);
        });
        PairSums { asx, ach: array!(NW, e => half * q.sum(e, im)) }
    }
}

/// Purely real, positive poles: see [`gpp_kernels::versions::v12`].
///
/// Both quotients are real, an accumulation is two fused operations, and one reciprocal of
/// `z = (near ? −2ω̃ : w − ω̃)·(w + ω̃)` gives `y = 1/z` and `q = (w + ω̃)·y`. The test for the second branch is left
/// out of spans of bands near whose energies no pole is.
pub struct RealPoles;

/// What the loops over bands need of poles.
struct RealPole<S: Simd> {
    token: S,
    wtilde: S::f64s,
    /// Largest |w − ω̃| of the second branch.
    largest: S::f64s,
}

impl<S: Simd> RealPole<S> {
    #[inline(always)]
    fn splat(&self, value: f64) -> S::f64s {
        S::f64s::splat(self.token, value)
    }

    /// `s`, the denominator `z`, and whether the pole is near; it is not if that `is_clear`.
    #[inline(always)]
    fn denominator(&self, w: S::f64s, is_clear: bool) -> (S::f64s, S::f64s, S::mask64s) {
        let (d, s) = (w - self.wtilde, w + self.wtilde);
        let near = d.abs().simd_le(self.largest);
        let first = if is_clear { d } else { near.select(self.wtilde * self.splat(-2.0), d) };
        (s, first * s, near)
    }

    /// Whether no pole is near an energy of a span: differences keep their order when they are rounded.
    #[inline(always)]
    fn is_clear(&self, [least, largest]: Span) -> bool {
        let below = self.largest.simd_lt(self.splat(least) - self.wtilde);
        let above = (self.splat(largest) - self.wtilde).simd_lt(-self.largest);
        (below | above).all_true()
    }

    /// Adds a band that nothing cuts off: `w ≥ 0`, so `z` is not zero.
    #[inline(always)]
    fn plain<const NW: usize>(
        &self,
        is_clear: bool,
        m: Complex<S>,
        w: [S::f64s; NW],
        q: &mut BandSums<S, NW>,
        y: &mut BandSums<S, NW>,
    ) {
        let all = array!(NW, e => self.denominator(w[e], is_clear));
        // With few registers the values of a pair of denominators would be spilled, which costs more than it saves.
        let one = reciprocals(self.token, array!(NW, e => all[e].1), registers::<S>() >= 32);
        for e in 0..NW {
            let (s, _, near) = all[e];
            y.chain[e] = y.chain[e].add_scaled(m, one[e]);
            let s = if is_clear { s } else { near.select(self.splat(0.0), s) };
            q.chain[e] = q.chain[e].add_scaled(m, s * one[e]);
        }
    }

    /// Adds a band of any occupation and any energy.
    #[inline(always)]
    fn occupied(
        &self,
        sexcut: f64,
        m: Complex<S>,
        (w, occ): (S::f64s, S::f64s),
        q: &mut Complex<S>,
        y: &mut Complex<S>,
    ) {
        let zero = self.splat(0.0);
        let (_, z, near) = self.denominator(w, false);
        let bound = self.wtilde * self.wtilde / self.splat(sexcut);
        let cut = w.simd_lt(zero) & (z * z).simd_lt(bound * bound);
        // Of an empty band nothing needs `y`, which is infinite where its energy is −ω̃.
        let cut = cut | occ.simd_le(zero);
        *y = y.add_scaled(m, cut.select(zero, reciprocal(self.token, z)) * occ);
        *q = q.add_scaled(m, near.select(zero, reciprocal(self.token, w - self.wtilde)));
    }

    #[inline(always)]
    fn empty(&self, m: Complex<S>, w: S::f64s, q: &mut Complex<S>) {
        let d = w - self.wtilde;
        let near = d.abs().simd_le(self.largest);
        *q = q.add_scaled(m, near.select(self.splat(0.0), reciprocal(self.token, d)));
    }

    /// Adds an empty band near which no pole is.
    #[inline(always)]
    fn clear<const NW: usize>(&self, m: Complex<S>, w: [S::f64s; NW], q: &mut BandSums<S, NW>) {
        let one = reciprocals(self.token, array!(NW, e => w[e] - self.wtilde), true);
        for e in 0..NW {
            q.chain[e] = q.chain[e].add_scaled(m, one[e]);
        }
    }

    /// Adds a far band to sums of `M/(x² − h²)` and `M·x/(x² − h²)`, with `x` between two energies, less
    /// `ω̃`, and half of their difference, `h`; or of `M/(w − ω̃)` for other energies.
    #[inline(always)]
    fn far<const NW: usize>(
        &self,
        (half, square): (S::f64s, S::f64s),
        m: Complex<S>,
        w: [S::f64s; NW],
        sums: &mut BandSums<S, NW>,
    ) {
        let mut e = 0;
        if NW > 1 {
            let x = w[0] + (half - self.wtilde);
            let one = self.splat(1.0) / x.mul_add(x, -square);
            sums.chain[0] = sums.chain[0].add_scaled(m, one);
            sums.chain[1] = sums.chain[1].add_scaled(m, x * one);
            e = 2;
        }
        while e < NW {
            let one = reciprocal(self.token, w[e] - self.wtilde);
            sums.chain[e] = sums.chain[e].add_scaled(m, one);
            e += 1;
        }
    }
}

/// Sums of `M/(w − ω̃)` of those that [`RealPole::far`] makes.
#[inline(always)]
fn joined<S: Simd, const NW: usize>(sums: &BandSums<S, NW>, half: S::f64s) -> [Complex<S>; NW] {
    let mut joined = array!(NW, e => sums.sum(e));
    if NW > 1 {
        let (one, x) = (joined[0].scale(half), joined[1]);
        joined[0] = x + one;
        joined[1] = Complex::new(x.re - one.re, x.im - one.im);
    }
    joined
}

impl Fraction for RealPoles {
    #[inline(always)]
    fn sums<S: Simd, R: Rows<S>, const NW: usize>(pairs: &PairVector<S, R>) -> PairSums<S, NW> {
        let (token, classes, sexcut) = (pairs.token, pairs.classes, pairs.limits.sexcut);
        let pole = RealPole { token, wtilde: pairs.wtilde.re, largest: pairs.largest };
        let (mut q, mut y) = (BandSums::<S, NW>::zero(token), BandSums::<S, NW>::zero(token));
        let [of_plain, of_empty] = pairs.spans;
        over_bands!(
            pairs, of_plain, 0, classes.plain, [q, y],
            span => pole.is_clear(*span),
            band => {
                pole.plain(true, band.m, band.w, &mut q, &mut y);
            },
            {
                pole.plain(false, band.m, band.w, &mut q, &mut y);
            }
        );
        over_bands!(pairs, classes.plain, classes.occupied, [q, y], band => {
            for e in 0..NW {
                let energy = (band.w[e], band.occ);
                pole.occupied(sexcut, band.m, energy, &mut q.chain[e], &mut y.chain[e]);
            }
        });
        let weight = pairs.weight.scale(pole.wtilde);
        let omega2 = weight.scale(-pole.wtilde);
        let asx = array!(NW, e => omega2 * y.sum(e));
        over_bands!(
            pairs, of_empty, classes.occupied, classes.far_begin, [q],
            span => pole.is_clear(*span),
            band => {
                pole.clear(band.m, band.w, &mut q);
            },
            {
                for e in 0..NW {
                    pole.empty(band.m, band.w[e], &mut q.chain[e]);
                }
            }
        );
        let (half, square) = (pairs.splat(classes.half), pairs.splat(classes.half * classes.half));
        let mut far = BandSums::<S, NW>::zero(token);
        over_bands!(pairs, classes.far_begin, classes.end, [far], band => {
            pole.far((half, square), band.m, band.w, &mut far);
        });
        let far = joined(&far, half);
        let half = weight.scale(pairs.splat(0.5));
        PairSums { asx, ach: array!(NW, e => half * (q.sum(e) + far[e])) }
    }
}
