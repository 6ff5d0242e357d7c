//! The moments of a disc.

use num_complex::{Complex, Complex64};

use super::place::{self, EVEN, STAGED};
use super::series::MOMENTS;
use crate::arguments::CellsArguments;
use crate::cells::{Cell, Team};
use crate::pairs::{Disc, Pole};
use crate::quotient::plus_product;

/// Pairs whose matrix elements are under way together.
const AHEAD: u32 = 4;
const _: () = assert!(STAGED.is_multiple_of(AHEAD), "all of them are taken");

/// Adds a pair with these factors and this `M`. Written out for each: of a loop over so much the compiler makes
/// one that reads registers by number, from memory.
#[inline(always)]
fn add_pair<T: Team>(team: &T, factors: u32, m: Complex64, moments: &mut [Complex64; MOMENTS]) {
    let factor = |which: usize| {
        let [re, im] = team.pair(factors + 2 * which as u32);
        Complex::new(re, im)
    };
    let even = m * factor(0);
    let odd = even * factor(1);
    moments[0] = moments[0] + even;
    moments[1] = moments[1] + odd;
    for which in 1..EVEN {
        let power = factor(which + 1);
        let [two, three] = [2 * which, 2 * which + 1];
        moments[two] = plus_product(moments[two], even, power);
        moments[three] = plus_product(moments[three], odd, power);
    }
}

/// Sums the moments of a disc for each band from `first` on, which the block then shares.
///
/// # Safety
/// As [`block`](crate::cells::block).
#[inline(always)]
pub unsafe fn sum_moments<T: Team>(a: &CellsArguments, team: &T, disc: &Disc, first: u32) {
    let (begin_of_all, end) = (disc.begin, disc.end);
    let zero = Complex::new(0.0, 0.0);
    let (middle, scale) = (disc.middle, 1.0 / disc.radius);
    // SAFETY: at most the last pair of the disc.
    let pole = |at: u32| unsafe { Disc::pole(a, at.min(end - 1)) };
    let fetch = |at: u32| {
        let pole = pole(at);
        // SAFETY: `igp` in range.
        (pole, unsafe { *a.vcoul_loc.add(pole.igp as usize) })
    };
    let set = |at: u32, value: Complex64| team.set_pair(at, [value.re, value.im]);
    let get = |at: u32| {
        let [re, im] = team.pair(at);
        Complex::new(re, im)
    };
    let put = |buffer: u32, thread: u32, at: u32, (pole, vcoul): (Pole<Complex64>, f64)| {
        let there = if at < end { 0.5 * vcoul } else { 0.0 };
        let wtilde = pole.wtilde;
        set(place::factor(buffer, thread, 0), wtilde * pole.eps * there);
        let zeta = (wtilde - middle) * scale;
        set(place::factor(buffer, thread, 1), zeta);
        let square = zeta * zeta;
        let mut power = square;
        for which in 1..EVEN {
            set(place::factor(buffer, thread, which + 1), power);
            power = power * square;
        }
    };
    team.all(|thread| {
        for k in 0..MOMENTS {
            set(place::moment(thread, k), zero);
        }
        put(0, thread, begin_of_all + thread, fetch(begin_of_all + thread));
    });
    let (mut begin, mut buffer) = (begin_of_all, 0);
    while begin < end {
        let next = begin + STAGED;
        team.all(|thread| {
            let ahead = next < end;
            let fetched = fetch(if ahead { next + thread } else { begin });
            let elements = |at: u32| -> [[Complex64; 2]; AHEAD as usize] {
                core::array::from_fn(|i| {
                    // SAFETY: a pair of the disc, a band within the rows.
                    unsafe { a.elements(&pole(at + i as u32), first + thread) }
                })
            };
            // Of these pairs, then to all: fewer additions in a row.
            let mut moments = [zero; MOMENTS];
            let mut under_way = elements(begin);
            let (mut at, staged) = (0, STAGED.min(end - begin));
            while at < staged {
                let factors = under_way.map(|[aqsm, aqsn]| aqsm.conj() * aqsn);
                under_way = elements(begin + at + AHEAD);
                let [one, two, three, four] = factors;
                add_pair(team, place::factor(buffer, at, 0), one, &mut moments);
                add_pair(team, place::factor(buffer, at + 1, 0), two, &mut moments);
                add_pair(team, place::factor(buffer, at + 2, 0), three, &mut moments);
                add_pair(team, place::factor(buffer, at + 3, 0), four, &mut moments);
                at += AHEAD;
            }
            for (k, &moment) in moments.iter().enumerate() {
                let at = place::moment(thread, k);
                set(at, get(at) + moment);
            }
            if ahead {
                put(buffer ^ 1, thread, next + thread, fetched);
            }
        });
        (begin, buffer) = (next, buffer ^ 1);
    }
}
