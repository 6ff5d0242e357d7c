//! cpu:energies: one pass over the bands for all energies, with M computed once (v9 on GPUs).

use gpp_kernels::kernel::Version;

use crate::fractions::branches::Branches;
use crate::planned::Planned;
use crate::pool::Threads;
use crate::version::{Cpu, Kernel, Needs};
use crate::work::Pieces;

/// What it is.
pub static VERSION: Version =
    Version { id: "cpu:energies", change: "M once for all energies", source: "docs/processor.md" };

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    threads: Threads::All,
    needs: Needs { relaid: true, plan: true },
    pieces: Pieces { igp: 16, ig: 512 },
    kernels: &[Kernel::of::<Planned<Branches<true>>>()],
};
