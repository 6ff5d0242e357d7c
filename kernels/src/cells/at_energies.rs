//! What the moments of a part give at each energy.

use num_complex::Complex;

use super::place::{self, BANDS};
use super::series::{MOMENTS, Weights, way};
use super::sums::{add, each_of};
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::pairs::Part;
use crate::real::Real;

/// Adds what the moments of the bands from `first` on give at each energy.
///
/// # Safety
/// As [`block`](super::block).
#[inline(always)]
pub unsafe fn at_energies<R: Real, T: Team<R>>(
    a: &CellsArguments,
    team: &T,
    part: &Part,
    first: u32,
) {
    let limits = a.limits();
    let bands = BANDS.min(a.nbands - first.min(a.nbands));
    team.all(|thread| {
        each_of(thread, a.nw, |iw| {
            let zero = Complex::new(R::zero(), R::zero());
            let (mut asx, mut ach) = (zero, zero);
            for b in 0..bands {
                // SAFETY: a band and an energy in range.
                let (w, occ) = unsafe { (a.wx::<R>(iw, first + b), a.occ(first + b)) };
                let Some(way) = way(w, part, occ != 0.0, &limits) else { continue };
                let given = |weights: &[R; MOMENTS]| {
                    let mut sum = zero;
                    for (k, &weight) in weights.iter().enumerate() {
                        let [re, im] = team.pair(place::moment(b, k));
                        sum = sum + Complex::new(re, im) * weight;
                    }
                    sum
                };
                let q = Weights::of(w, part);
                if way.q {
                    ach = ach + given(&q.weights);
                }
                if way.ssx {
                    // 1/(w + ω̃) is −1/(−w − ω̃).
                    let p = Weights::of(-w, part);
                    let weights = if way.q { q.minus(&p, w, part) } else { p.weights };
                    asx = asx - given(&weights) * R::of(occ);
                }
            }
            add(team, iw, [asx.re, asx.im, ach.re, ach.im]);
        });
    });
}
