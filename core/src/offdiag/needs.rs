//! The memory of a task on a GPU.

use gpp_kernels::offdiag::fragment::COLUMNS;
use gpp_kernels::offdiag::image::RIGHT;

use super::Task;
use super::deal::AHEAD;
use super::gpu::{STREAMS, UNDER_WAY};
use super::images::Shape;
use super::versions::Version;
use crate::devices::Device;
use crate::error::{Error, Result};

/// What a task takes beside the problem's own arrays, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Of the device's memory but for A, and but for pairs that are summed by the definition, of which there are few.
    pub device: u64,
    /// Of the device's memory for A of a group.
    pub a: u64,
    /// Groups.
    pub groups: usize,
    /// Of the host's memory, for each device.
    pub host: u64,
}

impl Needs {
    /// Bytes of the device's memory without which nothing runs: A that finds no room passes by in two buffers.
    pub fn least(&self) -> u64 {
        self.device + (self.a * self.groups as u64).min(2 * self.a)
    }

    /// Fails where a GPU has less.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Driver`].
    pub fn require_on(&self, gpu: &dyn Device, what: &str) -> Result<()> {
        let (needed, free) = (self.least(), gpu.free_memory()?.unwrap_or(u64::MAX));
        if needed <= free {
            return Ok(());
        }
        Err(Error::Memory { place: "device", what: what.into(), needed, free, limit: None })
    }

    /// Those of a task and a version.
    pub fn of(task: &Task, version: &'static Version) -> Needs {
        let shape = Shape::of(task, version);
        let (nbands, nw) = (task.problem.extents().nbands, task.nw());
        let together = 2 * shape.together(nw);
        let poles = shape.steps as usize * (shape.right * shape.words() * RIGHT) as usize;
        let lane = shape.u() + shape.v() + together * (shape.sums() + shape.folded());
        let small = nbands * (2 * nw + 2) + (shape.right * COLUMNS) as usize * 3 / 2;
        let matrices = 4 * task.planes() * task.bands() * task.bands();
        let columns = 2 * task.problem.extents().ncouls * task.bands();
        let parts = matrices * (AHEAD + 3) + (UNDER_WAY + 1) * together * shape.folded();
        Needs {
            device: 8 * (poles + STREAMS * lane + small) as u64,
            a: 8 * shape.a() as u64,
            groups: shape.groups,
            // The image of poles is gone when those of A are made, one for each stream.
            host: 8 * (poles.max(STREAMS * shape.a() + columns) + parts) as u64,
        }
    }
}
