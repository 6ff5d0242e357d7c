//! A task on a GPU with FP64 matrix instructions.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::arrays;
use gpp_kernels::offdiag::mma::COLUMNS;
use gpp_kernels::offdiag::pack::{B_FRAGMENT, FallbackPairs, Fold, PackV};
use gpp_kernels::offdiag::poles::{FallbackPair, Limits};
use gpp_kernels::offdiag::product::{ProductSigma, ProductU};

use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{Buffer, Context, Event, Pinned, Stream, Transfer};
use crate::devices::gpu::modules::Loaded;
use crate::devices::{Device, Done};
use crate::error::{Error, Result};
use crate::offdiag::images::Shape;
use crate::offdiag::versions::Version;
use crate::offdiag::{GROUP, Sums, Task, Worker, images};
use crate::schedule::Pipeline;

/// While the last blocks of one stream's launch run, those of the other fill the device.
const STREAMS: usize = 2;

/// Steps in flight: one more than streams, so that none of these waits for the host.
const IN_FLIGHT: usize = STREAMS + 1;

/// Parts that may be dealt to a GPU before the first of them is added: those in flight, and one more.
const AHEAD: usize = IN_FLIGHT + 1;

/// Bytes of the device's memory that are left alone.
const SPARE: u64 = 256 << 20;

/// A task in place on a GPU.
///
/// A step is a part at some energies. Two streams take steps in turn, each with sums of its own. At a step's end a
/// kernel adds up the slots of the sums and clears them, and the result is copied while further steps run.
pub struct OnGpu<'a> {
    /// First, so that what was launched is done before the rest goes.
    in_flight: VecDeque<InFlight>,
    task: Task<'a>,
    shape: Shape,
    context: &'a Context,
    name: &'a str,
    kernels: Kernels,
    poles: Buffer<f64>,
    fallback: (Buffer<u64>, Buffer<u32>, u32),
    rows: Buffer<u32>,
    vcoul: Buffer<f64>,
    w: [Buffer<f64>; 2],
    weights: [Buffer<f64>; 2],
    /// Energies of a step.
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
    /// Results are copied to these.
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

/// A step that was launched.
struct InFlight {
    iw: Range<usize>,
    /// Begin and end of its products.
    span: [Event; 2],
    copy: Transfer<f64>,
}

/// The modules of a task's kernels.
struct Kernels {
    first: [Arc<Loaded>; 2],
    fallback: Arc<Loaded>,
    gather: Arc<Loaded>,
    second: Arc<Loaded>,
    fold: Arc<Loaded>,
    /// Bytes of shared memory of a block of the first and of the second product.
    shared: [u32; 2],
}

impl<'a> OnGpu<'a> {
    /// Brings all of a task but A to a device that has the version's instructions. A comes with the parts, and stays
    /// as far as it finds room.
    pub fn new(gpu: &'a Gpu, task: Task<'a>, version: &'static Version) -> Result<OnGpu<'a>> {
        let shape = Shape::of(&task, version);
        let context = &gpu.context;
        let stream = context.stream("the images")?;
        let (image, fallback) = images::poles(&task, &shape);
        let begins = images::begins(&fallback);
        let words: Vec<u64> = fallback.iter().flat_map(words).collect();
        let (rows, vcoul) = images::rows(&task, &shape);
        let (w, weights) = images::energies(&task);
        let [hole, exchange] = &weights;
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
            kernels: Kernels::of(gpu, &shape)?,
            poles: context.upload("poles", &image, &stream)?,
            fallback: (
                context.upload("fallback pairs", &words, &stream)?,
                context.upload("fallback pairs' begins", &begins, &stream)?,
                begins.len() as u32 - 1,
            ),
            rows: context.upload("rows of igp", &rows, &stream)?,
            vcoul: context.upload("vcoul_loc", &vcoul, &stream)?,
            w: [context.upload("wx", &w[0], &stream)?, context.upload("wx", &w[1], &stream)?],
            weights: [
                context.upload("weights", hole, &stream)?,
                context.upload("weights", exchange, &stream)?,
            ],
            in_flight: VecDeque::new(),
            together,
            slots: (0..STREAMS).map(slot).collect::<Result<_>>()?,
            next: (0, 0),
            sums: None,
            spare: Vec::new(),
            begin: context.event()?,
            seconds: 0.0,
            until: 0.0,
            resident: BTreeMap::new(),
            most_resident: task.parts(),
            passing: Vec::new(),
            uploads: stream,
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

    /// Launches a batch; `at` is where its sums are among those of the slot.
    fn launch(&self, slot: &StreamSlot, a: *const f64, batch: Batch, at: usize) -> Result<()> {
        let (pairs, begins, columns) = &self.fallback;
        let place = Place {
            a,
            poles: self.poles.pointer(),
            fallback: (pairs.pointer().cast(), begins.pointer(), *columns),
            rows: self.rows.pointer(),
            vcoul: self.vcoul.pointer(),
            w: [self.w[0].pointer(), self.w[1].pointer()],
            weights: [self.weights[0].pointer(), self.weights[1].pointer()],
            u: slot.u.pointer(),
            v: slot.v.pointer(),
        };
        let kind = usize::from(batch.exchange);
        let sums = slot.sums.pointer().wrapping_add(at);
        let limits = (images::limits(&self.task, &self.shape), self.task.limits());
        let nbands = self.task.problem.occ().len();
        let launches = Launches::of(&place, &self.shape, nbands, limits, batch, sums);
        let Kernels { shared, .. } = self.kernels;
        let stream = &slot.stream;
        let kernel = &self.kernels.first[kind];
        // SAFETY: the arguments are the kernels', their arrays of the shape's dimensions and of this device; what
        // another launch reads is written before it in its stream, and lives as long as this.
        unsafe {
            let (arguments, tile) = (launches.first, self.shape.version.tile_u);
            let grid = [arguments.blocks(tile), tile.threads(), shared[0]];
            kernel.function.launch(stream, grid, &arguments.pointers())?;
            if *columns > 0 {
                let arguments = launches.fallback;
                let grid = [arguments.blocks(), FallbackPairs::THREADS, 0];
                self.kernels.fallback.function.launch(stream, grid, &arguments.pointers())?;
            }
            if batch.gathers {
                let arguments = launches.gather;
                let grid = [arguments.blocks(), PackV::THREADS, 0];
                self.kernels.gather.function.launch(stream, grid, &arguments.pointers())?;
            }
            let (arguments, tile) = (launches.second, self.shape.version.tile_sigma);
            let grid = [arguments.blocks(tile), tile.threads(), shared[1]];
            self.kernels.second.function.launch(stream, grid, &arguments.pointers())
        }
    }
}

impl Kernels {
    fn of(gpu: &Gpu, shape: &Shape) -> Result<Kernels> {
        let module = |symbol| gpu.load(symbol);
        let version = shape.version;
        let [hole, exchange] = version.symbols_u[usize::from(!shape.real)];
        Ok(Kernels {
            first: [module(hole)?, module(exchange)?],
            fallback: module(FallbackPairs::SYMBOL)?,
            gather: module(PackV::SYMBOL)?,
            second: module(version.symbol_sigma)?,
            fold: module(Fold::SYMBOL)?,
            shared: [
                version.shared(version.tile_u, shape.words()),
                version.shared(version.tile_sigma, 2),
            ],
        })
    }
}

/// A fallback pair as it lies in memory.
fn words(fallback: &FallbackPair) -> [u64; 5] {
    let FallbackPair { wtilde, eps, ig, igp } = *fallback;
    let [a, b, c, d] = [wtilde.re, wtilde.im, eps.re, eps.im].map(f64::to_bits);
    [a, b, c, d, u64::from(igp) << 32 | u64::from(ig)]
}

// The kernels' arguments for a part at an energy.

/// Addresses of the arrays, on a device or here.
#[derive(Clone, Copy)]
pub struct Place {
    pub a: *const f64,
    pub poles: *const f64,
    /// Fallback pairs, where those of an igp begin, and of how many igp there are some.
    pub fallback: (*const FallbackPair, *const u32, u32),
    /// The row of A of each igp.
    pub rows: *const u32,
    pub vcoul: *const f64,
    /// `w` of all n at each energy, of which P is made and of fallback pairs.
    pub w: [*const f64; 2],
    /// Weights of all n, for `sch` and for `ssx`.
    pub weights: [*const f64; 2],
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
    /// Of a batch of a task of `nbands` bands n, whose sums are added to `sums`.
    pub fn of(
        place: &Place,
        shape: &Shape,
        nbands: usize,
        limits: (Limits, arrays::Limits),
        batch: Batch,
        sums: *mut f64,
    ) -> Launches {
        let Batch { group, count, iw, exchange, .. } = batch;
        let Shape { fragments, steps, right, .. } = *shape;
        let Place { a, u, v, .. } = *place;
        let [w, of_fallback] = place.w.map(|w| w.wrapping_add(iw * nbands + group * GROUP));
        let weights = place.weights[usize::from(exchange)].wrapping_add(group * GROUP);
        let (count, group) = (count as u32, shape.group());
        let (Limits { first, sexcut }, limits) = limits;
        let (pairs, begins, columns) = place.fallback;
        let arrays::Limits { limittwo, limitone, sexcut: cutoff } = limits;
        let exchange = exchange.into();
        Launches {
            first: ProductU {
                a,
                poles: place.poles,
                w,
                u,
                steps,
                count,
                fragments,
                group,
                right,
                first,
                sexcut,
            },
            fallback: FallbackPairs {
                a,
                pairs,
                begins,
                w: of_fallback,
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
                sexcut: cutoff,
            },
            gather: PackV {
                a,
                rows: place.rows,
                vcoul: place.vcoul,
                weights,
                v,
                steps,
                count,
                fragments,
                group,
                igp: right * 8,
                right: shape.second,
            },
            second: ProductSigma {
                u,
                v,
                sums,
                items: count,
                slots: shape.slots,
                steps: right,
                left: fragments,
                right: shape.second,
            },
        }
    }
}

/// The batches of a part, in the order of their launches: `sch` of all its n at each energy, then `ssx` up to the last
/// that is occupied.
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

// Parts on a GPU, step after step.

const PRODUCTS: &str = "the products";

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
            self.launch(slot, a, batch, at * self.shape.sums())?;
        }
        span[1].record(&slot.stream)?;
        let arguments = Fold {
            sums: slot.sums.pointer(),
            folded: slot.folded.pointer(),
            each: self.shape.folded() as u32,
            slots: self.shape.slots,
            count: 2 * iw.len() as u32,
        };
        // SAFETY: the arguments are the kernel's, their arrays of the shape's dimensions and of this device; the sums
        // are written before it in its stream.
        unsafe {
            let grid = [arguments.blocks(), Fold::THREADS, 0];
            self.kernels.fold.function.launch(&slot.stream, grid, &arguments.pointers())?;
        }
        let copy = to.download(2 * iw.len() * self.shape.folded(), &slot.folded, &slot.stream)?;
        let is_last = iw.end == nw;
        self.next = ((at + 1) % STREAMS, if is_last { 0 } else { iw.end });
        self.in_flight.push_back(InFlight { iw, span, copy });
        Ok(is_last)
    }

    fn finish(&mut self, done: Done) -> Result<Option<Sums>> {
        let InFlight { iw, span, copy } = self.in_flight.pop_front().expect("a step is in flight");
        let values = copy.wait()?;
        let [begin, end] = span.map(|event| event.seconds_since(&self.begin, PRODUCTS));
        let (begin, end) = (begin?, end?);
        // Steps of two streams overlap: what the ones before cover is not counted again.
        self.seconds += (end - begin.max(self.until)).max(0.0);
        self.until = self.until.max(end);
        let zero = || Sums::zero(self.task.bands(), self.task.planes());
        let mut sums = self.sums.take().unwrap_or_else(zero);
        let last = iw.end;
        for (values, iw) in values.chunks_exact(2 * self.shape.folded()).zip(iw) {
            let (hole, exchange) = values.split_at(self.shape.folded());
            sums.take(self.task.at, iw, |l, m| {
                [exchange, hole].map(|values| self.shape.element(values, l, m))
            });
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

impl OnGpu<'_> {
    /// The address of A of a part for launches in a slot's stream: in place, or uploaded now.
    fn a(&mut self, part: usize, slot: usize) -> Result<*const f64> {
        if let Some(a) = self.resident.get(&part) {
            return Ok(a.pointer());
        }
        if self.resident.len() < self.most_resident {
            let made = images::group(&self.task, &self.shape, part);
            let a = self.context.upload("A", &made, &self.uploads)?;
            let pointer = a.pointer();
            self.resident.insert(part, a);
            return Ok(pointer);
        }
        let (room, copy) = &mut self.passing[slot];
        let mut image = match copy.take() {
            Some(copy) => copy.wait()?,
            None => self.context.pinned("A", self.shape.a())?,
        };
        images::fill(&self.task, &self.shape, part, &mut image);
        // In this stream, so after all that still reads what was there; the next part's is made meanwhile.
        *copy = Some(image.upload(self.shape.a(), room, &self.slots[slot].stream)?);
        Ok(room.pointer())
    }
}

// The memory of a task on a GPU.

/// What a task takes in addition to the problem's own arrays, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Of the device's memory but for A, and but for pairs that are summed by the definition, of which there are few.
    pub device: u64,
    /// Of the device's memory for A of a part.
    pub a: u64,
    pub parts: usize,
    /// Of the host's memory, for each device.
    pub host: u64,
}

impl Needs {
    /// Bytes of the device's memory without which nothing runs: A that finds no room passes by in two buffers.
    pub fn least(&self) -> u64 {
        self.device + (self.a * self.parts as u64).min(2 * self.a)
    }

    /// Fails if a GPU has less.
    pub fn require_on(&self, gpu: &dyn Device, what: &str) -> Result<()> {
        let (needed, free) = (self.least(), gpu.free_memory()?.unwrap_or(u64::MAX));
        if needed <= free {
            return Ok(());
        }
        Err(Error::memory("device", what, needed, free, None))
    }

    /// Those of a task and a version.
    pub fn of(task: &Task, version: &'static Version) -> Needs {
        let shape = Shape::of(task, version);
        let (nbands, nw) = (task.problem.extents().nbands, task.nw());
        let together = 2 * shape.together(nw);
        let poles = shape.steps as usize * (shape.right * shape.words() * B_FRAGMENT) as usize;
        let slot = shape.u() + shape.v() + together * (shape.sums() + shape.folded());
        let small = nbands * (2 * nw + 2) + (shape.right * COLUMNS) as usize * 3 / 2;
        let matrices = 4 * task.planes() * task.bands() * task.bands();
        let columns = 2 * task.problem.extents().ncouls * task.bands();
        let parts = matrices * (AHEAD + 3) + (IN_FLIGHT + 1) * together * shape.folded();
        Needs {
            device: 8 * (poles + STREAMS * slot + small) as u64,
            a: 8 * shape.a() as u64,
            parts: task.parts(),
            // The image of poles is gone when those of A are made, one for each stream.
            host: 8 * (poles.max(STREAMS * shape.a() + columns) + parts) as u64,
        }
    }
}
