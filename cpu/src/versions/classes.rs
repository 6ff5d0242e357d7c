//! cpu:classes: a loop for each class of bands.
//!
//! Empty bands have no `ssx` and so no `p`; full ones above the energy have no cutoff and no weight (v9 and
//! v10 on GPUs).
//!
//! Lines of the nest: 1, 7, 8, 9.

use gpp_kernels::kernel::Version;

use super::hoisted;
use crate::fractions::partial_fractions::PartialFractions;
use crate::planned::Planned;
use crate::version::{Cpu, Kernel};

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:classes",
    change: "empty bands apart, and those that nothing cuts off",
    source: "docs/processor.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    kernels: &[Kernel::of::<Planned<PartialFractions<true, false>>>()],
    ..hoisted::CPU
};
