//! What the moments of a disc tell of its sums at each energy, where they do, in vectors:
//! [`gpp_kernels::discs::series`] says why.

use gpp_kernels::arrays::Limits;
use gpp_kernels::cells::series::{MOST, ROOM};
use gpp_kernels::discs::series::{LEAST, MOMENTS};
use gpp_kernels::pairs::Disc;
use num_complex::Complex64;

use super::moments::Moments;
use crate::cells::ways::{Tells, Ways};
use crate::lanes::{ComplexLanes, Lanes};

/// A disc in the vectors of energies: see [`gpp_kernels::discs::series::Bounds`].
pub struct Bounds<L: Lanes> {
    token: L::Token,
    middle: Complex64,
    radius: f64,
    first: f64,
    second: f64,
    outside: f64,
    sizes: [f64; 2],
    sexcut: f64,
}

/// The weights of the moments for `1/(w − ω̃)`: `first`, and `step` times as much for each that follows.
struct Series<L> {
    first: ComplexLanes<L>,
    step: ComplexLanes<L>,
}

impl<L: Lanes> Bounds<L> {
    #[inline(always)]
    pub fn of(token: L::Token, disc: &Disc, limits: Limits) -> Bounds<L> {
        let Disc { middle, radius, .. } = *disc;
        let size = middle.norm_sqr().sqrt();
        let sizes = [size - radius, size + radius];
        let near = |size: f64| (size / limits.limitone.sqrt()).max(limits.limittwo.sqrt());
        let first = near(sizes[1]) * (1.0 + ROOM) + radius;
        let second = (near(sizes[0]) * (1.0 - ROOM) - radius).max(0.0);
        let outside = radius * (1.0 + ROOM);
        Bounds {
            token,
            middle,
            radius,
            first: first * first,
            second: second * second,
            outside: outside * outside,
            sizes,
            sexcut: limits.sexcut,
        }
    }

    #[inline(always)]
    fn splat(&self, value: f64) -> L {
        L::splat(self.token, value)
    }

    /// Whether moments tell the sums of a quotient whose `|w ∓ z₀|` has this square.
    #[inline(always)]
    fn is_told(&self, away: L) -> L::Mask {
        let least = LEAST * self.radius;
        L::and(self.splat(least * least).le(away), away.le(self.splat(MOST * MOST)))
    }

    /// Whether the cutoff takes `ssx` of all poles where `w < 0`, and whether it takes none.
    #[inline(always)]
    fn cut(&self, away: L, opposite: L, first: L::Mask) -> [L::Mask; 2] {
        let (away, opposite) = (away.sqrt(), opposite.sqrt());
        let bound = |room: f64, rounding: f64| {
            let room = self.splat(room);
            let sum = self.splat(self.sexcut * rounding).mul(opposite.add(room));
            L::select(first, sum.mul(away.add(room)), sum.add(sum))
        };
        let of = |size: f64| L::select(first, self.splat(size * size), self.splat(size));
        let [small, large] = self.sizes;
        [
            bound(self.radius, 1.0 + ROOM).lt(of(small)),
            of(large).lt(bound(-self.radius, 1.0 - ROOM)),
        ]
    }

    /// Of an occupied band or an empty one.
    #[inline(always)]
    fn ways(&self, w: L, occupied: bool) -> Ways<L> {
        let (re, im2) = (self.splat(self.middle.re), self.splat(self.middle.im * self.middle.im));
        let (away, opposite) = (w.sub(re), w.add(re));
        let (away, opposite) = (away.mul_add(away, im2), opposite.mul_add(opposite, im2));
        let first = self.splat(self.first).lt(away);
        // A pole at w itself has neither branch.
        let second = L::and(away.lt(self.splat(self.second)), self.splat(self.outside).lt(away));
        let told = L::or(L::and(first, self.is_told(away)), second);
        if !occupied {
            return Ways { told, first, ssx: L::mask(self.token, 0) };
        }
        let negative = w.lt(self.splat(0.0));
        let [cut, kept] = self.cut(away, opposite, first);
        let cut = L::and(negative, cut);
        let ssx = L::and(L::or(L::not(negative), kept), self.is_told(opposite));
        let ssx = L::and(ssx, L::not(cut));
        Ways { told: L::and(told, L::or(cut, ssx)), first, ssx }
    }

    #[inline(always)]
    fn series(&self, w: L) -> Series<L> {
        let d = w.sub(self.splat(self.middle.re));
        let im = self.splat(self.middle.im);
        let over = self.splat(1.0).div(d.mul_add(d, im.mul(im)));
        let first = ComplexLanes::new(d, im).scale(over);
        Series { first, step: first.scale(self.splat(self.radius)) }
    }

    /// The weight of the first moment for `1/(w − ω̃) − 1/(w + ω̃)`.
    #[inline(always)]
    fn difference(&self, q: &Series<L>, opposite: &Series<L>) -> ComplexLanes<L> {
        let twice = self.middle * -2.0;
        let twice = ComplexLanes::new(self.splat(twice.re), self.splat(twice.im));
        twice.mul(q.first.mul(opposite.first))
    }

    /// Moment `k` of a band.
    #[inline(always)]
    fn moment(&self, moments: &Moments, k: usize, at: usize) -> ComplexLanes<L> {
        let [re, im] = &moments[k];
        ComplexLanes::new(self.splat(re[at]), self.splat(im[at]))
    }

    /// What all moments of a band but the first give, before it is multiplied with [`Series::first`].
    #[inline(always)]
    fn tail(&self, series: &Series<L>, moments: &Moments, at: usize) -> ComplexLanes<L> {
        let mut sum = self.moment(moments, MOMENTS - 1, at);
        let mut k = MOMENTS - 2;
        while k > 0 {
            sum = self.moment(moments, k, at).add_product(sum, series.step);
            k -= 1;
        }
        sum.mul(series.step)
    }
}

impl<L: Lanes> Tells<L> for Bounds<L> {
    type Moments = Moments;

    #[inline(always)]
    fn ways(&self, w: L, occupied: bool) -> Ways<L> {
        self.ways(w, occupied)
    }

    #[inline(always)]
    fn add(
        &self,
        moments: &Moments,
        at: usize,
        occ: f64,
        (w, Ways { told, first, ssx }): (L, Ways<L>),
        (asx, ach): (&mut ComplexLanes<L>, &mut ComplexLanes<L>),
    ) {
        let first = L::and(told, first);
        let q = self.series(w);
        let of_first = self.moment(moments, 0, at);
        let tail = self.tail(&q, moments, at);
        *ach = ach.add(q.first.mul(of_first.add(tail)).keep(self.token, first));
        if occ != 0.0 {
            // 1/(w + ω̃) is −1/(−w − ω̃).
            let p = self.series(w.neg());
            let both = self.difference(&q, &p);
            let weight = ComplexLanes::new(
                L::select(first, both.re, p.first.re),
                L::select(first, both.im, p.first.im),
            );
            let given = p.first.mul(self.tail(&p, moments, at)).add_product(weight, of_first);
            let given = given.add(q.first.mul(tail).keep(self.token, first));
            let given = given.keep(self.token, L::and(told, ssx));
            *asx = asx.add_scaled(given, self.splat(-occ));
        }
    }
}

#[cfg(test)]
mod tests;
