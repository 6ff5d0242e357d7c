//! Step 1: bands become a loop inside the thread.
//!
//! Collapsing only `igp` and `ig` leaves parallelism enough, and `wtilde` and `eps` are read once for
//! all bands: the arithmetic intensity rises from 7.39 to about 20, and the time with it, by a tenth
//! (NVIDIA developer blog, step 1). v4 is the same step after v1 to v3.
//!
//! Lines of the nest: 1.

use super::baseline;
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Loops, Version};
use crate::layout::Original;
use crate::sums::Sums;
use crate::versions::v0::term;
use crate::versions::v4::collapse2;

/// What blog:step1 is.
pub static VERSION: Version = Version {
    id: "blog:step1",
    change: "collapse(2) over igp, ig; bands in the thread",
    source: "NVIDIA blog, step 1",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    loops: Loops::Collapse2,
    flops_per_term: Some(138.8),
    entries: entries!(
        body:
        gpp_blog_step1_nw1 = 1,
        gpp_blog_step1_nw2 = 2,
        gpp_blog_step1_nw3 = 3,
    ),
    ..baseline::KERNEL
};

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse2::<Original, _, NW>(a, iw, thread, term) }
}
