//! The moments of a part.

use num_complex::{Complex, Complex64};

use super::place::{self, STAGED};
use super::series::MOMENTS;
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::pairs::{Part, Pole};

/// Pairs whose matrix elements are under way together.
const AHEAD: u32 = 4;
const _: () = assert!(STAGED.is_multiple_of(AHEAD), "all of them are taken");

/// Sums the moments of a part for each band from `first` on, which the block then shares.
///
/// # Safety
/// As [`block`](super::block).
#[inline(always)]
pub unsafe fn sum_moments<T: Team>(a: &CellsArguments, team: &T, part: &Part, first: u32) {
    let (mid, half) = part.middle();
    let scale = 1.0 / half;
    let zero = Complex::new(0.0, 0.0);
    // SAFETY: at most the last pair of the part.
    let pole = |at: u32| unsafe { Pole::read(a.poles, at.min(part.end - 1)) };
    let fetch = |at: u32| {
        let pole = pole(at);
        // SAFETY: `igp` in range.
        (pole, unsafe { *a.vcoul_loc.add(pole.igp as usize) })
    };
    let put = |buffer: u32, thread: u32, at: u32, (pole, vcoul): (Pole, f64)| {
        let there = if at < part.end { 0.5 * vcoul * pole.wtilde } else { 0.0 };
        let weight = pole.eps * there;
        team.set_pair(place::weight(buffer, thread), [weight.re, weight.im]);
        let t = (pole.wtilde - mid) * scale;
        let twice = t + t;
        let (mut odd, mut even) = (t, twice * t - 1.0);
        for half in 0..MOMENTS / 2 {
            team.set_pair(place::polynomials(buffer, thread, 2 * half), [odd, even]);
            odd = twice * even - odd;
            even = twice * odd - even;
        }
    };
    team.all(|thread| {
        for k in 0..MOMENTS {
            team.set_pair(place::moment(thread, k), [0.0; 2]);
        }
        put(0, thread, part.begin + thread, fetch(part.begin + thread));
    });
    let (mut begin, mut buffer) = (part.begin, 0);
    while begin < part.end {
        let next = begin + STAGED;
        team.all(|thread| {
            let ahead = next < part.end;
            let fetched = fetch(if ahead { next + thread } else { begin });
            let elements = |at: u32| -> [[Complex64; 2]; AHEAD as usize] {
                core::array::from_fn(|i| {
                    // SAFETY: a pair of the part, a band within the rows.
                    unsafe { a.elements(&pole(at + i as u32), first + thread) }
                })
            };
            // Of these pairs, then to all: fewer additions in a row.
            let mut moments = [zero; MOMENTS];
            let mut under_way = elements(begin);
            let (mut at, staged) = (0, STAGED.min(part.end - begin));
            while at < staged {
                let factors = under_way.map(|[aqsm, aqsn]| aqsm.conj() * aqsn);
                under_way = elements(begin + at + AHEAD);
                for (i, m) in factors.into_iter().enumerate() {
                    let pair = at + i as u32;
                    let [re, im] = team.pair(place::weight(buffer, pair));
                    let u = m * Complex::new(re, im);
                    moments[0] = moments[0] + u;
                    for half in 0..MOMENTS / 2 {
                        let k = 2 * half;
                        let [odd, even] = team.pair(place::polynomials(buffer, pair, k));
                        moments[k + 1] = moments[k + 1] + u * odd;
                        moments[k + 2] = moments[k + 2] + u * even;
                    }
                }
                at += AHEAD;
            }
            for (k, moment) in moments.iter().enumerate() {
                let [re, im] = team.pair(place::moment(thread, k));
                team.set_pair(place::moment(thread, k), [re + moment.re, im + moment.im]);
            }
            if ahead {
                put(buffer ^ 1, thread, next + thread, fetched);
            }
        });
        (begin, buffer) = (next, buffer ^ 1);
    }
}
