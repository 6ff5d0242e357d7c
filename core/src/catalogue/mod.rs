//! What there is to run: versions, and the journeys they make.
//!
//! A *version* is an idea with a source. A *kernel* realises it on one back end. A *journey* is an ordered
//! list of versions with a baseline: "over the first" and "what changed" are of a journey, never of all.

pub mod choice;
pub mod journey;
pub mod names;
pub mod nest;
pub mod order;
pub mod sources;

use std::ops::Range;

use gpp_cpu::version::Cpu;
use gpp_kernels::kernel::{Gpu, Loops, Version};
use gpp_kernels::plan::Poles;

use crate::error::{Error, Result};

pub use choice::{Task, best_for};
pub use journey::{BackEnd, Best, JOURNEYS, Journey, best, best_of_all, journey, journey_of};

/// How a version is realised.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// For GPUs; on a processor its bodies run in an emulator.
    Gpu(&'static Gpu),
    /// In the vectors of a processor.
    Cpu(&'static Cpu),
}

impl Kernel {
    /// The version that it realises.
    pub fn version(self) -> &'static Version {
        match self {
            Kernel::Gpu(gpu) => gpu.version,
            Kernel::Cpu(cpu) => cpu.version,
        }
    }

    /// The version's id.
    pub fn id(self) -> &'static str {
        self.version().id
    }

    /// What it is made for.
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
            Kernel::Gpu(gpu) => matches!(gpu.kernel(poles).loops, Loops::Cells(_)),
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
    ///
    /// # Errors
    /// [`Error::Data`] where it is made for processors.
    pub fn require_gpu(self) -> Result<&'static Gpu> {
        self.gpu().ok_or_else(|| Error::Data {
            origin: self.id().into(),
            what: "is made for processors: --device cpu runs it".into(),
        })
    }

    /// Fails where such a device does not run it; a processor runs all.
    ///
    /// # Errors
    /// As [`Kernel::require_gpu`].
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
    /// The idea.
    pub version: &'static Version,
    /// The kernels.
    pub kernel: Kernel,
}

impl Listed {
    /// What is realised so.
    pub fn of(kernel: Kernel) -> Listed {
        Listed { version: kernel.version(), kernel }
    }

    /// Name on the command line.
    pub fn id(&self) -> &'static str {
        self.version.id
    }

    /// Its kernels for GPUs, where it has such.
    pub fn gpu(&self) -> Option<&'static Gpu> {
        self.kernel.gpu()
    }
}

/// All versions, journey by journey.
pub fn versions() -> impl Iterator<Item = Listed> {
    JOURNEYS.iter().flat_map(Journey::versions)
}

/// The version of that id.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_pairs_where_a_kernel_does_not_hold_all() {
        let of = |nw, holds| batches(nw, holds).map(|at| (at.start, at.end)).collect::<Vec<_>>();
        assert_eq!(of(1, 3), [(0, 1)]);
        assert_eq!(of(3, 3), [(0, 3)]);
        assert_eq!(of(4, 3), [(0, 2), (2, 4)]);
        assert_eq!(of(7, 3), [(0, 2), (2, 4), (4, 6), (6, 7)]);
        assert_eq!(of(501, 512), [(0, 501)]);
        assert_eq!(of(1025, 512), [(0, 512), (512, 1024), (1024, 1025)]);
        assert_eq!(of(3, 1), [(0, 1), (1, 2), (2, 3)]);
    }
}
