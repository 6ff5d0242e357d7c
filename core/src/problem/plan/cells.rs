//! The pairs of a slab sorted by their poles: see [`gpp_kernels::cells`] and [`gpp_kernels::discs`].

use std::slice;

use gpp_cpu::cells::Pairs;
use gpp_kernels::arrays::Limits;
use gpp_kernels::pairs::{Disc, Part, Pole};
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::bounds::{Evaluator, bounds};
use super::discs::discs;
use super::sorted::Sorted;
use crate::problem::{Extents, SlabView};

/// More cells of real poles than there ever are: no narrower ones than `bounds` allows, and those that grow with
/// their poles.
const CELLS: u64 = 20_000;

/// A disc has more pairs than these, but for one of its four neighbours at times, and for some near zero.
const OF_DISC: u64 = 16;

/// The pairs of a slab that contribute, cell by cell, in parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Of real poles.
    Real(Sorted<f64, Part>),
    /// Of any.
    Any(Sorted<Complex64, Disc>),
}

impl Cells {
    /// Of a slab whose contributing poles have `poles` in common, for energies `wx`, `(nw, nbands)`, of bands of
    /// these occupations.
    pub fn of(
        slab: SlabView,
        wx: &[f64],
        occ: &[f64],
        limits: Limits,
        poles: Poles,
        by: Evaluator,
    ) -> Cells {
        match poles {
            Poles::Real => Cells::Real(intervals(slab, bounds(slab, wx, occ, limits, by))),
            Poles::Any | Poles::Unread => Cells::Any(discs(slab, wx, occ, limits)),
        }
    }

    /// Bytes at most of those of a slab, and of what they are sorted in.
    pub fn bytes_while_made(slab: Extents, poles: Poles) -> u64 {
        let pairs = (slab.ncouls as u64).saturating_mul(slab.ngpown as u64);
        match poles {
            Poles::Real => Sorted::<f64, Part>::bytes_while_made(slab, CELLS),
            Poles::Any | Poles::Unread => {
                Sorted::<Complex64, Disc>::bytes_while_made(slab, CELLS + pairs / OF_DISC)
            }
        }
    }

    /// As processors read them.
    pub fn pairs(&self) -> Pairs<'_> {
        match self {
            Cells::Real(of) => Pairs::Real(of.poles(), of.parts()),
            Cells::Any(of) => Pairs::Any(of.poles(), of.parts()),
        }
    }

    /// How many parts: fewer than there are pairs, or bounds.
    pub fn count(&self) -> u32 {
        match self {
            Cells::Real(of) => of.parts().len() as u32,
            Cells::Any(of) => of.parts().len() as u32,
        }
    }

    /// Both as they are copied to a device.
    pub fn words(&self) -> (&[u32], &[u32]) {
        /// # Safety
        /// A value is `repr(C)`, of numbers of 8 bytes and of 4 whose pairs are aligned as such.
        unsafe fn words<T>(all: &[T]) -> &[u32] {
            const { assert!(size_of::<T>().is_multiple_of(8) && align_of::<T>() == 8) };
            // SAFETY: as long, aligned, and nothing lies between the numbers, by this function's contract.
            unsafe { slice::from_raw_parts(all.as_ptr().cast(), size_of_val(all) / 4) }
        }
        // SAFETY: poles, parts and discs are such ones: two indices stand next to each other in each.
        unsafe {
            match self {
                Cells::Real(of) => (words(of.poles()), words(of.parts())),
                Cells::Any(of) => (words(of.poles()), words(of.parts())),
            }
        }
    }
}

/// Those of real poles, in cells between `bounds`.
fn intervals(slab: SlabView, bounds: Vec<f64>) -> Sorted<f64, Part> {
    let cells = bounds.len();
    // The last one is of the poles that are within no bounds.
    let cell = |wtilde: f64| match bounds.partition_point(|&bound| bound <= wtilde) {
        0 => cells - 1,
        above => above - 1,
    };
    let part = |cell: usize, _: &[Pole]| {
        let (low, high) = match bounds.get(cell + 1) {
            Some(&high) => (bounds[cell], high),
            None => (f64::NAN, f64::NAN),
        };
        Part { low, high, begin: 0, end: 0 }
    };
    Sorted::of(slab, cells, |wtilde| wtilde.re, cell, part)
}
