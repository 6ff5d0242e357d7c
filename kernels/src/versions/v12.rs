//! v12: purely real poles have kernels of their own.
//!
//! BerkeleyGW's default makes every ω̃ real. Then both quotients are real, an accumulation is two
//! fused operations, not four, and one reciprocal gives both: see [`real`]. A thread has two `igp`.
//! Whether all poles are real is found out when the problem is loaded; others run v11's kernels.

use super::kernels;
use super::v11::{self, body};
use crate::arrays::{Arrays, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::{Launch, Loops, Version};
use crate::tiles::{Shape, real};

/// Shape of its tiles for real poles.
const SHAPE: Shape = Shape { tile: 2, warps: 8 };

/// What the registry knows of v12.
pub const VERSION: Version = Version {
    id: "v12",
    change: "kernels for purely real poles",
    bodies: BODIES,
    real: Some(Launch {
        loops: Loops::Tiled(SHAPE),
        threads: SHAPE.threads(),
        max_registers: Some(128),
        flops_per_term: 17.9,
        bodies: REAL,
    }),
    ..v11::VERSION
};

kernels!(planned BODIES = body: gpp_v12_nw1 = 1, gpp_v12_nw2 = 2, gpp_v12_nw3 = 3);
kernels!(planned REAL = real: gpp_v12_real_nw1 = 1, gpp_v12_real_nw2 = 2, gpp_v12_real_nw3 = 3);

/// # Safety
/// As [`real::body`].
#[inline(always)]
unsafe fn real<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { real::body::<R, NW, { SHAPE.tile as usize }, { SHAPE.warps as usize }>(a, thread) }
}
