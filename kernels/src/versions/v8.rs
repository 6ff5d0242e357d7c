//! v8: 512 threads a block.
//!
//! A cap on registers lets larger blocks fit: on a V100 a cap of 128, one block of 512 threads where
//! there was one of 128. Here the kernel needs no more than 64 registers, so that two
//! blocks fit on a multiprocessor (paper, section III, v8).
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
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None, shapes: &[] };

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
