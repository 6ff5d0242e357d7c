//! The host as a device: the blocks of a grid side by side, the threads of a block in turn.

use std::time::Instant;

use gpp_kernels::reduce::VALUES;
use gpp_kernels::registry::{Body, Layout, Version};
use gpp_kernels::target;
use rayon::prelude::*;

use super::{Device, DeviceInfo, KernelInfo, Loaded};
use crate::error::{Error, Result};
use crate::experiments::measure::body;
use crate::problem::{Planned, Problem, Reordered, SharedArrays, Sums};

/// The host.
pub struct Emulator {
    info: DeviceInfo,
}

impl Emulator {
    /// The host and all its threads.
    pub fn new() -> Emulator {
        use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};
        let system = System::new_with_specifics(
            RefreshKind::nothing()
                .with_cpu(CpuRefreshKind::nothing())
                .with_memory(MemoryRefreshKind::nothing().with_ram()),
        );
        let name = system
            .as_ref()
            .ok()
            .and_then(|system| Some(system.cpus().first()?.brand().trim().to_string()));
        Emulator {
            info: DeviceInfo {
                id: "cpu".into(),
                name: name.filter(|name| !name.is_empty()).unwrap_or("unknown processor".into()),
                driver: None,
                compute_capability: None,
                multiprocessors: rayon::current_num_threads() as u32,
                clock_mhz: None,
                memory_bytes: system.map_or(0, |system| system.total_memory()),
            },
        }
    }
}

impl Default for Emulator {
    fn default() -> Self {
        Emulator::new()
    }
}

/// Fails where less than `needed` bytes of host memory are free, limits of a container included.
///
/// # Errors
/// [`Error::Memory`].
pub fn require_memory(what: &str, needed: u64) -> Result<()> {
    use sysinfo::{MemoryRefreshKind, RefreshKind, System};
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    // Where the system does not tell, the allocation itself will.
    let Ok(system) = System::new_with_specifics(kind) else { return Ok(()) };
    let available = system.available_memory();
    let free = system.cgroup_limits().map_or(available, |limits| limits.free_memory.min(available));
    if needed > free {
        return Err(Error::Memory { place: "host", what: what.into(), needed, free });
    }
    Ok(())
}

impl Device for Emulator {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, _: &Version, body: &Body) -> Result<KernelInfo> {
        Ok(KernelInfo { symbol: body.symbol.into(), ..KernelInfo::default() })
    }

    fn load<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Loaded + 'a>> {
        let plan = problem.plan();
        let [original, swapped, planned] = [Layout::Original, Layout::Swapped, Layout::Planned]
            .map(|layout| problem.reordered(layout, &plan));
        Ok(Box::new(OnHost { problem, plan, original, swapped, planned }))
    }
}

struct OnHost<'a> {
    problem: &'a Problem,
    plan: Planned,
    original: Reordered<'a>,
    swapped: Reordered<'a>,
    planned: Reordered<'a>,
}

impl Loaded for OnHost<'_> {
    fn plan(&self) -> &Planned {
        &self.plan
    }

    fn run(&mut self, version: &Version) -> Result<(Sums, f64)> {
        let version = &self.plan.running(version);
        let layout = match version.layout {
            Layout::Original => &self.original,
            Layout::Swapped => &self.swapped,
            Layout::Planned => &self.planned,
        };
        let nw = self.problem.nw();
        let body = body(version, self.problem, &self.plan);
        let extents = self.plan.extents(&self.problem.header, version);
        let poles = self.plan.poles;
        let (threads, blocks) = (version.of(poles).threads, version.blocks(extents, poles));
        let arrays = SharedArrays(self.problem.arrays(layout, self.plan.view(version)));

        let begin = Instant::now();
        let mut values = Vec::with_capacity(nw * VALUES);
        for iw in version.launches(nw) {
            let partials: Vec<_> = (0..blocks)
                .into_par_iter()
                .map(|block| {
                    // SAFETY: the arrays live as long as `self`, hold what their extents say (the
                    // problem's constructor checks it) in the version's layout, and the launches
                    // keep the body's energies within nw.
                    unsafe {
                        target::run_block(body.host, arrays.get(), iw, block, threads, blocks)
                    }
                })
                .collect();
            for value in 0..body.energies as usize * VALUES {
                let column: Vec<f64> = partials.iter().map(|sums| sums[value]).collect();
                values.push(target::second_stage(&column));
            }
        }
        Ok((Sums::from_values(&values), begin.elapsed().as_secs_f64()))
    }
}
