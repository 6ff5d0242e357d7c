//! cpu:fractions: both branches are `½ω̃·eps·(q − p)`, without a choice of denominators (v10 on GPUs).

use gpp_kernels::kernel::Version;

use crate::fractions::partial_fractions::PartialFractions;
use crate::planned::Planned;
use crate::pool::Threads;
use crate::version::{Cpu, Kernel, Needs};
use crate::work::Pieces;

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:fractions",
    change: "partial fractions: both branches in one form",
    source: "docs/processor.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    threads: Threads::All,
    needs: Needs { relaid: true, plan: true },
    pieces: Pieces { igp: 16, ig: 512 },
    kernels: &[Kernel::of::<Planned<PartialFractions<false, false>>>()],
};
