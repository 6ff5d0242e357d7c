//! cpu:real: purely real poles have a kernel of their own.
//!
//! Quotients are real, an accumulation is two fused operations instead of four, and one reciprocal gives
//! both quotients (v12 on GPUs). Other poles are summed as in cpu:classes.
//!
//! Lines of the nest: 6, 7, 8, 10.

use gpp_kernels::kernel::Version;

use super::hoisted;
use crate::fractions::partial_fractions::PartialFractions;
use crate::fractions::real_poles::RealPoles;
use crate::planned::Planned;
use crate::version::{Cpu, Kernel};

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:real",
    change: "kernels for purely real poles",
    source: "docs/processor.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    kernels: &[
        Kernel::of::<Planned<RealPoles<false>>>(),
        Kernel::of::<Planned<PartialFractions<true, false>>>(),
    ],
    ..hoisted::CPU
};
