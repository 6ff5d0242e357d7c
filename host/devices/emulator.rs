//! The host as a device: the blocks of a grid side by side, the threads of a block in turn.

use std::sync::OnceLock;
use std::time::Instant;

use gpp_kernels::reduce::VALUES;
use gpp_kernels::registry::{Body, Version};
use gpp_kernels::target;
use rayon::prelude::*;

use super::{Device, DeviceInfo, KernelInfo, Loaded};
use crate::error::{Error, Result};
use crate::experiments::measure::body;
use crate::problem::{Planned, Problem, Reordered, Sums};

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

impl Device for Emulator {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, _: &Version, body: &Body) -> Result<KernelInfo> {
        Ok(KernelInfo { symbol: body.symbol.into(), ..KernelInfo::default() })
    }

    fn load<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Loaded + 'a>> {
        Ok(Box::new(OnHost { problem, plan: problem.plan(), layouts: Default::default() }))
    }
}

struct OnHost<'a> {
    problem: &'a Problem,
    plan: Planned<'a>,
    /// Each made when a version first wants it.
    layouts: [OnceLock<Reordered<'a>>; 3],
}

impl Loaded for OnHost<'_> {
    fn plan(&self) -> &Planned<'_> {
        &self.plan
    }

    fn run(&mut self, version: &Version) -> Result<(Sums, f64)> {
        let version = &self.plan.running(version);
        let (bands, slab) = (self.problem.bands(), self.problem.slab());
        let poles = self.plan.poles();
        bands.extents().check_kernels(version.layout, version.of(poles).loops).map_err(|what| {
            Error::Problem { origin: format!("{} on {}", version.id, self.problem.name()), what }
        })?;
        let layout = self.layouts[version.layout as usize]
            .get_or_init(|| Reordered::of(bands, slab, &self.plan, version.layout));
        let nw = self.problem.nw();
        let body = body(version, self.problem, &self.plan);
        let extents = self.plan.extents(self.problem.header(), version);
        let (threads, blocks) = (version.of(poles).threads, version.blocks(extents, poles));
        let arrays = layout.arrays(self.plan.followed_by(version));

        let begin = Instant::now();
        let mut values = Vec::with_capacity(nw * VALUES);
        for iw in version.launches(nw) {
            let partials: Vec<_> = (0..blocks)
                .into_par_iter()
                .map(|block| {
                    // SAFETY: the arrays are borrowed for as long as the threads run, hold what
                    // their extents say (the constructors of bands and slabs check it) in the
                    // version's layout, and the launches keep the body's energies within nw.
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
