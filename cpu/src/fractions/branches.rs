//! The terms as they are, less what depends on the pair only; both branches by selection.
//!
//! With `s = w + ω̃` the second branch is `ssx = −Ω²/(2ω̃·s)`, so both are `Ω²·y` with a `y` that is
//! one complex reciprocal.

use gpp_kernels::plan::Poles;

use crate::lanes::{ComplexLanes, Lanes, array};
use crate::place::Place;
use crate::planned::{Fraction, PairSums};
use crate::running::{Running, over_bands};

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

    /// Adds an energy of a band.
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
