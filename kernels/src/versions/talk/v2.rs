//! V2: bands become a loop inside the thread.
//!
//! The blog's step 1. On a V100 a thread needs 186 registers, so that only eight warps fit on a
//! multiprocessor, and the time grows (talk, V2).
//!
//! Lines of the nest: 1.

use super::v1;
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Loops, Version};
use crate::versions::blog::step1::body;

/// What talk:V2 is.
pub static VERSION: Version = Version {
    id: "talk:V2",
    change: "collapse(2) over igp, ig; bands in the thread",
    source: "talk, V2",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    loops: Loops::Collapse2,
    flops_per_term: Some(138.8),
    entries: entries!(
        body:
        gpp_talk_v2_nw1 = 1,
        gpp_talk_v2_nw2 = 2,
        gpp_talk_v2_nw3 = 3,
    ),
    ..v1::KERNEL
};
