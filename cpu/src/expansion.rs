//! The far field of a cluster of poles: its moments, and what they give at each energy, in vectors. Real poles have
//! Chebyshev polynomials ([`gpp_kernels::sigma::real`]), others powers ([`gpp_kernels::sigma::complex`]).

use fearless_simd::prelude::*;
use gpp_kernels::arrays::Limits;
use gpp_kernels::sigma::complex::{Acceptance, MOMENTS as POWERS};
use gpp_kernels::sigma::real::{MIN_DISTANCE, MOMENTS};
use gpp_kernels::sigma::{Cluster, Disc, Interval, MARGIN, MAX_DISTANCE, Pole};
use num_complex::Complex64;

use crate::problem::{CHUNK, Clusters, Parts};
use crate::simd::{ComplexVector, add_to, array, load, prefetch, registers, splat, store};

/// A vector of energies: whether moments give the sums there, and of which terms.
pub struct FarFieldMask<S: Simd> {
    pub holds: S::mask64s,
    /// Whether the first branch holds.
    pub first: S::mask64s,
    /// Whether there is an `ssx`.
    pub ssx: S::mask64s,
}

/// The expansion of a cluster's sums in its moments.
pub trait ClusterExpansion<S: Simd>: Sized {
    type Cluster: Cluster;
    type Wtilde: Copy + Into<Complex64>;
    type Moments;

    /// None for a cluster without a far field, whose pairs are all summed one by one.
    fn for_cluster(token: S, cluster: &Self::Cluster, limits: Limits) -> Option<Self>;

    fn moments(
        &self,
        clusters: &Clusters,
        vcoul_loc: &[f64],
        poles: &[Pole<Self::Wtilde>],
        chunk: usize,
    ) -> Self::Moments;

    /// For an occupied band or an empty one.
    fn far_field(&self, w: S::f64s, occupied: bool) -> FarFieldMask<S>;

    /// Where moments give the sums of `1/(w + ω̃)`.
    fn has_p(&self, w: S::f64s) -> S::mask64s;

    /// For a band of this occupation: of Σ `ALONE` a full one has no `q` above zero.
    #[inline(always)]
    fn far_field_of<const ALONE: bool>(&self, w: S::f64s, occ: f64) -> FarFieldMask<S> {
        if !ALONE || occ != 1.0 {
            return self.far_field(w, occ != 0.0);
        }
        let (above, p) = (w.simd_ge(0.0), self.has_p(w));
        if above.all_true() {
            return FarFieldMask { holds: p, first: !above, ssx: above };
        }
        let FarFieldMask { holds, first, ssx } = self.far_field(w, true);
        FarFieldMask { holds: above & p | !above & holds, first: first & !above, ssx: above | ssx }
    }

    /// Where the first branch certainly holds for all poles and nothing is cut off.
    fn is_first(&self, w: S::f64s, occupied: bool) -> S::mask64s;

    /// Adds what the moments of a band of this occupation, `band` of the chunk, give at some energies.
    fn add(
        &self,
        moments: &Self::Moments,
        band: usize,
        occ: f64,
        energies: (S::f64s, FarFieldMask<S>),
        to: (&mut ComplexVector<S>, &mut ComplexVector<S>),
    );

    /// What the moments of a band of the chunk give for the sum of `c·M/(w − ω̃)`.
    fn quotients(&self, moments: &Self::Moments, band: usize, w: S::f64s) -> ComplexVector<S>;
}

#[inline(always)]
fn splat_at<S: Simd>(token: S, [re, im]: &Parts, index: usize) -> ComplexVector<S> {
    ComplexVector::new(splat(token, re[index]), splat(token, im[index]))
}

#[inline(always)]
fn load_at<S: Simd>(token: S, [re, im]: &Parts, index: usize) -> ComplexVector<S> {
    ComplexVector::new(load(token, &re[index..]), load(token, &im[index..]))
}

#[inline(always)]
fn store_at<S: Simd>(token: S, z: ComplexVector<S>, [re, im]: &mut Parts, index: usize) {
    store(token, z.re, &mut re[index..]);
    store(token, z.im, &mut im[index..]);
}

/// Adds a moment of the bands from `lane` on.
#[inline(always)]
fn add_moment<S: Simd>(token: S, z: ComplexVector<S>, [re, im]: &mut Parts, lane: usize) {
    add_to(token, z.re, &mut re[lane..]);
    add_to(token, z.im, &mut im[lane..]);
}

/// Pairs whose factors stay in the first cache.
const BLOCK: usize = CHUNK;

#[derive(Default)]
struct ExpansionBlock {
    ig: [usize; BLOCK],
    igp: [usize; BLOCK],
    vcoul: [f64; BLOCK],
    wtilde: Parts,
    eps: Parts,
}

impl ExpansionBlock {
    /// One by one, since the numbers of a pair are next to each other.
    #[inline(never)]
    fn gather<W: Copy + Into<Complex64>>(&mut self, poles: &[Pole<W>], vcoul_loc: &[f64]) {
        for (at, pole) in poles.iter().enumerate().take(BLOCK) {
            let wtilde: Complex64 = pole.wtilde.into();
            (self.ig[at], self.igp[at]) = (pole.ig as usize, pole.igp as usize);
            self.vcoul[at] = vcoul_loc[pole.igp as usize];
            (self.wtilde[0][at], self.wtilde[1][at]) = (wtilde.re, wtilde.im);
            (self.eps[0][at], self.eps[1][at]) = (pole.eps.re, pole.eps.im);
        }
    }

    /// Matrix elements M of a pair for the bands of a chunk from `lane` on.
    #[inline(always)]
    fn m<S: Simd>(
        &self,
        token: S,
        (clusters, chunk): (&Clusters, usize),
        pair: usize,
        lane: usize,
    ) -> ComplexVector<S> {
        let aqsn = load_at(token, clusters.aqsn.row(chunk, self.ig[pair]), lane);
        load_at(token, clusters.aqsm.row(chunk, self.igp[pair]), lane).conj_mul(aqsn)
    }
}

/// Prefetches the rows of the next block: they are in no order that hardware could foresee.
#[inline(always)]
fn prefetch_rows<W>(clusters: &Clusters, chunk: usize, next: &[Pole<W>]) {
    for pole in next.iter().take(BLOCK) {
        prefetch(clusters.aqsn.row(chunk, pole.ig as usize));
        prefetch(clusters.aqsm.row(chunk, pole.igp as usize));
    }
}

/// A cluster of real poles, `ω̃ = mid + half·t` with `|t| ≤ 1`, in Chebyshev polynomials of `t`.
pub struct Chebyshev<S: Simd> {
    token: S,
    low: f64,
    high: f64,
    mid: f64,
    half: f64,
    limits: Limits,
}

impl<S: Simd> Chebyshev<S> {
    /// Where `x` is above another number, and where it is not; neither where rounding cannot tell.
    #[inline(always)]
    fn above(&self, x: S::f64s, other: S::f64s) -> [S::mask64s; 2] {
        [x.simd_gt(other * (1.0 + MARGIN)), x.simd_lt(other * (1.0 - MARGIN))]
    }

    /// Where a pole takes the first branch, and where it does not.
    #[inline(always)]
    fn takes_first(&self, w: S::f64s, wtilde: f64) -> [S::mask64s; 2] {
        let d = w - wtilde;
        let d2 = d * d;
        let gamma = self.above(d2, splat(self.token, self.limits.limittwo));
        let ratio = self.above(d2 * self.limits.limitone, splat(self.token, wtilde * wtilde));
        [gamma[0] & ratio[0], gamma[1] | ratio[1]]
    }

    /// Where the cutoff takes `ssx` of a pole if `w < 0`, and where it does not.
    #[inline(always)]
    fn is_cut(&self, w: S::f64s, wtilde: f64, first: S::mask64s) -> [S::mask64s; 2] {
        let pole = splat(self.token, wtilde);
        let sum = (w + pole).abs() * self.limits.sexcut;
        let size = first.select(pole * pole, pole);
        let bound = first.select((w - pole).abs() * sum, sum * 2.0);
        self.above(size, bound)
    }

    #[inline(always)]
    fn is_within_bounds(&self, w: S::f64s) -> S::mask64s {
        w.simd_ge(self.low) & w.simd_le(self.high)
    }

    /// Whether moments give the sums of `1/(w − ω̃)`.
    #[inline(always)]
    fn converges(&self, w: S::f64s) -> S::mask64s {
        let away = (w - self.mid).abs();
        away.simd_ge(MIN_DISTANCE * self.half) & away.simd_le(MAX_DISTANCE * self.half)
    }

    /// The weights of the moments for `1/(w − ω̃)`, and `r`.
    #[inline(always)]
    fn weights(&self, w: S::f64s) -> ([S::f64s; MOMENTS], S::f64s) {
        let one = splat(self.token, 1.0);
        let x = w - self.mid;
        let s = x * (1.0 / self.half);
        let root = s.mul_add(s, -one).sqrt();
        let sign = x.simd_lt(0.0).select(-one, one);
        let step = sign / (s.abs() + root);
        let first = sign / (root * self.half);
        let mut power = first + first;
        let mut weights = array!(MOMENTS, _k => first);
        for weight in &mut weights[1..] {
            power *= step;
            *weight = power;
        }
        (weights, root)
    }
}

impl<S: Simd> ClusterExpansion<S> for Chebyshev<S> {
    type Cluster = Interval;
    type Wtilde = f64;
    type Moments = [Parts; MOMENTS];

    #[inline(always)]
    fn for_cluster(token: S, part: &Interval, limits: Limits) -> Option<Self> {
        let (Interval { low, high, .. }, (mid, half)) = (*part, part.middle());
        (!low.is_nan()).then_some(Chebyshev { token, low, high, mid, half, limits })
    }

    /// `Σ c·M·T_k(t)`.
    #[inline(always)]
    fn moments(
        &self,
        clusters: &Clusters,
        vcoul_loc: &[f64],
        poles: &[Pole],
        chunk: usize,
    ) -> Self::Moments {
        let token = self.token;
        let mut moments = [[[0.0; CHUNK]; 2]; MOMENTS];
        let scale = 2.0 / (self.high - self.low);
        let mut block = ExpansionBlock::default();
        let mut weight = Parts::default();
        // T_k(t) for k from 1 on.
        let mut polynomials = [[0.0; BLOCK]; MOMENTS - 1];
        for (begin, own) in (0..).step_by(BLOCK).zip(poles.chunks(BLOCK)) {
            block.gather(own, vcoul_loc);
            for at in (0..BLOCK).step_by(S::f64s::LEN) {
                let wtilde = load(token, &block.wtilde[0][at..]);
                let factor = load(token, &block.vcoul[at..]) * 0.5 * wtilde;
                let eps = load_at(token, &block.eps, at);
                store_at(token, eps.scale(factor), &mut weight, at);
                let t = (wtilde - self.mid) * scale;
                let twice = t + t;
                let (mut before, mut now) = (splat(token, 1.0), t);
                for polynomial in &mut polynomials {
                    store(token, now, &mut polynomial[at..]);
                    (before, now) = (now, twice.mul_add(now, -before));
                }
            }
            prefetch_rows(clusters, chunk, &poles[begin + own.len()..]);
            for lane in (0..CHUNK).step_by(S::f64s::LEN) {
                let mut sums = array!(MOMENTS, _k => ComplexVector::zero(token));
                for at in 0..own.len() {
                    let m = block.m(token, (clusters, chunk), at, lane);
                    let u = splat_at(token, &weight, at) * m;
                    sums[0] = sums[0] + u;
                    for k in 1..MOMENTS {
                        let polynomial = splat(token, polynomials[k - 1][at]);
                        sums[k] = sums[k].add_scaled(u, polynomial);
                    }
                }
                for (sum, moment) in sums.into_iter().zip(&mut moments) {
                    add_moment(token, sum, moment, lane);
                }
            }
        }
        moments
    }

    #[inline(always)]
    fn far_field(&self, w: S::f64s, occupied: bool) -> FarFieldMask<S> {
        let (low, high) = (self.takes_first(w, self.low), self.takes_first(w, self.high));
        let first = low[0] & high[0];
        // A pole at w itself has neither branch.
        let second = low[1] & high[1] & !self.is_within_bounds(w);
        let holds = first & self.converges(w) | second;
        if !occupied {
            return FarFieldMask { holds, first, ssx: S::mask64s::splat(self.token, false) };
        }
        let negative = w.simd_lt(0.0);
        let (low, high) = (self.is_cut(w, self.low, first), self.is_cut(w, self.high, first));
        let cut = negative & low[0] & high[0];
        let kept = low[1] & high[1] & !self.is_within_bounds(-w);
        let ssx = (!negative | kept) & self.converges(-w);
        FarFieldMask { holds: holds & (cut | ssx), first, ssx: ssx & !cut }
    }

    #[inline(always)]
    fn has_p(&self, w: S::f64s) -> S::mask64s {
        self.converges(-w)
    }

    #[inline(always)]
    fn quotients(&self, moments: &Self::Moments, band: usize, w: S::f64s) -> ComplexVector<S> {
        let (weights, _) = self.weights(w);
        let mut sum = ComplexVector::zero(self.token);
        for k in 0..MOMENTS {
            sum = sum.add_scaled(splat_at(self.token, &moments[k], band), weights[k]);
        }
        sum
    }

    /// Nowhere: the definition sums the near field.
    #[inline(always)]
    fn is_first(&self, _: S::f64s, _: bool) -> S::mask64s {
        S::mask64s::splat(self.token, false)
    }

    #[inline(always)]
    fn add(
        &self,
        moments: &Self::Moments,
        band: usize,
        occ: f64,
        (w, FarFieldMask { holds, first, ssx }): (S::f64s, FarFieldMask<S>),
        (asx, ach): (&mut ComplexVector<S>, &mut ComplexVector<S>),
    ) {
        let (token, zero, first) = (self.token, splat(self.token, 0.0), holds & first);
        let (q, q_root) = self.weights(w);
        for k in 0..MOMENTS {
            let weight = first.select(q[k], zero);
            *ach = ach.add_scaled(splat_at(token, &moments[k], band), weight);
        }
        if occ != 0.0 {
            // 1/(w + ω̃) is −1/(−w − ω̃).
            let (p, p_root) = self.weights(-w);
            // The weights for `1/(w − ω̃) − 1/(w + ω̃)`. Up to the middle the first ones have the same sign.
            let mut both = array!(MOMENTS, k => q[k] + p[k]);
            let scale = 4.0 * (self.mid / self.half) / self.half / self.half;
            let of_first = w.abs() * scale / (q_root * p_root * (q_root + p_root));
            both[0] = w.abs().simd_gt(self.mid).select(of_first, both[0]);
            for k in 0..MOMENTS {
                let weight = first.select(both[k], p[k]) * -occ;
                let weight = (holds & ssx).select(weight, zero);
                *asx = asx.add_scaled(splat_at(token, &moments[k], band), weight);
            }
        }
    }
}

/// A cluster of poles in a disc of the complex plane, in powers of `ζ = (ω̃ − middle)/radius`: see [`Acceptance`].
pub struct Powers<S: Simd> {
    token: S,
    bounds: Acceptance,
}

impl<S: Simd> Powers<S> {
    /// Whether moments give the sums of a quotient whose `|w ∓ z₀|` has this square.
    #[inline(always)]
    fn converges(&self, away: S::f64s) -> S::mask64s {
        away.simd_ge(self.bounds.far[0]) & away.simd_le(self.bounds.far[1])
    }

    /// Whether the cutoff takes `ssx` of all poles, and whether it takes none; there is one where `w < 0`.
    #[inline(always)]
    fn cut(
        &self,
        w: S::f64s,
        [away, opposite]: [S::f64s; 2],
        first: S::mask64s,
    ) -> [S::mask64s; 2] {
        let negative = w.simd_lt(0.0);
        if (!negative).all_true() {
            return [negative, !negative];
        }
        let (away, opposite) = (away.sqrt(), opposite.sqrt());
        let bound = |room: f64, rounding: f64| {
            let sum = (opposite + room) * (self.bounds.sexcut * rounding);
            first.select(sum * (away + room), sum + sum)
        };
        let numerator =
            |size: f64| first.select(splat(self.token, size * size), splat(self.token, size));
        let [small, large] = self.bounds.sizes;
        let cut = bound(self.bounds.radius, 1.0 + MARGIN).simd_lt(numerator(small));
        let kept = numerator(large).simd_lt(bound(-self.bounds.radius, 1.0 - MARGIN));
        [negative & cut, !negative | kept]
    }

    /// Squares of `|w ∓ z₀|`.
    #[inline(always)]
    fn away(&self, w: S::f64s) -> [S::f64s; 2] {
        let Complex64 { re, im } = self.bounds.middle;
        let (away, opposite) = (w - re, w + re);
        [away.mul_add(away, im * im), opposite.mul_add(opposite, im * im)]
    }

    /// The weight of the first moment for `1/(w − ω̃)`, and the factor from each to the next.
    #[inline(always)]
    fn series(&self, w: S::f64s) -> (ComplexVector<S>, ComplexVector<S>) {
        let d = w - self.bounds.middle.re;
        let im = splat(self.token, self.bounds.middle.im);
        let first = ComplexVector::new(d, im).scale(splat(self.token, 1.0) / d.mul_add(d, im * im));
        (first, first * self.bounds.radius)
    }

    /// What all moments of a band but the first give, before it is multiplied by the first weight.
    #[inline(always)]
    fn tail(
        &self,
        step: ComplexVector<S>,
        moments: &[Parts; POWERS],
        band: usize,
    ) -> ComplexVector<S> {
        let mut sum = splat_at(self.token, &moments[POWERS - 1], band);
        for k in (1..POWERS - 1).rev() {
            sum = splat_at(self.token, &moments[k], band).add_product(sum, step);
        }
        sum * step
    }
}

/// Powers whose moments are summed together if there are enough registers, and if there are few: the same terms in
/// the same order.
const MANY: usize = 8;
const FEW: usize = 4;
const _: () = assert!(POWERS.is_multiple_of(MANY) && MANY.is_multiple_of(FEW));

/// Adds the moments of a block from one power on, of `COUNT` of them, for a vector of bands; `u` is `c·M` of each pair
/// times that power, and after it times the next power that is left.
#[inline(always)]
fn add_powers<S: Simd, const COUNT: usize>(
    token: S,
    powers: &[Parts; MANY],
    u: &mut [ComplexVector<S>],
    moments: &mut [Parts],
    lane: usize,
) {
    let mut sums = array!(COUNT, _k => ComplexVector::zero(token));
    for (at, u) in u.iter_mut().enumerate() {
        sums[0] = sums[0] + *u;
        for k in 1..COUNT {
            sums[k] = sums[k].add_product(*u, splat_at(token, &powers[k - 1], at));
        }
        *u = *u * splat_at(token, &powers[COUNT - 1], at);
    }
    for k in 0..COUNT {
        add_moment(token, sums[k], &mut moments[k], lane);
    }
}

impl<S: Simd> ClusterExpansion<S> for Powers<S> {
    type Cluster = Disc;
    type Wtilde = Complex64;
    type Moments = [Parts; POWERS];

    #[inline(always)]
    fn for_cluster(token: S, disc: &Disc, limits: Limits) -> Option<Self> {
        let bounds = Acceptance::for_disc(disc, &limits);
        (!disc.radius.is_nan()).then_some(Powers { token, bounds })
    }

    /// `Σ c·M·ζ^k`.
    #[inline(always)]
    fn moments(
        &self,
        clusters: &Clusters,
        vcoul_loc: &[f64],
        poles: &[Pole<Complex64>],
        chunk: usize,
    ) -> Self::Moments {
        let token = self.token;
        let mut moments = [[[0.0; CHUNK]; 2]; POWERS];
        let middle = ComplexVector::splat(token, self.bounds.middle);
        let mut block = ExpansionBlock::default();
        let mut weight = Parts::default();
        // ζ^k for k from 1 on.
        let mut powers = [Parts::default(); MANY];
        for (begin, own) in (0..).step_by(BLOCK).zip(poles.chunks(BLOCK)) {
            block.gather(own, vcoul_loc);
            for at in (0..BLOCK).step_by(S::f64s::LEN) {
                let wtilde: ComplexVector<S> = load_at(token, &block.wtilde, at);
                let vcoul = load(token, &block.vcoul[at..]) * 0.5;
                let factor = wtilde * load_at(token, &block.eps, at);
                store_at(token, factor.scale(vcoul), &mut weight, at);
                let zeta = (wtilde - middle) * (1.0 / self.bounds.radius);
                let mut power = zeta;
                for powers in &mut powers {
                    store_at(token, power, powers, at);
                    power = power * zeta;
                }
            }
            prefetch_rows(clusters, chunk, &poles[begin + own.len()..]);
            for lane in (0..CHUNK).step_by(S::f64s::LEN) {
                let mut u = array!(BLOCK, _at => ComplexVector::zero(token));
                for at in 0..own.len() {
                    let m = block.m(token, (clusters, chunk), at, lane);
                    u[at] = m * splat_at(token, &weight, at);
                }
                let u = &mut u[..own.len()];
                let mut first = 0;
                while first < POWERS {
                    let moments = &mut moments[first..];
                    if registers::<S>() >= 32 {
                        add_powers::<S, MANY>(token, &powers, u, moments, lane);
                        first += MANY;
                    } else {
                        add_powers::<S, FEW>(token, &powers, u, moments, lane);
                        first += FEW;
                    }
                }
            }
        }
        moments
    }

    #[inline(always)]
    fn far_field(&self, w: S::f64s, occupied: bool) -> FarFieldMask<S> {
        let [away, opposite] = self.away(w);
        let first = away.simd_gt(self.bounds.first);
        // A pole at w itself has neither branch.
        let second = away.simd_lt(self.bounds.second) & away.simd_gt(self.bounds.outside);
        let holds = first & self.converges(away) | second;
        if !occupied {
            return FarFieldMask { holds, first, ssx: S::mask64s::splat(self.token, false) };
        }
        let [cut, kept] = self.cut(w, [away, opposite], first);
        let ssx = kept & !cut & self.converges(opposite);
        FarFieldMask { holds: holds & (cut | ssx), first, ssx }
    }

    #[inline(always)]
    fn has_p(&self, w: S::f64s) -> S::mask64s {
        self.converges(self.away(w)[1])
    }

    #[inline(always)]
    fn quotients(&self, moments: &Self::Moments, band: usize, w: S::f64s) -> ComplexVector<S> {
        let (first, step) = self.series(w);
        first * (splat_at(self.token, &moments[0], band) + self.tail(step, moments, band))
    }

    /// No pole is `−w` there, and squares are finite.
    #[inline(always)]
    fn is_first(&self, w: S::f64s, occupied: bool) -> S::mask64s {
        let [away, opposite] = self.away(w);
        let first = away.simd_gt(self.bounds.first) & away.simd_le(MAX_DISTANCE * MAX_DISTANCE);
        if !occupied {
            return first;
        }
        let [_, kept] = self.cut(w, [away, opposite], first);
        first & kept & opposite.simd_gt(self.bounds.outside)
    }

    #[inline(always)]
    fn add(
        &self,
        moments: &Self::Moments,
        band: usize,
        occ: f64,
        (w, FarFieldMask { holds, first, ssx }): (S::f64s, FarFieldMask<S>),
        (asx, ach): (&mut ComplexVector<S>, &mut ComplexVector<S>),
    ) {
        let (token, first) = (self.token, holds & first);
        let (q, step) = self.series(w);
        let of_first = splat_at(token, &moments[0], band);
        let tail = self.tail(step, moments, band);
        *ach = *ach + (q * (of_first + tail)).keep(token, first);
        if occ != 0.0 {
            // 1/(w + ω̃) is −1/(−w − ω̃).
            let (p, step) = self.series(-w);
            // The first weight for `1/(w − ω̃) − 1/(w + ω̃)`.
            let both = ComplexVector::splat(token, self.bounds.middle * -2.0) * (q * p);
            let weight = ComplexVector::select(first, both, p);
            let sum = (p * self.tail(step, moments, band)).add_product(weight, of_first);
            let sum = sum + (q * tail).keep(token, first);
            *asx = asx.add_scaled(sum.keep(token, holds & ssx), splat(token, -occ));
        }
    }
}

#[cfg(test)]
mod tests;
