//! Pairs sorted by their poles in the complex plane: any number of energies for little more than a few.
//!
//! As [`crate::cells`], of whose kernel this is the other kind of cell: `c·M·q` and `c·M·p` of a band are
//! analytic functions of the pole. Far from `w` and from `−w` they are a few powers of `ζ = (ω̃ − z₀)/r`
//! ([`series`]) for the pairs whose poles lie in a disc around `z₀` with radius `r`, and the moments
//! `Σ c·M·ζ^k` tell their sums at every energy of the band.
//!
//! Moments are complex numbers times complex powers. They are summed two at a time, so that of the powers
//! only every second one is staged: `ζ^2j` with `c·M` and with `c·M·ζ`.

use core::ops::Range;

use num_complex::{Complex, Complex64};

use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::cells::series::Way;
use crate::cells::{BANDS, Cell, HOLDS, Share, Team, add};
use crate::discs::series::{Bounds, MOMENTS};
use crate::formula::VALUES;
use crate::pairs::{Disc, Pole};

pub mod series;

/// Blocks of a launch at most, as [`crate::cells::BLOCKS`].
pub const BLOCKS: u32 = 528;

impl Cell for Disc {
    type Wtilde = Complex64;

    const SUMS: u32 = SUMS;

    #[inline(always)]
    unsafe fn read(a: &CellsArguments, part: u32) -> Disc {
        // The parts of any poles are such ones.
        Disc::read(a.parts.cast(), part)
    }

    #[inline(always)]
    unsafe fn pole(a: &CellsArguments, at: u32) -> Pole<Complex64> {
        // The pairs of any poles are such ones.
        Pole::read_any(a.poles.cast(), at)
    }

    #[inline(always)]
    fn wtilde(of: Complex64) -> Complex64 {
        of
    }

    #[inline(always)]
    fn pairs(&self) -> Range<u32> {
        self.begin..self.end
    }

    #[inline(always)]
    fn ways(&self, limits: Limits) -> impl Fn(f64, bool) -> Option<Way> {
        let bounds = Bounds::of(self, &limits);
        move |w, occupied| bounds.way(w, occupied)
    }

    #[inline(always)]
    unsafe fn sum_moments<T: Team>(&self, a: &CellsArguments, team: &T, first: u32) {
        series::sum_moments(a, team, self, first)
    }

    #[inline(always)]
    unsafe fn at_energy<T: Team>(&self, a: &CellsArguments, team: &T, first: u32, share: u32) {
        at_energy(a, team, self, first, share)
    }
}

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use core::arch::{asm, global_asm};

    use super::NUMBERS;
    use crate::cells::Block;

    global_asm!(
        ".shared .align 16 .b8 gpp_discs[{bytes}];",
        bytes = const NUMBERS * 8,
    );

    impl Block<NUMBERS> {
        /// With the numbers of discs.
        ///
        /// # Safety
        /// As [`Block::calling`].
        #[inline(always)]
        pub unsafe fn of_discs() -> Self {
            let base: u32;
            asm!("mov.u32 {}, gpp_discs;", out(reg32) base,
                 options(pure, nomem, nostack, preserves_flags));
            Block::at(base)
        }
    }
}

// Where things stand in a block's shared memory, in numbers.

/// Pairs whose factors a block has at hand at a time, one for each of its threads to make.
pub const STAGED: u32 = BANDS;

/// Moments are summed two at a time, of each even power of `ζ`.
pub const EVEN: usize = MOMENTS / 2;
const _: () = assert!(MOMENTS.is_multiple_of(2), "each even power has an odd one behind it");

/// Complex factors of a pair: its weight, `ζ`, and the even powers but the first, which is one.
const OF_PAIR: u32 = 2 + EVEN as u32 - 1;

/// `(2, BANDS, MOMENTS)`.
const MOMENT: u32 = 0;
/// `(VALUES, HOLDS)`, of a share each.
pub const SUMS: u32 = MOMENT + 2 * BANDS * MOMENTS as u32;
/// Two buffers of `(2, OF_PAIR, STAGED)`.
const FACTORS: u32 = SUMS + VALUES as u32 * HOLDS;
pub const NUMBERS: u32 = FACTORS + 2 * STAGED * 2 * OF_PAIR;

/// Moment `k` of band `b`.
#[inline(always)]
pub const fn moment(b: u32, k: usize) -> u32 {
    MOMENT + 2 * (k as u32 * BANDS + b)
}

/// The weight of a staged pair, `ζ`, then `ζ²`, `ζ⁴` and so on.
#[inline(always)]
pub const fn factor(buffer: u32, at: u32, which: usize) -> u32 {
    FACTORS + ((buffer * STAGED + at) * OF_PAIR + which as u32) * 2
}

// What the moments of a disc give at each energy.

/// Adds what the moments of the bands from `first` on give a share.
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
        let (w, occ) = (a.wx(iw, first + b), a.occ(first + b));
        if let Some(way) = bounds.way(w, occ != 0.0) {
            let moment = |k: usize| {
                let [re, im] = team.pair(moment(b, k));
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
