//! The host as a device: the blocks of a grid side by side, the threads of a block in turn.

use std::time::Instant;

use gpp_kernels::emulator;
use gpp_kernels::kernel::{Entry, Gpu, Kernel};
use gpp_kernels::layout::Layout;
use gpp_kernels::sums::VALUES;
use rayon::prelude::*;

use super::{Device, DeviceInfo, KernelInfo, Loaded, require_extents};
use crate::error::{Error, Result};
use crate::experiments::measure::entry;
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

    fn kernel(&self, _: &Kernel, entry: &Entry) -> Result<KernelInfo> {
        Ok(KernelInfo { symbol: entry.symbol.into(), ..KernelInfo::default() })
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

    fn run(&mut self, version: &Gpu) -> Result<(Sums, f64)> {
        let kernel = self.plan.kernel(version);
        let layout = match kernel.layout {
            Layout::Original => &self.original,
            Layout::Swapped => &self.swapped,
            Layout::Planned => &self.planned,
        };
        let nw = self.problem.nw();
        let entry = entry(kernel, self.problem);
        let extents = self.plan.extents(&self.problem.header, kernel);
        require_extents(version, kernel, &extents, self.problem)?;
        let grid = kernel.grid(&extents);
        let arrays = SharedArrays(self.problem.arrays(layout, self.plan.view(kernel)));

        let begin = Instant::now();
        let mut values = Vec::with_capacity(nw * VALUES * grid.groups as usize);
        for iw in kernel.launches(nw) {
            let blocks: Vec<_> = (0..grid.blocks())
                .into_par_iter()
                .map(|block| {
                    // SAFETY: the launch contract: the arrays live as long as `self` and hold what their
                    // extents say (the problem's constructor checks it) in the kernel's layout, the
                    // plan is that of these poles, and the launches keep the entry's energies within nw.
                    unsafe { emulator::run_block(entry.host, arrays.get(), iw, block, grid) }
                })
                .collect();
            for value in 0..entry.energies as usize * VALUES {
                let mut partials = vec![f64::NAN; blocks.len()];
                for (block, sums) in (0..).zip(&blocks) {
                    partials[grid.slot(block) as usize] = sums[value];
                }
                values
                    .extend(partials.chunks(grid.per_group() as usize).map(emulator::second_stage));
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        Ok((Sums::from_groups(&values, grid.groups as usize), seconds))
    }
}
