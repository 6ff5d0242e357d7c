//! Clusters of poles in a disc of the complex plane, `ω̃ = z₀ + r·ζ`, `|ζ| ≤ 1`, with moments of the powers `ζ^k`.
//!
//! Moments are complex numbers times complex powers. They are summed two at a time, so that only every second power is
//! staged: `ζ^2j` with `c·M` and with `c·M·ζ`.
//!
//! With `d = w − z₀`,
//!
//! ```text
//! 1/(w − ω̃) = 1/d · Σ_{k<K} (r/d)^k·ζ^k + (ζ·r/d)^K · 1/(w − ω̃)
//! ```
//!
//! so what is left out after `K` = [`MOMENTS`] powers is at most `(r/|d|)^K` of the quotient itself: 10⁻¹⁶
//! if `|d|` is at least [`MIN_DISTANCE`] radii. `1/(w + ω̃)` is the same at `−w` with the other sign.
//!
//! Of `q − p = 2ω̃/((w − ω̃)(w + ω̃))` the two quotients are `|w ± ω̃|/|2ω̃|`, at most `(1 + κ)/2` with `κ = |w|/|ω̃|`.
//! A disc that has moments is at least [`MIN_DISTANCE`] radii away from zero, so `|d|` is at least `(0.9·κ −
//! 1)·MIN_DISTANCE` radii too: for κ up to 3 the difference has an error of 2·10⁻¹⁶ from each quotient, and for larger
//! ones less. Its weight of `ζ⁰` is not the difference of two, but `1/(w − z₀) − 1/(w + z₀) = 2z₀/((w − z₀)(w + z₀))`;
//! those of higher powers are smaller than it by `r/|d|` and more.

use core::ops::Range;

use num_complex::{Complex, Complex64};

use crate::arrays::Limits;
use crate::formula::{VALUES, plus_product, reciprocal_unless};
use crate::intrinsics::sqrt;
use crate::sigma::{
    ALONE, BANDS, Chunk, Cluster, ClusterArguments, Disc, FarField, MARGIN, MAX_DISTANCE, Pole,
    STAGE, Target, Team, add, complex_at, moment_at, numbers_of_sums, sum_stages,
};

/// Blocks of a launch at most: the order of the sums depends on it.
pub const BLOCKS: u32 = 528;

pub const MOMENTS: usize = 16;

/// The least distance of the far field, in radii.
pub const MIN_DISTANCE: f64 = 10.0;

// Shared memory of a block, in numbers.

const EVEN: usize = MOMENTS / 2;
const _: () = assert!(MOMENTS.is_multiple_of(2), "each even power has an odd one behind it");

/// Complex factors of a pair: `c`, `ζ`, and the even powers but the first, which is one.
const PER_PAIR: u32 = 2 + EVEN as u32 - 1;

/// `(N, energies)`, of the targets, after the [moments](moment_at).
const SUMS: u32 = 2 * BANDS * MOMENTS as u32;
/// Two buffers of `(2, PER_PAIR, STAGE)`, after the sums.
const FACTORS: u32 = 2 * STAGE * 2 * PER_PAIR;

shared_memory! { align 16 gpp_discs: (Disc::OTHERS + numbers_of_sums(VALUES)) * 8 }
shared_memory! { align 16 gpp_discs_alone: (Disc::OTHERS + numbers_of_sums(ALONE)) * 8 }

#[inline(always)]
const fn factor_at<const N: usize>(buffer: u32, pair: u32, which: usize) -> u32 {
    SUMS + numbers_of_sums(N) + ((buffer * STAGE + pair) * PER_PAIR + which as u32) * 2
}

/// The bounds that decide on the far field of a disc, for any energy.
#[derive(Clone, Copy, Debug)]
pub struct Acceptance {
    pub middle: Complex64,
    pub radius: f64,
    /// Squares of the least and the largest `|w ∓ z₀|` at which the expansion of a quotient holds.
    pub far: [f64; 2],
    /// Square of `|w − z₀|` above which the first branch holds for all poles.
    pub first: f64,
    /// Square of `|w − z₀|` below which it holds for none.
    pub second: f64,
    /// Square of `|w − z₀|` above which no pole is `w` itself.
    pub outside: f64,
    /// The least and the largest `|ω̃|`.
    pub sizes: [f64; 2],
    pub sexcut: f64,
}

impl Acceptance {
    /// Of a disc; if its radius is NaN, nothing holds.
    #[inline(always)]
    pub fn for_disc(disc: &Disc, limits: &Limits) -> Acceptance {
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
        let first = near(sizes[1]) * (1.0 + MARGIN) + radius;
        let second = near(sizes[0]) * (1.0 - MARGIN) - radius;
        let nothing = second < 0.0;
        Acceptance {
            middle,
            radius,
            far: [square(MIN_DISTANCE * radius), MAX_DISTANCE * MAX_DISTANCE],
            first: square(first),
            second: if nothing { 0.0 } else { square(second) },
            outside: square(radius * (1.0 + MARGIN)),
            sizes,
            sexcut: limits.sexcut,
        }
    }

    /// The far field at `w` of an occupied band or an empty one; `None` in the near field.
    #[inline(always)]
    pub fn far_field(&self, w: f64, occupied: bool) -> Option<FarField> {
        let square = |sum: f64| sum * sum + self.middle.im * self.middle.im;
        let (away, opposite) = (square(w - self.middle.re), square(w + self.middle.re));
        let is_far = |away: f64| self.far[0] <= away && away <= self.far[1];
        let q = away > self.first;
        // A pole at w itself has neither branch.
        let is_second = away < self.second && away > self.outside;
        if !(if q { is_far(away) } else { is_second }) {
            return None;
        }
        let mut ssx = occupied;
        if occupied && w < 0.0 {
            let [small, large] = self.sizes;
            let (away, opposite) = (sqrt(away), sqrt(opposite));
            // `sexcut` times what |ω̃|, or its square, is divided by.
            let bound = |margin: f64| {
                let sum = self.sexcut * (opposite + margin);
                if q { sum * (away + margin) } else { sum + sum }
            };
            let numerator = |size: f64| if q { size * size } else { size };
            let is_cut = numerator(small) > bound(self.radius) * (1.0 + MARGIN);
            let is_below = numerator(large) < bound(-self.radius) * (1.0 - MARGIN);
            if !is_cut && !is_below {
                return None;
            }
            ssx = !is_cut;
        }
        if ssx && !is_far(opposite) {
            return None;
        }
        Some(FarField { q, ssx })
    }
}

impl Disc {
    /// The expansion of `1/(w − ω̃)`.
    #[inline(always)]
    pub fn expansion(&self, w: f64) -> DiscExpansion {
        let d = Complex::new(w - self.middle.re, -self.middle.im);
        let first = d.conj() * reciprocal_unless(false, d.norm_sqr());
        DiscExpansion { first, step: first * self.radius }
    }

    /// The weight of the first moment for `1/(w − ω̃) − 1/(w + ω̃)`, from the expansions at `w` and at `−w`.
    #[inline(always)]
    pub fn difference(&self, q: &DiscExpansion, opposite: &DiscExpansion) -> Complex64 {
        -(self.middle + self.middle) * (q.first * opposite.first)
    }
}

/// The weights of the moments for `1/(w − ω̃)`: `first`, and `step` times as much for each that follows.
#[derive(Clone, Copy, Debug)]
pub struct DiscExpansion {
    /// `1/(w − z₀)`.
    pub first: Complex64,
    /// `r/(w − z₀)`.
    step: Complex64,
}

impl DiscExpansion {
    /// The sum over all moments but the first, without the factor [`DiscExpansion::first`].
    #[inline(always)]
    pub fn tail(&self, moment: impl Fn(usize) -> Complex64) -> Complex64 {
        let mut sum = moment(MOMENTS - 1);
        for k in (1..MOMENTS - 1).rev() {
            sum = plus_product(moment(k), sum, self.step);
        }
        sum * self.step
    }
}

impl Cluster for Disc {
    const SUMS: u32 = SUMS;
    const OTHERS: u32 = SUMS + FACTORS;

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    fn shared_memory<const N: usize>() -> u32 {
        if N == ALONE { gpp_discs_alone() } else { gpp_discs() }
    }

    #[inline(always)]
    unsafe fn pole(a: &ClusterArguments, index: u32) -> Pole<Complex64> {
        *a.poles.cast::<Pole<Complex64>>().add(index as usize)
    }

    #[inline(always)]
    fn pairs(&self) -> Range<u32> {
        self.begin..self.end
    }

    #[inline(always)]
    fn far_fields(&self, limits: Limits) -> impl Fn(f64, bool) -> Option<FarField> {
        let acceptance = Acceptance::for_disc(self, &limits);
        move |w, occupied| acceptance.far_field(w, occupied)
    }

    #[inline(always)]
    fn is_far(&self, w: f64) -> bool {
        let (away, least) = ((self.middle - w).norm_sqr(), MIN_DISTANCE * self.radius);
        least * least <= away && away <= MAX_DISTANCE * MAX_DISTANCE
    }

    #[inline(always)]
    unsafe fn sum_moments<T: Team, const N: usize>(&self, (a, team, first): Chunk<T>) {
        let (middle, scale) = (self.middle, 1.0 / self.radius);
        let set = |offset: u32, value: Complex64| team.set_pair(offset, [value.re, value.im]);
        sum_stages(
            self,
            (a, team, first),
            #[inline(always)]
            |buffer: u32, thread: u32, pole: Pole<Complex64>, vcoul: f64| {
                set(factor_at::<N>(buffer, thread, 0), pole.wtilde * pole.eps * vcoul);
                let zeta = (pole.wtilde - middle) * scale;
                set(factor_at::<N>(buffer, thread, 1), zeta);
                let square = zeta * zeta;
                let mut power = square;
                for which in 1..EVEN {
                    set(factor_at::<N>(buffer, thread, which + 1), power);
                    power = power * square;
                }
            },
            #[inline(always)]
            |buffer: u32, pair: u32, m: Complex64, moments: &mut [Complex64; MOMENTS]| {
                let factor = |which: usize| complex_at(team, factor_at::<N>(buffer, pair, which));
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
            },
        );
    }

    #[inline(always)]
    unsafe fn add_far_field<T: Team>(&self, (a, team, first): Chunk<T>, target: u32) {
        let Target { iw, begin, step } = Target::from_index::<VALUES>(target, a);
        if iw >= a.nw {
            return;
        }
        let (acceptance, bands) = (Acceptance::for_disc(self, &a.limits()), a.bands(first));
        let zero = Complex::new(0.0, 0.0);
        let (mut asx, mut ach) = (zero, zero);
        let mut b = begin;
        while b < bands {
            let (w, occ) = (a.wx(iw, first + b), a.occ(first + b));
            if let Some(far) = acceptance.far_field(w, occ != 0.0) {
                let moment = |k: usize| complex_at(team, moment_at(b, k));
                let mut ssx = zero;
                let q = self.expansion(w);
                if far.q {
                    let tail = q.tail(moment);
                    ach = ach + q.first * (moment(0) + tail);
                    ssx = q.first * tail;
                }
                if far.ssx {
                    // 1/(w + ω̃) is −1/(−w − ω̃).
                    let p = self.expansion(-w);
                    let one = if far.q { self.difference(&q, &p) } else { p.first };
                    ssx = ssx + moment(0) * one + p.first * p.tail(moment);
                    asx = asx - ssx * occ;
                }
            }
            b += step;
        }
        add::<Disc, T, VALUES>(team, target, [asx.re, asx.im, ach.re, ach.im]);
    }

    #[inline(always)]
    unsafe fn quotients<T: Team>(&self, team: &T, b: u32, w: f64) -> Complex64 {
        let moment = |k: usize| complex_at(team, moment_at(b, k));
        let expansion = self.expansion(w);
        expansion.first * (moment(0) + expansion.tail(moment))
    }
}
