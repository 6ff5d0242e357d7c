//! The host as a device: the blocks of a grid side by side, the threads of a block in turn.

use std::ops::Range;
use std::time::Instant;

use gpp_kernels::emulator;
use gpp_kernels::kernel::{Entry, Gpu, Kernel};
use gpp_kernels::layout::Layout;
use gpp_kernels::sums::VALUES;
use num_complex::Complex64;
use rayon::prelude::*;

use super::launch::Launch;
use super::{Device, DeviceInfo, HOST, KernelInfo, SlabSums, Worker};
use crate::error::Result;
use crate::problem::layout::{BandArrays, Laid, aqsm_local};
use crate::problem::{OddPoles, Problem, SlabView};

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
                id: HOST.into(),
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

    fn kernel(&self, _: &Kernel, entry: &Entry) -> Result<KernelInfo> {
        Ok(KernelInfo { symbol: entry.symbol.into(), ..KernelInfo::default() })
    }

    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>> {
        Ok(Box::new(OnHost::new(problem)))
    }
}

/// A worker: each layout is made when a kernel first wants it.
struct OnHost<'a> {
    problem: &'a Problem,
    bands: [Option<BandArrays<'a>>; 3],
    slab: Option<OfSlab>,
}

/// What was made of a slab.
struct OfSlab {
    igp: Range<usize>,
    aqsm_local: [Option<Vec<Complex64>>; 3],
    /// For kernels that take any poles, and for those that take real ones.
    odd: [Option<OddPoles>; 2],
}

impl<'a> OnHost<'a> {
    fn new(problem: &'a Problem) -> OnHost<'a> {
        OnHost { problem, bands: [const { None }; 3], slab: None }
    }
}

impl Worker for OnHost<'_> {
    fn place(&mut self, slab: SlabView<'_>) -> Result<()> {
        let igp = slab.igp();
        if self.slab.as_ref().is_none_or(|made| made.igp != igp) {
            let (aqsm_local, odd) = ([const { None }; 3], [const { None }; 2]);
            self.slab = Some(OfSlab { igp, aqsm_local, odd });
        }
        Ok(())
    }

    fn sum(&mut self, slab: SlabView<'_>, gpu: &Gpu) -> Result<SlabSums> {
        self.place(slab)?;
        let (bands, plan) = (self.problem.bands(), self.problem.plan());
        let kernel = plan.kernel(gpu);
        let (layout, follows) = (kernel.layout, kernel.layout == Layout::Planned);
        let of_bands =
            self.bands[layout as usize].get_or_insert_with(|| BandArrays::of(bands, plan, layout));
        let made = self.slab.as_mut().expect("placed above");
        let own = &mut made.aqsm_local[layout as usize];
        let aqsm_local: &[Complex64] = match slab.aqsm_local().whole() {
            Some(whole) if layout == Layout::Original => whole,
            _ => own.get_or_insert_with(|| aqsm_local(slab, plan, layout).into_owned()),
        };
        let odd: Option<&OddPoles> = follows.then(|| {
            &*made.odd[kernel.poles as usize].get_or_insert_with(|| plan.odd(slab, kernel.poles))
        });
        let Launch { kernel, entry, grid } = Launch::of(gpu, self.problem, slab, odd)?;
        let laid = Laid { bands, slab, of_bands, aqsm_local };
        let arrays = laid.arrays(kernel, odd.map(|odd| (plan, odd)));

        let begin = Instant::now();
        let groups = grid.groups as usize;
        let mut values = Vec::with_capacity(bands.nw() * VALUES * groups);
        for iw in kernel.launches(bands.nw()) {
            let blocks: Vec<_> = (0..grid.blocks())
                .into_par_iter()
                .map(|block| {
                    // SAFETY: the launch contract. Bands and slab checked their arrays, `arrays` that they
                    // have the kernel's layout and its plan, and borrows them; `Launch::of` looked at the
                    // extents; the launches keep the entry's energies within nw.
                    unsafe { emulator::run_block(entry.host, arrays.get(), iw, block, grid) }
                })
                .collect();
            for value in 0..entry.energies as usize * VALUES {
                let mut partials = vec![f64::NAN; blocks.len()];
                for (block, sums) in (0..).zip(&blocks) {
                    partials[grid.slot(block) as usize] = sums[value];
                }
                let of_groups = partials.chunks(grid.per_group() as usize);
                values.extend(of_groups.map(emulator::second_stage));
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        Ok(SlabSums { values, groups, seconds, blocks: grid.blocks() })
    }
}
