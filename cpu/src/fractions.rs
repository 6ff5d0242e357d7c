//! How terms of regular poles are written.

use gpp_kernels::plan::Poles;

use crate::lanes::{ComplexLanes, Lanes, array};
use crate::planned::{
    Fraction, PairSums, Place, Running, Span, over_bands, over_spans, reciprocals,
};

pub mod branches {
    //! The terms as they are, less what depends on the pair only; both branches by selection.
    //!
    //! With `s = w + ω̃` the second branch is `ssx = −Ω²/(2ω̃·s)`, so both are `Ω²·y` with a `y` that is
    //! one complex reciprocal.

    use super::*;

    /// Both branches; `TOGETHER` takes all energies in one pass over the bands.
    pub struct Branches<const TOGETHER: bool>;

    /// What the loops need of the poles.
    struct Pole<L> {
        wtilde: ComplexLanes<L>,
        wtilde2: ComplexLanes<L>,
        largest2: L,
        /// |Ω²·y| > sexcut·|eps| is |y|² above this.
        cutoff: L,
    }

    impl<L: Lanes> Pole<L> {
        #[inline(always)]
        fn of(place: &Place<L>) -> Pole<L> {
            let wtilde2 = place.wtilde.mul(place.wtilde);
            let sexcut = place.splat(place.limits.sexcut);
            let cutoff = sexcut.mul(sexcut).div(wtilde2.norm_sqr());
            Pole { wtilde: place.wtilde, wtilde2, largest2: place.largest2(), cutoff }
        }

        #[inline(always)]
        fn add(
            &self,
            place: &Place<L>,
            m: ComplexLanes<L>,
            (w, occ): (L, f64),
            q: &mut ComplexLanes<L>,
            y: &mut ComplexLanes<L>,
        ) {
            let ComplexLanes { re, im } = self.wtilde;
            let (d, s) = (w.sub(re), w.add(re));
            let (im2, two) = (im.mul(im), place.splat(2.0));
            let d2 = d.mul_add(d, im2);
            let near = d2.le(self.largest2);
            // w² − ω̃², or −2ω̃·s.
            let first = ComplexLanes::new(d.mul_add(s, im2), self.wtilde2.im.neg());
            let second = self.wtilde.mul(ComplexLanes::new(s, im)).scale(two.neg());
            let z = ComplexLanes::new(
                L::select(near, second.re, first.re),
                L::select(near, second.im, first.im),
            );
            let one = z.norm_sqr().reciprocal();
            let one_y = ComplexLanes::new(z.re.mul(one), z.im.neg().mul(one));
            // At w = −ω̃ it is not a number: not below the cutoff either.
            let kept = L::or(place.splat(0.0).le(w), one_y.norm_sqr().le(self.cutoff));
            *y = added(*y, m, one_y.keep(place.token, kept).scale(place.splat(occ)));
            let one = d2.reciprocal();
            let one_q = ComplexLanes::new(d.mul(one), im.mul(one));
            *q = added(*q, m, one_q.keep(place.token, L::not(near)));
        }
    }

    /// `sum + m·factor`.
    #[inline(always)]
    fn added<L: Lanes>(
        sum: ComplexLanes<L>,
        m: ComplexLanes<L>,
        factor: ComplexLanes<L>,
    ) -> ComplexLanes<L> {
        let sum = sum.add_scaled(m, factor.re);
        ComplexLanes { re: m.im.sub_from(factor.im, sum.re), im: m.re.mul_add(factor.im, sum.im) }
    }

    impl<const TOGETHER: bool> Fraction for Branches<TOGETHER> {
        const POLES: Poles = Poles::Any;

        #[inline(always)]
        fn sums<L: Lanes, const NW: usize>(place: &Place<L>) -> PairSums<L, NW> {
            let pole = Pole::of(place);
            let (mut y, mut q) =
                (Running::<L, NW>::zero(place.token), Running::<L, NW>::zero(place.token));
            let all = place.plan.order.len();
            if TOGETHER {
                over_bands!(place, 0, all, [q, y], band => {
                    for e in 0..NW {
                        let energy = (band.w[e], band.occ);
                        pole.add(place, band.m, energy, &mut q.part[e], &mut y.part[e]);
                    }
                });
            } else {
                for e in 0..NW {
                    over_bands!(place, 0, all, [q, y], band => {
                        let energy = (band.w[e], band.occ);
                        pole.add(place, band.m, energy, &mut q.part[e], &mut y.part[e]);
                    });
                }
            }
            let half = place.weight.mul(place.wtilde).scale(place.splat(0.5));
            let omega2 = place.weight.mul(pole.wtilde2);
            let minus = place.splat(-1.0);
            PairSums {
                asx: array!(NW, e => omega2.mul(y.sum(e)).scale(minus)),
                ach: array!(NW, e => half.mul(q.sum(e))),
            }
        }
    }
}

pub mod partial_fractions {
    //! Poles of any kind, in partial fractions: see [`gpp_kernels::versions::v10`].
    //!
    //! With `q = 1/(w − ω̃)`, zero near the pole, and `p = 1/(w + ω̃)`, `ssx = ½ω̃·eps·(q − p)` and
    //! `sch = ω̃·eps·q` in both branches. `1/z = conj(z)/|z|²` has the pair's own `Im ω̃`, so a sum over `M·q`
    //! is two sums of `M` times something real. `q − p` is taken term by term: a difference of two sums would
    //! lose digits.

    use super::*;

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
            let (mut q, mut y) =
                (Split::<L, NW>::zero(place.token), Split::<L, NW>::zero(place.token));
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
}

pub mod real_poles {
    //! Purely real, positive poles: see [`gpp_kernels::versions::v12`].
    //!
    //! Both quotients are real, an accumulation is two fused operations, and one reciprocal of
    //! `z = (near ? −2ω̃ : w − ω̃)·(w + ω̃)` gives `y = 1/z` and `q = (w + ω̃)·y`.

    use super::*;

    /// Real poles. `PAIRED` takes one reciprocal for two energies, far bands apart, and leaves the test for the second
    /// branch out where no pole is near.
    pub struct RealPoles<const PAIRED: bool>;

    /// What the loops need of the poles.
    struct Pole<L> {
        wtilde: L,
        /// Largest |w − ω̃| of the second branch.
        largest: L,
    }

    type Sum<L> = ComplexLanes<L>;

    impl<L: Lanes> Pole<L> {
        /// `d`, `s`, `z`, and whether `d` is near.
        #[inline(always)]
        fn denominators(&self, place: &Place<L>, w: L) -> (L, L, L, L::Mask) {
            let (d, s) = (w.sub(self.wtilde), w.add(self.wtilde));
            let near = d.abs().le(self.largest);
            let z = L::select(near, self.wtilde.mul(place.splat(-2.0)), d).mul(s);
            (d, s, z, near)
        }

        /// Whether no pole is near an energy of a span: differences keep their order when they are rounded.
        #[inline(always)]
        fn is_clear(&self, place: &Place<L>, [least, largest]: Span) -> bool {
            let below = self.largest.lt(place.splat(least).sub(self.wtilde));
            let above = place.splat(largest).sub(self.wtilde).lt(self.largest.neg());
            L::all(L::or(below, above))
        }

        /// Adds a band that nothing cuts off: `w ≥ 0`, so `z` is not zero. Near a `CLEAR` one is no pole.
        #[inline(always)]
        fn plain<const PAIRED: bool, const CLEAR: bool, const NW: usize>(
            &self,
            place: &Place<L>,
            m: ComplexLanes<L>,
            w: [L; NW],
            q: &mut Running<L, NW>,
            y: &mut Running<L, NW>,
        ) {
            let all = array!(NW, e => self.denominators(place, w[e]));
            let z = array!(NW, e => if CLEAR { all[e].0.mul(all[e].1) } else { all[e].2 });
            let one = if L::REGISTERS < 32 {
                // What a pair of denominators keeps alive would be spilled, which costs more than it saves.
                reciprocals::<L, false, NW>(z)
            } else {
                reciprocals::<L, PAIRED, NW>(z)
            };
            for e in 0..NW {
                let (_, s, _, near) = all[e];
                y.part[e] = y.part[e].add_scaled(m, one[e]);
                let s = if CLEAR { s } else { L::select(near, place.splat(0.0), s) };
                q.part[e] = q.part[e].add_scaled(m, s.mul(one[e]));
            }
        }

        /// Adds a band of any occupation and any energy.
        #[inline(always)]
        fn occupied(
            &self,
            place: &Place<L>,
            m: ComplexLanes<L>,
            (w, occ): (L, L),
            q: &mut Sum<L>,
            y: &mut Sum<L>,
        ) {
            let zero = place.splat(0.0);
            let (d, _, z, near) = self.denominators(place, w);
            let bound = self.wtilde.mul(self.wtilde).div(place.splat(place.limits.sexcut));
            let cut = L::and(w.lt(zero), z.mul(z).lt(bound.mul(bound)));
            *y = y.add_scaled(m, L::select(cut, zero, z.reciprocal()).mul(occ));
            *q = q.add_scaled(m, L::select(near, zero, d.reciprocal()));
        }

        #[inline(always)]
        fn empty(&self, place: &Place<L>, m: ComplexLanes<L>, w: L, q: &mut Sum<L>) {
            let d = w.sub(self.wtilde);
            let near = d.abs().le(self.largest);
            *q = q.add_scaled(m, L::select(near, place.splat(0.0), d.reciprocal()));
        }

        /// Adds an empty band near which no pole is.
        #[inline(always)]
        fn clear<const NW: usize>(&self, m: ComplexLanes<L>, w: [L; NW], q: &mut Running<L, NW>) {
            let d = array!(NW, e => w[e].sub(self.wtilde));
            let one = reciprocals::<L, true, NW>(d);
            for (e, sum) in q.part.iter_mut().enumerate() {
                *sum = sum.add_scaled(m, one[e]);
            }
        }

        /// Adds a far band to sums of `M/(x² − h²)` and `M·x/(x² − h²)`, with `x` between two energies, less
        /// `ω̃`, and half of their difference, `h`; or of `M/(w − ω̃)` for other energies.
        #[inline(always)]
        fn far<const NW: usize>(
            &self,
            (half, square): (L, L),
            m: ComplexLanes<L>,
            w: [L; NW],
            sums: &mut Running<L, NW>,
        ) {
            let mut e = 0;
            if NW > 1 {
                let x = w[0].add(half.sub(self.wtilde));
                let one = x.mul_add(x, square.neg()).one_over();
                sums.part[0] = sums.part[0].add_scaled(m, one);
                sums.part[1] = sums.part[1].add_scaled(m, x.mul(one));
                e = 2;
            }
            while e < NW {
                sums.part[e] = sums.part[e].add_scaled(m, w[e].sub(self.wtilde).reciprocal());
                e += 1;
            }
        }
    }

    /// Sums of `M/(w − ω̃)` of those that [`Pole::far`] makes.
    #[inline(always)]
    fn joined<L: Lanes, const NW: usize>(sums: &Running<L, NW>, half: L) -> [Sum<L>; NW] {
        let mut joined = array!(NW, e => sums.sum(e));
        if NW > 1 {
            let (one, x) = (joined[0].scale(half), joined[1]);
            joined[0] = x.add(one);
            joined[1] = ComplexLanes::new(x.re.sub(one.re), x.im.sub(one.im));
        }
        joined
    }

    impl<const PAIRED: bool> Fraction for RealPoles<PAIRED> {
        const POLES: Poles = Poles::Real;

        #[inline(always)]
        fn sums<L: Lanes, const NW: usize>(place: &Place<L>) -> PairSums<L, NW> {
            let plan = place.plan;
            let pole = Pole { wtilde: place.wtilde.re, largest: place.largest2().sqrt() };
            let (mut q, mut y) =
                (Running::<L, NW>::zero(place.token), Running::<L, NW>::zero(place.token));
            let [of_plain, of_empty] = place.table.spans;
            over_spans!(
                place, of_plain, 0, plan.plain, [q, y],
                span => PAIRED && pole.is_clear(place, *span),
                band => {
                    pole.plain::<PAIRED, true, NW>(place, band.m, band.w, &mut q, &mut y);
                },
                {
                    pole.plain::<PAIRED, false, NW>(place, band.m, band.w, &mut q, &mut y);
                }
            );
            over_bands!(place, plan.plain, plan.occupied, [q, y], band => {
                let occ = place.splat(band.occ);
                for e in 0..NW {
                    let energy = (band.w[e], occ);
                    pole.occupied(place, band.m, energy, &mut q.part[e], &mut y.part[e]);
                }
            });
            let weight = place.weight.scale(pole.wtilde);
            let omega2 = weight.scale(pole.wtilde.neg());
            let asx = array!(NW, e => omega2.mul(y.sum(e)));
            let far_begin = if PAIRED { plan.far_begin } else { plan.order.len() };
            over_spans!(
                place, of_empty, plan.occupied, far_begin, [q],
                span => PAIRED && pole.is_clear(place, *span),
                band => {
                    pole.clear(band.m, band.w, &mut q);
                },
                {
                    for (e, sum) in q.part.iter_mut().enumerate() {
                        pole.empty(place, band.m, band.w[e], sum);
                    }
                }
            );
            let (half, square) = (place.splat(plan.half), place.splat(plan.half * plan.half));
            let mut far = Running::<L, NW>::zero(place.token);
            over_bands!(place, far_begin, plan.order.len(), [far], band => {
                pole.far((half, square), band.m, band.w, &mut far);
            });
            let far = joined(&far, half);
            let half = weight.scale(place.splat(0.5));
            PairSums { asx, ach: array!(NW, e => half.mul(q.sum(e).add(far[e]))) }
        }
    }
}
