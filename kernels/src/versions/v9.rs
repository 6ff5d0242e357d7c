//! v9: tiles of 1.

use super::kernels;
use super::v3;
use crate::arrays::{Arrays, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::{Energies, Layout, Loops, RealPoles, Version};
use crate::tiles::{self, complex, real};

/// What the registry knows of v9.
pub const VERSION: Version = Version {
    id: "v9",
    change: "tiles of 1",
    source: "docs",
    loops: Loops::Tiled(1),
    energies: Energies::Together,
    layout: Layout::Planned,
    threads: tiles::THREADS,
    max_registers: Some(128),
    expected_spill_bytes: 0,
    flops_per_term: 40.0,
    bodies: BODIES,
    real: Some(RealPoles {
        loops: Loops::Tiled(1),
        max_registers: Some(128),
        flops_per_term: 20.0,
        bodies: REAL,
    }),
    ..v3::VERSION
};

kernels!(planned BODIES = any: gpp_v9_nw1 = 1, gpp_v9_nw2 = 2, gpp_v9_nw3 = 3);
kernels!(planned REAL = real: gpp_v9_real_nw1 = 1, gpp_v9_real_nw2 = 2, gpp_v9_real_nw3 = 3);

/// # Safety
/// As [`complex::body`].
#[inline(always)]
unsafe fn any<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { complex::body::<R, NW, 1>(a, thread) }
}

/// # Safety
/// As [`real::body`].
#[inline(always)]
unsafe fn real<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { real::body::<R, NW, 1>(a, thread) }
}
