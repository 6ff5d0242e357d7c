//! The talk's V1: all three loops collapsed, energies in the thread.
//!
//! The baseline of the paper and of the blog: complex divisions, square roots, a branch of three ways
//! (talk, V1).
//!
//! Lines of the nest: 1, 2, 3.

use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::versions::v0::{self, body};

/// What talk:V1 is.
pub static VERSION: Version =
    Version { id: "talk:V1", change: "baseline: collapse(3) over n, igp, ig", source: "talk, V1" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(148.8),
    entries: entries!(
        body:
        gpp_talk_v1_nw1 = 1,
        gpp_talk_v1_nw2 = 2,
        gpp_talk_v1_nw3 = 3,
    ),
    ..v0::KERNEL
};
