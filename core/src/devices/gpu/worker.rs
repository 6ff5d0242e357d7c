//! A GPU as a device, its worker (stream slots, arrays of slabs, launches), and what stays while bands change.

use std::collections::VecDeque;
use std::ops::{DerefMut, Range};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::{ptr, thread};

use gpp_kernels::arrays::{Arguments, Layout, PaperArguments, REPACK_SYMBOL};
use gpp_kernels::intrinsics::WARP;
use gpp_kernels::kernel::{Entry, GpuVersion, Kernel};
use gpp_kernels::plan::EnergiesFrom;
use gpp_kernels::reduction::SecondStageArguments;
use gpp_kernels::single::COPY_SYMBOL;
use gpp_kernels::{plan, reduction};
use num_complex::Complex64;

use crate::catalogue;
#[cfg(feature = "nvml")]
use crate::devices::gauge::{Gauge, nvml::NvmlGauge};
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{
    Buffer, Context, Event, ForeignStream, FunctionAttribute, GpuStream, Pinned, Transfer, Visit,
};
use crate::devices::gpu::modules::{Holding, Loaded};
use crate::devices::gpu::uploads::{
    BandBuffers, Elsewhere, KernelBatch, PairBuffers, PairsCache, Repack, Ring, Uploads, pointer,
};
use crate::devices::{
    Control, Device, DeviceInfo, KernelInfo, SlabSums, Upload, Worker, entry, grid, spawned,
};
use crate::error::Result;
use crate::problem::arrays::{AQSM_LOCAL, MatrixRef};
use crate::problem::layout::Preparation;
use crate::problem::{Batch, Id, Problem, SlabView};

impl Device for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, kernel: &Kernel, entry: &Entry) -> Result<KernelInfo> {
        let loaded = self.load(entry.symbol)?;
        let attribute = |attribute| loaded.function.attribute(attribute).map(Some);
        let blocks = loaded.function.blocks_per_multiprocessor(kernel.threads)?;
        Ok(KernelInfo {
            registers: attribute(FunctionAttribute::NumRegisters)?,
            local_bytes: attribute(FunctionAttribute::LocalSizeBytes)?,
            shared_bytes: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            warps_per_sm: Some(blocks * kernel.threads / WARP),
        })
    }

    #[cfg(feature = "nvml")]
    fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        let gauge = self
            .gauge
            .get_or_init(|| NvmlGauge::for_uuid(self.info.uuid.as_deref()?).map(Arc::new));
        gauge.clone().map(|gauge| gauge as Arc<dyn Gauge>)
    }

    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>> {
        let arrays = Box::new(GpuArrays::new(self, None)?);
        Ok(Box::new(GpuWorker::new(self, problem, Box::new(arrays))))
    }
}

struct GpuWorker<'a> {
    gpu: &'a Gpu,
    problem: &'a Problem,
    elsewhere: Option<&'a Elsewhere<'a>>,
    arrays: Box<dyn DerefMut<Target = GpuArrays> + Send + 'a>,
    /// Slots: first those in flight in the order of their launches, then the others, the last one used at the end.
    order: VecDeque<usize>,
    /// Those of samples that are not in flight.
    samples: Vec<usize>,
    in_flight: usize,
    /// Slots at most: as many as there are slabs, if all find room.
    most: usize,
    batch: Option<(Id, Range<usize>)>,
}

/// Arrays on the GPU, in one layout at a time, what their uploads go through, and the kernels that read them.
struct GpuArrays {
    /// Those with another number have modules of their own, and so energies in constant memory.
    number: usize,
    bands: BandBuffers,
    slots: Vec<StreamSlot>,
    pairs: PairsCache,
    ring: Ring,
    repack: Repack,
    /// Those that were launched, and the second stage.
    kernels: Vec<(&'static Entry, Arc<Loaded>)>,
    second_stage: Arc<Loaded>,
    /// Begin and end of the kernels that were launched last, here or for other states of a call. All run one after the other:
    /// at the same time they would slow each other down and end together, when all streams have uploads to do.
    last: Arc<Mutex<Option<Arc<[Event; 2]>>>>,
}

impl GpuArrays {
    /// None in place. `on_gpu` are addresses of a caller's `wtilde` and `eps`.
    fn new(gpu: &Gpu, on_gpu: Option<[u64; 2]>) -> Result<GpuArrays> {
        let mut slot = StreamSlot::new(&gpu.context)?;
        slot.slab.on_gpu = on_gpu;
        let (bands, pairs, repack, kernels, last) = Default::default();
        let (ring, second_stage) = (Ring::new(&gpu.free), gpu.load(reduction::SYMBOL)?);
        let (number, slots) = (0, vec![slot]);
        Ok(GpuArrays { number, bands, slots, pairs, ring, repack, kernels, second_stage, last })
    }

    fn kernel(&mut self, gpu: &Gpu, kernel: &Kernel, nw: usize) -> Result<Arc<Loaded>> {
        let entry = entry(kernel, nw);
        if let Some((_, loaded)) = self.kernels.iter().find(|(known, _)| ptr::eq(*known, entry)) {
            return Ok(loaded.clone());
        }
        let number = match kernel.energies_from {
            EnergiesFrom::ConstantMemory => self.number,
            _ => 0,
        };
        let loaded = gpu.load_as(entry.symbol, number)?;
        self.kernels.push((entry, loaded.clone()));
        Ok(loaded)
    }
}

impl<'a> GpuWorker<'a> {
    fn new(
        gpu: &'a Gpu,
        problem: &'a Problem,
        arrays: Box<dyn DerefMut<Target = GpuArrays> + Send + 'a>,
    ) -> GpuWorker<'a> {
        let (samples, order): (Vec<_>, Vec<_>) =
            (0..arrays.slots.len()).partition(|slot| arrays.slots[*slot].is_sample);
        let (order, elsewhere, batch) = (order.into(), None, None);
        GpuWorker { gpu, problem, elsewhere, arrays, order, samples, in_flight: 0, most: 1, batch }
    }

    /// Chooses a slab's slot, next in the order: where it is in place, or an empty one, or the one unused longest.
    fn slot_for(&mut self, slab: SlabView) -> Result<usize> {
        let slots = &mut self.arrays.slots;
        if slab.is_sample {
            let is_there = |slot: &usize| slots[*slot].slab.holds(slab);
            let place = self.samples.iter().position(is_there).unwrap_or(0);
            if self.samples.is_empty() {
                self.samples.push(slots.len());
                slots.push(StreamSlot { is_sample: true, ..StreamSlot::new(&self.gpu.context)? });
            }
            self.order.insert(self.in_flight, self.samples.remove(place));
            return Ok(self.order[self.in_flight]);
        }
        let find = |is: &dyn Fn(&SlabBuffers) -> bool| {
            let mut free = self.order.iter().enumerate().skip(self.in_flight);
            free.find(|(_, slot)| is(&slots[**slot].slab)).map(|(place, _)| place)
        };
        let found = find(&|buffers| buffers.holds(slab));
        let slot = match found.or_else(|| find(&|buffers| buffers.which.is_none())) {
            Some(place) => self.order.remove(place),
            None if self.order.iter().filter(|slot| !slots[**slot].is_sample).count()
                < self.most =>
            {
                self.arrays.slots.push(StreamSlot::new(&self.gpu.context)?);
                Some(self.arrays.slots.len() - 1)
            }
            None => self.order.remove(self.in_flight),
        };
        let slot = slot.expect("a slot is free");
        self.order.insert(self.in_flight, slot);
        Ok(slot)
    }

    /// Frees what is in place of slabs, and has at most `most` slots from now on.
    fn empty_slots(&mut self, most: usize) -> Result<()> {
        for &slot in self.order.iter().skip(self.in_flight).chain(&self.samples) {
            let StreamSlot { slab, room, .. } = &mut self.arrays.slots[slot];
            *slab = SlabBuffers { on_gpu: slab.on_gpu, ..SlabBuffers::default() };
            *room = self.gpu.context.buffer("partial sums", 0)?;
        }
        let in_flight = self.order.iter().take(self.in_flight);
        let samples = in_flight.filter(|slot| self.arrays.slots[**slot].is_sample).count();
        self.order.truncate(most + samples);
        self.most = most;
        Ok(())
    }

    /// Enqueues the uploads of what a kernel at a batch reads of a slab. Returns the slot, and the bytes uploaded.
    fn place(&mut self, slab: SlabView, run: KernelBatch) -> Result<(usize, u64)> {
        let slot_index = self.slot_for(slab)?;
        let GpuArrays { bands, slots, pairs, ring, repack, .. } = &mut **self.arrays;
        let slot = &mut slots[slot_index];
        let is_there = slot.slab.holds(slab) && slot.slab.pairs.is_of(run);
        let mut to = Uploads {
            context: &self.gpu.context,
            stream: &slot.stream,
            begin: &slot.uploads[0],
            problem: self.problem,
            ring,
            elsewhere: self.elsewhere,
            repack,
            bytes: 0,
        };
        let problem = self.problem;
        let mut make = || pairs.get_or_make(problem, slab, run);
        thread::scope(|scope| {
            // Pairs are made while the rest is uploaded, if that takes longer than to start a thread.
            let making = match slab.wtilde().len() {
                _ if is_there => None,
                LARGE.. => Some(Err(spawned(scope, make)?)),
                _ => Some(Ok(make()?)),
            };
            slot.slab.begin(&mut to, slab)?;
            bands.want(&mut to, run)?;
            slot.slab.want(&mut to, slab, run)?;
            let made = making.map(|making| {
                making.or_else(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            });
            made.map_or(Ok(()), |made| slot.slab.pairs.fill(&mut to, run, made?))
        })?;
        let bytes = to.bytes;
        if bytes > 0 {
            slot.uploads[1].record(&slot.stream)?;
        }
        Ok((slot_index, bytes))
    }

    fn launch(&mut self, slab: SlabView<'_>, batch: &Batch, gpu: &GpuVersion) -> Result<()> {
        let (plan, kernel) = (&batch.plan, batch.plan.kernel(gpu));
        let loaded = self.arrays.kernel(self.gpu, kernel, batch.nw())?;
        let second_stage = self.arrays.second_stage.clone();
        assert!(
            self.in_flight == 0 || self.batch.as_ref() == Some(&batch.id()),
            "all slabs in flight are at one batch"
        );
        self.batch = Some(batch.id());
        let (at, uploaded) = self.place(slab, KernelBatch { batch, kernel })?;
        let pairs = self.arrays.slots[at].slab.pairs.made();
        let (grid, bound) = (grid(gpu, self.problem, batch, slab, pairs)?, pairs.bound());
        let values = kernel.values([slab.nbands(), batch.nw()].map(|count| count as u64)) as usize;
        let sums = grid.groups as usize * values;
        let partials = grid.per_group() as usize * sums;
        self.arrays.slots[at].poison(&self.gpu.context, partials, sums)?;

        let slot = &self.arrays.slots[at];
        // Until the kernels are done nobody fills the table with other energies.
        let reads = kernel.energies_from == EnergiesFrom::ConstantMemory;
        let holding = reads.then(|| {
            let table = plan.constants(kernel);
            let fill = || loaded.function.set(plan::SYMBOL, &table[..], &slot.stream);
            loaded.table.holding(&table, fill)
        });
        let holding = holding.transpose()?;
        let second = SecondStageArguments {
            partials: slot.partials(),
            count: grid.per_group(),
            sums: slot.room.pointer(),
        };
        let launch_all = || -> Result<()> {
            let stream = &slot.stream;
            let mut last = self.arrays.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.iter().try_for_each(|kernels| stream.wait_for(&kernels[1]))?;
            slot.kernels[0].record(stream)?;
            for iw in kernel.launches(batch.nw()) {
                let arguments = self.arguments(kernel, iw, batch, slot);
                let grid = [grid.blocks(), grid.threads, 0];
                // SAFETY: the launch contract. Bands and slab checked their arrays, which were uploaded whole in the
                // kernel's layout, in this stream or before; nobody writes them, and only this stream the partial sums;
                // the table is held. `grid` checked the dimensions. The arguments are the entry's, whose module
                // belongs to this context.
                unsafe { loaded.function.launch(stream, grid, &arguments.pointers())? };
            }
            let grid = [sums as u32, reduction::THREADS, 0];
            // SAFETY: the launch contract: one block for each value of each group, of which the launches above store
            // `count` partial sums; `sums` has room for as many.
            unsafe { second_stage.function.launch(stream, grid, &second.pointers())? };
            slot.kernels[1].record(stream)?;
            *last = Some(slot.kernels.clone());
            Ok(())
        };
        // After a failure too, no kernel may still run when the table is released.
        launch_all().inspect_err(|_| _ = slot.stream.synchronize())?;
        let slot = &mut self.arrays.slots[at];
        let (groups, blocks) = (grid.groups as usize, Some(grid.blocks()));
        let found = SlabSums { groups, blocks, bound, ..SlabSums::default() };
        let results = slot.results.take().expect("there is room for the sums");
        slot.in_flight = Some(LaunchInFlight {
            version: gpu.id(),
            uploaded,
            sums,
            found,
            results: results.download(sums, &slot.room, &slot.stream)?,
            _holding: holding,
        });
        self.in_flight += 1;
        Ok(())
    }

    fn arguments(
        &self,
        kernel: &Kernel,
        iw: u32,
        batch: &Batch,
        slot: &StreamSlot,
    ) -> Box<dyn Arguments> {
        let (bands, slab) = (&self.arrays.bands, &slot.slab);
        let (_, igp) = slab.which.as_ref().expect("a slab is in place");
        let [wtilde, eps] = match slab.on_gpu {
            // Other arrays take their place.
            _ if Preparation(kernel.layout).replaces() => [ptr::null(); 2],
            Some(on_gpu) => on_gpu.map(|at| ptr::without_provenance(at as usize)),
            None => [pointer(&slab.wtilde), pointer(&slab.eps)],
        };
        let (header, limits) = (self.problem.header(), self.problem.limits());
        let common = PaperArguments {
            wtilde,
            eps,
            aqsn: bands.aqsn(),
            aqsm_local: pointer(&slab.aqsm_local),
            wx: pointer(&bands.wx),
            vcoul_loc: pointer(&slab.vcoul_loc),
            occ: pointer(&bands.occ),
            partials: slot.partials(),
            nbands: header.nbands as u32,
            ngpown: igp.len() as u32,
            ncouls: header.ncouls as u32,
            nw: batch.nw() as u32,
            iw,
            limittwo: limits.limittwo,
            limitone: limits.limitone,
            sexcut: limits.sexcut,
        };
        slab.pairs.made().arguments(common, (batch, kernel), &slab.pairs.pointers())
    }
}

/// Pairs of a slab that take longer than to start a thread.
const LARGE: usize = 1 << 18;

/// Slots that slabs stream through: one's upload runs under the other's kernels.
const STREAMING: usize = 2;

impl Worker for GpuWorker<'_> {
    fn expect(&mut self, slabs: usize) -> Result<()> {
        let slots = &self.arrays.slots;
        self.order = (0..slots.len()).filter(|slot| !slots[*slot].is_sample).collect();
        self.empty_slots(slabs.max(STREAMING))
    }

    fn device(&self) -> &str {
        &self.gpu.info.id
    }

    fn depth(&self) -> usize {
        self.most.min(STREAMING)
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Version,
        _: Control,
    ) -> Result<()> {
        let gpu = kernel.require_gpu()?;
        let Err(error) = self.launch(slab, batch, gpu) else { return Ok(()) };
        let next = self.order.get(self.in_flight);
        if next.is_some_and(|slot| self.arrays.slots[*slot].is_sample) {
            self.samples.extend(self.order.remove(self.in_flight));
        }
        if !error.is_of_device_memory() || self.order.len() <= STREAMING {
            return Err(error);
        }
        // Not all slabs find room: none stays until its next turn.
        self.empty_slots(STREAMING)?;
        self.launch(slab, batch, gpu)
    }

    fn ready(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Version,
    ) -> Result<()> {
        let kernel = batch.plan.kernel(kernel.require_gpu()?);
        self.arrays.kernel(self.gpu, kernel, batch.nw())?;
        let (at, _) = self.place(slab, KernelBatch { batch, kernel })?;
        self.arrays.slots[at].stream.synchronize()
    }

    fn finish(&mut self) -> Result<SlabSums> {
        let first = self.order.pop_front().expect("there is a slot");
        match self.arrays.slots[first].is_sample {
            true => self.samples.push(first),
            false => self.order.push_back(first),
        }
        self.in_flight -= 1;
        self.arrays.slots[first].finish()
    }
}

/// Partial sums begin at a multiple of so many numbers, as separate memory would.
const ALIGNED: usize = 32;

/// A stream with memory for a slab and its sums. Uploads of one slot run during the kernels of another.
struct StreamSlot {
    /// Whether it is for samples of the slabs of others.
    is_sample: bool,
    /// First, so that what was launched is done before the rest is dropped.
    in_flight: Option<LaunchInFlight>,
    slab: SlabBuffers,
    /// Sums, then partial sums.
    room: Buffer<f64>,
    partials: usize,
    results: Option<Pinned<f64>>,
    uploads: [Event; 2],
    kernels: Arc<[Event; 2]>,
    stream: GpuStream,
}

struct LaunchInFlight {
    version: &'static str,
    uploaded: u64,
    sums: usize,
    /// But for values and times.
    found: SlabSums,
    results: Transfer<f64>,
    _holding: Option<Holding>,
}

impl StreamSlot {
    fn new(context: &Context) -> Result<StreamSlot> {
        Ok(StreamSlot {
            is_sample: false,
            in_flight: None,
            slab: SlabBuffers::default(),
            room: context.buffer("partial sums", 0)?,
            partials: 0,
            results: None,
            uploads: [context.event()?, context.event()?],
            kernels: [context.event()?, context.event()?].into(),
            stream: context.stream("the calculation")?,
        })
    }

    /// Makes room for partial sums and sums, all NaN, which no comparison passes, until a kernel writes them.
    fn poison(&mut self, context: &Context, partials: usize, sums: usize) -> Result<()> {
        self.partials = sums.next_multiple_of(ALIGNED);
        let length = self.partials + partials;
        if self.room.len() < length {
            // The old memory is freed first: there may be no room for both.
            self.room = context.buffer("partial sums", 0)?;
            self.room = context.buffer("partial sums", length)?;
        }
        if self.results.as_ref().is_none_or(|results| results.len() < sums) {
            self.results = Some(context.pinned("sums", sums)?);
        }
        self.room.fill(0xff, length, &self.stream)
    }

    fn partials(&self) -> *mut f64 {
        self.room.pointer().wrapping_add(self.partials)
    }

    fn finish(&mut self) -> Result<SlabSums> {
        let LaunchInFlight { version, uploaded, sums, found, results, _holding } =
            self.in_flight.take().expect("launched");
        let results = results.wait_for(version).inspect_err(|_| _ = self.stream.synchronize())?;
        let seconds = |events: &[Event; 2], what| events[1].seconds_since(&events[0], what);
        let upload = match uploaded {
            0 => Upload::default(),
            bytes => Upload { bytes, seconds: seconds(&self.uploads, "the uploads")? },
        };
        let values = results[..sums].to_vec();
        self.results = Some(results);
        Ok(SlabSums { values, seconds: seconds(&self.kernels, version)?, upload, ..found })
    }
}

/// The arrays of a slab on a GPU in one layout, in memory that the next slab reuses.
#[derive(Default)]
struct SlabBuffers {
    /// The slab in place, by the identity of its pairs.
    which: Option<(Id, Range<usize>)>,
    layout: Option<Layout>,
    elements: Option<(Id, Range<usize>)>,
    has_poles: bool,
    wtilde: Option<Buffer<Complex64>>,
    eps: Option<Buffer<Complex64>>,
    /// Addresses of a caller's arrays in place of these.
    on_gpu: Option<[u64; 2]>,
    vcoul_loc: Option<Buffer<f64>>,
    aqsm_local: Option<Buffer<Complex64>>,
    pairs: PairBuffers,
}

impl SlabBuffers {
    /// Whether this slab is in place, whatever its matrix elements.
    fn holds(&self, slab: SlabView) -> bool {
        self.which == Some(slab.pairs_id())
    }

    /// Enqueues what all layouts have in common if another slab is in place.
    fn begin(&mut self, to: &mut Uploads, slab: SlabView) -> Result<()> {
        if self.holds(slab) {
            return Ok(());
        }
        (self.which, self.elements, self.has_poles) = (None, None, false);
        self.pairs.made = None;
        if self.vcoul_loc.as_ref().is_none_or(|buffer| buffer.len() < slab.len()) {
            *self = SlabBuffers { on_gpu: self.on_gpu, ..SlabBuffers::default() };
        }
        to.fill("vcoul_loc", &mut self.vcoul_loc, slab.vcoul_loc(), 0)?;
        self.which = Some(slab.pairs_id());
        Ok(())
    }

    /// Enqueues what a kernel at a batch lacks of the slab in place, except pairs.
    fn want(&mut self, to: &mut Uploads, slab: SlabView, run: KernelBatch) -> Result<()> {
        let (layout, prepared) = (run.kernel.layout, Preparation(run.kernel.layout));
        if self.layout.replace(layout) != Some(layout) {
            // Sorted pairs and `wtilde` with `eps` take each other's room.
            (self.elements, self.pairs) = Default::default();
        }
        if self.elements != Some(slab.id()) {
            self.elements = None;
            match to.elsewhere {
                Some(elsewhere) => elsewhere.lay(to, &AQSM_LOCAL, layout, &mut self.aqsm_local)?,
                None => {
                    let values = prepared.aqsm_local(slab, to.problem.order())?;
                    to.fill_elements(&AQSM_LOCAL, &mut self.aqsm_local, &values)?;
                }
            }
            self.elements = Some(slab.id());
        }
        if prepared.replaces() {
            (self.wtilde, self.eps, self.has_poles) = Default::default();
        } else if self.on_gpu.is_none() && !self.has_poles {
            to.fill("wtilde", &mut self.wtilde, slab.wtilde(), 0)?;
            to.fill("eps", &mut self.eps, slab.eps(), 0)?;
            self.has_poles = true;
        }
        Ok(())
    }
}

/// A slab of all igp that stays, with memory for the rest, for one state and for others at the same time.
#[derive(Default)]
pub struct Resident {
    pub on_gpu: Option<[u64; 2]>,
    /// Those after the first one read its `wtilde` and `eps`. None before the first calculation, and after a failure.
    slots: Vec<StateSlot>,
}

/// Where one state at a time is summed, in streams of its own.
pub struct StateSlot {
    arrays: GpuArrays,
    /// Identity of the energies of the last calculation.
    energies: Option<Id>,
}

/// It may be dropped on a caller's thread.
impl Drop for Resident {
    fn drop(&mut self) {
        let _visit = Visit::begin();
        self.slots.clear();
    }
}

impl Resident {
    /// For a caller's `wtilde` and `eps` at these addresses, `(ncouls, ngpown)` without gaps.
    ///
    /// # Safety
    /// They are on the device with the values of the problems that are summed, and nobody writes them while this is used.
    pub unsafe fn on_gpu(pairs: [u64; 2]) -> Resident {
        Resident { on_gpu: Some(pairs), slots: Vec::new() }
    }

    /// The slot of a single state.
    pub fn slot(&mut self, gpu: &Gpu) -> Result<&mut StateSlot> {
        if self.slots.is_empty() {
            self.slots.push(StateSlot::new(gpu, 0, self.on_gpu)?);
        }
        self.slots[0].arrays.ring.has_others = false;
        Ok(&mut self.slots[0])
    }

    /// Whether `wtilde` and `eps` are in place.
    pub fn has_pairs(&self) -> bool {
        self.slots.first().is_some_and(|slot| slot.pairs().is_some())
    }

    /// Up to `count` slots for states at the same time; none if `wtilde` and `eps` are not in place. As long as they are in
    /// use, no kernel runs in the first one whose layout replaces these.
    pub fn slots(&mut self, gpu: &Gpu, count: usize) -> &mut [StateSlot] {
        let Some(pairs) = self.slots.first().and_then(StateSlot::pairs) else { return &mut [] };
        // Their memory may be another since the last call.
        let has_moved = |slot: &StateSlot| slot.arrays.slots[0].slab.on_gpu != Some(pairs);
        if self.slots.iter().skip(1).any(has_moved) {
            self.slots.truncate(1);
        }
        while self.slots.len() < count {
            // Without memory for more there are fewer.
            let Ok(mut slot) = StateSlot::new(gpu, self.slots.len(), Some(pairs)) else { break };
            slot.arrays.last = self.slots[0].arrays.last.clone();
            self.slots.push(slot);
        }
        let count = count.min(self.slots.len());
        let slots = &mut self.slots[..count];
        slots.iter_mut().for_each(|slot| slot.arrays.ring.has_others = true);
        slots
    }

    /// After a failure: nothing reads the caller's arrays any more, and nothing is in place.
    pub fn forget(&mut self) {
        for slot in &self.slots {
            _ = slot.arrays.slots[0].stream.synchronize();
        }
        self.slots.clear();
    }
}

impl StateSlot {
    fn new(gpu: &Gpu, number: usize, on_gpu: Option<[u64; 2]>) -> Result<StateSlot> {
        Ok(StateSlot {
            arrays: GpuArrays { number, ..GpuArrays::new(gpu, on_gpu)? },
            energies: None,
        })
    }

    /// Whether all matrix elements that were uploaded since the last call are within bounds.
    pub fn were_fit(&mut self) -> bool {
        std::mem::replace(&mut self.arrays.ring.are_fit, true)
    }

    /// The addresses of `wtilde` and `eps`, if they are in place.
    fn pairs(&self) -> Option<[u64; 2]> {
        let slab = &self.arrays.slots[0].slab;
        let address = |of| pointer::<Complex64>(of).addr() as u64;
        let own = || slab.has_poles.then(|| [&slab.wtilde, &slab.eps].map(address));
        slab.on_gpu.or_else(own)
    }

    /// A worker for the slab of all igp of a problem, after the pending work of the caller's stream `after`. Only
    /// `aqsm_local` of the slab may differ from one problem to the next.
    ///
    /// # Safety
    /// Matrix elements `elsewhere` are there, with as many rows and bands as the problem has, as long as it works,
    /// and only pending work of the stream writes them.
    pub unsafe fn worker<'a>(
        &'a mut self,
        gpu: &'a Gpu,
        problem: &'a Problem,
        elsewhere: Option<&'a Elsewhere<'a>>,
        after: ForeignStream,
    ) -> Result<Box<dyn Worker + 'a>> {
        let StateSlot { arrays, energies } = self;
        if energies.replace(problem.bands().id()) != Some(problem.bands().id()) {
            // Those of other energies are not needed again.
            arrays.pairs = PairsCache::default();
        }
        // Heavy pairs are of the last problem's matrix elements.
        arrays.pairs.forget_single();
        arrays.slots.iter_mut().for_each(|slot| slot.slab.pairs.forget_single());
        let are_on_gpu = |of: &Elsewhere| matches!(of.aqsn, MatrixRef::Device(_));
        if elsewhere.is_some_and(are_on_gpu) && arrays.repack.kernels.is_none() {
            arrays.repack.kernels = Some([gpu.load(REPACK_SYMBOL)?, gpu.load(COPY_SYMBOL)?]);
        }
        arrays.slots[0].stream.wait_for_foreign(after)?;
        Ok(Box::new(GpuWorker { elsewhere, ..GpuWorker::new(gpu, problem, Box::new(arrays)) }))
    }
}
