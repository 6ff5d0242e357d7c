//! cpu:fractions: both branches are `½ω̃·eps·(q − p)`, without a choice of denominators (v10 on GPUs).
//!
//! Lines of the nest: 6, 7, 8.

use gpp_kernels::kernel::Version;

use super::hoisted;
use crate::fractions::partial_fractions::PartialFractions;
use crate::planned::Planned;
use crate::version::{Cpu, Kernel};

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:fractions",
    change: "partial fractions: both branches in one form",
    source: "docs/processor.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    kernels: &[Kernel::of::<Planned<PartialFractions<false, false>>>()],
    ..hoisted::CPU
};
