//! v7: `wx` and `aqsm_local` swap their indices.
//!
//! With blocking a thread goes from band to band, so `wx(n,iw)` and `aqsm_local(n,igp)` put what it
//! reads next nearer to what it read last (paper, section III, v7).

use super::kernels;
use super::v3::term;
use super::v6::{self, blocked};
use crate::arrays::{Arrays, Sums, Swapped};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::{Layout, Version};

/// What the registry knows of v7.
pub const VERSION: Version = Version {
    id: "v7",
    change: "wx(n,iw) and aqsm_local(n,igp)",
    source: "paper III, v7",
    layout: Layout::Swapped,
    flops_per_term: 82.6,
    bodies: BODIES,
    ..v6::VERSION
};

kernels!(body: gpp_v7 = 1 spills { in_loop: 6, bytes: 192 });

/// # Safety
/// As [`blocked`], arrays in the swapped order.
#[inline(always)]
pub unsafe fn body<R: Real, const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { blocked::<R, Swapped, NW>(a, iw, thread, term) }
}
