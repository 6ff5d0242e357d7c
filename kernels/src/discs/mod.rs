//! Pairs sorted by their poles in the complex plane: any number of energies for little more than a few.
//!
//! As [`crate::cells`], of whose kernel this is the other kind of cell: `c·M·q` and `c·M·p` of a band are
//! analytic functions of the pole. Far from `w` and from `−w` they are a few powers of `ζ = (ω̃ − z₀)/r`
//! ([`series`]) for the pairs whose poles lie in a disc around `z₀` with radius `r`, and the moments
//! `Σ c·M·ζ^k` tell their sums at every energy of the band.
//!
//! Moments are complex numbers times complex powers. They are summed two at a time, so that of the powers
//! only every second one is staged: `ζ^2j` with `c·M` and with `c·M·ζ`.

mod at_energies;
mod moments;
mod place;
pub mod series;

use core::ops::Range;

use num_complex::Complex64;

use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::cells::series::Way;
use crate::cells::{Cell, Team};
use crate::pairs::{Disc, Pole};
pub use place::NUMBERS;
use series::Bounds;

/// Blocks of a launch at most, as [`crate::cells::BLOCKS`].
pub const BLOCKS: u32 = 528;

impl Cell for Disc {
    type Wtilde = Complex64;

    const SUMS: u32 = place::SUMS;

    #[inline(always)]
    unsafe fn read(a: &CellsArguments, part: u32) -> Disc {
        // SAFETY: the parts of any poles are such ones.
        unsafe { Disc::read(a.parts.cast(), part) }
    }

    #[inline(always)]
    unsafe fn pole(a: &CellsArguments, at: u32) -> Pole<Complex64> {
        // SAFETY: the pairs of any poles are such ones.
        unsafe { Pole::read_any(a.poles.cast(), at) }
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
        // SAFETY: this function's own contract.
        unsafe { moments::sum_moments(a, team, self, first) }
    }

    #[inline(always)]
    unsafe fn at_energy<T: Team>(&self, a: &CellsArguments, team: &T, first: u32, share: u32) {
        // SAFETY: this function's own contract.
        unsafe { at_energies::at_energy(a, team, self, first, share) }
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
            // SAFETY: takes an address, of as many numbers.
            unsafe {
                asm!("mov.u32 {}, gpp_discs;", out(reg32) base,
                     options(pure, nomem, nostack, preserves_flags));
                Block::at(base)
            }
        }
    }
}
