//! Who has which energies and bands, after the moments: as many shares as energies fit, however few there are.

use super::place::{BANDS, HOLDS};
use crate::arguments::CellsArguments;
use crate::intrinsics::WARP;

/// An energy, and which of the bands of a block: every `step`-th from `begin` on. A thread has a few shares,
/// whose sums stand in shared memory to the block's end.
#[derive(Clone, Copy)]
pub struct Share {
    /// The energy, which there need not be.
    pub iw: u32,
    /// The first band of the block's.
    pub begin: u32,
    /// How far the next one is.
    pub step: u32,
}

impl Share {
    /// Number `at` of [`HOLDS`].
    #[inline(always)]
    pub fn of(at: u32, a: &CellsArguments) -> Share {
        let bits = energies(a).trailing_zeros();
        Share { iw: at & (energies(a) - 1), begin: at >> bits, step: HOLDS >> bits }
    }
}

/// Energies that there are shares of: a power of two.
#[inline(always)]
fn energies(a: &CellsArguments) -> u32 {
    a.nw.next_power_of_two()
}

/// The shares of an energy, in the order in which they are added up.
#[inline(always)]
pub fn each_of_energy(iw: u32, a: &CellsArguments, mut each: impl FnMut(u32)) {
    let mut at = iw;
    while at < HOLDS {
        each(at);
        at += energies(a);
    }
}

/// Calls `each` for the first share of each group that a warp's threads have, one each.
#[inline(always)]
pub fn each_of_warp(warp: u32, mut each: impl FnMut(u32)) {
    let mut first = warp * WARP;
    while first < HOLDS {
        each(first);
        first += BANDS;
    }
}
