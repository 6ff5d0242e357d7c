//! v13: energies as operands, and what they have in common.
//!
//! What v12 is short of is the register file's read ports. The energies of a band are the same for all
//! threads: from the constant memory they are operands of additions and take neither a register nor a
//! read; where it does not hold them all, v12's kernels run. Two energies of a band differ by the same
//! for all bands: where no pole is near, so for *far* bands ([`crate::plan`]), two real quotients share a
//! reciprocal, and no test for the branch is needed. See [`halves`] and [`complex`].

use super::{kernels, v12};
use crate::arrays::{Arrays, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::{Launch, Loops, Version};
use crate::tiles::{Shape, complex, halves};

/// Shape of its tiles.
const SHAPE: Shape = Shape { tile: 2, warps: 8 };

/// What the registry knows of v13.
pub const VERSION: Version = Version {
    id: "v13",
    loops: Loops::Tiled(SHAPE),
    threads: SHAPE.threads(),
    max_registers: Some(128),
    change: "energies from constant memory, one reciprocal for two of them",
    bodies: BODIES,
    flops_per_term: 32.5,
    real: Some(Launch {
        loops: Loops::Tiled(SHAPE),
        threads: SHAPE.threads(),
        max_registers: Some(128),
        flops_per_term: 17.3,
        bodies: REAL,
    }),
    beyond: Some(&v12::VERSION),
    ..v12::VERSION
};

kernels!(
    planned BODIES = body: gpp_v13_nw1 = 1,
    gpp_v13_nw2 = 2 spills { in_loop: 16, bytes: 1024 },
    gpp_v13_nw3 = 3 spills { in_loop: 96, bytes: 3200 }
);
kernels!(
    planned REAL = real: gpp_v13_real_nw1 = 1,
    gpp_v13_real_nw2 = 2,
    gpp_v13_real_nw3 = 3 spills { in_loop: 6, bytes: 512 }
);

/// # Safety
/// As [`complex::constant`].
#[inline(always)]
unsafe fn body<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe {
        complex::constant::<R, NW, { SHAPE.tile as usize }, { SHAPE.warps as usize }>(a, thread)
    }
}

/// # Safety
/// As [`halves::body`].
#[inline(always)]
unsafe fn real<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { halves::body::<R, NW, { SHAPE.tile as usize }, { SHAPE.warps as usize }>(a, thread) }
}
