//! Regular poles of Σ alone: see [`gpp_kernels::versions::v15`]. A band has one quotient, `p = 1/(w + ω̃)` if it is plain
//! and `q = 1/(w − ω̃)` if it is empty, so far bands of both classes have one loop, and one sum. Two rows of it share a
//! reciprocal.

use fearless_simd::prelude::*;

use crate::planned::{
    BandSums, Fraction, PairSums, PairVector, PerBand, RealPoleLanes, Split, over_bands,
};
use crate::simd::{ComplexVector, Lines, array, reciprocal, reciprocals, registers, splat};

pub struct RealAlone;

impl Fraction for RealAlone {
    const IS_SIGMA_ALONE: bool = true;

    #[inline(always)]
    fn sums<S: Simd, R: PerBand, const NW: usize, const SUMS: usize>(
        pairs: &PairVector<S, R>,
    ) -> PairSums<S, SUMS> {
        let [sums] = real_sums::<S, R, NW, SUMS, 1>(&[*pairs]);
        sums
    }

    #[inline(always)]
    fn sums_of_two<S: Simd, R: PerBand, const NW: usize, const SUMS: usize>(
        pairs: &[PairVector<S, R>; 2],
    ) -> [PairSums<S, SUMS>; 2] {
        if registers::<S>() >= 32 {
            real_sums::<S, R, NW, SUMS, 2>(pairs)
        } else {
            array!(2, at => Self::sums::<S, R, NW, SUMS>(&pairs[at]))
        }
    }
}

/// Sums of `P` vectors of pairs.
#[derive(Clone, Copy)]
struct SumsOfPairs<S: Simd, const NW: usize, const P: usize>([BandSums<S, NW>; P]);

impl<S: Simd, const NW: usize, const P: usize> SumsOfPairs<S, NW, P> {
    #[inline(always)]
    fn zero(token: S) -> Self {
        SumsOfPairs([BandSums::zero(token); P])
    }

    #[inline(always)]
    fn end_chain(&mut self, token: S, compensated: bool) {
        for p in 0..P {
            self.0[p].end_chain(token, compensated);
        }
    }
}

/// Rows of `P` vectors of pairs of one `igp`.
#[derive(Clone, Copy)]
struct Rows<'a, S: Simd, R, const NW: usize, const P: usize> {
    token: S,
    lane: usize,
    aqsn: [&'a [Lines]; P],
    aqsm: &'a [[R; 2]],
    wx: &'a [[R; NW]],
    occ: &'a [R],
}

impl<'a, S: Simd, R: PerBand, const NW: usize, const P: usize> Rows<'a, S, R, NW, P> {
    #[inline(always)]
    fn new(pairs: &[PairVector<'a, S, R>; P], begin: usize, end: usize) -> Self {
        let PairVector { token, lane, block, .. } = pairs[0];
        let (wx, _) = block.bands.wx.as_chunks::<NW>();
        Rows {
            token,
            lane,
            aqsn: array!(P, p => &pairs[p].aqsn[begin..end]),
            aqsm: &block.aqsm[begin..end],
            wx: &wx[begin..end],
            occ: &block.bands.occ[begin..end],
        }
    }

    #[inline(always)]
    fn m(&self, row: usize) -> [ComplexVector<S>; P] {
        let [re, im] = &self.aqsm[row];
        let aqsm =
            ComplexVector::new(re.vector(self.token, self.lane), im.vector(self.token, self.lane));
        array!(P, p => {
            aqsm.conj_mul(ComplexVector::from_lines(self.token, &self.aqsn[p][row], self.lane))
        })
    }

    #[inline(always)]
    fn w(&self, row: usize) -> [S::f64s; NW] {
        array!(NW, e => self.wx[row][e].vector(self.token, self.lane))
    }

    /// What [`add_far`](Rows::add_far) needs of `N` far bands from a row on, for 1/(w + c).
    #[inline(always)]
    fn far<const N: usize>(&self, row: usize, c: [S::f64s; P], half: f64) -> FarRows<S, P, N> {
        let token = self.token;
        let (middle, shift, square) = match NW {
            1 => (0, 0.0, 0.0),
            2 => (0, half, half * half),
            _ => (1, 0.0, 4.0 * half * half),
        };
        let x = array!(N, at => {
            let w = self.wx[row + at][middle].vector(token, self.lane);
            array!(P, p => w + (c[p] + shift))
        });
        let denominators = array!(N, at => array!(P, p => {
            let x = x[at][p];
            let difference = x.mul_add(x, splat(token, -square));
            match NW {
                1 => x,
                2 => difference,
                _ => x * difference,
            }
        }));
        let (first, last) = (denominators[0][0], denominators[N - 1][P - 1]);
        let one = splat(token, 1.0) / if N * P == 2 { first * last } else { first };
        FarRows {
            x,
            of_others: if N * P == 2 { [last, first] } else { [splat(token, 1.0); 2] },
            one,
        }
    }

    /// Adds `M` times v15's `quotients` of these far bands from a row on, or of one energy the quotient and its square.
    #[inline(always)]
    fn add_far<const N: usize, const SUMS: usize>(
        &self,
        row: usize,
        rows: FarRows<S, P, N>,
        far: &mut SumsOfPairs<S, SUMS, P>,
    ) {
        for at in 0..N {
            let m = self.m(row + at);
            for p in 0..P {
                let mut quotient = rows.one;
                if N * P == 2 {
                    quotient *= rows.of_others[at + p];
                }
                for e in 0..SUMS {
                    far.0[p].add(e, m[p], quotient);
                    quotient *= if NW < SUMS { quotient } else { rows.x[at][p] };
                }
            }
        }
    }
}

/// Two denominators share a reciprocal, of two rows or two pairs.
#[derive(Clone, Copy)]
struct FarRows<S: Simd, const P: usize, const N: usize> {
    x: [[S::f64s; P]; N],
    /// What the shared reciprocal is multiplied with for each: the other denominator.
    of_others: [S::f64s; 2],
    one: S::f64s,
}

/// Goes through the rows `$begin..$end` in chains.
macro_rules! over_rows {
    ($pairs:ident, $begin:expr, $end:expr, [$sum:ident], ($rows:ident, $row:ident) => $body:block) => {
        let first = &$pairs[0];
        over_bands!(@chains first, $begin, $end, [$sum], chain => {
            let $rows = Rows::<S, R, NW, P>::new($pairs, chain.start, chain.end);
            for $row in 0..chain.len() $body
        });
    };
}

/// The sums of `NW` energies; if `SUMS` are more, of one energy and the derivative.
#[inline(always)]
fn real_sums<S: Simd, R: PerBand, const NW: usize, const SUMS: usize, const P: usize>(
    pairs: &[PairVector<S, R>; P],
) -> [PairSums<S, SUMS>; P] {
    let first = &pairs[0];
    let (token, bands, zero) = (first.token, first.block.bands, splat(first.token, 0.0));
    let one = splat(token, 1.0);
    let poles = array!(P, p => RealPoleLanes::from_pairs(&pairs[p]));

    let mut far = SumsOfPairs::<S, SUMS, P>::zero(token);
    let c = array!(P, p => poles[p].wtilde);
    let minus_c = array!(P, p => -poles[p].wtilde);
    let far_rows = [(0, bands.plan.plain_far, c), (bands.plan.far_begin, bands.occ.len(), minus_c)];
    for (begin, end, c) in far_rows {
        over_bands!(@chains first, begin, end, [far], chain => {
            let rows = Rows::<S, R, NW, P>::new(pairs, chain.start, chain.end);
            // Reciprocals are computed a step before they are needed.
            let last = chain.len() - 1;
            if P == 2 {
                let mut next = rows.far::<1>(0, c, bands.plan.half);
                for row in 0..=last {
                    let current = next;
                    next = rows.far(last.min(row + 1), c, bands.plan.half);
                    rows.add_far(row, current, &mut far);
                }
            } else if last > 0 {
                let mut next = rows.far::<2>(0, c, bands.plan.half);
                for row in (0..last).step_by(2) {
                    let current = next;
                    next = rows.far((last - 1).min(row + 2), c, bands.plan.half);
                    rows.add_far(row, current, &mut far);
                }
            }
            if P == 1 && last % 2 == 0 {
                rows.add_far(last, rows.far::<1>(last, c, bands.plan.half), &mut far);
            }
        });
    }

    let mut single = SumsOfPairs::<S, SUMS, P>::zero(token);
    over_rows!(pairs, bands.plan.plain_far, bands.plan.plain, [single], (rows, row) => {
        let (m, w) = (rows.m(row), rows.w(row));
        for p in 0..P {
            let of_p = reciprocals(token, array!(NW, e => w[e] + poles[p].wtilde), true);
            for e in 0..NW {
                single.0[p].add(e, m[p], of_p[e]);
            }
            if NW < SUMS {
                single.0[p].add(NW, m[p], of_p[0] * of_p[0]);
            }
        }
    });
    over_rows!(pairs, bands.plan.plain, bands.plan.occupied, [single], (rows, row) => {
        let (m, w, occ) = (rows.m(row), rows.w(row), rows.occ[row].vector(token, rows.lane));
        for p in 0..P {
            let wtilde = poles[p].wtilde;
            let (mut numerators, mut denominators) = ([zero; NW], [one; NW]);
            for e in 0..NW {
                let (s, z, near) = poles[p].denominator(w[e], false);
                let d = w[e] - wtilde;
                let cut = poles[p].has_no_p(w[e], z, occ);
                let share = cut.select(zero, occ);
                let both = (one - occ).mul_add(s, occ * d);
                numerators[e] = near.select(share, cut.select(one, both));
                denominators[e] = near.select(s, cut.select(d, z));
            }
            let one = reciprocals(token, denominators, true);
            for e in 0..NW {
                single.0[p].add(e, m[p], numerators[e] * one[e]);
            }
            if NW < SUMS {
                let (s, z, near) = poles[p].denominator(w[0], false);
                let cut = poles[p].has_no_p(w[0], z, occ);
                let share = cut.select(zero, occ);
                let q = near.select(zero, reciprocal(token, w[0] - wtilde));
                let of_p = cut.select(zero, reciprocal(token, s));
                let squares = (splat(token, 1.0) - share) * q * q + share * of_p * of_p;
                single.0[p].add(NW, m[p], squares);
            }
        }
    });
    over_rows!(pairs, bands.plan.occupied, bands.plan.far_begin, [single], (rows, row) => {
        let (m, w) = (rows.m(row), rows.w(row));
        for p in 0..P {
            let d = array!(NW, e => w[e] - poles[p].wtilde);
            let near = array!(NW, e => d[e].abs().simd_le(poles[p].largest));
            let q = reciprocals(token, array!(NW, e => near[e].select(one, d[e])), true);
            for e in 0..NW {
                single.0[p].add(e, m[p], near[e].select(zero, q[e]));
            }
            if NW < SUMS {
                single.0[p].add(NW, m[p], near[0].select(zero, q[0] * q[0]));
            }
        }
    });

    let (h, d) = (bands.plan.half, 2.0 * bands.plan.half);
    array!(P, p => {
        let half = pairs[p].weight.scale(poles[p].wtilde) * 0.5;
        let far = far.0[p];
        let (one, x, square) = (far.sum(0), far.sum(1 % SUMS), far.sum(2 % SUMS));
        let far = match NW {
            1 => array!(SUMS, e => far.sum(e)),
            2 => array!(SUMS, e => if e == 0 { x + one * h } else { x - one * h }),
            _ => array!(SUMS, e => match e {
                0 => square + x * d,
                1 => square - one * (d * d),
                _ => square - x * d,
            }),
        };
        let ach = array!(SUMS, e => half * (single.0[p].sum(e) + far[e]));
        PairSums { asx: None, ach: array!(SUMS, e => if e < NW { ach[e] } else { ach[e] * -1.0 }) }
    })
}

pub struct AnyAlone;

impl Fraction for AnyAlone {
    const IS_SIGMA_ALONE: bool = true;

    /// As [`real_sums`]. With `q = re + i·im·one`, `q² = 2re² − one + 2i·im·re·one`; that of `p` has `−im`.
    #[inline(always)]
    fn sums<S: Simd, R: PerBand, const NW: usize, const SUMS: usize>(
        pairs: &PairVector<S, R>,
    ) -> PairSums<S, SUMS> {
        let (token, bands, zero) = (pairs.token, pairs.block.bands, splat(pairs.token, 0.0));
        let one = splat(token, 1.0);
        let sexcut = pairs.block.task.bands.limits.sexcut;
        let largest2 = pairs.largest2();
        let ComplexVector { re, im } = pairs.wtilde;
        let im2 = im * im;

        let mut sum = Split::<S, SUMS>::zero(token);
        over_bands!(pairs, 0, bands.plan.plain, [sum], band => {
            let s = array!(NW, e => band.w[e] + re);
            let p = reciprocals(token, array!(NW, e => s[e].mul_add(s[e], im2)), true);
            for e in 0..NW {
                sum.add(e, band.m, -p[e], s[e] * p[e]);
            }
            if NW < SUMS {
                let re = s[0] * p[0];
                sum.add(NW, band.m, -re * p[0], re.mul_add(re, -p[0]));
            }
        });
        over_bands!(pairs, bands.plan.plain, bands.plan.occupied, [sum], band => {
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
                let share = cut.select(zero, band.occ);
                let q = near.select(zero, (one - share) * reciprocal(token, d2));
                let p = share * cut.select(zero, reciprocal(token, s2));
                sum.add(e, band.m, q - p, d.mul_add(q, s * p));
                if NW < SUMS {
                    let q = near.select(zero, reciprocal(token, d2));
                    let of_p = cut.select(zero, reciprocal(token, s2));
                    let (re, re_of_p) = (d * q, s * of_p);
                    let im = (one - share) * re * q - share * re_of_p * of_p;
                    let re = (one - share) * re * re + share * (re_of_p * re_of_p - of_p);
                    sum.add(NW, band.m, im, re);
                }
            }
        });
        over_bands!(pairs, bands.plan.occupied, bands.plan.far_begin, [sum], band => {
            for e in 0..NW {
                let d = band.w[e] - re;
                let d2 = d.mul_add(d, im2);
                let q = d2.simd_le(largest2).select(zero, reciprocal(token, d2));
                sum.add(e, band.m, q, d * q);
                if NW < SUMS {
                    sum.add(NW, band.m, d * q * q, d * q * (d * q));
                }
            }
        });
        // Of no two energies is a pole near.
        over_bands!(pairs, bands.plan.far_begin, bands.occ.len(), [sum], band => {
            let d = array!(NW, e => band.w[e] - re);
            let q = reciprocals(token, array!(NW, e => d[e].mul_add(d[e], im2)), true);
            for e in 0..NW {
                sum.add(e, band.m, q[e], d[e] * q[e]);
            }
            if NW < SUMS {
                let re = d[0] * q[0];
                sum.add(NW, band.m, re * q[0], re * re);
            }
        });
        let half = pairs.weight * pairs.wtilde * 0.5;
        let ach = array!(SUMS, e => match e {
            e if e < NW => half * sum.sum(e, im),
            e => half * sum.sum_of_squares(e, im) * -1.0,
        });
        PairSums { asx: None, ach }
    }
}
