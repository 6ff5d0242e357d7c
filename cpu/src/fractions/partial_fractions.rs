//! Poles of any kind, in partial fractions: see [`gpp_kernels::tiles::partial_fractions`].
//!
//! With `q = 1/(w − ω̃)`, zero near the pole, and `p = 1/(w + ω̃)`, `ssx = ½ω̃·eps·(q − p)` and
//! `sch = ω̃·eps·q` in both branches. `1/z = conj(z)/|z|²` has the pair's own `Im ω̃`, so a sum over `M·q`
//! is two sums of `M` times something real. `q − p` is taken term by term: a difference of two sums would
//! lose digits.

use gpp_kernels::plan::Poles;

use crate::lanes::{ComplexLanes, Lanes, array};
use crate::place::Place;
use crate::planned::{Fraction, PairSums};
use crate::quotients::reciprocals;
use crate::running::{Running, over_bands};

/// Partial fractions. `CLASSES` has a loop for each class of bands, `PAIRED` one reciprocal for
/// several denominators.
pub struct PartialFractions<const CLASSES: bool, const PAIRED: bool>;

/// What the loops need of the poles.
struct Pole<L> {
    re: L,
    /// Square of the imaginary part.
    im2: L,
    largest2: L,
}

/// The sum of `M·f` for factors `f` whose imaginary part is a real number times the pair's `Im ω̃`: the
/// sums of `M` times that number and of `M·Re f`.
#[derive(Clone, Copy)]
struct Split<L, const NW: usize> {
    factor: Running<L, NW>,
    re: Running<L, NW>,
}

impl<L: Lanes, const NW: usize> Split<L, NW> {
    #[inline(always)]
    fn zero(token: L::Token) -> Self {
        Split { factor: Running::zero(token), re: Running::zero(token) }
    }

    #[inline(always)]
    fn add(&mut self, e: usize, m: ComplexLanes<L>, im: L, re: L) {
        self.factor.part[e] = self.factor.part[e].add_scaled(m, im);
        self.re.part[e] = self.re.part[e].add_scaled(m, re);
    }

    #[inline(always)]
    fn settle(&mut self, token: L::Token) {
        self.factor.settle(token);
        self.re.settle(token);
    }

    /// The sum of energy `e`, for `im = Im ω̃`.
    #[inline(always)]
    fn sum(&self, e: usize, im: L) -> ComplexLanes<L> {
        let (factor, re) = (self.factor.sum(e), self.re.sum(e));
        ComplexLanes::new(im.sub_from(factor.im, re.re), im.mul_add(factor.re, re.im))
    }
}

/// Denominators of an energy.
#[derive(Clone, Copy)]
struct Denominators<L> {
    /// `w − Re ω̃`, `w + Re ω̃`.
    d: L,
    s: L,
    /// `|w − ω̃|²`, `|w + ω̃|²`.
    d2: L,
    s2: L,
}

impl<L: Lanes> Pole<L> {
    #[inline(always)]
    fn denominators(&self, w: L) -> Denominators<L> {
        let (d, s) = (w.sub(self.re), w.add(self.re));
        Denominators { d, s, d2: d.mul_add(d, self.im2), s2: s.mul_add(s, self.im2) }
    }

    /// Adds a band that nothing cuts off.
    #[inline(always)]
    fn plain<const PAIRED: bool, const NW: usize>(
        &self,
        place: &Place<L>,
        (e, m, w): (usize, ComplexLanes<L>, L),
        q: &mut Split<L, NW>,
        y: &mut Split<L, NW>,
    ) {
        let Denominators { d, s, d2, s2 } = self.denominators(w);
        // Neither is zero: regular poles are on no occupied energy.
        let [one_q, one_p] = if PAIRED && L::REGISTERS >= 32 {
            reciprocals::<L, true, 2>([d2, s2])
        } else {
            reciprocals::<L, false, 2>([d2, s2])
        };
        let one_q = L::select(d2.le(self.largest2), place.splat(0.0), one_q);
        let re = d.mul(one_q);
        q.add(e, m, one_q, re);
        y.add(e, m, one_q.add(one_p), s.sub_from(one_p, re));
    }

    /// Adds a band of any occupation and any energy.
    #[inline(always)]
    fn occupied<const NW: usize>(
        &self,
        place: &Place<L>,
        (e, m, w, occ): (usize, ComplexLanes<L>, L, L),
        q: &mut Split<L, NW>,
        y: &mut Split<L, NW>,
    ) {
        let zero = place.splat(0.0);
        let Denominators { d, s, d2, s2 } = self.denominators(w);
        let size2 = self.re.mul_add(self.re, self.im2);
        let bound = size2.div(place.splat(place.limits.sexcut));
        let near = d2.le(self.largest2);
        let z2 = L::select(near, size2.mul(place.splat(4.0)), d2).mul(s2);
        let cut = L::and(w.lt(zero), z2.lt(bound.mul(bound)));
        // Of an empty band nothing needs `p`, which is infinite where its energy is −ω̃.
        let cut = L::or(cut, occ.le(zero));
        let one_q = L::select(near, zero, d2.reciprocal());
        let one_p = L::select(cut, zero, s2.reciprocal());
        let re = d.mul(one_q);
        q.add(e, m, one_q, re);
        let m = m.scale(L::select(cut, zero, occ));
        y.add(e, m, one_q.add(one_p), s.sub_from(one_p, re));
    }

    /// Adds an empty band.
    #[inline(always)]
    fn empty<const NW: usize>(
        &self,
        place: &Place<L>,
        (e, m, w): (usize, ComplexLanes<L>, L),
        q: &mut Split<L, NW>,
    ) {
        let d = w.sub(self.re);
        let d2 = d.mul_add(d, self.im2);
        let one = L::select(d2.le(self.largest2), place.splat(0.0), d2.reciprocal());
        q.add(e, m, one, d.mul(one));
    }

    /// Adds far bands: of no two energies is a pole near.
    #[inline(always)]
    fn far<const NW: usize>(&self, m: ComplexLanes<L>, w: [L; NW], q: &mut Split<L, NW>) {
        let d = array!(NW, e => w[e].sub(self.re));
        let d2 = array!(NW, e => d[e].mul_add(d[e], self.im2));
        let one = if L::REGISTERS < 32 {
            reciprocals::<L, false, NW>(d2)
        } else {
            reciprocals::<L, true, NW>(d2)
        };
        for e in 0..NW {
            q.add(e, m, one[e], d[e].mul(one[e]));
        }
    }
}

impl<const CLASSES: bool, const PAIRED: bool> Fraction for PartialFractions<CLASSES, PAIRED> {
    const POLES: Poles = Poles::Any;

    #[inline(always)]
    fn sums<L: Lanes, const NW: usize>(place: &Place<L>) -> PairSums<L, NW> {
        let plan = place.plan;
        let ComplexLanes { re, im } = place.wtilde;
        let pole = Pole { re, im2: im.mul(im), largest2: place.largest2() };
        let (mut q, mut y) = (Split::<L, NW>::zero(place.token), Split::<L, NW>::zero(place.token));
        let (plain, occupied) =
            if CLASSES { (plan.plain, plan.occupied) } else { (0, plan.order.len()) };
        over_bands!(place, 0, plain, [q, y], band => {
            for e in 0..NW {
                pole.plain::<PAIRED, NW>(place, (e, band.m, band.w[e]), &mut q, &mut y);
            }
        });
        over_bands!(place, plain, occupied, [q, y], band => {
            let occ = place.splat(band.occ);
            for e in 0..NW {
                pole.occupied(place, (e, band.m, band.w[e], occ), &mut q, &mut y);
            }
        });
        let half = place.weight.mul(place.wtilde).scale(place.splat(0.5));
        let minus = place.splat(-1.0);
        let asx = array!(NW, e => half.mul(y.sum(e, im)).scale(minus));
        let far_begin = if PAIRED { plan.far_begin } else { plan.order.len() };
        if CLASSES {
            over_bands!(place, occupied, far_begin, [q], band => {
                for e in 0..NW {
                    pole.empty(place, (e, band.m, band.w[e]), &mut q);
                }
            });
            over_bands!(place, far_begin, plan.order.len(), [q], band => {
                pole.far(band.m, band.w, &mut q);
            });
        }
        PairSums { asx, ach: array!(NW, e => half.mul(q.sum(e, im))) }
    }
}
