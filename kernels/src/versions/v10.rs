//! v10: tiles of 2.

use super::kernels;
use super::v3;
use crate::arrays::{Arrays, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::{Energies, Layout, Loops, RealPoles, Version};
use crate::tiles::{self, complex, real};

/// What the registry knows of v10.
pub const VERSION: Version = Version {
    id: "v10",
    change: "tiles of 2",
    source: "docs",
    loops: Loops::Tiled(2),
    energies: Energies::Together,
    layout: Layout::Planned,
    threads: tiles::THREADS,
    max_registers: Some(128),
    expected_spill_bytes: 0,
    flops_per_term: 40.0,
    bodies: BODIES,
    real: Some(RealPoles {
        loops: Loops::Tiled(2),
        max_registers: Some(128),
        flops_per_term: 20.0,
        bodies: REAL,
    }),
    ..v3::VERSION
};

kernels!(planned BODIES = any: gpp_v10_nw1 = 1, gpp_v10_nw2 = 2, gpp_v10_nw3 = 3);
kernels!(planned REAL = real: gpp_v10_real_nw1 = 1, gpp_v10_real_nw2 = 2, gpp_v10_real_nw3 = 3);

/// # Safety
/// As [`complex::body`].
#[inline(always)]
unsafe fn any<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { complex::body::<R, NW, 2>(a, thread) }
}

/// # Safety
/// As [`real::body`].
#[inline(always)]
unsafe fn real<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { real::body::<R, NW, 2>(a, thread) }
}
