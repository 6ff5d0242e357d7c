//! Purely real, positive poles: see [`gpp_kernels::tiles::real_poles`].
//!
//! Both quotients are real, an accumulation is two fused operations, and one reciprocal of
//! `z = (near ? −2ω̃ : w − ω̃)·(w + ω̃)` gives `y = 1/z` and `q = (w + ω̃)·y`.

use gpp_kernels::plan::Poles;

use crate::lanes::{ComplexLanes, Lanes, array};
use crate::place::{Place, Span};
use crate::planned::{Fraction, PairSums};
use crate::quotients::reciprocals;
use crate::running::{Running, over_bands, over_spans};

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

    /// Adds an empty band.
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
