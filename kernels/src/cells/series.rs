//! What the moments of a cell tell of its sums at each energy, where they do.
//!
//! With `s = (w − mid)/half`, `r = √(s² − 1)` and `ρ = |s| + r`,
//!
//! ```text
//! 1/(w − ω̃) = 1/(half·(s − t)) = (sgn s)/(half·r) · (T₀(t) + 2·Σ (sgn s/ρ)^k·T_k(t))
//! ```
//!
//! What is left out after [`MOMENTS`] polynomials is at most `2·√((s+1)/(s−1))·ρ/(ρ−1)·ρ^−MOMENTS` of the
//! quotient itself: 1.6·10⁻¹⁶ where `|s|` is at least [`LEAST`]. Of `q − p`, smaller than the two by
//! `κ = |w|/ω̃` where that is above one, it is κ times as much; cells are at most a thirty-second of their
//! poles wide, so that `|s| ≥ 63·(κ − 2)`: at most 6·10⁻¹⁶, three roundings, for any κ. The weights of `q − p`
//! are sums of those of `q` and `−p`; where these nearly cancel, that of `T₀` does most, and is made of
//! `|r₂² − r₁²| = 4·|w|·mid/half²`.

use num_complex::{Complex, Complex64};

use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::cells;
use crate::cells::STAGED;
use crate::cells::team::Team;
use crate::formula::reciprocal_unless;
use crate::intrinsics::sqrt;
use crate::pairs::{Part, Pole};

pub const MOMENTS: usize = 7;

/// The least `|s|` at which they tell enough.
pub const LEAST: f64 = 100.0;

/// The largest `|s|`, whose third power is a number.
pub const MOST: f64 = 1e100;

/// What a cell contributes at an energy, all of its pairs alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Whether the first branch holds; else `q` is zero.
    pub q: bool,
    /// Whether there is an `ssx`: not of empty bands, nor where it is cut off.
    pub ssx: bool,
}

/// Room for the rounding of what is compared.
pub const ROOM: f64 = 1e-12;

/// Whether `x` is above, or below, another of the same sign by more than rounding can tell; `None` between.
#[inline(always)]
fn above(x: f64, other: f64) -> Option<bool> {
    if x > other * (1.0 + ROOM) {
        Some(true)
    } else if x < other * (1.0 - ROOM) {
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

/// Whether the cutoff takes `ssx` of a pole, in either branch, where `w < 0`.
#[inline(always)]
fn is_cut(w: f64, wtilde: f64, first: bool, limits: &Limits) -> Option<bool> {
    let (sexcut, sum) = (limits.sexcut, (w + wtilde).abs());
    match first {
        true => above(wtilde * wtilde, sexcut * (w - wtilde).abs() * sum),
        false => above(wtilde, 2.0 * sexcut * sum),
    }
}

/// How the moments of a part tell its sums at `w`, of an occupied band or an empty one; `None` where they do
/// not.
#[inline(always)]
pub fn way(w: f64, part: &Part, occupied: bool, limits: &Limits) -> Option<Way> {
    let (low, high) = (part.low, part.high);
    let within = |x: f64| low <= x && x <= high;
    // For a given w the second branch is one interval of poles, around w or from zero on; so is what is
    // cut off, around −w.
    let first = is_first(w, low, limits)?;
    // A pole at w itself has neither branch.
    let is_some = if first { is_told(w, part) } else { !within(w) };
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
    if ssx && !is_told(-w, part) {
        return None;
    }
    Some(Way { q: first, ssx })
}

/// Whether moments tell the sums of `1/(w − ω̃)`; not where a bound is no number.
#[inline(always)]
fn is_told(w: f64, part: &Part) -> bool {
    let (mid, half) = part.middle();
    let away = (w - mid).abs();
    LEAST * half <= away && away <= MOST * half
}

/// What the moments of a part are weighted with for its sum of `c·M/(w − ω̃)`.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Of each moment.
    pub weights: [f64; MOMENTS],
    root: f64,
}

impl Weights {
    #[inline(always)]
    pub fn of(w: f64, part: &Part) -> Weights {
        let (mid, half) = part.middle();
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
        Weights { weights, root }
    }

    /// The weights for `1/(w − ω̃) − 1/(w + ω̃)`, of those at `w` and at `−w`.
    #[inline(always)]
    pub fn minus(&self, opposite: &Weights, w: f64, part: &Part) -> [f64; MOMENTS] {
        let (mid, half) = part.middle();
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

// The moments of a part.

/// Pairs whose matrix elements are under way together.
const AHEAD: u32 = 4;
const _: () = assert!(STAGED.is_multiple_of(AHEAD), "all of them are taken");

/// Sums the moments of a part for each band from `first` on, which the block then shares.
#[inline(always)]
pub unsafe fn sum_moments<T: Team>(a: &CellsArguments, team: &T, part: &Part, first: u32) {
    let (mid, half) = part.middle();
    let scale = 1.0 / half;
    let zero = Complex::new(0.0, 0.0);
    // At most the last pair of the part.
    let pole = |at: u32| Pole::read(a.poles, at.min(part.end - 1));
    let fetch = |at: u32| {
        let pole = pole(at);
        (pole, *a.vcoul_loc.add(pole.igp as usize))
    };
    let put = |buffer: u32, thread: u32, at: u32, (pole, vcoul): (Pole, f64)| {
        let there = if at < part.end { 0.5 * vcoul * pole.wtilde } else { 0.0 };
        let weight = pole.eps * there;
        team.set_pair(cells::weight(buffer, thread), [weight.re, weight.im]);
        let t = (pole.wtilde - mid) * scale;
        let twice = t + t;
        let (mut odd, mut even) = (t, twice * t - 1.0);
        for half in 0..MOMENTS / 2 {
            team.set_pair(cells::polynomials(buffer, thread, 2 * half), [odd, even]);
            odd = twice * even - odd;
            even = twice * odd - even;
        }
    };
    team.all(|thread| {
        for k in 0..MOMENTS {
            team.set_pair(cells::moment(thread, k), [0.0; 2]);
        }
        put(0, thread, part.begin + thread, fetch(part.begin + thread));
    });
    let (mut begin, mut buffer) = (part.begin, 0);
    while begin < part.end {
        let next = begin + STAGED;
        team.all(|thread| {
            let ahead = next < part.end;
            let fetched = fetch(if ahead { next + thread } else { begin });
            let elements = |at: u32| -> [[Complex64; 2]; AHEAD as usize] {
                core::array::from_fn(|i| {
                    // A pair of the part, a band within the rows.
                    a.elements(&pole(at + i as u32), first + thread)
                })
            };
            // Of these pairs, then to all: fewer additions in a row.
            let mut moments = [zero; MOMENTS];
            let mut under_way = elements(begin);
            let (mut at, staged) = (0, STAGED.min(part.end - begin));
            while at < staged {
                let factors = under_way.map(|[aqsm, aqsn]| aqsm.conj() * aqsn);
                under_way = elements(begin + at + AHEAD);
                for (i, m) in factors.into_iter().enumerate() {
                    let pair = at + i as u32;
                    let [re, im] = team.pair(cells::weight(buffer, pair));
                    let u = m * Complex::new(re, im);
                    moments[0] = moments[0] + u;
                    for half in 0..MOMENTS / 2 {
                        let k = 2 * half;
                        let [odd, even] = team.pair(cells::polynomials(buffer, pair, k));
                        moments[k + 1] = moments[k + 1] + u * odd;
                        moments[k + 2] = moments[k + 2] + u * even;
                    }
                }
                at += AHEAD;
            }
            for (k, moment) in moments.iter().enumerate() {
                let [re, im] = team.pair(cells::moment(thread, k));
                team.set_pair(cells::moment(thread, k), [re + moment.re, im + moment.im]);
            }
            if ahead {
                put(buffer ^ 1, thread, next + thread, fetched);
            }
        });
        (begin, buffer) = (next, buffer ^ 1);
    }
}

#[cfg(test)]
mod tests;
