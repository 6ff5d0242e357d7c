//! Cells of real poles between two bounds.

use core::ops::Range;

use num_complex::Complex;

use super::at_energies::at_energy;
use super::cell::Cell;
use super::moments::sum_moments;
use super::place::SUMS;
use super::series::{Way, way};
use super::team::Team;
use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::pairs::{Part, Pole};
use crate::real::Real;

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
    fn wtilde<R: Real>(of: f64) -> Complex<R> {
        Complex::new(R::of(of), R::zero())
    }

    #[inline(always)]
    fn pairs(&self) -> Range<u32> {
        self.begin..self.end
    }

    #[inline(always)]
    fn ways<R: Real>(&self, limits: Limits) -> impl Fn(R, bool) -> Option<Way> {
        move |w, occupied| way(w, self, occupied, &limits)
    }

    #[inline(always)]
    unsafe fn sum_moments<R: Real, T: Team<R>>(&self, a: &CellsArguments, team: &T, first: u32) {
        // SAFETY: this function's own contract.
        unsafe { sum_moments(a, team, self, first) }
    }

    #[inline(always)]
    unsafe fn at_energy<R: Real, T: Team<R>>(
        &self,
        a: &CellsArguments,
        team: &T,
        first: u32,
        share: u32,
    ) {
        // SAFETY: this function's own contract.
        unsafe { at_energy(a, team, self, first, share) }
    }
}
