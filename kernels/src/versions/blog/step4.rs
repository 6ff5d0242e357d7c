//! Step 4: 512 threads a block.
//!
//! More warps to hide latency behind; a multiprocessor has 65536 registers, so a thread of such a block
//! has 128 at most (the blog's repository, step 4).
//!
//! Lines of the nest: none, the launch changes.

use super::step3::{self, body};
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};

/// What blog:step4 is.
pub static VERSION: Version = Version {
    id: "blog:step4",
    change: "512 threads a block",
    source: "the blog's repository, step 4",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    threads: 512,
    max_registers: Some(128),
    flops_per_term: Some(81.0),
    entries: entries!(
        body:
        gpp_blog_step4 = 1,
    ),
    ..step3::KERNEL
};
