//! The CPU as a device: versions for CPUs in its vectors, those for GPUs emulated.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::ops::{Add, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gpp_cpu::pool::Threads;
use gpp_cpu::problem::{BandPanels, IgPanels, Task};
use gpp_cpu::versions::{Cpu, Needs};
use gpp_kernels::arrays::Layout;
use gpp_kernels::emulator;
use gpp_kernels::formula::VALUES;
use gpp_kernels::kernel::{Entry, GpuVersion, Kernel};
use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::catalogue;
pub use crate::devices::Host;
use crate::devices::{
    Device, DeviceInfo, HostWorkspace, KernelInfo, Launch, SlabSums, Upload, Watch, Worker,
    of_layouts,
};
use crate::error::Result;
use crate::problem::layout::{BandArrays, Laid, MadePairs, preparation};
use crate::problem::memory::AQSM_LOCAL;
use crate::problem::vectors::{Order, SortedSlab};
use crate::problem::{Batch, Extents, FallbackPairs, Id, Outline, Problem, SlabView, vectors};

impl Device for Host {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, _: &Kernel, entry: &Entry) -> Result<KernelInfo> {
        Ok(KernelInfo { symbol: entry.symbol.into(), ..KernelInfo::default() })
    }

    fn host(&self) -> Option<&Host> {
        Some(self)
    }

    fn workspace(
        &self,
        problem: Outline,
        versions: &[catalogue::Kernel],
        slab: Extents,
    ) -> HostWorkspace {
        let Extents { nbands, ncouls, .. } = slab;
        let cpus = || versions.iter().filter_map(|version| version.cpu());
        let of_sums = |cpu: &'static Cpu| {
            let mut batches = catalogue::Kernel::Cpu(cpu).energies(problem);
            let nw = batches.next().map_or(0, |batch| batch.len());
            cpu.bytes_of_sums([nbands, slab.ngpown, ncouls], nw)
        };
        let mut own = HostWorkspace::default();
        if cpus().any(|cpu| cpu.needs.clusters) {
            let slab = SortedSlab::bytes_while_made(slab, problem.poles);
            own = HostWorkspace { bands: BandPanels::bytes(nbands, ncouls), slab };
        }
        if cpus().any(|cpu| cpu.needs.panels) {
            // Of both there is one at a time.
            own.bands = own.bands.max(IgPanels::bytes(ncouls, nbands));
        }
        if cpus().any(|cpu| cpu.needs.aqsm) {
            let swapped = AQSM_LOCAL.bytes(slab, Layout::Swapped);
            own.slab = own.slab.saturating_add(swapped + FallbackPairs::bytes_while_made(slab));
        }
        own.slab = own.slab.saturating_add(cpus().map(of_sums).max().unwrap_or(0));
        // What was made for one version stays for the next.
        of_layouts(problem, versions, slab).fold(own, HostWorkspace::add)
    }

    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>> {
        Ok(Box::new(OnHost {
            host: self,
            problem,
            bands: HashMap::new(),
            panels: None,
            chunks: None,
            slab: SlabArrays::default(),
            summed: None,
        }))
    }
}

/// A worker. What a kernel reads in addition to the problem's own arrays is made when one first needs it.
struct OnHost<'a> {
    host: &'a Host,
    problem: &'a Problem,
    /// The arrays of bands in each layout for GPUs.
    bands: HashMap<Layout, BandArrays<'a>>,
    /// The matrix elements of G as vectors read them, of one order of bands at a time.
    panels: Option<(Order, IgPanels)>,
    /// The same in chunks of bands, for pairs sorted by their poles.
    chunks: Option<BandPanels>,
    slab: SlabArrays,
    /// Of the slab that was begun.
    summed: Option<SlabSums>,
}

/// What is made of one slab.
#[derive(Default)]
struct SlabArrays {
    of: Option<(Id, Range<usize>)>,
    /// Matrix elements of G′ in layouts other than the slab's own.
    aqsm_local: HashMap<Layout, Vec<Complex64>>,
    /// What kernels for GPUs read of its pairs, with what that depends on in addition to the slab.
    pairs: HashMap<(Layout, Poles), MadePairs>,
    /// For kernels that take any poles, and for those that take real ones: at these energies.
    fallback: HashMap<Poles, ((Id, Range<usize>), FallbackPairs)>,
    /// Its pairs sorted by their poles, with the bands in chunks.
    sorted: Option<SortedSlab>,
}

impl SlabArrays {
    /// Lays its matrix elements out for a layout.
    fn lay_out(&mut self, problem: &Problem, slab: SlabView<'_>, layout: Layout) -> Result<()> {
        if !self.aqsm_local.contains_key(&layout)
            && let Cow::Owned(made) = preparation(layout).aqsm_local(slab, problem.order())?
        {
            self.aqsm_local.insert(layout, made);
        }
        Ok(())
    }
}

impl Worker for OnHost<'_> {
    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        watch: Watch,
    ) -> Result<()> {
        assert!(self.summed.is_none(), "one slab is in flight at a time");
        if self.slab.of != Some(slab.id()) {
            self.slab = SlabArrays { of: Some(slab.id()), ..SlabArrays::default() };
        }
        let summed = match kernel {
            catalogue::Kernel::Gpu(gpu) => {
                let pool = self.host.pool(Threads::All)?;
                pool.install(|| self.emulate(slab, batch, gpu, watch))?
            }
            catalogue::Kernel::Cpu(cpu) => self.sum(slab, batch, cpu, watch)?,
        };
        watch.check()?;
        self.summed = Some(summed);
        Ok(())
    }

    fn finish(&mut self) -> Result<SlabSums> {
        Ok(self.summed.take().expect("a slab was begun"))
    }

    fn forget(&mut self) {
        self.slab = SlabArrays::default();
    }
}

impl OnHost<'_> {
    /// Runs a GPU version's kernels: the blocks of a grid side by side, the threads of a block in turn.
    fn emulate(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        gpu: &GpuVersion,
        watch: Watch,
    ) -> Result<SlabSums> {
        let (problem, made) = (self.problem, &mut self.slab);
        let (bands, order) = (problem.bands(), problem.order());
        let kernel = batch.plan().kernel(gpu);
        let (layout, prepared) = (kernel.layout, preparation(kernel.layout));
        let of_bands = match self.bands.entry(layout) {
            MapEntry::Occupied(there) => &*there.into_mut(),
            MapEntry::Vacant(none) => &*none.insert(prepared.of_bands(bands, order)?),
        };
        let wx = &prepared.energies(bands, batch);
        made.lay_out(problem, slab, layout)?;
        let own = made.aqsm_local.get(&layout).map(Vec::as_slice);
        let aqsm_local = own.or(slab.aqsm_local().whole()).expect("laid out above");
        let (key, at) = ((layout, kernel.poles), prepared.pairs_at(batch, kernel));
        if made.pairs.get(&key).is_none_or(|(of, _)| *of != at) {
            made.pairs.insert(key, (at, prepared.pairs(problem, slab, batch, kernel)));
        }
        let (_, pairs) = &made.pairs[&key];
        let Launch { kernel, entry, grid } = Launch::of(gpu, problem, batch, slab, pairs)?;
        let laid = Laid { bands, batch, slab, of_bands, wx, aqsm_local };
        let constant = &batch.plan().wx;

        let begin = Instant::now();
        let blocks = grid.blocks();
        let mut partials = vec![f64::NAN; blocks as usize * batch.nw() * VALUES];
        let launches = kernel.launches(batch.nw());
        let (all, ran) = (launches.len() * blocks as usize, AtomicUsize::new(0));
        for iw in launches {
            let arguments = laid.arguments(kernel, pairs, iw, &mut partials);
            (0..blocks).into_par_iter().for_each(|block| {
                if watch.stop.is_asked() {
                    return;
                }
                // SAFETY: the launch contract. Bands and slab checked their arrays, `arguments` that they
                // have the kernel's layout and what goes with it, and borrows them; `Launch::of` checked
                // the dimensions; the launches keep the entry's energies within nw; there is room for the
                // sums of all blocks.
                unsafe { (entry.body)(arguments.address(), constant.as_ptr(), block, grid) };
                (watch.done)((ran.fetch_add(1, Ordering::Relaxed) + 1) as f64 / all as f64);
            });
        }
        let of_groups = partials.chunks(grid.per_group() as usize);
        let values = of_groups.map(emulator::second_stage).collect();
        let (groups, seconds) = (grid.groups as usize, begin.elapsed().as_secs_f64());
        let (blocks, upload) = (Some(blocks), Upload::default());
        Ok(SlabSums { values, groups, seconds, blocks, upload })
    }

    /// Runs a version for CPUs.
    fn sum(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        cpu: &Cpu,
        watch: Watch,
    ) -> Result<SlabSums> {
        let (problem, host) = (self.problem, self.host);
        let (plan, needs) = (batch.plan(), cpu.needs);
        let poles = cpu.poles(plan.poles);
        let pool = host.pool(cpu.threads)?;
        pool.install(|| self.prepare(slab, batch, needs, poles))?;
        let made = &self.slab;
        let aqsm = made.aqsm_local.get(&Layout::Swapped).filter(|_| needs.aqsm);
        let panels = self.panels.as_ref().filter(|_| needs.panels);
        let fallback = made.fallback.get(&poles).filter(|_| needs.plan);
        let sorted = made.sorted.as_ref().zip(self.chunks.as_ref()).filter(|_| needs.clusters);
        let task = Task {
            bands: vectors::bands(problem.bands(), batch),
            panels: panels.map(|(_, panels)| panels),
            slab: vectors::slab(slab, aqsm.map_or(&[], Vec::as_slice)),
            plan: fallback.map(|(_, fallback)| vectors::plan(plan, fallback)),
            clusters: sorted.map(|(sorted, aqsn)| sorted.clusters(aqsn)),
            stop: watch.stop,
        };
        let begin = Instant::now();
        let values = cpu.sum(&task, host.level(), &pool, watch.done);
        let seconds = begin.elapsed().as_secs_f64();
        let groups = cpu.igp_of_group().map_or(1, |igp| slab.len().div_ceil(igp));
        Ok(SlabSums { values, groups, seconds, blocks: None, upload: Upload::default() })
    }

    /// Makes what a version for CPUs needs: matrix elements, and of the slab the fallback pairs at a batch of those that
    /// kernels take, or its sorted pairs.
    fn prepare(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        needs: Needs,
        poles: Poles,
    ) -> Result<()> {
        let (problem, made) = (self.problem, &mut self.slab);
        let order = Order::of(problem.order(), needs.plan);
        // There is room for the matrix elements of G in one order only.
        if needs.panels && self.panels.as_ref().is_none_or(|(of, _)| *of != order) {
            (self.panels, self.chunks) = (None, None);
            self.panels = Some((order, vectors::panels(problem, order)?));
        }
        if needs.clusters && self.chunks.is_none() {
            self.panels = None;
            self.chunks = Some(vectors::chunks(problem));
        }
        if needs.aqsm {
            made.lay_out(problem, slab, Layout::Swapped)?;
        }
        if needs.plan && made.fallback.get(&poles).is_none_or(|(at, _)| *at != batch.id()) {
            made.fallback.insert(poles, (batch.id(), problem.fallback(slab, batch, poles)));
        }
        if needs.clusters {
            made.sorted.get_or_insert_with(|| SortedSlab::of(problem, slab));
        }
        Ok(())
    }
}
