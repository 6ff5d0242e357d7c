//! What there is to run: versions, and the journeys they make.
//!
//! A *version* is an idea with a source. A *kernel* realises it on one back end. A *journey* is an ordered
//! list of versions with a baseline: "over the first" and "what changed" are of a journey, never of all.

pub mod journey;
pub mod names;
pub mod order;
pub mod sources;

use std::ops::Range;

use gpp_cpu::version::Cpu;
use gpp_kernels::kernel::{Gpu, Loops, Version};
use gpp_kernels::plan::Poles;

pub use crate::catalogue::journey::{
    BackEnd, Best, JOURNEYS, Journey, best, best_of_all, journey, journey_of,
};
use crate::error::{Error, Result};

#[derive(Clone, Copy)]
pub enum Kernel {
    /// For GPUs; on a processor its bodies run in an emulator.
    Gpu(&'static Gpu),
    /// In the vectors of a processor.
    Cpu(&'static Cpu),
}

impl Kernel {
    pub fn version(self) -> &'static Version {
        match self {
            Kernel::Gpu(gpu) => gpu.version,
            Kernel::Cpu(cpu) => cpu.version,
        }
    }

    pub fn id(self) -> &'static str {
        self.version().id
    }

    pub fn back_end(self) -> BackEnd {
        match self {
            Kernel::Gpu(_) => BackEnd::Gpu,
            Kernel::Cpu(_) => BackEnd::Cpu,
        }
    }

    /// Energies that a calculation of problems of these poles sums at most.
    pub fn holds(self, poles: Poles) -> usize {
        match self {
            Kernel::Gpu(gpu) => gpu.kernel(poles).holds(),
            Kernel::Cpu(cpu) => cpu.holds,
        }
    }

    /// Whether it sums problems of these poles by their pairs sorted, for all energies at once.
    pub fn sorts(self, poles: Poles) -> bool {
        match self {
            Kernel::Gpu(gpu) => matches!(gpu.kernel(poles).loops, Loops::Clusters(_)),
            Kernel::Cpu(cpu) => cpu.needs.sorted,
        }
    }

    /// The kernels for GPUs, where it is made for them.
    pub fn gpu(self) -> Option<&'static Gpu> {
        match self {
            Kernel::Gpu(gpu) => Some(gpu),
            Kernel::Cpu(_) => None,
        }
    }

    /// The kernels for processors, where it is made for them.
    pub fn cpu(self) -> Option<&'static Cpu> {
        match self {
            Kernel::Gpu(_) => None,
            Kernel::Cpu(cpu) => Some(cpu),
        }
    }

    /// The kernels for GPUs, which it has to have.
    pub fn require_gpu(self) -> Result<&'static Gpu> {
        self.gpu().ok_or_else(|| Error::Data {
            origin: self.id().into(),
            what: "is made for processors: --device cpu runs it".into(),
        })
    }

    /// Fails where such a device does not run it; a processor runs all.
    pub fn require_on(self, back_end: BackEnd) -> Result<()> {
        match back_end {
            BackEnd::Gpu => self.require_gpu().map(drop),
            BackEnd::Cpu => Ok(()),
        }
    }
}

/// A version and how it is realised.
#[derive(Clone, Copy)]
pub struct Listed {
    pub version: &'static Version,
    pub kernel: Kernel,
}

impl Listed {
    pub fn of(kernel: Kernel) -> Listed {
        Listed { version: kernel.version(), kernel }
    }

    pub fn id(&self) -> &'static str {
        self.version.id
    }

    /// Its kernels for GPUs, where it has such.
    pub fn gpu(&self) -> Option<&'static Gpu> {
        self.kernel.gpu()
    }
}

pub fn versions() -> impl Iterator<Item = Listed> {
    JOURNEYS.iter().flat_map(Journey::versions)
}

pub fn find(id: &str) -> Option<Listed> {
    versions().find(|listed| listed.id() == id)
}

/// What sums the static CH on a back end, as the `ach` of one energy: none of the versions.
pub fn static_ch(back_end: BackEnd) -> Kernel {
    match back_end {
        BackEnd::Gpu => Kernel::Gpu(&gpp_kernels::versions::static_ch::GPU),
        BackEnd::Cpu => Kernel::Cpu(&gpp_cpu::versions::static_ch::CPU),
    }
}

/// Every version that is made for GPUs.
pub fn for_gpus() -> impl Iterator<Item = &'static Gpu> {
    versions().filter_map(|listed| listed.gpu())
}

/// How `nw` energies are batched for kernels that hold so many: together, or evenly filled but for the last
/// ones.
pub fn batches(nw: usize, holds: usize) -> impl Iterator<Item = Range<usize>> {
    // Two energies of a band can share a reciprocal.
    let size = if nw <= holds { nw } else { (holds / 2 * 2).max(1) };
    (0..nw).step_by(size.max(1)).map(move |begin| begin..nw.min(begin + size))
}

// Which version is the fastest for a problem: what `best` is, and what runs where no version is named.
//
// A version that takes a term for each energy takes as many as there are bands, pairs and energies. One that
// sorts pairs takes the moments of all pairs, for each batch of energies anew, and evaluates those of each cell at
// every energy. Cells are as wide as is worth while, so that there are about as many as the root of the pairs.
// And each batch takes its launches. These four, weighed as they were measured, tell which version is the faster.

/// What the time of a version depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    pub nbands: usize,
    /// Pairs of a G and a G′.
    pub pairs: u64,
    pub nw: usize,
    /// What all contributing poles have in common.
    pub poles: Poles,
}

/// What a version takes for some poles, in the time of one term of real poles.
struct Cost {
    back_end: BackEnd,
    version: &'static str,
    poles: Poles,
    batch: f64,
    /// For each pair and band, in each batch.
    moments: f64,
    /// For each pair, band and energy.
    term: f64,
    /// For each band and energy, times the root of the pairs.
    cells: f64,
}

impl Cost {
    /// A version that takes a term for each energy.
    const fn by_terms(back_end: BackEnd, version: &'static str, poles: Poles, term: f64) -> Cost {
        let batch = Cost::batch(back_end);
        Cost { back_end, version, poles, batch, moments: 0.0, term, cells: 0.0 }
    }

    const fn by_cells(
        back_end: BackEnd,
        version: &'static str,
        poles: Poles,
        [moments, cells]: [f64; 2],
    ) -> Cost {
        let batch = Cost::batch(back_end);
        Cost { back_end, version, poles, batch, moments, term: 0.0, cells }
    }

    const fn batch(back_end: BackEnd) -> f64 {
        match back_end {
            BackEnd::Gpu => 8e7,
            BackEnd::Cpu => 0.0,
        }
    }
}

/// On one H200, whose term takes 0.9 ps, and on two cores with AVX-512, where it takes 0.2 ns.
static COSTS: [Cost; 8] = [
    Cost::by_terms(BackEnd::Gpu, "v13", Poles::Real, 1.0),
    Cost::by_cells(BackEnd::Gpu, "sigma:blocks", Poles::Real, [4.1, 130.0]),
    Cost::by_terms(BackEnd::Gpu, "v13", Poles::Any, 1.8),
    Cost::by_cells(BackEnd::Gpu, "sigma:blocks", Poles::Any, [10.2, 440.0]),
    Cost::by_terms(BackEnd::Cpu, "cpu:paired", Poles::Real, 1.0),
    Cost::by_cells(BackEnd::Cpu, "sigma:cells", Poles::Real, [4.4, 75.0]),
    Cost::by_terms(BackEnd::Cpu, "cpu:paired", Poles::Any, 1.9),
    Cost::by_cells(BackEnd::Cpu, "sigma:cells", Poles::Any, [14.0, 110.0]),
];

impl Cost {
    fn of(&self, task: &Task) -> f64 {
        let holds = find(self.version).map_or(1, |listed| listed.kernel.holds(task.poles));
        let batches = batches(task.nw, holds).count() as f64;
        let (pairs, nbands) = (task.pairs as f64, task.nbands as f64);
        let of_batch = self.batch + self.moments * pairs * nbands;
        let of_energy = nbands * (self.term * pairs + self.cells * pairs.sqrt());
        batches * of_batch + task.nw as f64 * of_energy
    }
}

/// The fastest version for a problem on a back end.
pub fn best_for(back_end: BackEnd, task: &Task) -> Listed {
    let suits = |cost: &&Cost| cost.back_end == back_end && cost.poles == task.poles;
    let fastest = COSTS.iter().filter(suits).min_by(|a, b| a.of(task).total_cmp(&b.of(task)));
    fastest.and_then(|cost| find(cost.version)).unwrap_or_else(|| best(back_end))
}

#[cfg(test)]
mod tests;
