//! V5: `wx` and `aqsm_local` swap their indices.
//!
//! A thread goes from band to band, so `wx(n,iw)` and `aqsm_local(n,igp)` put what it reads next nearer
//! to what it read last (talk, V5). v7 is the same step, once there are blocks.
//!
//! Lines of the nest: 5, 6.

use super::v4;
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::{Layout, Swapped};
use crate::sums::Sums;
use crate::versions::v0::term;
use crate::versions::v4::collapse2;

/// What talk:V5 is.
pub static VERSION: Version =
    Version { id: "talk:V5", change: "wx(n,iw) and aqsm_local(n,igp)", source: "talk, V5" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    layout: Layout::Swapped,
    flops_per_term: Some(142.4),
    entries: entries!(
        body:
        gpp_talk_v5 = 1,
    ),
    ..v4::KERNEL
};

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse2::<Swapped, _, NW>(a, iw, thread, term) }
}
