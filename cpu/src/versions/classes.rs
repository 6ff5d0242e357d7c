//! cpu:classes: a loop for each class of bands.
//!
//! Empty bands have no `ssx` and so no `p`; full ones above the energy have no cutoff and no weight (v9 and
//! v10 on GPUs).

use gpp_kernels::kernel::Version;

use crate::fractions::partial_fractions::PartialFractions;
use crate::planned::Planned;
use crate::pool::Threads;
use crate::version::{Cpu, Kernel, Needs};
use crate::work::Pieces;

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:classes",
    change: "empty bands apart, and those that nothing cuts off",
    source: "docs/processor.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    threads: Threads::All,
    needs: Needs { relaid: true, plan: true },
    pieces: Pieces { igp: 16, ig: 512 },
    kernels: &[Kernel::of::<Planned<PartialFractions<true, false>>>()],
};
