//! What the moments of a disc tell of its sums at each energy, where they do.
//!
//! With `ω̃ = z₀ + r·ζ`, `|ζ| ≤ 1`, and `d = w − z₀`,
//!
//! ```text
//! 1/(w − ω̃) = 1/d · Σ_{k<K} (r/d)^k·ζ^k + (ζ·r/d)^K · 1/(w − ω̃)
//! ```
//!
//! so what is left out after `K` = [`MOMENTS`] powers is at most `(r/|d|)^K` of the quotient itself: 10⁻¹⁶
//! where `|d|` is at least [`LEAST`] radii. `1/(w + ω̃)` is the same at `−w` with the other sign.
//!
//! Of `q − p = 2ω̃/((w − ω̃)(w + ω̃))` the two quotients are `|w ± ω̃|/|2ω̃|`, at most `(1 + κ)/2` with
//! `κ = |w|/|ω̃|`. A disc that has moments is at least [`LEAST`] radii away from zero, so `|d|` is at least
//! `(0.9·κ − 1)·LEAST` radii too: for κ up to 3 the difference has an error of 2·10⁻¹⁶ from each quotient,
//! and for larger ones less. Its weight of `ζ⁰` is not the difference of two, but
//! `1/(w − z₀) − 1/(w + z₀) = 2z₀/((w − z₀)(w + z₀))`; those of higher powers are smaller than it by
//! `r/|d|` and more.

use num_complex::{Complex, Complex64};

use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::cells::series::{MOST, ROOM, Way};
use crate::cells::{Cell, Team};
use crate::discs;
use crate::discs::{EVEN, STAGED};
use crate::formula::{plus_product, reciprocal_unless};
use crate::intrinsics::sqrt;
use crate::pairs::{Disc, Pole};

pub const MOMENTS: usize = 16;

/// The least distance, in radii, at which they tell enough.
pub const LEAST: f64 = 10.0;

/// What of a disc tells how its moments are used, whatever the energy.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    middle: Complex64,
    radius: f64,
    /// Squares of the least and the largest `|w ∓ z₀|` at which moments tell the sums of a quotient.
    told: [f64; 2],
    /// Square of `|w − z₀|` above which the first branch holds for all poles.
    first: f64,
    /// Square of `|w − z₀|` below which it holds for none.
    second: f64,
    /// Square of `|w − z₀|` above which no pole is `w` itself.
    outside: f64,
    /// The least and the largest `|ω̃|`.
    sizes: [f64; 2],
    sexcut: f64,
}

impl Bounds {
    /// Of a disc; where its radius is no number, nothing holds.
    #[inline(always)]
    pub fn of(disc: &Disc, limits: &Limits) -> Bounds {
        let (middle, radius) = (disc.middle, disc.radius);
        let size = sqrt(middle.norm_sqr());
        let sizes = [size - radius, size + radius];
        // |w − ω̃| of the bound between the branches, for the smallest of the poles and for the largest.
        let gamma = sqrt(limits.limittwo);
        let share = reciprocal_unless(false, sqrt(limits.limitone));
        let near = |size: f64| {
            let near = size * share;
            if near > gamma { near } else { gamma }
        };
        let square = |x: f64| x * x;
        let first = near(sizes[1]) * (1.0 + ROOM) + radius;
        let second = near(sizes[0]) * (1.0 - ROOM) - radius;
        let nothing = second < 0.0;
        Bounds {
            middle,
            radius,
            told: [square(LEAST * radius), MOST * MOST],
            first: square(first),
            second: if nothing { 0.0 } else { square(second) },
            outside: square(radius * (1.0 + ROOM)),
            sizes,
            sexcut: limits.sexcut,
        }
    }

    /// How the moments tell the sums at `w`, of an occupied band or an empty one; `None` where they do not.
    #[inline(always)]
    pub fn way(&self, w: f64, occupied: bool) -> Option<Way> {
        let square = |sum: f64| sum * sum + self.middle.im * self.middle.im;
        let (away, opposite) = (square(w - self.middle.re), square(w + self.middle.re));
        let is_told = |away: f64| self.told[0] <= away && away <= self.told[1];
        let q = away > self.first;
        // A pole at w itself has neither branch.
        let is_second = away < self.second && away > self.outside;
        if !(if q { is_told(away) } else { is_second }) {
            return None;
        }
        let mut ssx = occupied;
        if occupied && w < 0.0 {
            let [small, large] = self.sizes;
            let (away, opposite) = (sqrt(away), sqrt(opposite));
            // `sexcut` times what |ω̃|, or its square, is divided by.
            let bound = |room: f64| {
                let sum = self.sexcut * (opposite + room);
                if q { sum * (away + room) } else { sum + sum }
            };
            let of = |size: f64| if q { size * size } else { size };
            let is_cut = of(small) > bound(self.radius) * (1.0 + ROOM);
            let is_kept = of(large) < bound(-self.radius) * (1.0 - ROOM);
            if !is_cut && !is_kept {
                return None;
            }
            ssx = !is_cut;
        }
        if ssx && !is_told(opposite) {
            return None;
        }
        Some(Way { q, ssx })
    }

    /// What the moments are weighted with for `1/(w − ω̃)`.
    #[inline(always)]
    pub fn series(&self, w: f64) -> Series {
        let d = Complex::new(w - self.middle.re, -self.middle.im);
        let first = d.conj() * reciprocal_unless(false, d.norm_sqr());
        Series { first, step: first * self.radius }
    }

    /// The weight of the first moment for `1/(w − ω̃) − 1/(w + ω̃)`, of the series at `w` and at `−w`.
    #[inline(always)]
    pub fn difference(&self, q: &Series, opposite: &Series) -> Complex64 {
        -(self.middle + self.middle) * (q.first * opposite.first)
    }
}

/// The weights of the moments for `1/(w − ω̃)`: `first`, and `step` times as much for each that follows.
#[derive(Clone, Copy, Debug)]
pub struct Series {
    /// `1/(w − z₀)`.
    pub first: Complex64,
    /// `r/(w − z₀)`.
    step: Complex64,
}

impl Series {
    /// What all moments but the first give, before it is multiplied with [`Series::first`].
    #[inline(always)]
    pub fn tail(&self, moment: impl Fn(usize) -> Complex64) -> Complex64 {
        let mut sum = moment(MOMENTS - 1);
        for k in (1..MOMENTS - 1).rev() {
            sum = plus_product(moment(k), sum, self.step);
        }
        sum * self.step
    }
}

// The moments of a disc.

/// Pairs whose matrix elements are under way together.
const AHEAD: u32 = 4;
const _: () = assert!(STAGED.is_multiple_of(AHEAD), "all of them are taken");

/// Adds a pair with these factors and this `M`. Written out for each: of a loop over so much the compiler makes
/// one that reads registers by number, from memory.
#[inline(always)]
fn add_pair<T: Team>(team: &T, factors: u32, m: Complex64, moments: &mut [Complex64; MOMENTS]) {
    let factor = |which: usize| {
        let [re, im] = team.pair(factors + 2 * which as u32);
        Complex::new(re, im)
    };
    let even = m * factor(0);
    let odd = even * factor(1);
    moments[0] = moments[0] + even;
    moments[1] = moments[1] + odd;
    for which in 1..EVEN {
        let power = factor(which + 1);
        let [two, three] = [2 * which, 2 * which + 1];
        moments[two] = plus_product(moments[two], even, power);
        moments[three] = plus_product(moments[three], odd, power);
    }
}

/// Sums the moments of a disc for each band from `first` on, which the block then shares.
#[inline(always)]
pub unsafe fn sum_moments<T: Team>(a: &CellsArguments, team: &T, disc: &Disc, first: u32) {
    let (begin_of_all, end) = (disc.begin, disc.end);
    let zero = Complex::new(0.0, 0.0);
    let (middle, scale) = (disc.middle, 1.0 / disc.radius);
    // At most the last pair of the disc.
    let pole = |at: u32| Disc::pole(a, at.min(end - 1));
    let fetch = |at: u32| {
        let pole = pole(at);
        (pole, *a.vcoul_loc.add(pole.igp as usize))
    };
    let set = |at: u32, value: Complex64| team.set_pair(at, [value.re, value.im]);
    let get = |at: u32| {
        let [re, im] = team.pair(at);
        Complex::new(re, im)
    };
    let put = |buffer: u32, thread: u32, at: u32, (pole, vcoul): (Pole<Complex64>, f64)| {
        let there = if at < end { 0.5 * vcoul } else { 0.0 };
        let wtilde = pole.wtilde;
        set(discs::factor(buffer, thread, 0), wtilde * pole.eps * there);
        let zeta = (wtilde - middle) * scale;
        set(discs::factor(buffer, thread, 1), zeta);
        let square = zeta * zeta;
        let mut power = square;
        for which in 1..EVEN {
            set(discs::factor(buffer, thread, which + 1), power);
            power = power * square;
        }
    };
    team.all(|thread| {
        for k in 0..MOMENTS {
            set(discs::moment(thread, k), zero);
        }
        put(0, thread, begin_of_all + thread, fetch(begin_of_all + thread));
    });
    let (mut begin, mut buffer) = (begin_of_all, 0);
    while begin < end {
        let next = begin + STAGED;
        team.all(|thread| {
            let ahead = next < end;
            let fetched = fetch(if ahead { next + thread } else { begin });
            let elements = |at: u32| -> [[Complex64; 2]; AHEAD as usize] {
                core::array::from_fn(|i| {
                    // A pair of the disc, a band within the rows.
                    a.elements(&pole(at + i as u32), first + thread)
                })
            };
            // Of these pairs, then to all: fewer additions in a row.
            let mut moments = [zero; MOMENTS];
            let mut under_way = elements(begin);
            let (mut at, staged) = (0, STAGED.min(end - begin));
            while at < staged {
                let factors = under_way.map(|[aqsm, aqsn]| aqsm.conj() * aqsn);
                under_way = elements(begin + at + AHEAD);
                let [one, two, three, four] = factors;
                add_pair(team, discs::factor(buffer, at, 0), one, &mut moments);
                add_pair(team, discs::factor(buffer, at + 1, 0), two, &mut moments);
                add_pair(team, discs::factor(buffer, at + 2, 0), three, &mut moments);
                add_pair(team, discs::factor(buffer, at + 3, 0), four, &mut moments);
                at += AHEAD;
            }
            for (k, &moment) in moments.iter().enumerate() {
                let at = discs::moment(thread, k);
                set(at, get(at) + moment);
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
