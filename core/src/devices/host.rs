//! The processor as a device: versions made for it in its vectors (`vectors.rs`), those for GPUs in an
//! emulator (`emulated.rs`).

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::ops::{Add, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use gpp_cpu::cells::Chunks;
use gpp_cpu::level::Level;
use gpp_cpu::pool::{Pool, Team, Threads};
use gpp_cpu::problem::Task;
use gpp_cpu::relaid::Relaid;
use gpp_cpu::topology::Room;
use gpp_cpu::version::{Cpu, Needs};
use gpp_kernels::emulator;
use gpp_kernels::kernel::{Entry, Gpu, Kernel};
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;
use gpp_kernels::sums::VALUES;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::catalogue;
use crate::devices::{
    Beside, Device, DeviceInfo, HOST, KernelInfo, Launch, SlabSums, Upload, Watch, Worker,
    of_layouts,
};
use crate::error::{Error, Result};
use crate::problem::layout::{BandArrays, Laid, MadePairs, preparation};
use crate::problem::memory::AQSM_LOCAL;
use crate::problem::vectors::{Order, SortedSlab};
use crate::problem::{Batch, Extents, FallbackPairs, Id, Outline, Problem, SlabView, vectors};

pub struct Host {
    info: DeviceInfo,
    level: Level,
    team: Arc<Team>,
}

impl Host {
    /// With the widest vectors that it has.
    pub fn new() -> Host {
        Host::at(Level::best())
    }

    /// With the vectors of a level.
    pub fn at(level: Level) -> Host {
        Host::with_team(level, Arc::new(Team::new(Room::here())))
    }

    /// With the vectors of a level, and these threads.
    pub fn with_team(level: Level, team: Arc<Team>) -> Host {
        assert!(level.is_available(), "this processor has no {level}");
        Host { info: info(team.count(Threads::All)), level, team }
    }

    /// This host with so many threads, 1 to [`MOST`](gpp_cpu::pool::MOST).
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Host {
        self.team.set(threads);
        Host::with_team(self.level, self.team)
    }

    /// The vectors that it is used with.
    pub fn level(&self) -> Level {
        self.level
    }

    /// How many threads its versions run.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// The threads that versions run, started when they are first asked for.
    pub fn pool(&self, threads: Threads) -> Result<Arc<Pool>> {
        self.team.pool(threads).map_err(Error::threads)
    }
}

impl Default for Host {
    fn default() -> Self {
        Host::new()
    }
}

fn info(threads: usize) -> DeviceInfo {
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
    DeviceInfo {
        id: HOST.into(),
        name: name.filter(|name| !name.is_empty()).unwrap_or("unknown processor".into()),
        driver: None,
        compute_capability: None,
        multiprocessors: threads as u32,
        uuid: None,
        clock_mhz: None,
        memory_bytes: system.map_or(0, |system| system.total_memory()),
    }
}

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

    fn beside(&self, problem: Outline, versions: &[catalogue::Kernel], slab: Extents) -> Beside {
        // What was made for one version stays for the next.
        let emulated = of_layouts(problem, versions, slab).fold(Beside::default(), Beside::add);
        emulated + beside(problem, versions, slab)
    }

    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>> {
        let (emulated, vectors) = (EmulatedBands::default(), VectorBands::default());
        Ok(Box::new(OnHost { host: self, problem, emulated, vectors, slab: None, summed: None }))
    }
}

/// A worker: what a kernel reads beside the problem's own arrays is made when one first wants it.
struct OnHost<'a> {
    host: &'a Host,
    problem: &'a Problem,
    emulated: EmulatedBands<'a>,
    vectors: VectorBands,
    slab: Option<OfSlab>,
    /// Of the slab that was begun.
    summed: Option<SlabSums>,
}

struct OfSlab {
    which: (Id, Range<usize>),
    emulated: EmulatedSlab,
    vectors: VectorSlab,
}

impl Worker for OnHost<'_> {
    fn place(&mut self, slab: SlabView<'_>) -> Result<()> {
        let which = slab.id();
        if self.slab.as_ref().is_none_or(|made| made.which != which) {
            let (emulated, vectors) = Default::default();
            self.slab = Some(OfSlab { which, emulated, vectors });
        }
        Ok(())
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        watch: Watch,
    ) -> Result<()> {
        assert!(self.summed.is_none(), "one slab is under way at a time");
        self.place(slab)?;
        let made = self.slab.as_mut().expect("placed above");
        let summed = match kernel {
            catalogue::Kernel::Gpu(gpu) => {
                let (emulated, made) = (&mut self.emulated, &mut made.emulated);
                let pool = self.host.pool(Threads::All)?;
                pool.install(|| emulated.sum(self.problem, batch, slab, made, gpu, watch))?
            }
            catalogue::Kernel::Cpu(cpu) => {
                let made = &mut made.vectors;
                self.vectors.sum(self.host, (self.problem, batch), slab, made, cpu, watch)?
            }
        };
        watch.check()?;
        self.summed = Some(summed);
        Ok(())
    }

    fn finish(&mut self) -> Result<SlabSums> {
        Ok(self.summed.take().expect("a slab was begun"))
    }

    fn forget(&mut self) {
        self.slab = None;
    }
}

// GPU versions on the host: the blocks of a grid side by side, the threads of a block in turn.

/// The arrays of a problem's bands in each layout that was wanted.
#[derive(Default)]
pub struct EmulatedBands<'a>(HashMap<Layout, BandArrays<'a>>);

#[derive(Default)]
pub struct EmulatedSlab {
    /// Where it is not the slab's own.
    aqsm_local: HashMap<Layout, Vec<Complex64>>,
    /// With what they depend on beside the slab.
    pairs: HashMap<(Layout, Poles), MadePairs>,
}

impl EmulatedSlab {
    /// Makes what a kernel reads of it at a batch, where it is not there.
    fn want(
        &mut self,
        problem: &Problem,
        batch: &Batch,
        slab: SlabView<'_>,
        kernel: &Kernel,
    ) -> Result<()> {
        let (layout, prepared) = (kernel.layout, preparation(kernel.layout));
        if !self.aqsm_local.contains_key(&layout)
            && let Cow::Owned(made) = prepared.aqsm_local(slab, problem.order())?
        {
            self.aqsm_local.insert(layout, made);
        }
        let (key, at) = ((layout, kernel.poles), prepared.pairs_at(batch, kernel));
        if self.pairs.get(&key).is_none_or(|(of, _)| *of != at) {
            self.pairs.insert(key, (at, prepared.pairs(problem, slab, batch, kernel)));
        }
        Ok(())
    }
}

impl<'a> EmulatedBands<'a> {
    /// Sums a slab at a batch of energies by a GPU version's kernels.
    pub fn sum(
        &mut self,
        problem: &'a Problem,
        batch: &Batch,
        slab: SlabView<'_>,
        made: &mut EmulatedSlab,
        gpu: &Gpu,
        watch: Watch,
    ) -> Result<SlabSums> {
        let (bands, order) = (problem.bands(), problem.order());
        let kernel = batch.plan().kernel(gpu);
        let prepared = preparation(kernel.layout);
        let of_bands = match self.0.entry(kernel.layout) {
            MapEntry::Occupied(there) => &*there.into_mut(),
            MapEntry::Vacant(none) => &*none.insert(prepared.of_bands(bands, order)?),
        };
        let wx = &prepared.energies(bands, batch);
        made.want(problem, batch, slab, kernel)?;
        let own = made.aqsm_local.get(&kernel.layout).map(Vec::as_slice);
        let aqsm_local = own.or(slab.aqsm_local().whole()).expect("wanted above");
        let (_, pairs) = &made.pairs[&(kernel.layout, kernel.poles)];
        let Launch { kernel, entry, grid, .. } = Launch::of(gpu, problem, batch, slab, pairs)?;
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
                // SAFETY: the launch contract. OfBands and slab checked their arrays, `arguments` that they
                // have the kernel's layout and what goes with it, and borrows them; `Launch::of` looked at
                // the extents; the launches keep the entry's energies within nw; there is room for the sums
                // of all blocks.
                unsafe { (entry.body)(arguments.address(), constant.as_ptr(), block, grid) };
                (watch.done)((ran.fetch_add(1, Ordering::Relaxed) + 1) as f64 / all as f64);
            });
        }
        let of_groups = partials.chunks(grid.per_group() as usize);
        let values = of_groups.map(emulator::second_stage).collect();
        Ok(SlabSums {
            values,
            groups: grid.groups as usize,
            seconds: begin.elapsed().as_secs_f64(),
            blocks: Some(blocks),
            upload: Upload::default(),
        })
    }
}

// Versions made for processors, on the threads and with the vectors of this one.

/// The matrix elements of G as vectors read them, of one order of bands at a time.
#[derive(Default)]
pub struct VectorBands {
    relaid: Option<(Order, Relaid)>,
    /// Chunk by chunk, for pairs sorted by their poles.
    chunks: Option<Chunks>,
}

#[derive(Default)]
pub struct VectorSlab {
    /// Matrix elements of G′, bands fastest.
    aqsm: Option<Vec<Complex64>>,
    /// For kernels that take any poles, and for those that take real ones: at these energies.
    odd: HashMap<Poles, ((Id, Range<usize>), FallbackPairs)>,
    /// Its pairs sorted by their poles, with the bands in chunks.
    sorted: Option<SortedSlab>,
}

/// What versions made for processors hold beside a problem's arrays.
pub fn beside(problem: Outline, versions: &[catalogue::Kernel], slab: Extents) -> Beside {
    let Extents { nbands, ncouls, .. } = slab;
    let cpus = || versions.iter().filter_map(|version| version.cpu());
    let of_sums = |cpu: &'static Cpu| {
        let nw =
            catalogue::Kernel::Cpu(cpu).energies(problem).next().map_or(0, |batch| batch.len());
        cpu.bytes_of_sums([nbands, slab.ngpown, ncouls], nw)
    };
    let mut beside = Beside::default();
    if cpus().any(|cpu| cpu.needs.sorted) {
        let slab = SortedSlab::bytes_while_made(slab, problem.poles);
        beside = beside + Beside { bands: Chunks::bytes(nbands, ncouls), slab };
    }
    if cpus().any(|cpu| cpu.needs.relaid) {
        // Of both there is one at a time.
        beside = beside.or(Beside { bands: Relaid::bytes(ncouls, nbands), slab: 0 });
    }
    if cpus().any(|cpu| cpu.needs.aqsm) {
        let swapped = AQSM_LOCAL.bytes(slab, Layout::Swapped);
        beside.slab = beside.slab.saturating_add(swapped + FallbackPairs::bytes_while_made(slab));
    }
    beside.slab = beside.slab.saturating_add(cpus().map(of_sums).max().unwrap_or(0));
    beside
}

impl VectorSlab {
    /// Makes what a version needs of it, with the odd poles at a batch of those that kernels take.
    fn want(
        &mut self,
        (problem, batch): (&Problem, &Batch),
        slab: SlabView<'_>,
        needs: Needs,
        poles: Poles,
    ) -> Result<()> {
        if needs.aqsm && self.aqsm.is_none() {
            let swapped = preparation(Layout::Swapped).aqsm_local(slab, problem.order())?;
            self.aqsm = Some(swapped.into_owned());
        }
        if needs.plan && self.odd.get(&poles).is_none_or(|(at, _)| *at != batch.id()) {
            self.odd.insert(poles, (batch.id(), problem.fallback(slab, batch, poles)));
        }
        if needs.sorted {
            self.sorted.get_or_insert_with(|| SortedSlab::of(problem, slab));
        }
        Ok(())
    }
}

impl VectorBands {
    /// Sums a slab at a batch of energies by a version.
    pub fn sum(
        &mut self,
        host: &Host,
        (problem, batch): (&Problem, &Batch),
        slab: SlabView<'_>,
        made: &mut VectorSlab,
        cpu: &Cpu,
        watch: Watch,
    ) -> Result<SlabSums> {
        let (plan, needs) = (batch.plan(), cpu.needs);
        let poles = cpu.poles(plan.poles);
        let pool = host.pool(cpu.threads)?;
        pool.install(|| -> Result<()> {
            self.want(problem, needs)?;
            made.want((problem, batch), slab, needs, poles)
        })?;
        let aqsm = made.aqsm.as_deref().filter(|_| needs.aqsm).unwrap_or_default();
        let relaid = self.relaid.as_ref().filter(|_| needs.relaid);
        let odd = made.odd.get(&poles).filter(|_| needs.plan);
        let sorted = made.sorted.as_ref().zip(self.chunks.as_ref()).filter(|_| needs.sorted);
        let task = Task {
            bands: vectors::bands(problem.bands(), batch),
            relaid: relaid.map(|(_, relaid)| relaid),
            slab: vectors::slab(slab, aqsm),
            plan: odd.map(|(_, odd)| vectors::plan(plan, odd)),
            sorted: sorted
                .map(|(sorted, aqsn)| sorted.task((problem, batch), aqsn, slab, watch.stop)),
            stop: watch.stop,
        };
        let begin = Instant::now();
        let values = cpu.sum(&task, host.level(), &pool, watch.done);
        let seconds = begin.elapsed().as_secs_f64();
        let groups = cpu.igp_of_group().map_or(1, |igp| slab.len().div_ceil(igp));
        Ok(SlabSums { values, groups, seconds, blocks: None, upload: Upload::default() })
    }

    /// Has the matrix elements of G as a version needs them; in another order, they go before.
    fn want(&mut self, problem: &Problem, needs: Needs) -> Result<()> {
        let order = Order::of(problem.order(), needs.plan);
        if needs.relaid && self.relaid.as_ref().is_none_or(|(of, _)| *of != order) {
            (self.relaid, self.chunks) = (None, None);
            self.relaid = Some((order, vectors::relaid(problem, order)?));
        }
        if needs.sorted && self.chunks.is_none() {
            self.relaid = None;
            self.chunks = Some(vectors::chunks(problem));
        }
        Ok(())
    }
}
