//! What there is to run: versions, the journeys they make, the shapes tuned for a device, and what
//! others published.
//!
//! A *version* is an idea with a source. A *kernel* realises it on one back end. A *journey* is an ordered
//! list of versions with a baseline: "over the first" and "what changed" are of a journey, never of all.

pub mod journey;
pub mod names;
pub mod order;
pub mod published;
pub mod sources;
pub mod tuned;

use gpp_cpu::version::Cpu;
use gpp_kernels::kernel::{Gpu, Version};
use gpp_kernels::plan::Poles;

use crate::error::{Error, Result};

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
            Kernel::Cpu(cpu) => cpu.holds(poles),
        }
    }

    /// The kernels for GPUs, where it is made for them.
    pub fn gpu(self) -> Option<&'static Gpu> {
        match self {
            Kernel::Gpu(gpu) => Some(gpu),
            Kernel::Cpu(_) => None,
        }
    }

    /// The same.
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

/// Every version that is made for GPUs.
pub fn for_gpus() -> impl Iterator<Item = &'static Gpu> {
    versions().filter_map(|listed| listed.gpu())
}
