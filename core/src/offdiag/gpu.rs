//! A task on a GPU with FP64 matrix instructions.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpp_kernels::offdiag::poles::Odd;
use gpp_kernels::offdiag::{fold, gather, odd};

use super::Task;
use super::images::{self, Shape};
use super::launches::{Batch, Launches, Place};
use super::versions::Version;
use crate::devices::Device;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{Buffer, Context, Stream, Transfer};
use crate::devices::gpu::modules::Loaded;
use crate::error::Result;

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
    /// Energies that are summed together.
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
    /// The same without slots.
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
    ///
    /// # Errors
    /// [`crate::Error::Memory`], [`crate::Error::Driver`].
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

    /// The device.
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
            let (arguments, tile) = (launches.first, self.shape.version.first);
            let (blocks, pointers) = (arguments.blocks(tile), arguments.pointers());
            function.launch_sharing(stream, blocks, tile.threads(), shared[0], &pointers)?;
            if *columns > 0 {
                let (arguments, function) =
                    (launches.odd, self.kernels.odd.module.function(odd::SYMBOL)?);
                let pointers = arguments.pointers();
                function.launch(stream, arguments.blocks(), odd::THREADS, &pointers)?;
            }
            if batch.gathers {
                let (arguments, function) =
                    (launches.gather, self.kernels.gather.module.function(gather::SYMBOL)?);
                let pointers = arguments.pointers();
                function.launch(stream, arguments.blocks(), gather::THREADS, &pointers)?;
            }
            let (arguments, tile) = (launches.second, self.shape.version.second);
            let function = self.kernels.second.module.function(self.shape.version.second_symbol)?;
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
        let [hole, exchange] = version.symbols[usize::from(!shape.real)];
        Ok(Kernels {
            first: [(hole, module(hole)?), (exchange, module(exchange)?)],
            odd: module(odd::SYMBOL)?,
            gather: module(gather::SYMBOL)?,
            second: module(version.second_symbol)?,
            fold: module(fold::SYMBOL)?,
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
