//! sigma:cells: pairs sorted by their poles, whose moments tell the sums at every energy.
//!
//! All versions before take a term for each energy. Whatever the energy, a term is `c·M` times a function of
//! the pole and of `w`, and for pairs whose poles lie close together that function is one and the same
//! polynomial: sums of `c·M` times a few powers of the pole, taken once for a band, give the sums at any
//! number of energies ([`crate::cells`]). Other than real poles lie in
//! discs of the complex plane, whose moments do so too.
//!
//! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

use gpp_kernels::kernel::Version;

use super::paired;
use crate::cells;
use crate::problem::Task;
use crate::version::{Cpu, Kernel, MANY, Needs};

/// What it is.
pub static VERSION: Version = Version {
    id: "sigma:cells",
    change: "pairs sorted by pole: moments for all energies",
    source: "docs/many-energies.md",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    needs: Needs { aqsm: false, relaid: false, plan: false, sorted: true },
    holds: MANY,
    kernels: &[Kernel::of_slab(
        |task, level, pool, _, done| cells::sum(sorted(task), level, pool, done),
    )],
    ..paired::CPU
};

fn sorted<'t>(task: &'t Task) -> &'t cells::Task<'t> {
    task.sorted.as_ref().expect("looked at before")
}
