//! V7: divisions become reciprocals.
//!
//! As in v1; the talk counts 40 % fewer instructions and becomes bound by bandwidth (talk, V7).
//!
//! Lines of the nest: 6, 7, 8.

use super::v6::{self, term};
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Swapped;
use crate::sums::Sums;
use crate::versions::v0::Roots;
use crate::versions::v1::Reciprocals;
use crate::versions::v4::collapse2;

/// What talk:V7 is.
pub static VERSION: Version =
    Version { id: "talk:V7", change: "reciprocals for divisions", source: "talk, V7" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(85.1),
    entries: entries!(
        body:
        gpp_talk_v7 = 1,
    ),
    ..v6::KERNEL
};

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse2::<Swapped, _, NW>(a, iw, thread, term::<Reciprocals, Roots>) }
}
