//! V3: 512 threads a block.
//!
//! Held to 128 registers, which is what so many threads leave each of 65536, twice as many warps fit.
//! In the talk that costs spills and pays all the same (talk, V3).
//!
//! Lines of the nest: none, the launch changes.

use super::v2;
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::versions::blog::step1::body;

/// What talk:V3 is.
pub static VERSION: Version = Version {
    id: "talk:V3",
    change: "512 threads a block, at most 128 registers",
    source: "talk, V3",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    threads: 512,
    max_registers: Some(128),
    flops_per_term: Some(138.9),
    entries: entries!(
        body:
        gpp_talk_v3_nw1 = 1,
        gpp_talk_v3_nw2 = 2,
        gpp_talk_v3_nw3 = 3,
    ),
    ..v2::KERNEL
};
