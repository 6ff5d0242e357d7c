//! The devices that sum, and what they need.

use std::sync::Arc;

use bytesize::ByteSize;
use gpp_core::offdiag::calculation::Needs;
use gpp_core::offdiag::calculation::Worker;
use gpp_core::offdiag::gpu::OnGpu;
use gpp_core::offdiag::versions::{self, Version};
use gpp_core::offdiag::{OnProcessor, Task};

use crate::catalogue::BackEnd;
use crate::devices::gauge::Gauge;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::devices::{Device, DeviceInfo};
use crate::error::{Error, Result};
use crate::experiments::room::{self, Limits};
use crate::process::progress::Progress;

/// Who sums in this process.
pub enum On {
    /// A processor.
    Host(Box<Host>),
    /// GPUs, one at least.
    Gpus(Vec<Gpu>),
}

impl On {
    /// The devices.
    pub fn devices(&self) -> Vec<&dyn Device> {
        match self {
            On::Host(host) => vec![host.as_ref()],
            On::Gpus(gpus) => gpus.iter().map(|gpu| gpu as &dyn Device).collect(),
        }
    }

    /// The first device.
    pub fn info(&self) -> &DeviceInfo {
        match self {
            On::Host(host) => host.info(),
            On::Gpus(gpus) => gpus[0].info(),
        }
    }

    /// What shows the state of the first GPU.
    pub fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        match self {
            On::Host(_) => None,
            On::Gpus(gpus) => gpus[0].gauge(),
        }
    }

    /// The versions that GPUs sum with: those asked for, or the fastest; on a processor there is none.
    ///
    /// # Errors
    /// [`Error::Data`] for a version that the device does not run.
    pub fn versions(
        &self,
        asked: &[&'static Version],
        bands: usize,
    ) -> Result<Vec<Option<&'static Version>>> {
        match (self, asked) {
            (On::Host(_), []) => Ok(vec![None]),
            (On::Host(host), [version, ..]) => {
                let what = format!("is of GPUs, and {} is a processor", host.info().id);
                Err(Error::Data { origin: format!("--version {}", version.id), what })
            }
            // GPUs are of one kind.
            (On::Gpus(gpus), []) => Ok(vec![Some(versions::on(&gpus[0], None, bands)?)]),
            (On::Gpus(gpus), asked) => {
                let on = |&version| versions::on(&gpus[0], Some(version), bands).map(Some);
                asked.iter().map(on).collect()
            }
        }
    }

    /// Says what memory a task takes beside the problem, and fails where there is less. Collective.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Data`] for a limit without effect; [`Error::Driver`].
    ///
    /// # Panics
    /// Where GPUs have no version.
    pub fn require(
        &self,
        (task, version): (&Task, Option<&'static Version>),
        team: room::Crew,
        limits: Limits,
        progress: Progress,
    ) -> Result<()> {
        let name = task.problem.name();
        let show = |bytes: u64| ByteSize(bytes).display().iec().to_string();
        let host = match (self, version) {
            (On::Host(host), _) => {
                limits.require_effect_on(BackEnd::Cpu)?;
                OnProcessor::new(host, *task)?.needs()
            }
            (On::Gpus(gpus), version) => {
                let needs = Needs::of(task, version.expect(VERSIONS));
                let all = needs.device + needs.a * needs.groups as u64;
                progress.say(format_args!(
                    "{name}: {} of each GPU's memory, with all matrix elements {}",
                    show(needs.least()),
                    show(all)
                ));
                gpus.iter().try_for_each(|gpu| needs.require_on(gpu, name))?;
                needs.host * gpus.len() as u64
            }
        };
        let taken = task.problem.extents().bytes();
        progress
            .say(format_args!("{name}: {} of the host's memory beside the problem", show(host)));
        room::of_host(team, limits, taken).require(name, host)
    }

    /// A task where it is summed, all but A in place.
    ///
    /// # Errors
    /// Those of [`OnProcessor::new`] and [`OnGpu::new`].
    ///
    /// # Panics
    /// Where GPUs have no version.
    pub fn workers<'a>(
        &'a self,
        task: Task<'a>,
        version: Option<&'static Version>,
    ) -> Result<Vec<Box<dyn Worker + 'a>>> {
        match self {
            On::Host(host) => Ok(vec![Box::new(OnProcessor::new(host, task)?)]),
            On::Gpus(gpus) => {
                let version = version.expect(VERSIONS);
                let on_gpu = |gpu| Ok(Box::new(OnGpu::new(gpu, task, version)?) as Box<dyn Worker>);
                gpus.iter().map(on_gpu).collect()
            }
        }
    }
}

/// Why there is a version.
const VERSIONS: &str = "GPUs have versions";
