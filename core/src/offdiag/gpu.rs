//! A task on a GPU: worker, and choice of version.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::arrays::{self, Arguments};
use gpp_kernels::offdiag::mma::COLUMNS;
use gpp_kernels::offdiag::pack::{A_FRAGMENT, B_FRAGMENT, FallbackPairs, Fold, PackV, THREADS};
use gpp_kernels::offdiag::poles::{FallbackPair, MatrixLimits};
use gpp_kernels::offdiag::product::{ProductSigma, ProductU};
pub use gpp_kernels::offdiag::{ALL, ItemKind, MatrixVersion};

use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{Buffer, Context, Event, GpuStream, Pinned, Transfer};
use crate::devices::gpu::modules::Loaded;
use crate::devices::{Advance, ComputeCapability, Device};
use crate::error::{Result, invalid};
use crate::offdiag::images::{self, ImageShape};
use crate::offdiag::{GROUP, MatrixSums, MatrixTask, MatrixWorker};
use crate::schedule::StepPipeline;

/// While the last blocks of one stream's launch run, those of the other fill the device.
const STREAMS: usize = 2;

/// Steps in flight: one more than streams, so that none of these waits for the host.
const IN_FLIGHT: usize = STREAMS + 1;

/// Parts that may be dealt to a GPU before the first of them is added: those in flight, and one more.
const AHEAD: usize = IN_FLIGHT + 1;

/// Bytes of the device's memory that are left alone.
const SPARE: u64 = 256 << 20;

/// A task in place on a GPU. Two streams take steps (a part at some energies) alternately, each with its own sums. At a
/// step's end a kernel adds up their slots and clears them; the result is copied while further steps run.
pub struct MatrixOnGpu<'a> {
    /// First, so that what was launched is done before the rest goes.
    /// Of each step the energies, begin and end of its products, and its sums on their way.
    in_flight: VecDeque<(Range<usize>, [Event; 2], Transfer<f64>)>,
    task: MatrixTask<'a>,
    shape: ImageShape,
    context: &'a Context,
    name: &'a str,
    kernels: MatrixKernels,
    poles: Buffer<f64>,
    fallback: Buffer<u64>,
    /// The pairs of [`images::scaled`].
    scaled: Buffer<u64>,
    begins: Buffer<u32>,
    rows: Buffer<u32>,
    vcoul: Buffer<f64>,
    w: Buffer<f64>,
    weights: Buffer<f64>,
    together: usize,
    slots: Vec<MatrixSlot>,
    uploads: GpuStream,
    /// A of the first parts that were summed, as many as find room.
    resident: BTreeMap<usize, Buffer<f64>>,
    most_resident: usize,
    /// Room for the others, one for each stream, and the copy of what is there, once there is one.
    passing: Vec<(Buffer<f64>, Option<Transfer<f64>>)>,
    /// The slot and the first energy of the next step.
    next: (usize, usize),
    /// The sums of the part whose steps end.
    sums: Option<MatrixSums>,
    spare: Vec<Pinned<f64>>,
    /// The begin of the calculation, the seconds that are covered by products, and when the last of these ended.
    begin: Event,
    seconds: f64,
    until: f64,
}

/// A stream with room for a part's U and V, and its sums.
struct MatrixSlot {
    stream: GpuStream,
    u: Buffer<f64>,
    v: Buffer<f64>,
    /// Of `sch` and `ssx` of each energy, in slots.
    sums: Buffer<f64>,
    folded: Buffer<f64>,
}

impl<'a> MatrixOnGpu<'a> {
    /// Brings all of a task but A, which comes with the parts, to a device that has the version's instructions.
    pub fn new(
        gpu: &'a Gpu,
        task: MatrixTask<'a>,
        version: &'static MatrixVersion,
    ) -> Result<MatrixOnGpu<'a>> {
        let shape = ImageShape::for_task(&task, version);
        let context = &gpu.context;
        let stream = context.stream("the images")?;
        let (image, fallback) = images::poles(&task, &shape);
        let [pairs, scaled] = [&fallback, &images::scaled(&task, &fallback)]
            .map(|pairs| pairs.iter().flat_map(words).collect::<Vec<u64>>());
        let (rows, vcoul) = images::rows(&task, &shape);
        let (w, weights) = images::energies(&task);
        let together = shape.together(task.nw());
        let slot = |_| {
            Ok(MatrixSlot {
                stream: context.stream("the products")?,
                u: context.buffer("U", shape.u())?,
                v: context.buffer("V", shape.v())?,
                sums: context.buffer("sums of the matrix", 2 * together * shape.sums())?,
                folded: context.buffer("sums of the matrix", 2 * together * shape.folded())?,
            })
        };
        let mut on_gpu = MatrixOnGpu {
            in_flight: VecDeque::new(),
            kernels: MatrixKernels::load(gpu, &task, &shape)?,
            poles: context.upload("poles", &image, &stream)?,
            fallback: context.upload("fallback pairs", &pairs, &stream)?,
            scaled: context.upload("fallback pairs", &scaled, &stream)?,
            begins: context.upload("fallback pairs", &images::begins(&fallback), &stream)?,
            rows: context.upload("rows of igp", &rows, &stream)?,
            vcoul: context.upload("vcoul_loc", &vcoul, &stream)?,
            w: context.upload("wx", &w, &stream)?,
            weights: context.upload("weights", &weights, &stream)?,
            together,
            slots: (0..STREAMS).map(slot).collect::<Result<_>>()?,
            uploads: stream,
            resident: BTreeMap::new(),
            most_resident: task.parts(),
            passing: Vec::new(),
            next: (0, 0),
            sums: None,
            spare: Vec::new(),
            begin: context.event()?,
            seconds: 0.0,
            until: 0.0,
            name: &gpu.info().id,
            context,
            task,
            shape,
        };
        let (free, _) = context.memory()?;
        let fit = (free.saturating_sub(SPARE) / (8 * shape.a() as u64)) as usize;
        if fit < on_gpu.most_resident {
            let room = |_| Ok((context.buffer("A", shape.a())?, None));
            on_gpu.passing = (0..STREAMS).map(room).collect::<Result<_>>()?;
            on_gpu.most_resident = fit.saturating_sub(STREAMS);
        }
        Ok(on_gpu)
    }

    fn launch(
        &self,
        slot: &MatrixSlot,
        a: *const f64,
        batch: &PartAtEnergy,
        sums: *mut f64,
    ) -> Result<()> {
        let place = ImageAddresses {
            a,
            poles: self.poles.pointer(),
            pairs: self.fallback.pointer().cast(),
            scaled: self.scaled.pointer().cast(),
            begins: self.begins.pointer(),
            columns: self.begins.len() as u32 - 1,
            rows: self.rows.pointer(),
            vcoul: self.vcoul.pointer(),
            w: self.w.pointer(),
            weights: self.weights.pointer(),
            u: slot.u.pointer(),
            v: slot.v.pointer(),
        };
        let Launches { first, fallback, gather, second } =
            Launches::for_batch(&self.task, &self.shape, &place, batch, sums);
        let (kernels, MatrixVersion { tile_u, tile_sigma, .. }) =
            (&self.kernels, self.shape.version);
        let of_u = kernels.first[batch.kind as usize].as_ref().expect("loaded for the task");
        // SAFETY: the arguments are the kernels', their arrays of the shape's dimensions and of this device; what
        // another launch reads is written before it in its stream, and lives as long as this.
        unsafe {
            of_u.launch(&slot.stream, first.blocks(*tile_u), &first)?;
            for fallback in fallback {
                kernels.fallback.launch(&slot.stream, fallback.blocks(), &fallback)?;
            }
            if batch.gathers {
                kernels.gather.launch(&slot.stream, gather.blocks(), &gather)?;
            }
            kernels.second.launch(&slot.stream, second.blocks(*tile_sigma), &second)
        }
    }

    /// The address of A of a part for launches in a slot's stream: in place, or uploaded now.
    fn a(&mut self, part: usize, slot: usize) -> Result<*const f64> {
        if let Some(a) = self.resident.get(&part) {
            return Ok(a.pointer());
        }
        if self.resident.len() < self.most_resident {
            let mut image = vec![0.0; self.shape.a()];
            images::fill(&self.task, &self.shape, part, &mut image);
            let a = self.context.upload("A", &image, &self.uploads)?;
            return Ok(self.resident.entry(part).or_insert(a).pointer());
        }
        let (room, copy) = &mut self.passing[slot];
        let mut image = match copy.take() {
            Some(copy) => copy.wait()?,
            None => self.context.pinned("A", self.shape.a())?,
        };
        images::fill(&self.task, &self.shape, part, &mut image);
        // In this stream, so after all that still reads what was there; the next part's is made meanwhile.
        *copy = Some(image.upload(self.shape.a(), room, 0, &self.slots[slot].stream)?);
        Ok(room.pointer())
    }
}

struct MatrixKernel {
    loaded: Arc<Loaded>,
    threads: u32,
    /// Bytes of dynamic shared memory.
    shared: u32,
}

impl MatrixKernel {
    /// # Safety
    /// The kernels' launch contract; the arguments are the kernel's.
    unsafe fn launch(&self, on: &GpuStream, blocks: u32, arguments: &dyn Arguments) -> Result<()> {
        let grid = [blocks, self.threads, self.shared];
        // SAFETY: this function's own contract.
        unsafe { self.loaded.function.launch(on, grid, &arguments.pointers()) }
    }
}

struct MatrixKernels {
    /// U of each [`ItemKind`] that the task has.
    first: [Option<MatrixKernel>; 3],
    fallback: MatrixKernel,
    gather: MatrixKernel,
    second: MatrixKernel,
    fold: MatrixKernel,
}

impl MatrixKernels {
    fn load(gpu: &Gpu, task: &MatrixTask, shape: &ImageShape) -> Result<MatrixKernels> {
        let kernel = |symbol, threads, shared| -> Result<MatrixKernel> {
            Ok(MatrixKernel { loaded: gpu.load(symbol)?, threads, shared })
        };
        let MatrixVersion { tile_u, tile_sigma, symbols_u, symbol_sigma, .. } = *shape.version;
        let of_u = shape.version.shared(tile_u, shape.words());
        let symbols_u = symbols_u[usize::from(!shape.real)];
        let needed: Vec<ItemKind> = (0..task.parts())
            .flat_map(|part| batches(task, 0..1, part))
            .map(|batch| batch.kind)
            .collect();
        let first = ItemKind::ALL.map(|kind| {
            let symbol = needed.contains(&kind).then_some(symbols_u[kind as usize]);
            symbol.map(|symbol| kernel(symbol, tile_u.threads(), of_u)).transpose()
        });
        let [hole, exchange, occupied] = first;
        let of_sigma = shape.version.shared(tile_sigma, 2);
        Ok(MatrixKernels {
            first: [hole?, exchange?, occupied?],
            fallback: kernel(FallbackPairs::SYMBOL, THREADS, 0)?,
            gather: kernel(PackV::SYMBOL, THREADS, 0)?,
            second: kernel(symbol_sigma, tile_sigma.threads(), of_sigma)?,
            fold: kernel(Fold::SYMBOL, THREADS, 0)?,
        })
    }
}

fn words(fallback: &FallbackPair) -> [u64; 5] {
    let FallbackPair { wtilde, eps, ig, igp } = *fallback;
    let [a, b, c, d] = [wtilde.re, wtilde.im, eps.re, eps.im].map(f64::to_bits);
    [a, b, c, d, u64::from(igp) << 32 | u64::from(ig)]
}

/// Addresses of the arrays of [`images`], on a device or here.
#[derive(Clone, Copy)]
pub struct ImageAddresses {
    pub a: *const f64,
    pub poles: *const f64,
    /// Fallback pairs, where those of an igp begin, and how many igp have any.
    pub pairs: *const FallbackPair,
    pub begins: *const u32,
    /// The pairs of [`images::scaled`].
    pub scaled: *const FallbackPair,
    pub columns: u32,
    pub rows: *const u32,
    pub vcoul: *const f64,
    pub w: *const f64,
    pub weights: *const f64,
    pub u: *mut f64,
    pub v: *mut f64,
}

/// Bands n of a part at an energy, of one kind of P.
#[derive(Clone, Debug)]
pub struct PartAtEnergy {
    pub n: Range<usize>,
    pub iw: usize,
    pub kind: ItemKind,
    /// Whether V is made: at the first energy. It is the same at the others.
    pub gathers: bool,
}

impl PartAtEnergy {
    /// To which of the matrices at its energy it adds: 0 of CH, or Σ alone, or 1 of SX.
    pub fn matrix(&self, task: &MatrixTask) -> usize {
        usize::from(self.kind == ItemKind::Exchange && !task.sigma_alone)
    }
}

pub struct Launches {
    pub first: ProductU,
    pub fallback: Vec<FallbackPairs>,
    pub gather: PackV,
    pub second: ProductSigma,
}

impl Launches {
    /// Of a batch whose sums are added to `sums`.
    pub fn for_batch(
        task: &MatrixTask,
        shape: &ImageShape,
        place: &ImageAddresses,
        batch: &PartAtEnergy,
        sums: *mut f64,
    ) -> Launches {
        let ImageAddresses { a, poles, pairs, begins, columns, rows, vcoul, .. } = *place;
        let ImageAddresses { scaled, u, v, .. } = *place;
        let ImageShape { fragments, steps, right, second, slots, .. } = *shape;
        let (nbands, nw, n) = (task.problem.occ().len(), task.nw(), batch.n.start);
        let a = a.wrapping_add(n % GROUP * (fragments * A_FRAGMENT) as usize);
        let w = place.w.wrapping_add(batch.iw * nbands + n);
        let exact_w = w.wrapping_add(nw * nbands);
        let is_exchange = batch.kind == ItemKind::Exchange;
        let weights = place.weights.wrapping_add(usize::from(is_exchange) * nbands + n);
        let (count, group) = (batch.n.len() as u32, shape.group());
        let MatrixLimits { first, sexcut } = images::limits(task, shape);
        let of_u =
            ProductU { a, poles, w, u, steps, count, fragments, group, right, first, sexcut };
        let arrays::Limits { limittwo, limitone, sexcut } = task.problem.limits();
        let of_pairs = |pairs, exchange| FallbackPairs {
            a,
            pairs,
            begins,
            w: exact_w,
            u,
            columns,
            steps,
            count,
            fragments,
            group,
            right,
            exchange: u32::from(exchange),
            limittwo,
            limitone,
            sexcut,
        };
        let fallback = match batch.kind {
            _ if columns == 0 => Vec::new(),
            ItemKind::Occupied => vec![of_pairs(pairs, false), of_pairs(scaled, true)],
            ItemKind::Hole | ItemKind::Exchange => vec![of_pairs(pairs, is_exchange)],
        };
        let gather = PackV {
            a,
            rows,
            vcoul,
            weights,
            v,
            steps,
            count,
            fragments,
            group,
            igp: right * COLUMNS,
            right: second,
        };
        let (items, steps, left, right) = (count, right, fragments, second);
        let second = ProductSigma { u, v, sums, items, slots, steps, left, right };
        Launches { first: of_u, fallback, gather, second }
    }
}

/// The batches of a part in launch order, each at all energies: `sch` of all n, then `ssx` up to the last occupied. For
/// Σ alone n that follow each other: those that are fully occupied, `sch` of the others, and `ssx` of those whose
/// occupation is fractional.
pub fn batches(task: &MatrixTask, iw: Range<usize>, part: usize) -> Vec<PartAtEnergy> {
    let (part, occ) = (task.part(part), task.problem.occ());
    let runs = |kind, is_of_kind: &dyn Fn(f64) -> bool| -> Vec<(Range<usize>, ItemKind)> {
        let n: Vec<usize> = part.clone().filter(|&n| is_of_kind(occ[n])).collect();
        let runs = n.chunk_by(|before, n| before + 1 == *n);
        runs.map(|run| (run[0]..run[0] + run.len(), kind)).collect()
    };
    let kinds = if task.sigma_alone {
        let is_fractional = |occ| occ != 0.0 && occ != 1.0;
        [
            runs(ItemKind::Occupied, &|occ| occ == 1.0),
            runs(ItemKind::Hole, &|occ| occ != 1.0),
            runs(ItemKind::Exchange, &is_fractional),
        ]
        .concat()
    } else {
        let last = part.clone().rev().find(|&n| occ[n] != 0.0);
        let occupied = last.map(|last| (part.start..last + 1, ItemKind::Exchange));
        [(part.clone(), ItemKind::Hole)].into_iter().chain(occupied).collect()
    };
    let first = iw.start;
    let at_energies = |(n, kind): (Range<usize>, ItemKind)| {
        iw.clone().map(move |iw| PartAtEnergy { n: n.clone(), iw, kind, gathers: iw == first })
    };
    kinds.into_iter().flat_map(at_energies).collect()
}

impl StepPipeline<MatrixSums> for MatrixOnGpu<'_> {
    fn device(&self) -> &str {
        self.name
    }

    fn has_room(&self) -> bool {
        self.in_flight.len() < IN_FLIGHT
    }

    fn begin(&mut self, part: usize, _: Advance) -> Result<bool> {
        let ((at, first), nw) = (self.next, self.task.nw());
        let iw = first..nw.min(first + self.together);
        let a = self.a(part, at)?;
        let to = match self.spare.pop() {
            Some(spare) => spare,
            None => self.context.pinned("sums of a part", self.slots[at].folded.len())?,
        };
        let slot = &self.slots[at];
        let span = [self.context.event()?, self.context.event()?];
        span[0].record(&slot.stream)?;
        for batch in batches(&self.task, iw.clone(), part) {
            let matrix = 2 * (batch.iw - iw.start) + batch.matrix(&self.task);
            let sums = slot.sums.pointer().wrapping_add(matrix * self.shape.sums());
            self.launch(slot, a, &batch, sums)?;
        }
        span[1].record(&slot.stream)?;
        let fold = self.shape.fold(slot.sums.pointer(), slot.folded.pointer(), 2 * iw.len() as u32);
        // SAFETY: the arguments are the kernel's, their arrays of the shape's dimensions and of this device; the sums
        // are written before it in its stream.
        unsafe { self.kernels.fold.launch(&slot.stream, fold.blocks(), &fold)? };
        let copy = to.download(2 * iw.len() * self.shape.folded(), &slot.folded, &slot.stream)?;
        let is_last = iw.end == nw;
        self.next = ((at + 1) % STREAMS, if is_last { 0 } else { iw.end });
        self.in_flight.push_back((iw, span, copy));
        Ok(is_last)
    }

    fn finish(&mut self, advance: Advance) -> Result<Option<MatrixSums>> {
        let (iw, span, copy) = self.in_flight.pop_front().expect("a step is in flight");
        let values = copy.wait()?;
        let [begin, end] = span.map(|event| event.seconds_since(&self.begin, "the products"));
        let (begin, end) = (begin?, end?);
        // Steps of two streams overlap: what the ones before cover is not counted again.
        self.seconds += (end - begin.max(self.until)).max(0.0);
        self.until = self.until.max(end);
        let zero = || MatrixSums::zero(self.task.bands(), self.task.planes());
        let mut sums = self.sums.take().unwrap_or_else(zero);
        let last = iw.end;
        for (values, iw) in values.chunks_exact(2 * self.shape.folded()).zip(iw) {
            self.shape.take(&mut sums, self.task.at, iw, values);
        }
        self.spare.push(values);
        if last == self.task.nw() {
            return Ok(Some(sums));
        }
        self.sums = Some(sums);
        advance(last as f64 / self.task.nw() as f64);
        Ok(None)
    }
}

impl MatrixWorker for MatrixOnGpu<'_> {
    fn start(&mut self) -> Result<()> {
        self.in_flight.clear();
        (self.next, self.sums, self.seconds, self.until) = ((0, 0), None, 0.0, 0.0);
        for slot in &self.slots {
            // An earlier calculation may have failed within a step.
            slot.sums.fill(0, slot.sums.len(), &slot.stream)?;
        }
        self.begin.record(&self.slots[0].stream)
    }

    fn ahead(&self) -> usize {
        AHEAD
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// Bytes of the host's memory that a task takes for each device in addition to the problem's own arrays.
pub fn host_bytes(task: &MatrixTask, version: &'static MatrixVersion) -> u64 {
    let shape = ImageShape::for_task(task, version);
    let together = 2 * shape.together(task.nw());
    let poles = shape.steps as usize * (shape.right * shape.words() * B_FRAGMENT) as usize;
    let matrices = 4 * task.planes() * task.bands() * task.bands();
    let columns = 2 * task.problem.extents().ncouls * task.bands();
    let parts = matrices * (AHEAD + 3) + (IN_FLIGHT + 1) * together * shape.folded();
    // The image of poles is gone when those of A are made, one for each stream.
    8 * (poles.max(STREAMS * shape.a() + columns) + parts) as u64
}

pub fn find(id: &str) -> Option<&'static MatrixVersion> {
    ALL.into_iter().find(|version| version.id == id)
}

/// Relative times of 16 bands l of real poles on compute capability 9: `ring` at 64 and 128 bands of si214, with l of two
/// bands n in a warp, the others at 96 and 128.
const COSTS: [(&str, usize); 3] = [("ring", 40), ("m16n8k16", 34), ("wide", 35)];

/// The fastest for a compute capability and so many bands l and m, the last of equals; none if none runs.
pub fn fastest(capability: ComputeCapability, bands: usize) -> Option<&'static MatrixVersion> {
    let cost = |version: &&MatrixVersion| {
        let cost = COSTS.iter().find(|(id, _)| *id == version.id);
        cost.map_or(usize::MAX, |(_, cost)| cost * version.fragments(bands))
    };
    let running = ALL.into_iter().rev().filter(|version| runs(version, capability));
    running.min_by_key(cost)
}

/// From compute capability 12.0 on a block has 99 KiB of shared memory, too little for a ring.
fn runs(version: &MatrixVersion, capability: ComputeCapability) -> bool {
    capability >= version.capability.into() && !(version.is_pipelined && capability.major >= 12)
}

/// The version that is asked for, or else the fastest on a GPU.
pub fn version_for(
    gpu: &Gpu,
    asked: Option<&'static MatrixVersion>,
    bands: usize,
) -> Result<&'static MatrixVersion> {
    let capability = gpu.info().compute_capability.unwrap_or_default();
    let found = match asked {
        Some(version) => Some(version).filter(|version| runs(version, capability)),
        None => fastest(capability, bands),
    };
    found.ok_or_else(|| {
        let MatrixVersion { id, capability: needed, is_pipelined, .. } = asked.unwrap_or(ALL[0]);
        let most = if *is_pipelined { ", below 12.0" } else { "" };
        let needed = ComputeCapability::from(*needed);
        let what = format!("has compute capability {capability}, {id} needs {needed}{most}");
        invalid(&gpu.info().id, what)
    })
}

#[cfg(test)]
mod tests;
