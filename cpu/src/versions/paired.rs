//! cpu:paired: one reciprocal for two denominators.
//!
//! `1/a` and `1/b` are `b·r` and `a·r` with `r = 1/(a·b)`: three multiplications for a reciprocal, which is
//! a division, or an approximation and four fused operations. It takes denominators that are not zero:
//! those of bands that nothing cuts off and, with no test for the second branch left, those of far bands
//! (v13 on GPUs). For real poles other bands are not tested either, 32 neighbours at a time, where no pole of
//! a vector is near any of their energies.
//!
//! Lines of the nest: 6, 7, 8.

use gpp_kernels::kernel::Version;

use super::hoisted;
use crate::fractions::partial_fractions::PartialFractions;
use crate::fractions::real_poles::RealPoles;
use crate::planned::Planned;
use crate::version::{Cpu, Kernel};

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:paired",
    change: "one reciprocal for two denominators, no test where no pole is near",
    source: "docs/processor.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    kernels: &[
        Kernel::of::<Planned<RealPoles<true>>>(),
        Kernel::of::<Planned<PartialFractions<true, true>>>(),
    ],
    ..hoisted::CPU
};
