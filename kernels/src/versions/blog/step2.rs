//! Step 2: energies leave the kernel, one launch each.
//!
//! A thread keeps two complex sums instead of two for each energy (the blog's repository, step 2; the
//! blog itself passes over it).
//!
//! Lines of the nest: 4.

use super::step1::{self, body};
use crate::entries::entries;
use crate::kernel::{Energies, Gpu, Kernel, Version};

/// What blog:step2 is.
pub static VERSION: Version = Version {
    id: "blog:step2",
    change: "one launch for each energy",
    source: "the blog's repository, step 2",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    energies: Energies::OneLaunchEach,
    flops_per_term: Some(142.4),
    entries: entries!(
        body:
        gpp_blog_step2 = 1,
    ),
    ..step1::KERNEL
};
