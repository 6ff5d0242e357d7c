//! Clusters of real poles in an interval `ω̃ = mid + half·t`, `|t| ≤ 1`, with moments of Chebyshev polynomials `T_k(t)`.
//!
//! With `s = (w − mid)/half`, `r = √(s² − 1)` and `ρ = |s| + r`,
//!
//! ```text
//! 1/(w − ω̃) = 1/(half·(s − t)) = (sgn s)/(half·r) · (T₀(t) + 2·Σ (sgn s/ρ)^k·T_k(t))
//! ```
//!
//! What is left out after [`MOMENTS`] polynomials is at most `2·√((s+1)/(s−1))·ρ/(ρ−1)·ρ^−MOMENTS` of the quotient
//! itself: 1.6·10⁻¹⁶ if `|s|` is at least [`MIN_DISTANCE`]. Of `q − p`, smaller than the two by `κ = |w|/ω̃` if that is
//! above one, it is κ times as much; intervals are at most a thirty-second of their poles wide, so that `|s| ≥ 63·(κ −
//! 2)`: at most 6·10⁻¹⁶, three roundings, for any κ. The weights of `q − p` are sums of those of `q` and `−p`; the
//! one that cancels most is that of `T₀`, which is made of `|r₂² − r₁²| = 4·|w|·mid/half²`, where `r₁` and `r₂` are `r` at `w`
//! and `−w`.

use core::ops::Range;

use num_complex::{Complex, Complex64};

use crate::arrays::Limits;
use crate::formula::{VALUES, reciprocal_unless};
use crate::intrinsics::{load, sqrt};
use crate::sigma::{
    ALONE, BANDS, Chunk, Cluster, ClusterArguments, FarField, Interval, MARGIN, MAX_DISTANCE, Pole,
    STAGE, Target, Team, add, complex_at, moment_at, numbers_of_sums, sum_stages,
};

/// Blocks of a launch at most: the order of the sums depends on it.
pub const BLOCKS: u32 = 1056;

pub const MOMENTS: usize = 7;

/// The least `|s|` of the far field.
pub const MIN_DISTANCE: f64 = 100.0;

impl Pole {
    /// Loads pair `index` by two loads of 16 bytes.
    #[inline(always)]
    unsafe fn load(poles: *const Pole, index: u32) -> Pole {
        const { assert!(cfg!(target_endian = "little"), "indices of pairs are loaded as one number") };
        let halves: *const Complex64 = poles.cast();
        let [first, eps] = [load(halves, 2 * index), load(halves, 2 * index + 1)];
        let indices = first.im.to_bits();
        Pole { wtilde: first.re, ig: indices as u32, igp: (indices >> 32) as u32, eps }
    }
}

// Shared memory of a block, in numbers.

/// Polynomials of a pair in shared memory: all but the first, which is one.
const PER_PAIR: u32 = MOMENTS as u32 - 1;
const _: () = assert!(PER_PAIR.is_multiple_of(2), "they are read two at a time");

/// `(N, energies)`, of the targets, after the [moments](moment_at).
const SUMS: u32 = 2 * BANDS * MOMENTS as u32;
/// Two buffers of `(PER_PAIR, STAGE)`, after the sums.
const POLYNOMIALS: u32 = 2 * STAGE * PER_PAIR;
/// Two buffers of `(2, STAGE)`.
const WEIGHTS: u32 = 2 * STAGE * 2;

shared_memory! { align 16 gpp_cells: (Interval::OTHERS + numbers_of_sums(VALUES)) * 8 }
shared_memory! { align 16 gpp_cells_alone: (Interval::OTHERS + numbers_of_sums(ALONE)) * 8 }

/// The polynomials `k + 1` and `k + 2` of a pair of a stage.
#[inline(always)]
const fn polynomials_at<const N: usize>(buffer: u32, pair: u32, k: usize) -> u32 {
    SUMS + numbers_of_sums(N) + (buffer * STAGE + pair) * PER_PAIR + k as u32
}

/// `c` of a pair of a stage.
#[inline(always)]
const fn weight_at<const N: usize>(buffer: u32, pair: u32) -> u32 {
    SUMS + numbers_of_sums(N) + POLYNOMIALS + (buffer * STAGE + pair) * 2
}

/// Whether `x` is above, or below, another of the same sign by more than rounding can tell; `None` between.
#[inline(always)]
fn above(x: f64, other: f64) -> Option<bool> {
    if x > other * (1.0 + MARGIN) {
        Some(true)
    } else if x < other * (1.0 - MARGIN) {
        Some(false)
    } else {
        None
    }
}

/// Whether the first branch holds for a pole.
#[inline(always)]
fn is_first(w: f64, wtilde: f64, limits: &Limits) -> Option<bool> {
    let d = w - wtilde;
    let (d2, wtilde2) = (d * d, wtilde * wtilde);
    match (above(d2, limits.limittwo), above(d2 * limits.limitone, wtilde2)) {
        (Some(true), Some(true)) => Some(true),
        (Some(false), _) | (_, Some(false)) => Some(false),
        _ => None,
    }
}

/// Whether the cutoff takes `ssx` of a pole, in either branch, for `w < 0`.
#[inline(always)]
fn is_cut(w: f64, wtilde: f64, first: bool, limits: &Limits) -> Option<bool> {
    let (sexcut, sum) = (limits.sexcut, (w + wtilde).abs());
    match first {
        true => above(wtilde * wtilde, sexcut * (w - wtilde).abs() * sum),
        false => above(wtilde, 2.0 * sexcut * sum),
    }
}

/// The far field at `w` of an occupied band or an empty one; `None` in the near field.
#[inline(always)]
pub fn far_field(w: f64, interval: &Interval, occupied: bool, limits: &Limits) -> Option<FarField> {
    let (low, high) = (interval.low, interval.high);
    let within = |x: f64| low <= x && x <= high;
    // For a given w the second branch is one interval of poles, around w or from zero on; so is what is
    // cut off, around −w.
    let first = is_first(w, low, limits)?;
    // A pole at w itself has neither branch.
    let is_some = if first { interval.is_far(w) } else { !within(w) };
    if first != is_first(w, high, limits)? || !is_some {
        return None;
    }
    let mut ssx = occupied;
    if occupied && w < 0.0 {
        let cut = is_cut(w, low, first, limits)?;
        if cut != is_cut(w, high, first, limits)? || !cut && within(-w) {
            return None;
        }
        ssx = !cut;
    }
    if ssx && !interval.is_far(-w) {
        return None;
    }
    Some(FarField { q: first, ssx })
}

/// The weights of the moments in a cluster's sum of `c·M/(w − ω̃)`.
#[derive(Clone, Copy, Debug)]
pub struct IntervalExpansion {
    pub weights: [f64; MOMENTS],
    root: f64,
}

impl IntervalExpansion {
    #[inline(always)]
    pub fn at_energy(w: f64, interval: &Interval) -> IntervalExpansion {
        let (mid, half) = interval.middle();
        let x = w - mid;
        let s = x * (1.0 / half);
        let root = sqrt(s * s - 1.0);
        let sign = if x < 0.0 { -1.0 } else { 1.0 };
        let step = sign * reciprocal_unless(false, s.abs() + root);
        let first = sign * reciprocal_unless(false, root * half);
        let mut weights = [first; MOMENTS];
        let mut power = first + first;
        for weight in weights.iter_mut().skip(1) {
            power = power * step;
            *weight = power;
        }
        IntervalExpansion { weights, root }
    }

    /// The weights for `1/(w − ω̃) − 1/(w + ω̃)`, from the expansions at `w` and at `−w`.
    #[inline(always)]
    pub fn minus(
        &self,
        opposite: &IntervalExpansion,
        w: f64,
        interval: &Interval,
    ) -> [f64; MOMENTS] {
        let (mid, half) = interval.middle();
        let mut both = self.weights;
        for (weight, other) in both.iter_mut().zip(&opposite.weights) {
            *weight = *weight + *other;
        }
        // Below they have the same sign.
        if w.abs() > mid {
            let product = self.root * opposite.root * (self.root + opposite.root);
            let scale = 4.0 * (mid / half) / half / half;
            both[0] = w.abs() * scale * reciprocal_unless(false, product);
        }
        both
    }
}

impl Cluster for Interval {
    const SUMS: u32 = SUMS;
    const OTHERS: u32 = SUMS + POLYNOMIALS + WEIGHTS;

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    fn shared_memory<const N: usize>() -> u32 {
        if N == ALONE { gpp_cells_alone() } else { gpp_cells() }
    }

    #[inline(always)]
    unsafe fn pole(a: &ClusterArguments, index: u32) -> Pole<Complex64> {
        let Pole { wtilde, ig, igp, eps } = Pole::load(a.poles, index);
        Pole { wtilde: Complex::new(wtilde, 0.0), ig, igp, eps }
    }

    #[inline(always)]
    fn pairs(&self) -> Range<u32> {
        self.begin..self.end
    }

    #[inline(always)]
    fn far_fields(&self, limits: Limits) -> impl Fn(f64, bool) -> Option<FarField> {
        move |w, occupied| far_field(w, self, occupied, &limits)
    }

    #[inline(always)]
    fn is_far(&self, w: f64) -> bool {
        let (mid, half) = self.middle();
        let away = (w - mid).abs();
        MIN_DISTANCE * half <= away && away <= MAX_DISTANCE * half
    }

    #[inline(always)]
    unsafe fn sum_moments<T: Team, const N: usize>(&self, (a, team, first): Chunk<T>) {
        let (mid, half) = self.middle();
        let scale = 1.0 / half;
        sum_stages(
            self,
            (a, team, first),
            #[inline(always)]
            |buffer: u32, thread: u32, pole: Pole<Complex64>, vcoul: f64| {
                let weight = pole.eps * (vcoul * pole.wtilde.re);
                team.set_pair(weight_at::<N>(buffer, thread), [weight.re, weight.im]);
                let t = (pole.wtilde.re - mid) * scale;
                let twice = t + t;
                let (mut odd, mut even) = (t, twice * t - 1.0);
                for half in 0..MOMENTS / 2 {
                    team.set_pair(polynomials_at::<N>(buffer, thread, 2 * half), [odd, even]);
                    odd = twice * even - odd;
                    even = twice * odd - even;
                }
            },
            #[inline(always)]
            |buffer: u32, pair: u32, m: Complex64, moments: &mut [Complex64; MOMENTS]| {
                let u = m * complex_at(team, weight_at::<N>(buffer, pair));
                moments[0] = moments[0] + u;
                for half in 0..MOMENTS / 2 {
                    let k = 2 * half;
                    let [odd, even] = team.pair(polynomials_at::<N>(buffer, pair, k));
                    moments[k + 1] = moments[k + 1] + u * odd;
                    moments[k + 2] = moments[k + 2] + u * even;
                }
            },
        );
    }

    #[inline(always)]
    unsafe fn add_far_field<T: Team>(&self, (a, team, first): Chunk<T>, target: u32) {
        let Target { iw, begin, step } = Target::from_index::<VALUES>(target, a);
        let (limits, bands) = (a.limits(), a.bands(first));
        if iw >= a.nw {
            return;
        }
        let zero = Complex::new(0.0, 0.0);
        let (mut asx, mut ach) = (zero, zero);
        let mut b = begin;
        while b < bands {
            let (w, occ) = (a.wx(iw, first + b), a.occ(first + b));
            if let Some(far) = far_field(w, self, occ != 0.0, &limits) {
                let weighted = |weights: &[f64; MOMENTS]| {
                    let mut sum = zero;
                    for (k, &weight) in weights.iter().enumerate() {
                        sum = sum + complex_at(team, moment_at(b, k)) * weight;
                    }
                    sum
                };
                let q = IntervalExpansion::at_energy(w, self);
                if far.q {
                    ach = ach + weighted(&q.weights);
                }
                if far.ssx {
                    // 1/(w + ω̃) is −1/(−w − ω̃).
                    let p = IntervalExpansion::at_energy(-w, self);
                    let weights = if far.q { q.minus(&p, w, self) } else { p.weights };
                    asx = asx - weighted(&weights) * occ;
                }
            }
            b += step;
        }
        add::<Interval, T, VALUES>(team, target, [asx.re, asx.im, ach.re, ach.im]);
    }

    #[inline(always)]
    unsafe fn quotients<T: Team>(&self, team: &T, b: u32, w: f64) -> Complex64 {
        let mut sum = Complex::new(0.0, 0.0);
        for (k, weight) in IntervalExpansion::at_energy(w, self).weights.into_iter().enumerate() {
            sum = sum + complex_at(team, moment_at(b, k)) * weight;
        }
        sum
    }
}
