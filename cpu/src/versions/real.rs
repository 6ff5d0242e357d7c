//! cpu:real: purely real poles have a kernel of their own.
//!
//! Quotients are real, an accumulation is two fused operations instead of four, and one reciprocal gives
//! both quotients (v12 on GPUs). Other poles are summed as in cpu:classes.

use gpp_kernels::kernel::Version;

use crate::fractions::partial_fractions::PartialFractions;
use crate::fractions::real_poles::RealPoles;
use crate::planned::Planned;
use crate::pool::Threads;
use crate::version::{Cpu, Kernel, Needs};
use crate::work::Pieces;

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:real",
    change: "kernels for purely real poles",
    source: "docs/processor.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    threads: Threads::All,
    needs: Needs { relaid: true, plan: true },
    pieces: Pieces { igp: 16, ig: 512 },
    kernels: &[
        Kernel::of::<Planned<RealPoles<false>>>(),
        Kernel::of::<Planned<PartialFractions<true, false>>>(),
    ],
};
