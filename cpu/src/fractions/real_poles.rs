//! Purely real, positive poles: see [`gpp_kernels::tiles::real_poles`].
//!
//! Both quotients are real, an accumulation is two fused operations, and one reciprocal of
//! `z = (near ? −2ω̃ : w − ω̃)·(w + ω̃)` gives `y = 1/z` and `q = (w + ω̃)·y`.

use gpp_kernels::plan::Poles;

use crate::lanes::{ComplexLanes, Lanes, array};
use crate::place::Place;
use crate::planned::{Fraction, PairSums};
use crate::quotients::reciprocals;

/// Real poles. `PAIRED` takes one reciprocal for two energies, and far bands apart.
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

    /// Adds a band that nothing cuts off: `w ≥ 0`, so `z` is not zero.
    #[inline(always)]
    fn plain<const PAIRED: bool, const NW: usize>(
        &self,
        place: &Place<L>,
        m: ComplexLanes<L>,
        w: [L; NW],
        q: &mut [Sum<L>; NW],
        y: &mut [Sum<L>; NW],
    ) {
        let all = array!(NW, e => self.denominators(place, w[e]));
        let z = array!(NW, e => all[e].2);
        let one = if L::REGISTERS < 32 {
            // What a pair of denominators keeps alive would be spilled, which costs more than it saves.
            reciprocals::<L, false, NW>(z)
        } else {
            reciprocals::<L, PAIRED, NW>(z)
        };
        for e in 0..NW {
            let (_, s, _, near) = all[e];
            y[e] = y[e].add_scaled(m, one[e]);
            q[e] = q[e].add_scaled(m, L::select(near, place.splat(0.0), s).mul(one[e]));
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

    /// Adds a far band to sums of `M/(x² − h²)` and `M·x/(x² − h²)`, with `x` between two energies, less
    /// `ω̃`, and half of their difference, `h`; or of `M/(w − ω̃)` for other energies.
    #[inline(always)]
    fn far<const NW: usize>(
        &self,
        (half, square): (L, L),
        m: ComplexLanes<L>,
        w: [L; NW],
        sums: &mut [Sum<L>; NW],
    ) {
        let mut e = 0;
        if NW > 1 {
            let x = w[0].add(half.sub(self.wtilde));
            let one = x.mul_add(x, square.neg()).one_over();
            sums[0] = sums[0].add_scaled(m, one);
            sums[1] = sums[1].add_scaled(m, x.mul(one));
            e = 2;
        }
        while e < NW {
            sums[e] = sums[e].add_scaled(m, w[e].sub(self.wtilde).reciprocal());
            e += 1;
        }
    }
}

/// Sums of `M/(w − ω̃)` of those that [`Pole::far`] makes.
#[inline(always)]
fn joined<L: Lanes, const NW: usize>(sums: [Sum<L>; NW], half: L) -> [Sum<L>; NW] {
    let mut joined = sums;
    if NW > 1 {
        let one = sums[0].scale(half);
        joined[0] = sums[1].add(one);
        joined[1] = ComplexLanes::new(sums[1].re.sub(one.re), sums[1].im.sub(one.im));
    }
    joined
}

impl<const PAIRED: bool> Fraction for RealPoles<PAIRED> {
    const POLES: Poles = Poles::Real;

    #[inline(always)]
    fn sums<L: Lanes, const NW: usize>(place: &Place<L>) -> PairSums<L, NW> {
        let plan = place.plan;
        let pole = Pole { wtilde: place.wtilde.re, largest: place.largest2().sqrt() };
        let zero = [place.zero(); NW];
        let (mut q, mut y) = (zero, zero);
        for row in place.rows::<NW>(0, plan.plain) {
            let band = place.band(row);
            pole.plain::<PAIRED, NW>(place, band.m, band.w, &mut q, &mut y);
        }
        if plan.plain < plan.occupied {
            for row in place.rows::<NW>(plan.plain, plan.occupied) {
                let band = place.band(row);
                let occ = place.splat(band.occ);

                for e in 0..NW {
                    pole.occupied(place, band.m, (band.w[e], occ), &mut q[e], &mut y[e]);
                }
            }
        }
        let weight = place.weight.scale(pole.wtilde);
        let omega2 = weight.scale(pole.wtilde.neg());

        let asx = array!(NW, e => omega2.mul(y[e]));
        let far_begin = if PAIRED { plan.far_begin } else { plan.order.len() };
        for row in place.rows::<NW>(plan.occupied, far_begin) {
            let band = place.band(row);
            for e in 0..NW {
                pole.empty(place, band.m, band.w[e], &mut q[e]);
            }
        }

        if PAIRED {
            let (half, mut far) = (place.splat(plan.half), zero);
            let square = place.splat(plan.half * plan.half);
            for row in place.rows::<NW>(far_begin, plan.order.len()) {
                let band = place.band(row);
                pole.far((half, square), band.m, band.w, &mut far);
            }

            let far = joined(far, half);
            for e in 0..NW {
                q[e] = q[e].add(far[e]);
            }
        }
        let half = weight.scale(place.splat(0.5));
        PairSums { asx, ach: array!(NW, e => half.mul(q[e])) }
    }
}
