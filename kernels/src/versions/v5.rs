//! v5: energies leave the kernel, one launch each.
//!
//! A thread keeps two complex sums instead of two for each energy: fewer registers, more warps.
//! `M` and the pair's factors are computed again for each energy (paper, section III, v5).

use super::kernels;
use super::v3::term;
use super::v4::{self, collapse2};
use crate::arrays::{Arrays, Original, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::{Energies, Version};

/// What the registry knows of v5.
pub const VERSION: Version = Version {
    id: "v5",
    change: "one launch for each energy",
    source: "paper III, v5",
    energies: Energies::OneLaunchEach,
    max_registers: None,
    flops_per_term: 81.0,
    bodies: BODIES,
    ..v4::VERSION
};

kernels!(body: gpp_v5 = 1);

/// # Safety
/// As [`collapse2`].
#[inline(always)]
unsafe fn body<R: Real, const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { collapse2::<R, Original, NW>(a, iw, thread, term) }
}
