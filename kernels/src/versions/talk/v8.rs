//! V8: absolute values become squares.
//!
//! As in v3: warps wait half as often for what the square root leaves behind (talk, V8).
//!
//! Lines of the nest: 9.

use super::v6::term;
use super::v7;
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Swapped;
use crate::sums::Sums;
use crate::versions::v1::Reciprocals;
use crate::versions::v3::Squares;
use crate::versions::v4::collapse2;

/// What talk:V8 is.
pub static VERSION: Version =
    Version { id: "talk:V8", change: "squares for absolute values", source: "talk, V8" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(81.0),
    entries: entries!(
        body:
        gpp_talk_v8 = 1,
    ),
    ..v7::KERNEL
};

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse2::<Swapped, _, NW>(a, iw, thread, term::<Reciprocals, Squares>) }
}
