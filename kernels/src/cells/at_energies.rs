//! What the moments of a part give at each energy.

use num_complex::Complex;

use crate::arguments::CellsArguments;
use crate::cells;
use crate::cells::series::{MOMENTS, Weights, way};
use crate::cells::team::Team;
use crate::cells::{Cell, Share, add};
use crate::formula::{Pair, Term, TermFn, VALUES};
use crate::intrinsics::WARP;
use crate::pairs::{Part, Pole};

/// Adds what the moments of the bands from `first` on give a share.
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
        let (w, occ) = (a.wx(iw, first + b), a.occ(first + b));
        if let Some(way) = way(w, part, occ != 0.0, &limits) {
            let given = |weights: &[f64; MOMENTS]| {
                let mut sum = zero;
                for (k, &weight) in weights.iter().enumerate() {
                    let [re, im] = team.pair(cells::moment(b, k));
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

// Pairs whose moments do not tell their sum, by the definition.

/// Adds, pair by pair, what moments do not give the shares of a warp from `shares` on.
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
                let (w, occ) = (a.wx(iw, first + b), a.occ(first + b));
                way(w, occ != 0.0).is_none()
            }
        });
        while left != 0 {
            let share = left.trailing_zeros();
            left &= left - 1;
            let (iw, b) = band(share);
            let n = first + b;
            // As above, and pairs of the part.
            let sums = team.sum(|lane| {
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
/// As [`block`](crate::cells::block), the pair and the band in range.
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
    let ([aqsm, aqsn], vcoul) = (a.elements(pole, n), *a.vcoul_loc.add(pole.igp as usize));
    let m = aqsm.conj() * aqsn;
    let asx = ssx * (vcoul * occ) * m;
    let ach = sch * (vcoul * 0.5) * m;
    let [asx_re, asx_im, ach_re, ach_im] = sums;
    (*asx_re, *asx_im) = (*asx_re - asx.re, *asx_im - asx.im);
    (*ach_re, *ach_im) = (*ach_re + ach.re, *ach_im + ach.im);
}
