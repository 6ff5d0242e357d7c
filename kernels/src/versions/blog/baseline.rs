//! The blog's baseline: all three loops collapsed, energies in the thread.
//!
//! The first port of its mini-app is v0's: `n`, `igp` and `ig` are one loop, quotients are complex
//! divisions, absolute values square roots (NVIDIA developer blog, baseline).
//!
//! Lines of the nest: 1, 2, 3.

use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::versions::v0::{self, body};

/// What blog:baseline is.
pub static VERSION: Version = Version {
    id: "blog:baseline",
    change: "baseline: collapse(3) over n, igp, ig",
    source: "NVIDIA blog, baseline",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(148.8),
    entries: entries!(
        body:
        gpp_blog_baseline_nw1 = 1,
        gpp_blog_baseline_nw2 = 2,
        gpp_blog_baseline_nw3 = 3,
    ),
    ..v0::KERNEL
};
