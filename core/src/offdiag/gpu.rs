//! A task on a GPU with FP64 matrix instructions.

use std::sync::Arc;
use std::time::Instant;

use gpp_kernels::offdiag::poles::Odd;
use gpp_kernels::offdiag::{gather, odd};

use super::images::{self, Shape};
use super::launches::{Batch, Launches, Place, batches};
use super::versions::Version;
use super::{Summed, Sums, Task};
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{Buffer, Event, Stream};
use crate::devices::gpu::modules::Loaded;
use crate::error::{Error, Result};
use crate::stop::Stop;

/// Streams: while the last blocks of one's launch run, those of the other fill the device.
const STREAMS: usize = 2;

/// Bytes of the device's memory that are left alone.
const SPARE: u64 = 256 << 20;

/// A task in place on a GPU, which can be summed again and again.
pub struct OnGpu<'a> {
    task: Task<'a>,
    shape: Shape,
    kernels: Kernels,
    poles: Buffer<f64>,
    odd: (Buffer<u64>, Buffer<u32>, u32),
    rows: Buffer<u32>,
    vcoul: Buffer<f64>,
    w: Buffer<f64>,
    weights: [Buffer<f64>; 2],
    lanes: Vec<Lane>,
    /// A of the first groups, as many as find room.
    resident: Vec<Buffer<f64>>,
    /// Room for the others, in turn.
    passing: Vec<Buffer<f64>>,
    times: [Event; 2],
}

/// A stream with room for a group's U and V, and its sums.
struct Lane {
    stream: Stream,
    u: Buffer<f64>,
    v: Buffer<f64>,
    /// Of `sch` and `ssx` of each energy.
    sums: Vec<Buffer<f64>>,
}

/// The modules of a task's kernels.
struct Kernels {
    first: [(&'static str, Arc<Loaded>); 2],
    odd: Arc<Loaded>,
    gather: Arc<Loaded>,
    second: Arc<Loaded>,
    /// Bytes of shared memory of a block of the first and of the second product.
    shared: [u32; 2],
}

impl<'a> OnGpu<'a> {
    /// Brings all of a task to a device that has the version's instructions, as far as it finds room there; the
    /// rest of A passes by in each sum.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Driver`], [`Error::Stopped`].
    pub fn new(
        gpu: &'a Gpu,
        task: Task<'a>,
        version: &'static Version,
        stop: Stop,
    ) -> Result<OnGpu<'a>> {
        let shape = Shape::of(&task, version);
        let context = &gpu.context;
        let stream = context.stream("the images")?;
        let (image, odd) = images::poles(&task, &shape);
        let begins = images::begins(&odd);
        let words: Vec<u64> = odd.iter().flat_map(words).collect();
        let (rows, vcoul) = images::rows(&task, &shape);
        let (w, weights) = images::energies(&task);
        let [hole, exchange] = &weights;
        let lane = |_| {
            let sums = |_| context.buffer("sums of the matrix", shape.sums());
            Ok(Lane {
                stream: context.stream("the products")?,
                u: context.buffer("U", shape.u())?,
                v: context.buffer("V", shape.v())?,
                sums: (0..2 * task.nw()).map(sums).collect::<Result<_>>()?,
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
            w: context.upload("wx", &w, &stream)?,
            weights: [
                context.upload("weights", hole, &stream)?,
                context.upload("weights", exchange, &stream)?,
            ],
            lanes: (0..STREAMS).map(lane).collect::<Result<_>>()?,
            resident: Vec::new(),
            passing: Vec::new(),
            times: [context.event()?, context.event()?],
            task,
            shape,
        };
        drop(image);
        let each = 8 * shape.a() as u64;
        let (free, _) = context.memory()?;
        let fit = (free.saturating_sub(SPARE) / each) as usize;
        let resident = if fit >= shape.groups { shape.groups } else { fit.saturating_sub(STREAMS) };
        for group in 0..resident {
            if let Some(code) = stop() {
                return Err(Error::Stopped { code, done: group, all: shape.groups });
            }
            let a = images::group(&task, &shape, group);
            on_gpu.resident.push(context.upload("A", &a, &stream)?);
        }
        if resident < shape.groups {
            let room = |_| context.buffer("A", shape.a());
            on_gpu.passing = (0..STREAMS).map(room).collect::<Result<_>>()?;
        }
        Ok(on_gpu)
    }

    /// Sums, and tells how much is done, from 0 to 1.
    ///
    /// # Errors
    /// [`Error::Driver`], [`Error::Stopped`].
    pub fn sums(&self, done: &(dyn Fn(f64) + Sync), stop: Stop) -> Result<Summed> {
        let began = Instant::now();
        let [begin, end] = &self.times;
        let [leading, following] = [&self.lanes[0].stream, &self.lanes[1].stream];
        self.lanes.iter().flat_map(|lane| &lane.sums).try_for_each(|sums| sums.clear(leading))?;
        begin.record(leading)?;
        following.wait_for(leading)?;
        for group in 0..self.shape.groups {
            if let Some(code) = stop() {
                self.lanes.iter().try_for_each(|lane| lane.stream.synchronize())?;
                return Err(Error::Stopped { code, done: group, all: self.shape.groups });
            }
            let lane = &self.lanes[group % STREAMS];
            let a = match self.resident.get(group) {
                Some(a) => a,
                None => {
                    let made = images::group(&self.task, &self.shape, group);
                    let a = &self.passing[group % STREAMS];
                    // In this stream, so after all that still reads what was there.
                    a.upload(&made, &lane.stream)?;
                    a
                }
            };
            for batch in batches(self.task.problem.occ(), self.task.nw(), group) {
                self.launch(lane, a, batch)?;
            }
            done(group as f64 / self.shape.groups as f64);
        }
        leading.wait_for(following)?;
        end.record(leading)?;
        let seconds = end.seconds_since(begin, "the matrix")?;
        let sums = self.found()?;
        done(1.0);
        Ok(Summed { sums, seconds, total: began.elapsed().as_secs_f64() })
    }

    /// Bytes of the device's memory beside A and poles.
    pub fn beside(&self) -> usize {
        let lanes = self.lanes.iter().map(|lane| {
            lane.u.bytes() + lane.v.bytes() + lane.sums.iter().map(Buffer::bytes).sum::<usize>()
        });
        lanes.sum()
    }

    fn launch(&self, lane: &Lane, a: &Buffer<f64>, batch: Batch) -> Result<()> {
        let (pairs, begins, columns) = &self.odd;
        let place = Place {
            a: a.pointer(),
            poles: self.poles.pointer(),
            odd: (pairs.pointer().cast(), begins.pointer(), *columns),
            rows: self.rows.pointer(),
            vcoul: self.vcoul.pointer(),
            w: self.w.pointer(),
            weights: [self.weights[0].pointer(), self.weights[1].pointer()],
            u: lane.u.pointer(),
            v: lane.v.pointer(),
        };
        let kind = usize::from(batch.exchange);
        let sums = lane.sums[2 * batch.iw + kind].pointer();
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
            let (arguments, tile) = (launches.first, self.shape.version.first);
            let (blocks, pointers) = (arguments.blocks(tile), arguments.pointers());
            function.launch_sharing(stream, blocks, tile.threads(), shared[0], &pointers)?;
            if *columns > 0 {
                let (arguments, function) =
                    (launches.odd, self.kernels.odd.module.function(odd::SYMBOL)?);
                let pointers = arguments.pointers();
                function.launch(stream, arguments.blocks(), odd::THREADS, &pointers)?;
            }
            let (arguments, function) =
                (launches.gather, self.kernels.gather.module.function(gather::SYMBOL)?);
            let pointers = arguments.pointers();
            function.launch(stream, arguments.blocks(), gather::THREADS, &pointers)?;
            let (arguments, tile) = (launches.second, self.shape.version.second);
            let function = self.kernels.second.module.function(self.shape.version.second_symbol)?;
            function.allow_shared(shared[1])?;
            let (blocks, pointers) = (arguments.blocks(tile), arguments.pointers());
            function.launch_sharing(stream, blocks, tile.threads(), shared[1], &pointers)
        }
    }

    /// The sums of all lanes and slots, added up in their order.
    fn found(&self) -> Result<Sums> {
        let mut found = Sums::zero(self.task.bands(), self.task.nw());
        for iw in 0..self.task.nw() {
            let mut parts = Vec::new();
            for lane in &self.lanes {
                let [hole, exchange] = [0, 1]
                    .map(|kind| lane.sums[2 * iw + kind].download(self.shape.sums(), &lane.stream));
                parts.push([exchange?, hole?]);
            }
            found.take(iw, |l, m| {
                [0, 1].map(|kind| parts.iter().map(|part| self.shape.sum(&part[kind], l, m)).sum())
            });
        }
        Ok(found)
    }
}

impl Kernels {
    fn of(gpu: &Gpu, shape: &Shape) -> Result<Kernels> {
        let module = |symbol: &'static str| gpu.modules.get(symbol, None);
        let version = shape.version;
        let [hole, exchange] = version.symbols[usize::from(!shape.real)];
        Ok(Kernels {
            first: [(hole, module(hole)?), (exchange, module(exchange)?)],
            odd: module(odd::SYMBOL)?,
            gather: module(gather::SYMBOL)?,
            second: module(version.second_symbol)?,
            shared: [
                version.shared(version.first, shape.words()),
                version.shared(version.second, 2),
            ],
        })
    }
}

/// An odd pair as it lies in memory.
fn words(odd: &Odd) -> [u64; 5] {
    let Odd { wtilde, eps, ig, igp } = *odd;
    let [a, b, c, d] = [wtilde.re, wtilde.im, eps.re, eps.im].map(f64::to_bits);
    [a, b, c, d, u64::from(igp) << 32 | u64::from(ig)]
}
