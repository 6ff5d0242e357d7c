//! A task on a GPU with FP64 matrix instructions.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::arrays;
use gpp_kernels::offdiag::pack::FallbackPairs;
use gpp_kernels::offdiag::pack::Fold;
use gpp_kernels::offdiag::pack::PackV;
use gpp_kernels::offdiag::poles::{FallbackPair, Limits};
use gpp_kernels::offdiag::product::ProductSigma;
use gpp_kernels::offdiag::product::ProductU;

use crate::devices::Device;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{Buffer, Context, Event, Pinned, Stream, Transfer};
use crate::devices::gpu::modules::Loaded;
use crate::error::Result;
use crate::offdiag::calculation::{AHEAD, Deal, Next, Worker};
use crate::offdiag::images::{GROUP, Shape};
use crate::offdiag::versions::Version;
use crate::offdiag::{Sums, Task, images, parts};

/// Streams: while the last blocks of one's launch run, those of the other fill the device.
pub const STREAMS: usize = 2;

/// Steps that are under way: one more than streams, so that none of them waits for the host.
pub const UNDER_WAY: usize = STREAMS + 1;

/// Bytes of the device's memory that are left alone.
const SPARE: u64 = 256 << 20;

/// A task in place on a GPU, which can be summed again and again.
pub struct OnGpu<'a> {
    pub(super) task: Task<'a>,
    pub(super) shape: Shape,
    pub(super) context: &'a Context,
    name: &'a str,
    pub(super) kernels: Kernels,
    poles: Buffer<f64>,
    odd: (Buffer<u64>, Buffer<u32>, u32),
    rows: Buffer<u32>,
    vcoul: Buffer<f64>,
    w: [Buffer<f64>; 2],
    weights: [Buffer<f64>; 2],
    pub(super) together: usize,
    pub(super) lanes: Vec<Lane>,
    pub(super) uploads: Stream,
    /// A of the first groups that were summed, as many as find room.
    pub(super) resident: BTreeMap<usize, Buffer<f64>>,
    pub(super) most_resident: usize,
    /// Room for the others, one for each lane.
    pub(super) passing: Vec<Passing>,
}

/// Room for A of a group that does not stay.
pub(super) struct Passing {
    pub(super) room: Buffer<f64>,
    /// The copy of what is there, once there is one.
    pub(super) copy: Option<Transfer<f64>>,
}

/// A stream with room for a group's U and V, and its sums.
pub(super) struct Lane {
    pub(super) stream: Stream,
    u: Buffer<f64>,
    v: Buffer<f64>,
    /// Of `sch` and `ssx` of each energy, in slots.
    pub(super) sums: Buffer<f64>,
    pub(super) folded: Buffer<f64>,
}

/// The modules of a task's kernels.
pub(super) struct Kernels {
    first: [(&'static str, Arc<Loaded>); 2],
    odd: Arc<Loaded>,
    gather: Arc<Loaded>,
    second: Arc<Loaded>,
    pub(super) fold: Arc<Loaded>,
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
        let (image, odd) = images::poles(&task, &shape);
        let begins = images::begins(&odd);
        let words: Vec<u64> = odd.iter().flat_map(words).collect();
        let (rows, vcoul) = images::rows(&task, &shape);
        let (w, weights) = images::energies(&task);
        let [hole, exchange] = &weights;
        let together = shape.together(task.nw());
        let lane = |_| {
            Ok(Lane {
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
            odd: (
                context.upload("odd pairs", &words, &stream)?,
                context.upload("odd pairs' begins", &begins, &stream)?,
                begins.len() as u32 - 1,
            ),
            rows: context.upload("rows of igp", &rows, &stream)?,
            vcoul: context.upload("vcoul_loc", &vcoul, &stream)?,
            w: [context.upload("wx", &w[0], &stream)?, context.upload("wx", &w[1], &stream)?],
            weights: [
                context.upload("weights", hole, &stream)?,
                context.upload("weights", exchange, &stream)?,
            ],
            together,
            lanes: (0..STREAMS).map(lane).collect::<Result<_>>()?,
            resident: BTreeMap::new(),
            most_resident: shape.groups,
            passing: Vec::new(),
            uploads: stream,
            name: &gpu.info().id,
            context,
            task,
            shape,
        };
        let (free, _) = context.memory()?;
        let fit = (free.saturating_sub(SPARE) / (8 * shape.a() as u64)) as usize;
        if fit < shape.groups {
            let room = |_| {
                let (room, copy) = (context.buffer("A", shape.a())?, None);
                Ok(Passing { room, copy })
            };
            on_gpu.passing = (0..STREAMS).map(room).collect::<Result<_>>()?;
            on_gpu.most_resident = fit.saturating_sub(STREAMS);
        }
        Ok(on_gpu)
    }

    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// Launches a batch; `at` is where its sums stand among those of the lane.
    pub(super) fn launch(&self, lane: &Lane, a: *const f64, batch: Batch, at: usize) -> Result<()> {
        let (pairs, begins, columns) = &self.odd;
        let place = Place {
            a,
            poles: self.poles.pointer(),
            odd: (pairs.pointer().cast(), begins.pointer(), *columns),
            rows: self.rows.pointer(),
            vcoul: self.vcoul.pointer(),
            w: [self.w[0].pointer(), self.w[1].pointer()],
            weights: [self.weights[0].pointer(), self.weights[1].pointer()],
            u: lane.u.pointer(),
            v: lane.v.pointer(),
        };
        let kind = usize::from(batch.exchange);
        let sums = lane.sums.pointer().wrapping_add(at);
        let limits = (images::limits(&self.task, &self.shape), self.task.limits());
        let nbands = self.task.problem.occ().len();
        let launches = Launches::of(&place, &self.shape, nbands, limits, batch, sums);
        let Kernels { shared, .. } = self.kernels;
        let stream = &lane.stream;
        let (symbol, module) = &self.kernels.first[kind];
        let function = module.module.function(symbol)?;
        function.allow_shared(shared[0])?;
        // SAFETY: the arguments are the kernels', their arrays of the shape's extents and of this device; what
        // another launch reads is written before it in its stream, and lives as long as this.
        unsafe {
            let (arguments, tile) = (launches.first, self.shape.version.tile_u);
            let (blocks, pointers) = (arguments.blocks(tile), arguments.pointers());
            function.launch_sharing(stream, blocks, tile.threads(), shared[0], &pointers)?;
            if *columns > 0 {
                let (arguments, function) =
                    (launches.odd, self.kernels.odd.module.function(FallbackPairs::SYMBOL)?);
                let pointers = arguments.pointers();
                function.launch(stream, arguments.blocks(), FallbackPairs::THREADS, &pointers)?;
            }
            if batch.gathers {
                let (arguments, function) =
                    (launches.gather, self.kernels.gather.module.function(PackV::SYMBOL)?);
                let pointers = arguments.pointers();
                function.launch(stream, arguments.blocks(), PackV::THREADS, &pointers)?;
            }
            let (arguments, tile) = (launches.second, self.shape.version.tile_sigma);
            let function = self.kernels.second.module.function(self.shape.version.symbol_sigma)?;
            function.allow_shared(shared[1])?;
            let (blocks, pointers) = (arguments.blocks(tile), arguments.pointers());
            function.launch_sharing(stream, blocks, tile.threads(), shared[1], &pointers)
        }
    }
}

impl Kernels {
    fn of(gpu: &Gpu, shape: &Shape) -> Result<Kernels> {
        let module = |symbol: &'static str| gpu.modules.get(symbol);
        let version = shape.version;
        let [hole, exchange] = version.symbols_u[usize::from(!shape.real)];
        Ok(Kernels {
            first: [(hole, module(hole)?), (exchange, module(exchange)?)],
            odd: module(FallbackPairs::SYMBOL)?,
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

/// An odd pair as it lies in memory.
fn words(odd: &FallbackPair) -> [u64; 5] {
    let FallbackPair { wtilde, eps, ig, igp } = *odd;
    let [a, b, c, d] = [wtilde.re, wtilde.im, eps.re, eps.im].map(f64::to_bits);
    [a, b, c, d, u64::from(igp) << 32 | u64::from(ig)]
}

// What the kernels are given for a group of bands n at an energy.

/// Where the arrays are, on a device or here.
#[derive(Clone, Copy)]
pub struct Place {
    pub a: *const f64,
    pub poles: *const f64,
    /// Odd pairs, where those of an igp begin, and of how many igp there are some.
    pub odd: (*const FallbackPair, *const u32, u32),
    /// The row of A of each igp.
    pub rows: *const u32,
    pub vcoul: *const f64,
    /// `w` of all n at each energy, of which P is made and of odd pairs.
    pub w: [*const f64; 2],
    /// Weights of all n, for `sch` and for `ssx`.
    pub weights: [*const f64; 2],
    pub u: *mut f64,
    pub v: *mut f64,
}

/// A group's items at an energy, of one kind.
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

/// The launches of a batch, in their order; odd pairs are launched where there are any.
pub struct Launches {
    pub first: ProductU,
    pub odd: FallbackPairs,
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
        let [w, of_odd] = place.w.map(|w| w.wrapping_add(iw * nbands + group * GROUP));
        let weights = place.weights[usize::from(exchange)].wrapping_add(group * GROUP);
        let (count, group) = (count as u32, shape.group());
        let (Limits { first, sexcut }, limits) = limits;
        let (pairs, begins, columns) = place.odd;
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
            odd: FallbackPairs {
                a,
                pairs,
                begins,
                w: of_odd,
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

/// The batches of a group, in the order of their launches: `sch` of all its n at each energy, then `ssx` up to the last
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
//
// A step is a part at some energies. Two streams take steps in turn, each with sums of its own. At a step's end a
// kernel adds up the slots of the sums and clears them, and the result is copied while further steps run.

const PRODUCTS: &str = "the products";

struct Step {
    part: usize,
    iw: Range<usize>,
    /// How much of the part is done with it; 1 with the last.
    end: f64,
}

struct Begun {
    step: Step,
    /// Begin and end of its products.
    span: [Event; 2],
    copy: Transfer<f64>,
}

/// What is known of the products while they run.
struct Told<'d> {
    worker: usize,
    deal: &'d Deal<'d>,
    begin: Event,
    spans: Vec<[f64; 2]>,
    /// The sums of the part at hand.
    sums: Sums,
    /// What is copied to, while nothing is.
    spare: Vec<Pinned<f64>>,
}

impl Worker for OnGpu<'_> {
    fn device(&self) -> &str {
        self.name()
    }

    fn ahead(&self) -> usize {
        AHEAD
    }

    fn work(&mut self, worker: usize, deal: &Deal) -> Result<f64> {
        let begin = self.context.event()?;
        for lane in &self.lanes {
            // An earlier calculation may have failed within a step.
            lane.sums.clear(&lane.stream)?;
        }
        begin.record(&self.lanes[0].stream)?;
        let sums = Sums::zero(self.task.bands(), self.task.planes());
        let mut told = Told { worker, deal, begin, spans: Vec::new(), sums, spare: Vec::new() };
        let (mut left, mut begun) = (VecDeque::new(), VecDeque::new());
        let mut lane = 0;
        loop {
            if self.task.stop.is_asked() {
                left.clear();
            }
            if left.is_empty() {
                match deal.next(worker, begun.is_empty()) {
                    Next::Part(part) => left.extend(self.steps(part)),
                    Next::Later => self.end(begun.pop_front(), &mut told)?,
                    Next::Nothing => break,
                }
            }
            if begun.len() == UNDER_WAY {
                self.end(begun.pop_front(), &mut told)?;
            }
            if let Some(step) = left.pop_front() {
                begun.push_back(self.begin(step, lane, &mut told)?);
                lane = (lane + 1) % STREAMS;
            }
        }
        while !begun.is_empty() {
            self.end(begun.pop_front(), &mut told)?;
        }
        Ok(covered(told.spans))
    }
}

impl OnGpu<'_> {
    fn steps(&self, part: usize) -> impl Iterator<Item = Step> + use<> {
        let nw = self.task.nw();
        let step = move |iw: Range<usize>| Step { part, end: iw.end as f64 / nw as f64, iw };
        parts::ranges(0..nw, self.together).map(step)
    }

    /// Has a stream sum a step.
    fn begin(&mut self, step: Step, lane: usize, told: &mut Told) -> Result<Begun> {
        let Step { part, iw, .. } = &step;
        let a = self.a(*part, lane)?;
        let lane = &self.lanes[lane];
        let span = [self.context.event()?, self.context.event()?];
        span[0].record(&lane.stream)?;
        for batch in batches(self.task.problem.occ(), iw.clone(), *part) {
            let at = 2 * (batch.iw - iw.start) + usize::from(batch.exchange);
            self.launch(lane, a, batch, at * self.shape.sums())?;
        }
        span[1].record(&lane.stream)?;
        let length = 2 * iw.len() * self.shape.folded();
        let arguments = Fold {
            sums: lane.sums.pointer(),
            folded: lane.folded.pointer(),
            each: self.shape.folded() as u32,
            slots: self.shape.slots,
            count: 2 * iw.len() as u32,
        };
        let function = self.kernels.fold.module.function(Fold::SYMBOL)?;
        // SAFETY: the arguments are the kernel's, their arrays of the shape's extents and of this device; the sums
        // are written before it in its stream.
        unsafe {
            let pointers = arguments.pointers();
            function.launch(&lane.stream, arguments.blocks(), Fold::THREADS, &pointers)?;
        }
        let to = match told.spare.pop() {
            Some(spare) => spare,
            None => self.context.pinned("sums of a part", lane.folded.len())?,
        };
        let copy = to.download(length, &lane.folded, &lane.stream)?;
        Ok(Begun { step, span, copy })
    }

    /// Takes the sums of the step that was begun first.
    fn end(&self, begun: Option<Begun>, told: &mut Told) -> Result<()> {
        let Some(Begun { step: Step { part, iw, end }, span, copy }) = begun else {
            return Ok(());
        };
        let values = copy.wait()?;
        let [begun, ended] = span.map(|event| event.seconds_since(&told.begin, PRODUCTS));
        told.spans.push([begun?, ended?]);
        for (values, iw) in values.chunks_exact(2 * self.shape.folded()).zip(iw) {
            let (hole, exchange) = values.split_at(self.shape.folded());
            told.sums.take(self.task.at, iw, |l, m| {
                [exchange, hole].map(|values| self.shape.element(values, l, m))
            });
        }
        told.spare.push(values);
        told.deal.tell(told.worker, end);
        if end == 1.0 {
            let next = Sums::zero(self.task.bands(), self.task.planes());
            told.deal.give(told.worker, part, std::mem::replace(&mut told.sums, next));
        }
        Ok(())
    }

    /// A of a group, where launches in a stream find it: kept in place, or brought there.
    fn a(&mut self, group: usize, lane: usize) -> Result<*const f64> {
        if let Some(a) = self.resident.get(&group) {
            return Ok(a.pointer());
        }
        if self.resident.len() < self.most_resident {
            let made = images::group(&self.task, &self.shape, group);
            let a = self.context.upload("A", &made, &self.uploads)?;
            let pointer = a.pointer();
            self.resident.insert(group, a);
            return Ok(pointer);
        }
        let Passing { room, copy } = &mut self.passing[lane];
        let mut image = match copy.take() {
            Some(copy) => copy.wait()?,
            None => self.context.pinned("A", self.shape.a())?,
        };
        images::fill(&self.task, &self.shape, group, &mut image);
        // In this stream, so after all that still reads what was there; the next group's is made meanwhile.
        *copy = Some(image.upload(self.shape.a(), room, &self.lanes[lane].stream)?);
        Ok(room.pointer())
    }
}

/// What spans of time cover, with nothing counted twice.
fn covered(mut spans: Vec<[f64; 2]>) -> f64 {
    spans.sort_by(|one, other| one[0].total_cmp(&other[0]));
    let mut until = f64::NEG_INFINITY;
    let own = |[begin, end]: [f64; 2]| {
        let own = (end - begin.max(until)).max(0.0);
        until = until.max(end);
        own
    };
    spans.into_iter().map(own).sum()
}

#[cfg(test)]
mod tests;
