//! What the moments of a part give at each energy.

use num_complex::Complex;

use super::place;
use super::series::{MOMENTS, Weights, way};
use super::share::Share;
use super::sums::add;
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::pairs::Part;

/// Adds what the moments of the bands from `first` on give a share.
///
/// # Safety
/// As [`block`](super::block).
#[inline(always)]
pub unsafe fn at_energy<T: Team>(
    a: &CellsArguments,
    team: &T,
    part: &Part,
    first: u32,
    share: u32,
) {
    let Share { iw, begin, step } = Share::of(share, a);
    let (limits, bands) = (a.limits(), a.bands(first));
    if iw >= a.nw {
        return;
    }
    let zero = Complex::new(0.0, 0.0);
    let (mut asx, mut ach) = (zero, zero);
    let mut b = begin;
    while b < bands {
        // SAFETY: a band and an energy in range.
        let (w, occ) = unsafe { (a.wx(iw, first + b), a.occ(first + b)) };
        if let Some(way) = way(w, part, occ != 0.0, &limits) {
            let given = |weights: &[f64; MOMENTS]| {
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
                asx = asx - given(&weights) * occ;
            }
        }
        b += step;
    }
    add::<Part, T>(team, share, [asx.re, asx.im, ach.re, ach.im]);
}
