//! Cells of real poles between two bounds.

use core::ops::Range;

use num_complex::{Complex, Complex64};

use super::at_energies::at_energy;
use super::cell::Cell;
use super::moments::sum_moments;
use super::place::SUMS;
use super::series::{Way, way};
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::pairs::{Part, Pole};

impl Cell for Part {
    type Wtilde = f64;

    const SUMS: u32 = SUMS;

    #[inline(always)]
    unsafe fn read(a: &CellsArguments, part: u32) -> Part {
        // SAFETY: the parts of real poles are such ones.
        unsafe { Part::read(a.parts, part) }
    }

    #[inline(always)]
    unsafe fn pole(a: &CellsArguments, at: u32) -> Pole {
        // SAFETY: the pairs of real poles are such ones.
        unsafe { Pole::read(a.poles, at) }
    }

    #[inline(always)]
    fn wtilde(of: f64) -> Complex64 {
        Complex::new(of, 0.0)
    }

    #[inline(always)]
    fn pairs(&self) -> Range<u32> {
        self.begin..self.end
    }

    #[inline(always)]
    fn ways(&self, limits: Limits) -> impl Fn(f64, bool) -> Option<Way> {
        move |w, occupied| way(w, self, occupied, &limits)
    }

    #[inline(always)]
    unsafe fn sum_moments<T: Team>(&self, a: &CellsArguments, team: &T, first: u32) {
        // SAFETY: this function's own contract.
        unsafe { sum_moments(a, team, self, first) }
    }

    #[inline(always)]
    unsafe fn at_energy<T: Team>(&self, a: &CellsArguments, team: &T, first: u32, share: u32) {
        // SAFETY: this function's own contract.
        unsafe { at_energy(a, team, self, first, share) }
    }
}
