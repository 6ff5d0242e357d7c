//! The CPU as a device: it runs versions for CPUs and emulates those for GPUs.

use std::collections::VecDeque;
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gpp_cpu::pool::{CpuTeam, DefaultThreads, Pool, Room};
use gpp_cpu::problem::{
    BandPanels, BandSlices, Clusters, FallbackSlices, IgPanels, PlanSlices, SlabSlices, SlabTask,
};
use gpp_cpu::simd::Level;
use gpp_cpu::versions::CpuVersion;
use gpp_kernels::arrays::{Arguments, Layout, PaperArguments};
use gpp_kernels::kernel::GpuVersion;
use gpp_kernels::plan::Poles;
use gpp_kernels::reduction::second_stage;
use num_complex::Complex64;
use rayon::prelude::*;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::catalogue;
use crate::devices::{Control, Device, DeviceInfo, HOST, SlabSums, Worker, entry, grid};
use crate::error::{Error, Result};
use crate::os::memory;
use crate::problem::arrays::{AQSM_LOCAL, AQSN, EPS, Extents, OCC, WTILDE, WX};
use crate::problem::heavy::LOST;
use crate::problem::layout::Preparation;
use crate::problem::{Batch, FallbackPairs, Header, Id, Problem, SlabView, SortedCells};

pub struct CpuDevice {
    info: DeviceInfo,
    level: Level,
    team: Arc<CpuTeam>,
}

impl CpuDevice {
    #[expect(clippy::new_without_default, reason = "it asks the system for threads and memory")]
    pub fn new() -> CpuDevice {
        CpuDevice::at(Level::best())
    }

    pub fn at(level: Level) -> CpuDevice {
        CpuDevice::with_team(level, Arc::new(CpuTeam::new(Room::here())))
    }

    pub fn with_team(level: Level, team: Arc<CpuTeam>) -> CpuDevice {
        assert!(level.is_available(), "this CPU has no {level}");
        let kind = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok();
        let cpu = system.as_ref().and_then(|system| system.cpus().first());
        let name = cpu.map(|cpu| cpu.brand().trim()).filter(|name| !name.is_empty());
        let info = DeviceInfo {
            id: HOST.into(),
            name: name.unwrap_or("unknown CPU").into(),
            multiprocessors: team.count(DefaultThreads::All) as u32,
            memory_bytes: system.as_ref().map_or(0, |system| system.total_memory()),
            ..DeviceInfo::default()
        };
        CpuDevice { info, level, team }
    }

    pub fn level(&self) -> Level {
        self.level
    }

    pub fn team(&self) -> &CpuTeam {
        &self.team
    }

    /// The threads that versions run, started at the first use.
    pub fn pool(&self, threads: DefaultThreads) -> Result<Arc<Pool>> {
        self.team.pool(threads).map_err(Error::threads)
    }
}

impl Device for CpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn cpu(&self) -> Option<(Level, &CpuTeam)> {
        Some((self.level, &self.team))
    }

    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>> {
        Ok(Box::new(CpuWorker {
            host: self,
            problem,
            panels: None,
            chunks: None,
            slab: SlabArrays::default(),
            summed: VecDeque::new(),
        }))
    }
}

/// A worker. Arrays that a version for CPUs reads in addition to the problem's own are made at the first use.
struct CpuWorker<'a> {
    host: &'a CpuDevice,
    problem: &'a Problem,
    /// The matrix elements of G for versions for CPUs, and whether their bands are in another order, the plan's.
    panels: Option<(bool, IgPanels)>,
    chunks: Option<BandPanels>,
    slab: SlabArrays,
    /// In the order in which they were begun.
    summed: VecDeque<SlabSums>,
}

#[derive(Default)]
struct SlabArrays {
    of: Option<(Id, Range<usize>)>,
    /// Matrix elements of G′ with bands fastest.
    aqsm: Option<Vec<Complex64>>,
    /// At a batch, for kernels that take these poles.
    fallback: Option<((Id, Range<usize>), Poles, Arc<FallbackPairs>)>,
    /// The mask of the heavy pairs there, and the bound of the others.
    heavy: Option<(Vec<u32>, f64)>,
    /// For Σ alone or not, with the matrix elements of G′ as their kernels read them.
    sorted: Option<(bool, Arc<SortedCells>, BandPanels)>,
}

/// The arguments of a kernel, for threads to share.
struct Shared(Box<dyn Arguments>);

// SAFETY: each block writes its own sums; the other pointers are only read through.
unsafe impl Sync for Shared {}

impl Shared {
    fn address(&self) -> *const () {
        (&raw const *self.0).cast()
    }
}

impl Worker for CpuWorker<'_> {
    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Version,
        control: Control,
    ) -> Result<()> {
        assert!(self.summed.is_empty() || slab.is_sample, "one slab is in flight at a time");
        let whole = slab.is_sample.then(|| mem::take(&mut self.slab));
        if self.slab.of != Some(slab.id()) {
            self.slab = SlabArrays { of: Some(slab.id()), ..SlabArrays::default() };
        }
        let summed = match kernel {
            catalogue::Version::Gpu(gpu) => {
                let pool = self.host.pool(DefaultThreads::All)?;
                pool.install(|| self.emulate(slab, batch, gpu, control))
            }
            catalogue::Version::Cpu(cpu) => self.sum(slab, batch, cpu, control),
        };
        self.slab = whole.unwrap_or_else(|| mem::take(&mut self.slab));
        let summed = summed?;
        control.check()?;
        self.summed.push_back(summed);
        Ok(())
    }

    fn finish(&mut self) -> Result<SlabSums> {
        Ok(self.summed.pop_front().expect("a slab was begun"))
    }
}

impl CpuWorker<'_> {
    /// Runs a GPU version's kernels: the blocks of a grid in parallel, the threads of a block one after the other.
    fn emulate(
        &self,
        slab: SlabView<'_>,
        batch: &Batch,
        gpu: &GpuVersion,
        control: Control,
    ) -> Result<SlabSums> {
        let (problem, bands, order) = (self.problem, self.problem.bands(), self.problem.order());
        let kernel = batch.plan.kernel(gpu);
        let prepared = Preparation(kernel.layout);
        let aqsn = &prepared.aqsn(bands, order)?.whole(AQSN.name())?;
        let occ = &prepared.occ(bands, order);
        let wx = &prepared.energies(bands, batch);
        let aqsm_local = &prepared.aqsm_local(slab, order)?.whole(AQSM_LOCAL.name())?;
        let pairs = &prepared.pairs(problem, slab, batch, kernel)?;
        let grid = grid(gpu, problem, batch, slab, pairs)?;
        let entry = entry(kernel, batch.nw());
        let extents = Extents { ngpown: slab.len(), nw: batch.nw(), ..bands.extents() };
        for (array, length) in [
            (&WTILDE, slab.wtilde().len()),
            (&EPS, slab.eps().len()),
            (&AQSN, aqsn.len()),
            (&AQSM_LOCAL, aqsm_local.len()),
            (&WX, wx.len()),
            (&OCC, occ.len()),
        ] {
            let needed = array.elements(extents, kernel.layout);
            assert_eq!(length as u64, needed, "{}", array.name());
        }
        let arrays = pairs.arrays();
        let arrays: Vec<_> = arrays.iter().map(|(_, words, _)| words.as_ptr().cast()).collect();
        let limits = bands.limits();
        let constant = batch.plan.constants(kernel);

        let begin = Instant::now();
        let blocks = grid.blocks();
        let values = kernel.values([slab.nbands(), batch.nw()].map(|count| count as u64)) as usize;
        let mut partials = vec![f64::NAN; (grid.groups * grid.per_group()) as usize * values];
        let launches = kernel.launches(batch.nw());
        let (all, ran) = (launches.len() * blocks as usize, AtomicUsize::new(0));
        for iw in launches {
            let common = PaperArguments {
                wtilde: slab.wtilde().as_ptr(),
                eps: slab.eps().as_ptr(),
                aqsn: aqsn.as_ptr(),
                aqsm_local: aqsm_local.as_ptr(),
                wx: wx.as_ptr(),
                vcoul_loc: slab.vcoul_loc().as_ptr(),
                occ: occ.as_ptr(),
                partials: partials.as_mut_ptr(),
                nbands: extents.nbands as u32,
                ngpown: extents.ngpown as u32,
                ncouls: extents.ncouls as u32,
                nw: extents.nw as u32,
                iw,
                limittwo: limits.limittwo,
                limitone: limits.limitone,
                sexcut: limits.sexcut,
            };
            let arguments = Shared(pairs.arguments(common, (batch, kernel), &arrays));
            (0..blocks).into_par_iter().for_each(|block| {
                if control.stop.is_asked() {
                    return;
                }
                // SAFETY: the launch contract. Bands and slab checked their arrays, which have the kernel's layout, as
                // asserted, and outlive this; `grid` checked the dimensions; the launches keep the entry's energies
                // within nw; there is room for the sums of all blocks.
                unsafe { (entry.body)(arguments.address(), constant.as_ptr(), block, grid) };
                (control.advance)((ran.fetch_add(1, Ordering::Relaxed) + 1) as f64 / all as f64);
            });
        }
        let of_groups = partials.chunks(grid.per_group() as usize);
        let values = of_groups.map(second_stage).collect();
        let (groups, seconds) = (grid.groups as usize, begin.elapsed().as_secs_f64());
        let (blocks, bound) = (Some(blocks), pairs.bound());
        Ok(SlabSums { values, groups, seconds, blocks, bound, ..SlabSums::default() })
    }

    fn sum(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        cpu: &'static CpuVersion,
        control: Control,
    ) -> Result<SlabSums> {
        let (problem, host) = (self.problem, self.host);
        let cpu = cpu.suited(batch.plan.poles, slab.nbands());
        let (plan, needs) = (&batch.plan, cpu.needs);
        let poles = cpu.poles(plan.poles);
        let [plain_far, _, far_begin] = plan.classes(cpu.is_sigma_alone);
        let pool = host.pool(cpu.threads)?;
        pool.install(|| self.prepare(slab, batch, cpu, poles))?;
        let made = &self.slab;
        let aqsm = made.aqsm.as_ref().filter(|_| needs.aqsm);
        let panels = self.panels.as_ref().filter(|_| needs.panels.is_some());
        let fallback = made.fallback.as_ref().filter(|_| needs.plan);
        let heavy = made.heavy.as_ref().filter(|_| cpu.is_single);
        let sorted = made.sorted.as_ref().zip(self.chunks.as_ref()).filter(|_| needs.clusters);
        let header = problem.header();
        let task = SlabTask {
            bands: BandSlices {
                aqsn: problem.aqsn(),
                wx: &batch.wx,
                occ: problem.occ(),
                nbands: header.nbands,
                ncouls: header.ncouls,
                nw: batch.nw(),
                limits: problem.limits(),
            },
            panels: panels.map(|(_, panels)| panels),
            slab: SlabSlices {
                wtilde: slab.wtilde(),
                eps: slab.eps(),
                aqsm: aqsm.map_or(&[], Vec::as_slice),
                vcoul_loc: slab.vcoul_loc(),
            },
            plan: fallback.map(|(_, _, fallback)| {
                let FallbackPairs { mask, pairs, begins, .. } = &**fallback;
                (
                    PlanSlices {
                        order: plan.order(),
                        plain_far,
                        plain: plan.plain,
                        occupied: plan.occupied(),
                        far_begin,
                        half: plan.half,
                        small: plan.small(cpu.poles(plan.poles)),
                        poles: plan.poles,
                        has_static: plan.has_static(),
                    },
                    FallbackSlices { mask, pairs, begins },
                )
            }),
            heavy: heavy.map(|(mask, _)| mask),
            clusters: sorted.map(|((_, cells, aqsm), aqsn)| {
                let pairs = cells.pairs();
                Clusters { pairs, aqsn, aqsm }
            }),
            stop: control.stop,
        };
        let begin = Instant::now();
        let values = cpu.sum(&task, host.level(), &pool, control.advance);
        let seconds = begin.elapsed().as_secs_f64();
        let groups = cpu.igp_of_group().map_or(1, |igp| slab.len().div_ceil(igp));
        let bound = heavy.map_or(0.0, |(_, bound)| *bound);
        Ok(SlabSums { values, groups, seconds, bound, ..SlabSums::default() })
    }

    fn prepare(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        cpu: &CpuVersion,
        poles: Poles,
    ) -> Result<()> {
        let (problem, made) = (self.problem, &mut self.slab);
        let (needs, is_sigma_alone) = (cpu.needs, cpu.is_sigma_alone);
        let planned = needs.plan && !problem.order().is_kept();
        let Header { ncouls, nbands, .. } = *problem.header();
        // There is room for the matrix elements of G in one order only.
        if let Some(lanes) = needs.panels {
            let is_it = |(of, panels): &(bool, IgPanels)| *of == planned && panels.lanes == lanes;
            if !self.panels.as_ref().is_some_and(is_it) {
                (self.panels, self.chunks) = (None, None);
                let what = format!("{} in blocks for vectors", AQSN.name());
                memory::require(&what, IgPanels::bytes(ncouls, nbands, lanes))?;
                let order = planned.then_some(&problem.order().bands[..]);
                let panels = IgPanels::from_aqsn(problem.aqsn(), ncouls, order, lanes);
                self.panels = Some((planned, panels));
            }
        }
        if needs.clusters && self.chunks.is_none() {
            self.panels = None;
            let columns: Vec<_> = problem.aqsn().chunks_exact(ncouls).collect();
            self.chunks = Some(BandPanels::from_columns(&columns, ncouls));
        }
        if needs.aqsm && made.aqsm.is_none() {
            let swapped = Preparation(Layout::Swapped).aqsm_local(slab, problem.order())?;
            made.aqsm = Some(swapped.whole(AQSM_LOCAL.name())?.into_owned());
        }
        let is_of = |(at, of, _): &(_, Poles, _)| (at, *of) == (&batch.id(), poles);
        if needs.plan && !made.fallback.as_ref().is_some_and(is_of) {
            made.fallback = Some((batch.id(), poles, problem.fallback_kept(slab, batch, poles)));
            made.heavy = None;
        }
        if let Some((.., fallback)) = made.fallback.as_ref().filter(|_| cpu.is_single)
            && made.heavy.is_none()
        {
            // All that FP32 does not sum is regular in FP64, but for fallback pairs.
            made.heavy = Some(if slab.is_sample {
                (vec![u32::MAX; fallback.mask.len()], 0.0)
            } else {
                let single = batch.plan.fallback_in_single(slab, poles, true);
                let (bands, tolerance) = (problem.bands(), problem.tolerance);
                let single = single.with_heavy(bands, slab, batch, tolerance, LOST);
                let both = single.mask.iter().zip(&fallback.mask);
                (both.map(|(all, regular)| all & !regular).collect(), single.bound)
            });
        }
        if needs.clusters && made.sorted.as_ref().is_none_or(|of| of.0 != is_sigma_alone) {
            made.sorted = None;
            let columns: Vec<_> = slab.aqsm_local().columns().collect();
            let aqsm = BandPanels::from_columns(&columns, slab.len());
            let cells = problem.cells_kept(slab, is_sigma_alone)?;
            made.sorted = Some((is_sigma_alone, cells, aqsm));
        }
        Ok(())
    }
}
