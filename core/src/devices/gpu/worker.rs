//! A worker on a GPU: what is there of a problem's bands and slabs ([`super::placed`]), and the launches.

use std::collections::VecDeque;
use std::ops::Range;

use gpp_kernels::kernel::{Gpu as Kernels, Kernel};
use gpp_kernels::reduction::{self, SecondStageArguments};
use gpp_kernels::sums::VALUES;
use gpp_kernels::table::{self, EnergiesFrom};

use super::Gpu;
use super::arguments::given;
use super::bands::PlacedBands;
use super::lane::{Lane, Launched};
use super::lent::{Lent, Relay};
use super::modules::Functions;
use super::pairs::PairsCache;
use super::ring::Ring;
use super::uploads::Uploads;
use crate::devices::launch::{Launch, entry};
use crate::error::Result;
use crate::problem::{Batch, Frame, Id, SlabView};

/// A worker.
pub struct OnGpu<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) problem: &'a Frame,
    pub(super) bands: PlacedBands,
    pub(super) pairs: PairsCache,
    pub(super) lanes: Vec<Lane>,
    /// Lanes with work under way, the first one begun in front; behind them the others, that which was
    /// used last at the end.
    pub(super) turns: VecDeque<usize>,
    pub(super) under_way: usize,
    /// The energies that it is at.
    pub(super) at: Option<(Id, Range<usize>)>,
    pub(super) ring: Ring,
    /// Matrix elements that are on the GPU already.
    pub(super) lent: Option<&'a Lent>,
    pub(super) relay: Relay,
    /// Whether only one layout is in place at a time.
    pub(super) one_layout: bool,
    /// Whether there are more slabs than lanes.
    pub(super) streams: bool,
}

impl<'a> OnGpu<'a> {
    /// A worker for slabs of a problem.
    pub(super) fn new(gpu: &'a Gpu, problem: &'a Frame, lane: Lane) -> OnGpu<'a> {
        OnGpu {
            gpu,
            problem,
            bands: PlacedBands::default(),
            pairs: PairsCache::default(),
            lanes: vec![lane],
            turns: [0].into(),
            under_way: 0,
            at: None,
            ring: Ring::default(),
            lent: None,
            relay: Relay::default(),
            one_layout: false,
            streams: false,
        }
    }

    /// The lane for a slab: where it is in place, or an empty one, or that which was used longest ago.
    fn lane_for(&mut self, slab: SlabView) -> usize {
        let free =
            || (self.under_way..self.turns.len()).map(|at| (at, &self.lanes[self.turns[at]]));
        let in_place = free().find(|(_, lane)| lane.slab.holds(slab));
        let empty = || free().find(|(_, lane)| lane.slab.is_empty());
        let (at, _) = in_place.or_else(empty).or_else(|| free().next()).expect("a lane is free");
        let lane = self.turns.remove(at).expect("found above");
        self.turns.insert(self.under_way, lane);
        lane
    }

    /// Puts a slab in place, for a kernel at a batch or for any; the lane, and how many bytes it takes.
    pub(super) fn placed(
        &mut self,
        slab: SlabView,
        kernel: Option<(&Kernel, &Batch)>,
    ) -> Result<(usize, u64)> {
        let at = self.lane_for(slab);
        let lane = &mut self.lanes[at];
        let made = kernel.and_then(|(kernel, batch)| {
            let lacks = lane.slab.lacks_pairs(slab, batch, kernel);
            lacks.then(|| self.pairs.of(self.problem, slab, (batch, kernel)))
        });
        let mut to = Uploads {
            context: &self.gpu.context,
            stream: &lane.stream,
            begin: &lane.uploads[0],
            problem: self.problem,
            ring: &mut self.ring,
            lent: self.lent,
            relay: &mut self.relay,
            one_layout: self.one_layout,
            bytes: 0,
        };
        lane.slab.place(&mut to, &self.bands, slab)?;
        if let Some((kernel, batch)) = kernel {
            self.bands.want(&mut to, kernel.layout, batch)?;
            lane.slab.want(&mut to, slab, (batch, kernel), made)?;
        }
        let bytes = to.bytes;
        if bytes > 0 {
            lane.uploads[1].record(&lane.stream)?;
        }
        Ok((at, bytes))
    }

    /// Begins to sum a slab at a batch of energies by the functions of some modules.
    ///
    /// # Errors
    /// Those of [`begin`](crate::devices::Worker::begin).
    ///
    /// # Panics
    /// As [`begin`](crate::devices::Worker::begin).
    pub fn begin_by(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        gpu: &Kernels,
        functions: &Functions,
    ) -> Result<()> {
        let plan = batch.plan();
        assert!(
            self.under_way == 0 || self.at.as_ref() == Some(&batch.id()),
            "what is under way is of one batch"
        );
        self.at = Some(batch.id());
        let (at, uploaded) = self.placed(slab, Some((plan.kernel(gpu), batch)))?;
        let before = self.under_way.checked_sub(1).map(|last| self.turns[last]);
        let (bands, lanes) = (&self.bands, &mut self.lanes);
        let (lane, before) = match before {
            Some(before) => {
                let [lane, before] = lanes.get_disjoint_mut([at, before]).expect("two lanes");
                (lane, Some(&before.stream))
            }
            None => (&mut lanes[at], None),
        };
        let pairs = lane.slab.pairs(plan.kernel(gpu)).made();
        let Launch { kernel, entry, grid, .. } = Launch::of(gpu, self.problem, batch, slab, pairs)?;

        let values = batch.nw() * VALUES;
        let (partials, sums) = (grid.blocks() as usize * values, grid.groups as usize * values);
        lane.poison(&self.gpu.context, partials, sums)?;
        let function = functions.kernel.function(&(functions.symbol)(entry.symbol))?;
        let symbol = (functions.symbol)(reduction::SYMBOL);
        let second_stage = functions.second_stage.function(&symbol)?;
        // Held until the kernels are done: nobody fills the table with others meanwhile.
        let reads = kernel.energies_from == EnergiesFrom::ConstantMemory;
        let holding = functions.table.filter(|_| reads).map(|table| {
            let wx = plan.table().wx();
            table.holding(wx, || function.set(table::SYMBOL, wx, &lane.stream))
        });
        let holding = holding.transpose()?;
        let second = SecondStageArguments {
            partials: lane.partials(),
            count: grid.per_group(),
            sums: lane.sums(),
        };

        self.gpu.modules.finish();
        super::first_launch::now();
        let launched = Launched {
            version: gpu.id(),
            groups: grid.groups as usize,
            sums,
            blocks: grid.blocks(),
            uploaded,
        };
        let launch_all = || -> Result<()> {
            let stream = &lane.stream;
            // Kernels at the same time would take each other's place, and the first be done last.
            before.map_or(Ok(()), |before| stream.wait_for(before))?;
            lane.kernels[0].record(stream)?;
            for iw in kernel.launches(batch.nw()) {
                let arguments = given(kernel, iw, (self.problem, batch, bands, lane));
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
            lane.kernels[1].record(stream)
        };
        let done = launch_all();
        // Whatever failed, nothing that was launched runs on when the table is let go.
        done.inspect_err(|_| _ = lane.stream.synchronize())?;
        lane.launched(launched, holding)?;
        self.gpu.modules.begin();
        self.under_way += 1;
        Ok(())
    }

    /// Begins to sum a slab at a batch of energies by a version's kernels as the program has them.
    ///
    /// # Errors
    /// Those of [`begin`](crate::devices::Worker::begin).
    pub fn begin_by_own(&mut self, slab: SlabView<'_>, batch: &Batch, gpu: &Kernels) -> Result<()> {
        let kernel = batch.plan().kernel(gpu);
        let first = self.gpu.module(entry(kernel, batch.nw()).symbol)?;
        let second = self.gpu.module(reduction::SYMBOL)?;
        let functions = Functions {
            kernel: &first.module,
            table: Some(&first.table),
            second_stage: &second.module,
            symbol: str::to_string,
        };
        self.begin_by(slab, batch, gpu, &functions)
    }
}
