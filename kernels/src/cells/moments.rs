//! The moments of a part.

use num_complex::Complex;

use super::place::{self, STAGED};
use super::series::MOMENTS;
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::pairs::{Part, Pole};
use crate::real::Real;

/// The moments of a thread's band.
pub type Moments<R> = [Complex<R>; MOMENTS];

/// Sums the moments of a part for each band from `first` on, and has them at hand.
///
/// # Safety
/// As [`block`](super::block).
#[inline(always)]
pub unsafe fn sum_moments<R: Real, T: Team<R>>(
    a: &CellsArguments,
    team: &T,
    own: &mut T::Own<Moments<R>>,
    part: &Part,
    first: u32,
) {
    let (mid, half) = part.middle();
    let scale = 1.0 / half;
    // SAFETY: at most the last pair of the part, `igp` in range.
    let fetch = |at: u32| unsafe {
        let pole = Pole::read(a.poles, at.min(part.end - 1));
        (pole, *a.vcoul_loc.add(pole.igp as usize))
    };
    let put = |buffer: u32, thread: u32, at: u32, (pole, vcoul): (Pole, f64)| {
        let there = if at < part.end { 0.5 * vcoul * pole.wtilde } else { 0.0 };
        let weight = R::complex(pole.eps) * R::of(there);
        team.set_pair(place::weight(buffer, thread), [weight.re, weight.im]);
        let t = R::of((pole.wtilde - mid) * scale);
        let twice = t + t;
        let (mut odd, mut even) = (t, twice * t - R::one());
        for half in 0..MOMENTS / 2 {
            team.set_pair(place::polynomials(buffer, thread, 2 * half), [odd, even]);
            odd = twice * even - odd;
            even = twice * odd - even;
        }
    };
    team.all(|thread| {
        if thread < STAGED {
            put(0, thread, part.begin + thread, fetch(part.begin + thread));
        }
    });
    let (mut begin, mut buffer) = (part.begin, 0);
    while begin < part.end {
        let next = begin + STAGED;
        team.all(|thread| {
            let ahead = thread < STAGED && next < part.end;
            let fetched = fetch(if ahead { next + thread } else { begin });
            // Of these pairs, then to all: fewer additions in a row.
            let mut moments = [Complex::new(R::zero(), R::zero()); MOMENTS];
            let mut at = 0;
            while at < STAGED {
                // Four at a time: their reads are under way together.
                let factors: [(Complex<R>, u32); 4] = core::array::from_fn(|i| {
                    let staged = at + i as u32;
                    let from = (begin + staged).min(part.end - 1);
                    // SAFETY: a pair of the part, a band within the rows.
                    let m =
                        unsafe { a.matngmatmgp::<R>(&Pole::read(a.poles, from), first + thread) };
                    (m, staged)
                });
                for (m, staged) in factors {
                    let [re, im] = team.pair(place::weight(buffer, staged));
                    let u = m * Complex::new(re, im);
                    moments[0] = moments[0] + u;
                    for half in 0..MOMENTS / 2 {
                        let k = 2 * half;
                        let [odd, even] = team.pair(place::polynomials(buffer, staged, k));
                        moments[k + 1] = moments[k + 1] + u * odd;
                        moments[k + 2] = moments[k + 2] + u * even;
                    }
                }
                at += 4;
            }
            let all = T::of(own, thread);
            for k in 0..MOMENTS {
                all[k] = all[k] + moments[k];
            }
            if ahead {
                put(buffer ^ 1, thread, next + thread, fetched);
            }
        });
        (begin, buffer) = (next, buffer ^ 1);
    }
    team.all(|thread| {
        let moments = T::of(own, thread);
        for (k, moment) in moments.iter_mut().enumerate() {
            team.set_pair(place::moment(thread, k), [moment.re, moment.im]);
            *moment = Complex::new(R::zero(), R::zero());
        }
    });
}
