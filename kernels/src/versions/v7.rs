//! v7: `wx` and `aqsm_local` swap their indices.
//!
//! With blocking a thread goes from band to band, so `wx(n,iw)` and `aqsm_local(n,igp)` put what it
//! reads next nearer to what it read last (paper, section III, v7).
//!
//! Lines of the nest: 5, 6.

use super::v3::term;
use super::v6::{self, IG_BLK, N_BLK, blocked};
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::{Layout, Swapped};
use crate::sums::Sums;

/// What v7 is.
pub static VERSION: Version =
    Version { id: "v7", change: "wx(n,iw) and aqsm_local(n,igp)", source: "paper III, v7" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    layout: Layout::Swapped,
    flops_per_term: Some(82.6),
    entries: entries!(
        body:
        gpp_v7 = 1 spills { in_loop: 6, bytes: 192 },
    ),
    ..v6::KERNEL
};

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { blocked::<Swapped, _, NW, N_BLK, IG_BLK>(a, iw, thread, term) }
}
