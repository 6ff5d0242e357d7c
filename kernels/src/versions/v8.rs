//! v8: 512 threads a block.
//!
//! A thread may take fewer registers, so that larger blocks fit on a multiprocessor (paper, section III,
//! v8). With the paper's cap of 128 registers one block of 512 threads fits. With our cap of 64 two fit; a
//! few numbers are spilled.
//!
//! Lines of the nest: none, the launch changes.

use super::v7::{self, body};
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};

/// What v8 is.
pub static VERSION: Version = Version {
    id: "v8",
    change: "512 threads a block, at most 64 registers",
    source: "paper III, v8",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    threads: 512,
    max_registers: Some(64),
    flops_per_term: Some(82.6),
    entries: entries!(
        body:
        gpp_v8 = 1 spills { in_loop: 6, bytes: 192 },
    ),
    ..v7::KERNEL
};
