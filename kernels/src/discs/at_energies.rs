//! What the moments of a disc give at each energy.

use num_complex::Complex;

use super::place;
use super::series::Bounds;
use crate::arguments::CellsArguments;
use crate::cells::{Share, Team, add};
use crate::pairs::Disc;

/// Adds what the moments of the bands from `first` on give a share.
///
/// # Safety
/// As [`block`](crate::cells::block).
#[inline(always)]
pub unsafe fn at_energy<T: Team>(
    a: &CellsArguments,
    team: &T,
    disc: &Disc,
    first: u32,
    share: u32,
) {
    let Share { iw, begin, step } = Share::of(share, a);
    if iw >= a.nw {
        return;
    }
    let (bounds, bands) = (Bounds::of(disc, &a.limits()), a.bands(first));
    let zero = Complex::new(0.0, 0.0);
    let (mut asx, mut ach) = (zero, zero);
    let mut b = begin;
    while b < bands {
        // SAFETY: a band and an energy in range.
        let (w, occ) = unsafe { (a.wx(iw, first + b), a.occ(first + b)) };
        if let Some(way) = bounds.way(w, occ != 0.0) {
            let moment = |k: usize| {
                let [re, im] = team.pair(place::moment(b, k));
                Complex::new(re, im)
            };
            let mut ssx = zero;
            let q = bounds.series(w);
            if way.q {
                let tail = q.tail(moment);
                ach = ach + q.first * (moment(0) + tail);
                ssx = q.first * tail;
            }
            if way.ssx {
                // 1/(w + ω̃) is −1/(−w − ω̃).
                let p = bounds.series(-w);
                let one = if way.q { bounds.difference(&q, &p) } else { p.first };
                ssx = ssx + moment(0) * one + p.first * p.tail(moment);
                asx = asx - ssx * occ;
            }
        }
        b += step;
    }
    add::<Disc, T>(team, share, [asx.re, asx.im, ach.re, ach.im]);
}
