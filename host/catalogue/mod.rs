//! What there is to run: versions, the journeys they make, the shapes tuned for a device, and what
//! others published.
//!
//! A *version* is an idea with a source. A *kernel* realises it on one back end. A *journey* is an ordered
//! list of versions with a baseline: "over the first" and "what changed" are of a journey, never of all.

pub mod journey;
pub mod names;
pub mod order;
pub mod published;
pub mod tuned;

use gpp_kernels::kernel::{Gpu, Version};

pub use journey::{BackEnd, Best, JOURNEYS, Journey, best, best_of_all, journey_of};

/// How a version is realised.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// For GPUs; on a processor its bodies run in an emulator.
    Gpu(&'static Gpu),
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
    /// Name on the command line.
    pub fn id(&self) -> &'static str {
        self.version.id
    }

    /// Its kernels for GPUs.
    pub fn gpu(&self) -> &'static Gpu {
        let Kernel::Gpu(gpu) = self.kernel;
        gpu
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
