//! A GPU as a device, and its worker: its streams with the arrays of slabs, and the launches. The arrays of bands are in [`super::uploads`].

use std::collections::VecDeque;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use gpp_kernels::arguments::{Arguments, PaperArguments};
use gpp_kernels::arrays::Layout;
use gpp_kernels::formula::VALUES;
use gpp_kernels::intrinsics::WARP;
use gpp_kernels::kernel::{Entry, GpuVersion, Kernel};
use gpp_kernels::plan::EnergiesFrom;
use gpp_kernels::plan::Poles;
use gpp_kernels::reduction::SecondStageArguments;
use gpp_kernels::{plan, reduction};
use num_complex::Complex64;

use crate::catalogue;
#[cfg(feature = "nvml")]
use crate::devices::gauge::Gauge;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{
    Buffer, Context, Event, FunctionAttribute, Pinned, Stream, Transfer,
};
use crate::devices::gpu::modules::Holding;
#[cfg(feature = "nvml")]
use crate::devices::gpu::nvml::OfNvml;
use crate::devices::gpu::uploads::{
    BandBuffers, GpuElements, PairBuffers, PairsCache, Repack, Ring, Uploads, pointer,
};
use crate::devices::{
    Device, DeviceInfo, HostWorkspace, KernelInfo, Launch, Locked, SlabSums, Upload, Watch, Worker,
    entry, of_layouts,
};
use crate::error::{Error, Result};
use crate::problem::layout::{Pairs, preparation};
use crate::problem::memory::{Extents, Of};
use crate::problem::{Batch, Id, Matrix, Outline, Problem, SlabView};

const _: () = {
    const fn any_thread<T: Send + Sync>() {}
    any_thread::<OnGpu>();
};

pub struct OnGpu<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) problem: &'a Problem,
    pub(super) bands: BandBuffers,
    pub(super) pairs: PairsCache,
    pub(super) slots: Vec<StreamSlot>,
    /// Lanes with work under way, the first one begun in front; behind them the others, that which was
    /// used last at the end.
    pub(super) turns: VecDeque<usize>,
    pub(super) under_way: usize,
    /// The energies that it is at.
    pub(super) at: Option<(Id, Range<usize>)>,
    pub(super) ring: Ring,
    /// Matrix elements that are on the GPU already.
    pub(super) on_gpu: Option<&'a GpuElements>,
    pub(super) repack: Repack,
    /// Whether only one layout is in place at a time.
    pub(super) one_layout: bool,
    /// Whether there are more slabs than slots.
    pub(super) streams: bool,
}

impl<'a> OnGpu<'a> {
    /// A worker for slabs of a problem.
    pub(super) fn new(gpu: &'a Gpu, problem: &'a Problem, slot: StreamSlot) -> OnGpu<'a> {
        OnGpu {
            gpu,
            problem,
            bands: BandBuffers::default(),
            pairs: PairsCache::default(),
            slots: vec![slot],
            turns: [0].into(),
            under_way: 0,
            at: None,
            ring: Ring::default(),
            on_gpu: None,
            repack: Repack::default(),
            one_layout: false,
            streams: false,
        }
    }

    /// The slot for a slab: where it is in place, or an empty one, or that which was used longest ago.
    fn slot_for(&mut self, slab: SlabView) -> usize {
        let free =
            || (self.under_way..self.turns.len()).map(|at| (at, &self.slots[self.turns[at]]));
        let in_place = free().find(|(_, slot)| slot.slab.holds(slab));
        let empty = || free().find(|(_, slot)| slot.slab.is_empty());
        let (at, _) = in_place.or_else(empty).or_else(|| free().next()).expect("a slot is free");
        let slot = self.turns.remove(at).expect("found above");
        self.turns.insert(self.under_way, slot);
        slot
    }

    /// Puts a slab in place, for a kernel at a batch or for any; the slot, and how many bytes it takes.
    pub(super) fn placed(
        &mut self,
        slab: SlabView,
        kernel: Option<(&Kernel, &Batch)>,
    ) -> Result<(usize, u64)> {
        let at = self.slot_for(slab);
        let slot = &mut self.slots[at];
        let made = kernel.and_then(|(kernel, batch)| {
            let lacks = slot.slab.lacks_pairs(slab, batch, kernel);
            lacks.then(|| self.pairs.of(self.problem, slab, (batch, kernel)))
        });
        let mut to = Uploads {
            context: &self.gpu.context,
            stream: &slot.stream,
            begin: &slot.uploads[0],
            problem: self.problem,
            ring: &mut self.ring,
            on_gpu: self.on_gpu,
            repack: &mut self.repack,
            one_layout: self.one_layout,
            bytes: 0,
        };
        slot.slab.place(&mut to, &self.bands, slab)?;
        if let Some((kernel, batch)) = kernel {
            self.bands.want(&mut to, kernel.layout, batch)?;
            slot.slab.want(&mut to, slab, (batch, kernel), made)?;
        }
        let bytes = to.bytes;
        if bytes > 0 {
            slot.uploads[1].record(&slot.stream)?;
        }
        Ok((at, bytes))
    }

    /// Begins to sum a slab at a batch of energies by a version's kernels.
    pub(super) fn launch(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        gpu: &GpuVersion,
    ) -> Result<()> {
        let loaded = self.gpu.module(entry(batch.plan().kernel(gpu), batch.nw()).symbol)?;
        let loaded_second = self.gpu.module(reduction::SYMBOL)?;
        let plan = batch.plan();
        assert!(
            self.under_way == 0 || self.at.as_ref() == Some(&batch.id()),
            "what is under way is of one batch"
        );
        self.at = Some(batch.id());
        let (at, uploaded) = self.placed(slab, Some((plan.kernel(gpu), batch)))?;
        let before = self.under_way.checked_sub(1).map(|last| self.turns[last]);
        let (bands, slots) = (&self.bands, &mut self.slots);
        let (slot, before) = match before {
            Some(before) => {
                let [slot, before] = slots.get_disjoint_mut([at, before]).expect("two slots");
                (slot, Some(&before.stream))
            }
            None => (&mut slots[at], None),
        };
        let pairs = slot.slab.pairs(plan.kernel(gpu)).made();
        let Launch { kernel, entry, grid } = Launch::of(gpu, self.problem, batch, slab, pairs)?;

        let values = batch.nw() * VALUES;
        let (partials, sums) = (grid.blocks() as usize * values, grid.groups as usize * values);
        slot.poison(&self.gpu.context, partials, sums)?;
        let function = loaded.module.function(entry.symbol)?;
        let second_stage = loaded_second.module.function(reduction::SYMBOL)?;
        // Held until the kernels are done: nobody fills the table with others meanwhile.
        let reads = kernel.energies_from == EnergiesFrom::ConstantMemory;
        let holding = reads.then(|| {
            let wx = &plan.wx[..];
            loaded.table.holding(wx, || function.set(plan::SYMBOL, wx, &slot.stream))
        });
        let holding = holding.transpose()?;
        let second = SecondStageArguments {
            partials: slot.partials(),
            count: grid.per_group(),
            sums: slot.sums(),
        };

        self.gpu.modules.finish();
        crate::devices::gpu::now();
        let launch_all = || -> Result<()> {
            let stream = &slot.stream;
            // Kernels at the same time would take each other's place, and the first be done last.
            before.map_or(Ok(()), |before| stream.wait_for(before))?;
            slot.kernels[0].record(stream)?;
            for iw in kernel.launches(batch.nw()) {
                let arguments = kernel_arguments(kernel, iw, (self.problem, batch, bands, slot));
                // SAFETY: the launch contract. Bands and slab checked their arrays, which were uploaded
                // whole in the kernel's layout with what goes with it, in this stream or before; nobody
                // writes them, and only this stream the partial sums; the table is held. `Launch::of`
                // looked at the extents. The arguments are those of the entry, whose module is of this
                // context.
                unsafe {
                    function.launch(stream, grid.blocks(), grid.threads, &arguments.pointers())?;
                }
            }
            // SAFETY: the launch contract: one block for each value of each group, of which the launches
            // before store `count` partial sums; `sums` holds as many.
            unsafe {
                second_stage.launch(stream, sums as u32, reduction::THREADS, &second.pointers())?;
            }
            slot.kernels[1].record(stream)
        };
        let done = launch_all();
        // Whatever failed, nothing that was launched runs on when the table is let go.
        done.inspect_err(|_| _ = slot.stream.synchronize())?;
        let results = slot.results.take().expect("there is room for the sums");
        slot.under_way = Some(UnderWay {
            version: gpu.id(),
            groups: grid.groups as usize,
            blocks: grid.blocks(),
            uploaded,
            sums,
            results: results.download(sums, &slot.room, &slot.stream)?,
            _holding: holding,
        });
        self.gpu.modules.begin();
        self.under_way += 1;
        Ok(())
    }
}

// A GPU as a device.

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, kernel: &Kernel, entry: &Entry) -> Result<KernelInfo> {
        let module = self.module(entry.symbol)?;
        let function = module.module.function(entry.symbol)?;
        let threads = kernel.threads;
        let attribute = |attribute| function.attribute(attribute).map(Some);
        let blocks = function.blocks_per_multiprocessor(threads)?;
        Ok(KernelInfo {
            symbol: entry.symbol.into(),
            registers: attribute(FunctionAttribute::NumRegisters)?,
            local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
            shared_bytes: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            warps_per_sm: Some(blocks * threads / WARP),
        })
    }

    fn free_memory(&self) -> Result<Option<u64>> {
        Ok(Some(self.context.memory()?.0))
    }

    fn workspace(
        &self,
        problem: Outline,
        versions: &[catalogue::Kernel],
        slab: Extents,
    ) -> HostWorkspace {
        // What is laid out goes when it is uploaded. Fallback pairs stay, those of all slabs.
        let laid =
            of_layouts(problem, versions, slab).fold(HostWorkspace::default(), HostWorkspace::or);
        let bands = PairsCache::most(problem, versions) + Ring::MOST;
        laid + HostWorkspace { bands, slab: 0 }
    }

    #[cfg(feature = "nvml")]
    fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        let gauge = self.gauge.get_or_init(|| OfNvml::of(self.info.uuid.as_deref()?).map(Arc::new));
        gauge.clone().map(|gauge| gauge as Arc<dyn Gauge>)
    }

    fn prepare(&self, entry: &Entry) {
        self.modules.want(entry.symbol);
    }

    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>> {
        Ok(Box::new(OnGpu::new(self, problem, StreamSlot::new(&self.context)?)))
    }
}

/// The arguments of a kernel, at the slab and the batch in place, from energy `iw` on.
fn kernel_arguments(
    kernel: &Kernel,
    iw: u32,
    (problem, batch, bands, slot): (&Problem, &Batch, &BandBuffers, &StreamSlot),
) -> Box<dyn Arguments> {
    let bands = bands.in_layout(kernel.layout);
    let SlabPointers { igp, wtilde, eps, vcoul_loc, aqsm_local } = slot.slab.pointers(kernel);
    let (header, limits) = (problem.header(), problem.limits());
    let common = PaperArguments {
        wtilde,
        eps,
        aqsn: bands.aqsn(),
        aqsm_local,
        wx: bands.energies(),
        vcoul_loc,
        occ: bands.occ(),
        partials: slot.partials(),
        nbands: header.nbands as u32,
        ngpown: igp as u32,
        ncouls: header.ncouls as u32,
        nw: batch.nw() as u32,
        iw,
        limittwo: limits.limittwo,
        limitone: limits.limitone,
        sexcut: limits.sexcut,
    };
    let pairs = slot.slab.pairs(kernel);
    pairs.made().arguments(common, (batch, kernel), &pairs.pointers())
}

// What a worker on a GPU does for the engine.

/// Lanes that slabs stream through: one's upload runs under the other's kernels.
const STREAMING: usize = 2;

/// Bytes of an array that is page-locked at least: smaller ones are soon copied, and share pages with others.
const LOCKED: usize = 1 << 20;

impl Worker for OnGpu<'_> {
    fn expect(&mut self, igp: usize, slabs: usize) -> Result<()> {
        let extents = Extents { ngpown: igp, ..self.problem.extents() };
        let (bands, slab) = (extents.device_bytes(Of::Bands), extents.device_bytes(Of::Slab));
        let (free, _) = self.gpu.context.memory()?;
        let room = free.saturating_sub(bands) / slab;
        let needed = bands + STREAMING as u64 * slab;
        if needed > free {
            let what =
                format!("bands and {STREAMING} slabs of {igp} igp of {}", self.problem.name());
            return Err(Error::memory("device", &what, needed, free, None));
        }
        // If not all find room, none stays until its next turn.
        self.streams = room < slabs as u64;
        let slots = if !self.streams { slabs.max(STREAMING) } else { STREAMING };
        while self.slots.len() < slots {
            self.turns.push_back(self.slots.len());
            self.slots.push(StreamSlot::new(&self.gpu.context)?);
        }
        self.one_layout = true;
        Ok(())
    }

    fn device(&self) -> &str {
        &self.gpu.info.id
    }

    fn depth(&self) -> usize {
        self.slots.len().min(STREAMING)
    }

    fn streams(&self) -> bool {
        self.streams
    }

    fn lock(&self, memory: Arc<Matrix>) -> Option<Locked> {
        if size_of_val(&memory[..]) < LOCKED {
            return None;
        }
        let registered = self.gpu.context.register(memory).ok()?;
        Some(Box::new(registered))
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        _: Watch,
    ) -> Result<()> {
        self.launch(slab, batch, kernel.require_gpu()?)
    }

    fn ready(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
    ) -> Result<()> {
        let kernel = batch.plan().kernel(kernel.require_gpu()?);
        self.gpu.module(entry(kernel, batch.nw()).symbol)?;
        self.gpu.module(reduction::SYMBOL)?;
        let (at, _) = self.placed(slab, Some((kernel, batch)))?;
        self.slots[at].stream.synchronize()
    }

    fn look_ahead(&mut self, slab: SlabView<'_>, batch: &Batch, kernel: catalogue::Kernel) {
        let Some(kernel) = kernel.gpu().map(|gpu| batch.plan().kernel(gpu)) else { return };
        self.pairs.look_ahead(self.problem, slab, (batch, kernel));
    }

    fn keep(&mut self, bytes: u64) {
        self.pairs.grant(bytes);
    }

    fn finish(&mut self) -> Result<SlabSums> {
        let first = self.turns.pop_front().expect("there is a slot");
        self.turns.push_back(first);
        self.under_way -= 1;
        self.slots[first].finish()
    }

    fn forget(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.slab.forget());
    }
}

// A slot: a stream with memory for a slab and its sums. Work of one slot runs in order, uploads and kernels
// of two beside each other.

/// Partial sums begin at a multiple of so many numbers, as memory of their own would.
const ALIGNED: usize = 32;

pub struct StreamSlot {
    /// First, so that what was launched is done before the rest goes.
    pub under_way: Option<UnderWay>,
    pub slab: SlabBuffers,
    /// Sums, and partial sums behind them.
    room: Buffer<f64>,
    partials: usize,
    results: Option<Pinned<f64>>,
    pub uploads: [Event; 2],
    pub kernels: [Event; 2],
    pub stream: Stream,
}

/// What was launched and not waited for.
pub struct UnderWay {
    version: &'static str,
    groups: usize,
    blocks: u32,
    /// Bytes uploaded before it.
    uploaded: u64,
    sums: usize,
    results: Transfer<f64>,
    _holding: Option<Holding>,
}

impl StreamSlot {
    /// With nothing in place.
    pub fn new(context: &Context) -> Result<StreamSlot> {
        Ok(StreamSlot {
            under_way: None,
            slab: SlabBuffers::default(),
            room: context.buffer("partial sums", 0)?,
            partials: 0,
            results: None,
            uploads: [context.event()?, context.event()?],
            kernels: [context.event()?, context.event()?],
            stream: context.stream("the calculation")?,
        })
    }

    /// Has room for so many partial sums and sums, all NaN, which no comparison passes, until a kernel
    /// writes them.
    pub fn poison(&mut self, context: &Context, partials: usize, sums: usize) -> Result<()> {
        // What was there goes before more is taken: there may be no room for both.
        self.partials = sums.next_multiple_of(ALIGNED);
        let length = self.partials + partials;
        if self.room.len() < length {
            self.room = context.buffer("partial sums", 0)?;
            self.room = context.buffer("partial sums", length)?;
        }
        if self.results.as_ref().is_none_or(|results| results.len() < sums) {
            self.results = Some(context.pinned("sums", sums)?);
        }
        self.room.poison(length, &self.stream)
    }

    pub fn sums(&self) -> *mut f64 {
        self.room.pointer()
    }

    pub fn partials(&self) -> *mut f64 {
        self.sums().wrapping_add(self.partials)
    }

    /// Waits for the sums.
    pub fn finish(&mut self) -> Result<SlabSums> {
        let UnderWay { version, groups, blocks, uploaded, sums, results, _holding } =
            self.under_way.take().expect("launched");
        // Whatever failed, nothing runs on when the energies are let go.
        let results = results.wait_for(version).inspect_err(|_| _ = self.stream.synchronize())?;
        let seconds = |events: &[Event; 2], what| events[1].elapsed_since(&events[0], what);
        let seconds_of_kernels = seconds(&self.kernels, version)?;
        let upload = match uploaded {
            0 => Upload::default(),
            bytes => Upload { bytes, seconds: seconds(&self.uploads, "the uploads")? },
        };
        let values = results[..sums].to_vec();
        self.results = Some(results);
        Ok(SlabSums { values, groups, seconds: seconds_of_kernels, blocks: Some(blocks), upload })
    }
}

// The arrays of a slab on a GPU: they stay until the next slab takes their place. Each layout is made when a kernel first wants it; that of sorted pairs has the device to
// itself.

#[derive(Default)]
struct MatrixBuffer {
    room: Option<Buffer<Complex64>>,
    of: Option<(Id, Range<usize>)>,
}

impl MatrixBuffer {
    /// Has it filled with that of this identity if it is another one.
    fn want(
        &mut self,
        of: (Id, Range<usize>),
        fill: impl FnOnce(&mut Option<Buffer<Complex64>>) -> Result<()>,
    ) -> Result<()> {
        if self.of.as_ref() != Some(&of) {
            self.of = None;
            fill(&mut self.room)?;
            self.of = Some(of);
        }
        Ok(())
    }

    /// Where it is; null if it was not wanted.
    fn pointer(&self) -> *const Complex64 {
        if self.of.is_some() { pointer(&self.room) } else { ptr::null() }
    }
}

/// A slab, in memory that the next one takes over.
#[derive(Default)]
pub struct SlabBuffers {
    /// Which one is in place, by the identity of its pairs.
    which: Option<(Id, Range<usize>)>,
    wtilde: MatrixBuffer,
    eps: MatrixBuffer,
    /// If a caller has both, in place of these.
    on_gpu: Option<[u64; 2]>,
    vcoul_loc: Option<Buffer<f64>>,
    /// In each layout that was wanted.
    aqsm_local: Vec<(Layout, MatrixBuffer)>,
    /// For the kernels of a layout that take any poles, and for those that take real ones.
    pairs: Vec<((Layout, Poles), PairBuffers)>,
}

/// What kernels read of a slab in place; `wtilde` and `eps` are null if others take their place.
pub struct SlabPointers {
    pub igp: usize,
    pub wtilde: *const Complex64,
    pub eps: *const Complex64,
    pub vcoul_loc: *const f64,
    pub aqsm_local: *const Complex64,
}

/// What is there by this name, or now.
fn entry_mut<K: PartialEq, V: Default>(all: &mut Vec<(K, V)>, key: K) -> &mut V {
    let at = all.iter().position(|(of, _)| *of == key).unwrap_or_else(|| {
        all.push((key, V::default()));
        all.len() - 1
    });
    &mut all[at].1
}

impl SlabBuffers {
    /// Has kernels read `wtilde` and `eps` of the slab that is to be placed if a caller has them on the GPU.
    pub fn read_at(&mut self, pairs: [u64; 2]) {
        self.on_gpu = Some(pairs);
    }

    /// Whether this slab is in place, whatever its matrix elements.
    pub fn holds(&self, slab: SlabView) -> bool {
        self.which == Some(slab.pairs_id())
    }

    pub fn is_empty(&self) -> bool {
        self.which.is_none()
    }

    pub fn forget(&mut self) {
        self.which = None;
        let others = self.aqsm_local.iter_mut().map(|(_, matrix)| matrix);
        let matrices = others.chain([&mut self.wtilde, &mut self.eps]);
        matrices.for_each(|matrix| matrix.of = None);
        self.pairs.iter_mut().for_each(|(_, pairs)| pairs.forget());
    }

    /// Enqueues what all layouts have in common, if it is not in place.
    pub fn place(&mut self, to: &mut Uploads, bands: &BandBuffers, slab: SlabView) -> Result<()> {
        if self.holds(slab) {
            return Ok(());
        }
        self.forget();
        if self.vcoul_loc.as_ref().is_none_or(|buffer| buffer.len() < slab.len()) {
            (self.wtilde, self.eps) = Default::default();
            self.pairs.retain(|((layout, _), _)| !preparation(*layout).replaces());
            let extents = Extents { ngpown: slab.len(), ..to.problem.extents() };
            let is_first = bands.is_empty();
            let all = if is_first { extents.bytes() } else { extents.bytes_of(Of::Slab) };
            // The caller's arrays need no room; the rest is looked at one by one.
            let is_on_gpu = self.on_gpu.is_some() || to.on_gpu.is_some();
            to.require("arrays", if is_on_gpu { 0 } else { all })?;
        }
        to.fill("vcoul_loc", &mut self.vcoul_loc, slab.vcoul_loc(), 0)?;
        self.which = Some(slab.pairs_id());
        Ok(())
    }

    /// Whether `slab` lacks what a kernel at a batch reads of its pairs: to be given to [`SlabBuffers::want`].
    pub fn lacks_pairs(&self, slab: SlabView, batch: &Batch, kernel: &Kernel) -> bool {
        let of_kernel = self.pairs.iter().find(|(key, _)| *key == (kernel.layout, kernel.poles));
        !(self.holds(slab) && of_kernel.is_some_and(|(_, pairs)| pairs.is_of(batch, kernel)))
    }

    /// Enqueues what a kernel lacks of `slab`, which is in place, at a batch, with what was made of its pairs where
    /// it [lacks](SlabBuffers::lacks_pairs) that.
    pub fn want(
        &mut self,
        to: &mut Uploads,
        slab: SlabView,
        (batch, kernel): (&Batch, &Kernel),
        made: Option<Arc<Pairs>>,
    ) -> Result<()> {
        let (layout, prepared) = (kernel.layout, preparation(kernel.layout));
        let mut others = self.aqsm_local.iter().map(|(of, _)| *of).filter(|of| *of != layout);
        if to.makes_room(layout, &mut others) {
            self.aqsm_local.retain(|(of, _)| *of == layout);
            self.pairs.retain(|((of, _), _)| preparation(*of).replaces() == prepared.replaces());
        }
        let order = to.problem.order();
        let aqsm_local = entry_mut(&mut self.aqsm_local, layout);
        aqsm_local.want(slab.id(), |room| match to.on_gpu {
            Some(on_gpu) => on_gpu.lay_aqsm(to, layout, room),
            None => to.fill("aqsm_local", room, &prepared.aqsm_local(slab, order)?, 0),
        })?;
        if prepared.replaces() {
            (self.wtilde, self.eps) = Default::default();
        } else if self.on_gpu.is_none() {
            let of = slab.pairs_id();
            self.wtilde.want(of.clone(), |room| to.fill("wtilde", room, slab.wtilde(), 0))?;
            self.eps.want(of, |room| to.fill("eps", room, slab.eps(), 0))?;
        }
        let pairs = entry_mut(&mut self.pairs, (layout, kernel.poles));
        made.map_or(Ok(()), |made| pairs.fill(to, (batch, kernel), made))
    }

    /// What a kernel reads of the slab in place.
    pub fn pointers(&self, kernel: &Kernel) -> SlabPointers {
        let (_, igp) = self.which.clone().expect("a slab is in place");
        let of_layout = self.aqsm_local.iter().find(|(of, _)| *of == kernel.layout);
        let (_, aqsm_local) = of_layout.expect("the layout was wanted");
        let [wtilde, eps] = match self.on_gpu.filter(|_| !preparation(kernel.layout).replaces()) {
            Some(on_gpu) => on_gpu.map(|at| ptr::without_provenance(at as usize)),
            None => [self.wtilde.pointer(), self.eps.pointer()],
        };
        let is_there = [wtilde, eps].iter().all(|matrix| !matrix.is_null());
        let replaces = preparation(kernel.layout).replaces();
        let (vcoul_loc, aqsm_local) = (pointer(&self.vcoul_loc), aqsm_local.pointer());
        assert!(!aqsm_local.is_null() && is_there != replaces, "the layout was wanted");
        SlabPointers { igp: igp.len(), wtilde, eps, vcoul_loc, aqsm_local }
    }

    /// What a kernel's layout made of its pairs.
    pub fn pairs(&self, kernel: &Kernel) -> &PairBuffers {
        let of_kernel = self.pairs.iter().find(|(key, _)| *key == (kernel.layout, kernel.poles));
        let (_, pairs) = of_kernel.expect("the layout was wanted");
        pairs
    }
}
