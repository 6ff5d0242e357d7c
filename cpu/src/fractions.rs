//! How terms of regular poles are written, in partial fractions.
//!
//! With `q = 1/(w − ω̃)`, zero near the pole, and `p = 1/(w + ω̃)`, `ssx = ½ω̃·eps·(q − p)` and `sch = ω̃·eps·q` in both
//! branches. `q − p` is taken term by term: a difference of two sums would lose digits. Each class of bands has a loop:
//! only occupied bands have an `ssx`, and nothing cuts off the plain ones.

use fearless_simd::prelude::*;

use crate::planned::{BandSums, Fraction, PairSums, PairVector, PerBand, Span, over_bands};
use crate::simd::{Complex, array, reciprocal, reciprocals, registers, splat};

/// Poles of any kind: see [`gpp_kernels::versions::v10`].
///
/// `1/z = conj(z)/|z|²` has the pair's own `Im ω̃`, so a sum over `M·q` is two sums of `M` times something real.
pub struct AnyPoles;

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
    fn end_chain(&mut self, token: S, compensated: bool) {
        self.factor.end_chain(token, compensated);
        self.re.end_chain(token, compensated);
    }

    /// The sum of energy `e`, for `im = Im ω̃`.
    #[inline(always)]
    fn sum(&self, e: usize, im: S::f64s) -> Complex<S> {
        let (factor, re) = (self.factor.sum(e), self.re.sum(e));
        Complex::new((-im).mul_add(factor.im, re.re), im.mul_add(factor.re, re.im))
    }
}

impl Fraction for AnyPoles {
    #[inline(always)]
    fn sums<S: Simd, R: PerBand, const NW: usize>(pairs: &PairVector<S, R>) -> PairSums<S, NW> {
        let (token, bands) = (pairs.token, pairs.block.bands);
        let sexcut = pairs.block.task.bands.limits.sexcut;
        let (zero, largest2) = (splat(pairs.token, 0.0), pairs.largest2());
        let has_registers = registers::<S>() >= 32;
        let Complex { re, im } = pairs.wtilde;
        let im2 = im * im;
        let (mut q, mut y) = (Split::<S, NW>::zero(token), Split::<S, NW>::zero(token));
        over_bands!(pairs, 0, bands.plain, [q, y], band => {
            for e in 0..NW {
                let (d, s) = (band.w[e] - re, band.w[e] + re);
                let (d2, s2) = (d.mul_add(d, im2), s.mul_add(s, im2));
                // Neither is zero: regular poles are on no occupied energy.
                let [one_q, one_p] = reciprocals(token, [d2, s2], has_registers);
                let one_q = d2.simd_le(largest2).select(zero, one_q);
                let of_q = d * one_q;
                q.add(e, band.m, one_q, of_q);
                y.add(e, band.m, one_q + one_p, (-s).mul_add(one_p, of_q));
            }
        });
        over_bands!(pairs, bands.plain, bands.occupied, [q, y], band => {
            let size2 = re.mul_add(re, im2);
            let bound = size2 / sexcut;
            for e in 0..NW {
                let (d, s) = (band.w[e] - re, band.w[e] + re);
                let (d2, s2) = (d.mul_add(d, im2), s.mul_add(s, im2));
                let near = d2.simd_le(largest2);
                let z2 = near.select(size2 * 4.0, d2) * s2;
                let cut = band.w[e].simd_lt(0.0) & z2.simd_lt(bound * bound);
                // Of an empty band nothing needs `p`, which is infinite where its energy is −ω̃.
                let cut = cut | band.occ.simd_le(0.0);
                let one_q = near.select(zero, reciprocal(token, d2));
                let one_p = cut.select(zero, reciprocal(token, s2));
                let of_q = d * one_q;
                q.add(e, band.m, one_q, of_q);
                let m = band.m.scale(cut.select(zero, band.occ));
                y.add(e, m, one_q + one_p, (-s).mul_add(one_p, of_q));
            }
        });
        let half = pairs.weight * pairs.wtilde * 0.5;
        let asx = array!(NW, e => half * y.sum(e, im) * -1.0);
        over_bands!(pairs, bands.occupied, bands.far_begin, [q], band => {
            for e in 0..NW {
                let d = band.w[e] - re;
                let d2 = d.mul_add(d, im2);
                let one = d2.simd_le(largest2).select(zero, reciprocal(token, d2));
                q.add(e, band.m, one, d * one);
            }
        });
        // Of no two energies is a pole near.
        over_bands!(pairs, bands.far_begin, bands.occ.len(), [q], band => {
            let d = array!(NW, e => band.w[e] - re);
            let one = reciprocals(token, array!(NW, e => d[e].mul_add(d[e], im2)), has_registers);
            for e in 0..NW {
                q.add(e, band.m, one[e], d[e] * one[e]);
            }
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
    /// `s`, the denominator `z`, and whether the pole is near; it is not if that `is_clear`.
    #[inline(always)]
    fn denominator(&self, w: S::f64s, is_clear: bool) -> (S::f64s, S::f64s, S::mask64s) {
        let (d, s) = (w - self.wtilde, w + self.wtilde);
        let near = d.abs().simd_le(self.largest);
        let first = if is_clear { d } else { near.select(self.wtilde * -2.0, d) };
        (s, first * s, near)
    }

    /// Whether no pole is near an energy of a span: differences keep their order when they are rounded.
    #[inline(always)]
    fn is_clear(&self, [least, largest]: Span) -> bool {
        let below = self.largest.simd_lt(splat(self.token, least) - self.wtilde);
        let above = (splat(self.token, largest) - self.wtilde).simd_lt(-self.largest);
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
            let s = if is_clear { s } else { near.select(splat(self.token, 0.0), s) };
            q.chain[e] = q.chain[e].add_scaled(m, s * one[e]);
        }
    }
}

impl Fraction for RealPoles {
    #[inline(always)]
    fn sums<S: Simd, R: PerBand, const NW: usize>(pairs: &PairVector<S, R>) -> PairSums<S, NW> {
        let (token, bands, zero) = (pairs.token, pairs.block.bands, splat(pairs.token, 0.0));
        let sexcut = pairs.block.task.bands.limits.sexcut;
        let (wtilde, largest) = (pairs.wtilde.re, pairs.largest2().sqrt());
        let pole = RealPole { token, wtilde, largest };
        let (mut q, mut y) = (BandSums::<S, NW>::zero(token), BandSums::<S, NW>::zero(token));
        let [of_plain, of_empty] = &bands.spans;
        over_bands!(
            pairs, of_plain, 0, bands.plain, [q, y],
            span => pole.is_clear(*span),
            band => {
                pole.plain(true, band.m, band.w, &mut q, &mut y);
            },
            {
                pole.plain(false, band.m, band.w, &mut q, &mut y);
            }
        );
        over_bands!(pairs, bands.plain, bands.occupied, [q, y], band => {
            let bound = wtilde * wtilde / sexcut;
            for e in 0..NW {
                let (_, z, near) = pole.denominator(band.w[e], false);
                let cut = band.w[e].simd_lt(0.0) & (z * z).simd_lt(bound * bound);
                // Of an empty band nothing needs `y`, which is infinite where its energy is −ω̃.
                let cut = cut | band.occ.simd_le(0.0);
                let one = cut.select(zero, reciprocal(token, z));
                y.chain[e] = y.chain[e].add_scaled(band.m, one * band.occ);
                let one = near.select(zero, reciprocal(token, band.w[e] - wtilde));
                q.chain[e] = q.chain[e].add_scaled(band.m, one);
            }
        });
        let weight = pairs.weight.scale(wtilde);
        let omega2 = weight.scale(-wtilde);
        let asx = array!(NW, e => omega2 * y.sum(e));
        over_bands!(
            pairs, of_empty, bands.occupied, bands.far_begin, [q],
            span => pole.is_clear(*span),
            band => {
                let one = reciprocals(token, array!(NW, e => band.w[e] - wtilde), true);
                for e in 0..NW {
                    q.chain[e] = q.chain[e].add_scaled(band.m, one[e]);
                }
            },
            {
                for e in 0..NW {
                    let d = band.w[e] - wtilde;
                    let one = d.abs().simd_le(largest).select(zero, reciprocal(token, d));
                    q.chain[e] = q.chain[e].add_scaled(band.m, one);
                }
            }
        );
        // With x between two energies, less ω̃, and half of their difference, h: sums of `M/(x² − h²)` and `M·x/(x² − h²)`
        // for these two, of `M/(w − ω̃)` for another.
        let (half, square) = (splat(token, bands.half), bands.half * bands.half);
        let mut far = BandSums::<S, NW>::zero(token);
        over_bands!(pairs, bands.far_begin, bands.occ.len(), [far], band => {
            if NW > 1 {
                let x = band.w[0] + (half - wtilde);
                let one = splat(token, 1.0) / x.mul_add(x, -square);
                far.chain[0] = far.chain[0].add_scaled(band.m, one);
                far.chain[1] = far.chain[1].add_scaled(band.m, x * one);
            }
            let mut e = if NW > 1 { 2 } else { 0 };
            while e < NW {
                let one = reciprocal(token, band.w[e] - wtilde);
                far.chain[e] = far.chain[e].add_scaled(band.m, one);
                e += 1;
            }
        });
        let mut far = array!(NW, e => far.sum(e));
        if NW > 1 {
            let (one, x) = (far[0].scale(half), far[1]);
            (far[0], far[1]) = (x + one, x - one);
        }
        let half = weight * 0.5;
        PairSums { asx, ach: array!(NW, e => half * (q.sum(e) + far[e])) }
    }
}
