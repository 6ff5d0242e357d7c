//! v10: no branch and no division.
//!
//! In partial fractions both branches are `½ω̃·eps·(q − p)` with `q = 1/(w − ω̃)`, zero near the pole,
//! and `p = 1/(w + ω̃)`: see [`complex`]. A reciprocal is the hardware's approximation and one cubic
//! correction, three fused operations: see [`crate::quotient`].

use super::{kernels, v9};
use crate::arrays::{Arrays, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::Version;
use crate::tiles::complex;

/// What the registry knows of v10.
pub const VERSION: Version = Version {
    id: "v10",
    change: "partial fractions without a branch, approximate reciprocals corrected once",
    flops_per_term: 32.5,
    bodies: BODIES,
    ..v9::VERSION
};

kernels!(planned BODIES = body: gpp_v10_nw1 = 1, gpp_v10_nw2 = 2, gpp_v10_nw3 = 3);

/// # Safety
/// As [`complex::direct`].
#[inline(always)]
unsafe fn body<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { complex::direct::<R, NW, 1, 8>(a, thread) }
}
