//! Pairs whose moments do not tell their sum, by the definition.

use super::cell::Cell;
use super::share::Share;
use super::sums::add;
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::formula::{Pair, Term, TermFn};
use crate::intrinsics::WARP;
use crate::pairs::Pole;
use crate::sums::VALUES;

/// Adds, pair by pair, what moments do not give the shares of a warp from `shares` on.
///
/// # Safety
/// As [`block`](super::block).
#[inline(always)]
pub unsafe fn one_by_one<C: Cell, T: Team>(
    a: &CellsArguments,
    team: &T,
    part: &C,
    first: u32,
    shares: u32,
    term: impl TermFn + Copy,
) {
    let (limits, bands) = (a.limits(), a.bands(first));
    let way = part.ways(limits);
    // The bands of a share are as many as of any other, or one fewer.
    let mut from = 0;
    while from < bands {
        let band = |lane: u32| {
            let Share { iw, begin, .. } = Share::of(shares + lane, a);
            (iw, from + begin)
        };
        let mut left = team.ballot(|lane| {
            let (iw, b) = band(lane);
            iw < a.nw && b < bands && {
                // SAFETY: a band and an energy in range.
                let (w, occ) = unsafe { (a.wx(iw, first + b), a.occ(first + b)) };
                way(w, occ != 0.0).is_none()
            }
        });
        while left != 0 {
            let share = left.trailing_zeros();
            left &= left - 1;
            let (iw, b) = band(share);
            let n = first + b;
            // SAFETY: as above, and pairs of the part.
            let sums = team.sum(|lane| unsafe {
                let (w, occ) = (a.wx(iw, n), a.occ(n));
                let mut sums = [0.0; VALUES];
                let pairs = part.pairs();
                let mut at = pairs.start + lane;
                while at < pairs.end {
                    let pole = C::pole(a, at);
                    let found = term(&pair::<C>(&pole), w, &limits);
                    add_term(a, &pole, n, occ, found, &mut sums);
                    at += WARP;
                }
                sums
            });
            team.first(|| add::<C, T>(team, shares + share, sums));
        }
        from += Share::of(shares, a).step;
    }
}

/// The factors of a pair.
#[inline(always)]
fn pair<C: Cell>(pole: &Pole<C::Wtilde>) -> Pair {
    let wtilde = C::wtilde(pole.wtilde);
    let (wtilde2, eps) = (wtilde * wtilde, pole.eps);
    Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps }
}

/// Adds the term of a pair.
///
/// # Safety
/// As [`block`](super::block), the pair and the band in range.
#[inline(always)]
unsafe fn add_term<W>(
    a: &CellsArguments,
    pole: &Pole<W>,
    n: u32,
    occ: f64,
    Term { ssx, sch }: Term,
    sums: &mut [f64; VALUES],
) {
    // SAFETY: in range.
    let ([aqsm, aqsn], vcoul) =
        unsafe { (a.elements(pole, n), *a.vcoul_loc.add(pole.igp as usize)) };
    let m = aqsm.conj() * aqsn;
    let asx = ssx * (vcoul * occ) * m;
    let ach = sch * (vcoul * 0.5) * m;
    let [asx_re, asx_im, ach_re, ach_im] = sums;
    (*asx_re, *asx_im) = (*asx_re - asx.re, *asx_im - asx.im);
    (*ach_re, *ach_im) = (*ach_re + ach.re, *ach_im + ach.im);
}
