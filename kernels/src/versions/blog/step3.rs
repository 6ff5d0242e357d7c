//! Step 3: no instructions of high latency.
//!
//! Divisions become reciprocals and absolute values squares, as in v1 and v3; the branch keeps its
//! three ways. The code runs twice as fast, at 2.9 TFLOP/s instead of 2.5 (NVIDIA developer blog,
//! step 3).
//!
//! Lines of the nest: 6, 7, 8, 9.

use super::step2;
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Original;
use crate::sums::Sums;
use crate::versions::v0::three_ways;
use crate::versions::v1::Reciprocals;
use crate::versions::v3::Squares;
use crate::versions::v4::collapse2;

/// What blog:step3 is.
pub static VERSION: Version = Version {
    id: "blog:step3",
    change: "reciprocals for divisions, squares for absolute values",
    source: "NVIDIA blog, step 3",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(81.0),
    entries: entries!(
        body:
        gpp_blog_step3 = 1,
    ),
    ..step2::KERNEL
};

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse2::<Original, _, NW>(a, iw, thread, three_ways::<Reciprocals, Squares>) }
}
