//! cpu:energies: one pass over the bands for all energies, with M computed once (v9 on GPUs).
//!
//! Lines of the nest: 4, 5.

use gpp_kernels::kernel::Version;

use super::hoisted;
use crate::fractions::branches::Branches;
use crate::planned::Planned;
use crate::version::{Cpu, Kernel};

/// What it is.
pub static VERSION: Version =
    Version { id: "cpu:energies", change: "M once for all energies", source: "docs/processor.md" };

/// How a processor does it.
pub static CPU: Cpu =
    Cpu { version: &VERSION, kernels: &[Kernel::of::<Planned<Branches<true>>>()], ..hoisted::CPU };
