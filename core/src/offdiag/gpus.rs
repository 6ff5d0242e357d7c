//! A task on GPUs, from the first look at their memory on.

use super::calculation::{Crew, Worker};
use super::gpu::OnGpu;
use super::needs::Needs;
use super::{Summed, Task, versions};
use crate::devices::Done;
use crate::devices::gpu::Gpu;
use crate::error::Result;
use crate::problem::memory;
use crate::ranks::Alone;

/// Sums it on GPUs, one at least, each by its fastest version. All versions have the same bits. The name is that of
/// the first GPU's.
///
/// # Errors
/// [`crate::Error::Memory`] before anything is allocated; [`crate::Error::Data`] for a GPU that is too old;
/// [`crate::Error::Driver`]; [`crate::Error::Stopped`] if the task's `stop` is asked, between launches.
pub fn on_gpus(gpus: &[&Gpu], task: &Task, done: Done) -> Result<(Summed, &'static str)> {
    let version = |gpu: &&Gpu| versions::on(gpu, None, task.bands());
    let versions = gpus.iter().map(version).collect::<Result<Vec<_>>>()?;
    let name = task.problem.name();
    let mut host = 0;
    for (gpu, version) in gpus.iter().zip(&versions) {
        let needs = Needs::of(task, version);
        needs.require_on(*gpu, name)?;
        host += needs.host;
    }
    memory::require(name, host)?;
    let mut workers: Vec<Box<dyn Worker>> = Vec::new();
    for (gpu, version) in gpus.iter().zip(&versions) {
        workers.push(Box::new(OnGpu::new(gpu, *task, version)?));
    }
    let summed = Crew::new(workers, &Alone).sum(task, done, task.stop)?;
    Ok((summed, versions[0].id))
}
