//! cpu:hoisted: what depends on the pair alone is out of the loop over bands.
//!
//! A vector of pairs goes through all bands with its sums in registers: Ω², the bound between the
//! branches, the cutoff and vcoul are computed once, before the loop or after it. Such bounds decide like the
//! definition for all but the poles at them, which are odd and summed by the definition (v9's idea on GPUs).
//! `aqsn` is laid out in the order of this loop, once.
//!
//! Lines of the nest: 1, 7, 8, 9, 10.

use gpp_kernels::kernel::Version;

use crate::fractions::branches::Branches;
use crate::planned::Planned;
use crate::pool::Threads;
use crate::version::{Cpu, FEW, Kernel, Needs};
use crate::work::Pieces;

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:hoisted",
    change: "a vector of pairs for all bands, pair constants out of the loop, odd poles apart",
    source: "docs/processor.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    threads: Threads::All,
    needs: Needs { relaid: true, plan: true, ..Needs::SLAB },
    holds: FEW,
    pieces: Pieces { igp: 16, ig: 512 },
    kernels: &[Kernel::of::<Planned<Branches<false>>>()],
};
