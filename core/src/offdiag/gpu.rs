//! A task on a GPU: worker, and choice of version.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::arrays::{self, Arguments};
use gpp_kernels::offdiag::mma::COLUMNS;
use gpp_kernels::offdiag::pack::{B_FRAGMENT, FallbackPairs, Fold, PackV, THREADS};
use gpp_kernels::offdiag::poles::{FallbackPair, Limits};
use gpp_kernels::offdiag::product::{ProductSigma, ProductU};
pub use gpp_kernels::offdiag::{ALL, Version};

use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{Buffer, Context, Event, Pinned, Stream, Transfer};
use crate::devices::gpu::modules::Loaded;
use crate::devices::{Device, Done};
use crate::error::{Error, Result};
use crate::offdiag::images::{self, Shape};
use crate::offdiag::task::{GROUP, Sums, Task, Worker};
use crate::schedule::Pipeline;

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
pub struct OnGpu<'a> {
    /// First, so that what was launched is done before the rest goes.
    in_flight: VecDeque<InFlight>,
    task: Task<'a>,
    shape: Shape,
    context: &'a Context,
    name: &'a str,
    kernels: Kernels,
    poles: Buffer<f64>,
    fallback: Buffer<u64>,
    begins: Buffer<u32>,
    rows: Buffer<u32>,
    vcoul: Buffer<f64>,
    w: Buffer<f64>,
    weights: Buffer<f64>,
    together: usize,
    slots: Vec<StreamSlot>,
    uploads: Stream,
    /// A of the first parts that were summed, as many as find room.
    resident: BTreeMap<usize, Buffer<f64>>,
    most_resident: usize,
    /// Room for the others, one for each stream, and the copy of what is there, once there is one.
    passing: Vec<(Buffer<f64>, Option<Transfer<f64>>)>,
    /// The slot and the first energy of the next step.
    next: (usize, usize),
    /// The sums of the part whose steps end.
    sums: Option<Sums>,
    spare: Vec<Pinned<f64>>,
    /// The begin of the calculation, the seconds that are covered by products, and when the last of these ended.
    begin: Event,
    seconds: f64,
    until: f64,
}

/// A stream with room for a part's U and V, and its sums.
struct StreamSlot {
    stream: Stream,
    u: Buffer<f64>,
    v: Buffer<f64>,
    /// Of `sch` and `ssx` of each energy, in slots.
    sums: Buffer<f64>,
    folded: Buffer<f64>,
}

struct InFlight {
    iw: Range<usize>,
    span: [Event; 2],
    copy: Transfer<f64>,
}

impl<'a> OnGpu<'a> {
    /// Brings all of a task but A, which comes with the parts, to a device that has the version's instructions.
    pub fn new(gpu: &'a Gpu, task: Task<'a>, version: &'static Version) -> Result<OnGpu<'a>> {
        let shape = Shape::of(&task, version);
        let context = &gpu.context;
        let stream = context.stream("the images")?;
        let (image, fallback) = images::poles(&task, &shape);
        let words: Vec<u64> = fallback.iter().flat_map(words).collect();
        let (rows, vcoul) = images::rows(&task, &shape);
        let (w, weights) = images::energies(&task);
        let together = shape.together(task.nw());
        let slot = |_| {
            Ok(StreamSlot {
                stream: context.stream("the products")?,
                u: context.buffer("U", shape.u())?,
                v: context.buffer("V", shape.v())?,
                sums: context.buffer("sums of the matrix", 2 * together * shape.sums())?,
                folded: context.buffer("sums of the matrix", 2 * together * shape.folded())?,
            })
        };
        let mut on_gpu = OnGpu {
            in_flight: VecDeque::new(),
            kernels: Kernels::of(gpu, &shape)?,
            poles: context.upload("poles", &image, &stream)?,
            fallback: context.upload("fallback pairs", &words, &stream)?,
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

    fn launch(&self, slot: &StreamSlot, a: *const f64, batch: Batch, sums: *mut f64) -> Result<()> {
        let place = Place {
            a,
            poles: self.poles.pointer(),
            pairs: self.fallback.pointer().cast(),
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
            Launches::of(&self.task, &self.shape, &place, batch, sums);
        let (kernels, Version { tile_u, tile_sigma, .. }) = (&self.kernels, self.shape.version);
        let of_u = &kernels.first[usize::from(batch.exchange)];
        // SAFETY: the arguments are the kernels', their arrays of the shape's dimensions and of this device; what
        // another launch reads is written before it in its stream, and lives as long as this.
        unsafe {
            of_u.launch(&slot.stream, first.blocks(*tile_u), &first)?;
            if fallback.columns > 0 {
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

struct Kernel {
    loaded: Arc<Loaded>,
    threads: u32,
    /// Bytes of dynamic shared memory.
    shared: u32,
}

impl Kernel {
    /// # Safety
    /// The kernels' launch contract; the arguments are the kernel's.
    unsafe fn launch(&self, on: &Stream, blocks: u32, arguments: &dyn Arguments) -> Result<()> {
        let grid = [blocks, self.threads, self.shared];
        // SAFETY: this function's own contract.
        unsafe { self.loaded.function.launch(on, grid, &arguments.pointers()) }
    }
}

struct Kernels {
    /// U of `sch` and of `ssx`.
    first: [Kernel; 2],
    fallback: Kernel,
    gather: Kernel,
    second: Kernel,
    fold: Kernel,
}

impl Kernels {
    fn of(gpu: &Gpu, shape: &Shape) -> Result<Kernels> {
        let kernel = |symbol, threads, shared| -> Result<Kernel> {
            Ok(Kernel { loaded: gpu.load(symbol)?, threads, shared })
        };
        let Version { tile_u, tile_sigma, symbols_u, symbol_sigma, .. } = *shape.version;
        let of_u = shape.version.shared(tile_u, shape.words());
        let [hole, exchange] = symbols_u[usize::from(!shape.real)];
        let of_sigma = shape.version.shared(tile_sigma, 2);
        Ok(Kernels {
            first: [
                kernel(hole, tile_u.threads(), of_u)?,
                kernel(exchange, tile_u.threads(), of_u)?,
            ],
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
pub struct Place {
    pub a: *const f64,
    pub poles: *const f64,
    /// Fallback pairs, where those of an igp begin, and how many igp have any.
    pub pairs: *const FallbackPair,
    pub begins: *const u32,
    pub columns: u32,
    pub rows: *const u32,
    pub vcoul: *const f64,
    pub w: *const f64,
    pub weights: *const f64,
    pub u: *mut f64,
    pub v: *mut f64,
}

/// Bands n of a part at an energy, of one kind of P.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub group: usize,
    pub count: usize,
    pub iw: usize,
    /// Whether they are of `ssx`.
    pub exchange: bool,
    /// Whether V is made: at the first energy. It is the same at the others.
    pub gathers: bool,
}

/// The launches of a batch, in their order; fallback pairs are launched if there are any.
pub struct Launches {
    pub first: ProductU,
    pub fallback: FallbackPairs,
    pub gather: PackV,
    pub second: ProductSigma,
}

impl Launches {
    /// Of a batch whose sums are added to `sums`.
    pub fn of(task: &Task, shape: &Shape, place: &Place, batch: Batch, sums: *mut f64) -> Launches {
        let Place { a, poles, pairs, begins, columns, rows, vcoul, u, v, .. } = *place;
        let Shape { fragments, steps, right, second, slots, .. } = *shape;
        let (nbands, nw, n) = (task.problem.occ().len(), task.nw(), batch.group * GROUP);
        let w = place.w.wrapping_add(batch.iw * nbands + n);
        let exact_w = w.wrapping_add(nw * nbands);
        let exchange = u32::from(batch.exchange);
        let weights = place.weights.wrapping_add(exchange as usize * nbands + n);
        let (count, group) = (batch.count as u32, shape.group());
        let Limits { first, sexcut } = images::limits(task, shape);
        let of_u =
            ProductU { a, poles, w, u, steps, count, fragments, group, right, first, sexcut };
        let arrays::Limits { limittwo, limitone, sexcut } = task.problem.limits();
        let fallback = FallbackPairs {
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
            exchange,
            limittwo,
            limitone,
            sexcut,
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

/// The batches of a part in launch order: `sch` of all n at each energy, then `ssx` up to the last occupied.
pub fn batches(occ: &[f64], iw: Range<usize>, group: usize) -> Vec<Batch> {
    let own = &occ[group * GROUP..occ.len().min((group + 1) * GROUP)];
    let occupied = own.iter().rposition(|&occ| occ != 0.0).map_or(0, |last| last + 1);
    let kinds = [(own.len(), false), (occupied, true)].into_iter().filter(|(count, _)| *count > 0);
    let of_kind = |(count, exchange)| {
        let first = iw.start;
        iw.clone().map(move |iw| Batch { group, count, iw, exchange, gathers: iw == first })
    };
    kinds.flat_map(of_kind).collect()
}

impl Pipeline<Sums> for OnGpu<'_> {
    fn device(&self) -> &str {
        self.name
    }

    fn has_room(&self) -> bool {
        self.in_flight.len() < IN_FLIGHT
    }

    fn begin(&mut self, part: usize, _: Done) -> Result<bool> {
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
        for batch in batches(self.task.problem.occ(), iw.clone(), part) {
            let at = 2 * (batch.iw - iw.start) + usize::from(batch.exchange);
            let sums = slot.sums.pointer().wrapping_add(at * self.shape.sums());
            self.launch(slot, a, batch, sums)?;
        }
        span[1].record(&slot.stream)?;
        let fold = self.shape.fold(slot.sums.pointer(), slot.folded.pointer(), 2 * iw.len() as u32);
        // SAFETY: the arguments are the kernel's, their arrays of the shape's dimensions and of this device; the sums
        // are written before it in its stream.
        unsafe { self.kernels.fold.launch(&slot.stream, fold.blocks(), &fold)? };
        let copy = to.download(2 * iw.len() * self.shape.folded(), &slot.folded, &slot.stream)?;
        let is_last = iw.end == nw;
        self.next = ((at + 1) % STREAMS, if is_last { 0 } else { iw.end });
        self.in_flight.push_back(InFlight { iw, span, copy });
        Ok(is_last)
    }

    fn finish(&mut self, done: Done) -> Result<Option<Sums>> {
        let InFlight { iw, span, copy } = self.in_flight.pop_front().expect("a step is in flight");
        let values = copy.wait()?;
        let [begin, end] = span.map(|event| event.seconds_since(&self.begin, "the products"));
        let (begin, end) = (begin?, end?);
        // Steps of two streams overlap: what the ones before cover is not counted again.
        self.seconds += (end - begin.max(self.until)).max(0.0);
        self.until = self.until.max(end);
        let zero = || Sums::zero(self.task.bands(), self.task.planes());
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
        done(last as f64 / self.task.nw() as f64);
        Ok(None)
    }
}

impl Worker for OnGpu<'_> {
    fn start(&mut self) -> Result<()> {
        self.in_flight.clear();
        (self.next, self.sums, self.seconds, self.until) = ((0, 0), None, 0.0, 0.0);
        for slot in &self.slots {
            // An earlier calculation may have failed within a step.
            slot.sums.clear(&slot.stream)?;
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

/// What a task takes in addition to the problem's own arrays, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Of the device's memory, if A passes by in two buffers, but for fallback pairs, of which there are few.
    pub least: u64,
    /// The same with all of A.
    pub all: u64,
    /// Of the host's memory, for each device.
    pub host: u64,
}

impl Needs {
    pub fn of(task: &Task, version: &'static Version) -> Needs {
        let shape = Shape::of(task, version);
        let (nbands, nw) = (task.problem.extents().nbands, task.nw());
        let together = 2 * shape.together(nw);
        let poles = shape.steps as usize * (shape.right * shape.words() * B_FRAGMENT) as usize;
        let slot = shape.u() + shape.v() + together * (shape.sums() + shape.folded());
        let small = nbands * (2 * nw + 2) + (shape.right * COLUMNS) as usize * 3 / 2;
        let device = poles + STREAMS * slot + small;
        let matrices = 4 * task.planes() * task.bands() * task.bands();
        let columns = 2 * task.problem.extents().ncouls * task.bands();
        let parts = matrices * (AHEAD + 3) + (IN_FLIGHT + 1) * together * shape.folded();
        // The image of poles is gone when those of A are made, one for each stream.
        let host = poles.max(STREAMS * shape.a() + columns) + parts;
        Needs {
            least: 8 * (device + shape.a() * task.parts().min(STREAMS)) as u64,
            all: 8 * (device + shape.a() * task.parts()) as u64,
            host: 8 * host as u64,
        }
    }

    pub fn require_on(&self, gpu: &dyn Device, what: &str) -> Result<()> {
        let free = gpu.free_memory()?.unwrap_or(u64::MAX);
        if self.least <= free {
            return Ok(());
        }
        Err(Error::memory("device", what, self.least, free, None))
    }
}

pub fn find(id: &str) -> Option<&'static Version> {
    ALL.into_iter().find(|version| version.id == id)
}

/// Relative times of 16 bands l of real poles on compute capability 9: `ring` at 64 and 128 bands of si214, with l of two
/// bands n in a warp, the others at 96 and 128.
const COSTS: [(&str, usize); 3] = [("ring", 40), ("m16n8k16", 34), ("wide", 35)];

/// The fastest for a compute capability and so many bands l and m, the last of equals; none if none runs.
pub fn fastest(capability: f64, bands: usize) -> Option<&'static Version> {
    let cost = |version: &&Version| {
        let cost = COSTS.iter().find(|(id, _)| *id == version.id);
        cost.map_or(usize::MAX, |(_, cost)| cost * version.fragments(bands))
    };
    let running = ALL.into_iter().rev().filter(|version| runs(version, capability));
    running.min_by_key(cost)
}

/// From compute capability 12.0 on a block has 99 KiB of shared memory, too little for a ring.
fn runs(version: &Version, capability: f64) -> bool {
    capability >= version.capability && !(version.is_pipelined && capability >= 12.0)
}

/// The version that is asked for, or else the fastest on a GPU.
pub fn version_for(
    gpu: &Gpu,
    asked: Option<&'static Version>,
    bands: usize,
) -> Result<&'static Version> {
    let text = gpu.info().compute_capability.as_ref();
    let capability = text.and_then(|text| text.parse().ok()).unwrap_or_default();
    let found = match asked {
        Some(version) => Some(version).filter(|version| runs(version, capability)),
        None => fastest(capability, bands),
    };
    found.ok_or_else(|| {
        let Version { id, capability: needed, is_pipelined, .. } = asked.unwrap_or(ALL[0]);
        let most = if *is_pipelined { ", below 12.0" } else { "" };
        let what = format!("has compute capability {capability:.1}, {id} needs {needed:.1}{most}");
        Error::Input { origin: gpu.info().id.clone(), what }
    })
}

#[cfg(test)]
mod tests;
