//! A run: slabs → workers → sums.
//!
//! The slabs of a problem are dealt to workers ([`crate::schedule`]), one for each device. Each group of `igp`
//! ([`gpp_kernels::kernel::Kernel::igp_of_group`]) has a sum, and these are added here in the order of `igp`: if slabs
//! hold whole groups, the result is bitwise reproducible for any number of slabs, workers and ranks. In most
//! kernels for CPUs each `igp` is a group. The paper's grids, lists and sorted pairs have one group, the slab: their bits
//! depend on its size.
//!
//! A version that does not hold all energies sums a slab in batches ([`crate::problem::Batch`]) before the next slab.
//! Sums do not depend on other batches, except of sorted pairs, whose clusters depend on all energies.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use gpp_cpu::work::{Compensated, NEVER, Stop};
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::catalogue::Kernel;
use crate::devices::{Device, Done, SlabSums, Upload, Watch, Worker};
use crate::error::{Error, Result};
use crate::problem::{Batch, Batches, Problem, SlabRef, Slabs, Sums};
use crate::ranks::{Alone, Ranks};
use crate::schedule::{self, Homes, Pipeline, Run};

/// A problem cut into slabs, and the workers that sum them.
pub struct Engine<'a> {
    slabs: Slabs<'a>,
    workers: Vec<Box<dyn Worker + 'a>>,
    homes: Homes,
    ranks: &'a dyn Ranks,
    stop: &'a Stop,
    cache: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Calculation {
    /// The sums, without the starting sums.
    pub sums: Sums,
    /// Seconds: by the device's clock for one slab in place, else from the begin to the last sum, uploads included.
    pub seconds: f64,
    /// Blocks of the largest launch of the first slab, for kernels of GPUs.
    pub blocks: Option<u32>,
    /// Rank 0's workers first.
    pub workers: Vec<WorkerStats>,
}

/// The work of one worker in a calculation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerStats {
    pub slabs: usize,
    pub igp: usize,
    /// Seconds of its kernels. Those of two slabs may run at the same time.
    pub kernels_s: f64,
    pub uploads_s: f64,
    pub uploaded: u64,
    /// Seconds in which its slabs were made or read.
    pub source_s: f64,
    /// Seconds from the begin of the calculation to its last sum.
    pub busy_s: f64,
}

impl<'a> Engine<'a> {
    /// The whole problem as one slab on one device.
    pub fn whole(device: &'a dyn Device, problem: &'a Problem) -> Result<Self> {
        Self::new(problem, problem.header().ngpown, vec![device.worker(problem)?])
    }

    /// A problem in slabs of `igp` columns on `workers`.
    pub fn new(
        problem: impl Into<Slabs<'a>>,
        igp: usize,
        workers: Vec<Box<dyn Worker + 'a>>,
    ) -> Result<Self> {
        Self::among(&Alone, problem, igp, workers)
    }

    /// The engine of one of several processes, each of which sums a part of the slabs.
    pub fn among(
        ranks: &'a dyn Ranks,
        problem: impl Into<Slabs<'a>>,
        igp: usize,
        mut workers: Vec<Box<dyn Worker + 'a>>,
    ) -> Result<Self> {
        let whole = problem.into();
        assert!(igp > 0 && !workers.is_empty(), "a run has slabs and workers");
        let slabs = Slabs::new(whole.problem(), igp);
        if slabs.count() > 1 {
            let each = ranks.share(slabs.count()).len().div_ceil(workers.len());
            workers.iter_mut().try_for_each(|worker| worker.expect(igp, each))?;
        }
        let first = |at: usize| (at < workers.len()).then_some(at);
        let homes = Homes { of: (0..slabs.count()).map(first).collect(), moves: true };
        Ok(Engine { slabs, workers, homes, ranks, stop: &NEVER, cache: 0 })
    }

    /// Makes the engine poll `stop` between slabs.
    #[must_use]
    pub fn stopping(self, stop: &'a Stop) -> Self {
        Engine { stop, ..self }
    }

    pub fn problem(&self) -> &'a Problem {
        self.slabs.problem()
    }

    /// The problem in the run's slabs.
    pub fn slabs(&self) -> Slabs<'a> {
        self.slabs
    }

    /// Allows `bytes` of host memory for what workers compute from slabs and need again.
    pub fn keep(&mut self, bytes: u64) {
        self.cache = bytes;
        let each = bytes / self.workers.len() as u64;
        self.workers.iter_mut().for_each(|worker| worker.keep(each));
    }

    pub fn kept(&self) -> u64 {
        self.cache
    }

    /// Whether slabs displace each other, so that every calculation uploads them again.
    pub fn streams(&self) -> bool {
        self.workers.iter().any(|worker| worker.streams())
    }

    /// Places all that a version's kernels read, if it stays there, so that the first calculation takes as long as the
    /// next one.
    pub fn ready(&mut self, kernel: Kernel) -> Result<()> {
        let slabs = self.slabs;
        let (Some(slab), [only]) = (slabs.problem().in_memory(), &mut self.workers[..]) else {
            return Ok(());
        };
        let (1, 1) = (slabs.count(), self.ranks.size()) else { return Ok(()) };
        // In the order of a calculation, which leaves the last batch on the device, and what it made of others here.
        let batches = kernel.batches(slabs.problem());
        let mut order = (0..batches.count()).take_while(|_| !self.stop.is_asked());
        order.try_for_each(|at| only.ready(slab.view(), &batches.get(at), kernel))
    }

    pub fn run(&mut self, kernel: Kernel) -> Result<Calculation> {
        self.run_with(kernel, Watch::none())
    }

    /// One calculation with progress, and with a stop within a slab. Of several processes rank 0 has all sums.
    pub fn run_with(&mut self, kernel: Kernel, watch: Watch) -> Result<Calculation> {
        self.run_batches(kernel, &kernel.batches(self.problem()), watch)
    }

    /// One calculation at some energies (0-based) only: it returns their sums.
    pub fn run_at(
        &mut self,
        energies: &[usize],
        kernel: Kernel,
        watch: Watch,
    ) -> Result<Calculation> {
        self.run_batches(kernel, &self.problem().batches_at(energies), watch)
    }

    fn run_batches(
        &mut self,
        kernel: Kernel,
        batches: &Batches,
        watch: Watch,
    ) -> Result<Calculation> {
        let group = kernel.igp_of_group(&batches.first().plan);
        let (count, igp) = (self.slabs.count(), self.slabs.igp());
        if let Some(group) = group.filter(|group| count > 1 && !igp.is_multiple_of(*group)) {
            let (origin, id) = (self.problem().name().into(), kernel.id());
            let what =
                format!("{id} needs slabs of whole groups, {group} igp each; they have {igp} igp");
            return Err(Error::Input { origin, what });
        }
        let own = self.ranks.share(count);
        self.ranks.barrier();
        let begin = Instant::now();
        let run = SlabRun { slabs: self.slabs, kernel, batches, stop: watch.stop, begin };
        let workers = self.workers.iter_mut();
        let mut pipelines: Vec<_> =
            workers.map(|worker| SlabPipeline::new(&run, worker.as_mut())).collect();
        let queue = Run {
            items: own.collect(),
            homes: &mut self.homes,
            ahead: usize::MAX,
            done: watch.done,
            stop: self.stop,
        };
        let mut sums = Vec::new();
        let mut take = |of_slab: SlabSums| {
            sums.push(of_slab);
            Ok(())
        };
        let workers = pipelines.iter_mut().map(|one| one as &mut dyn Pipeline<_>).collect();
        let stopped = schedule::each(workers, queue, &mut take)?;
        let workers = pipelines.iter().map(|pipeline| pipeline.stats.clone()).collect();
        drop(pipelines);
        let stopped = self.ranks.first_code(stopped);
        let (sums, workers) = gathered(self.ranks, (sums, workers));
        let elapsed = begin.elapsed().as_secs_f64();
        if let Some(code) = stopped {
            return Err(Error::Stopped { code, done: sums.len(), all: count, of: "slabs" });
        }
        let seconds = match &sums[..] {
            [only] if self.ranks.size() == 1 && only.upload.bytes == 0 => only.seconds,
            _ => elapsed,
        };
        let blocks = sums.first().and_then(|first| first.blocks);
        let sums = ordered_sum(&sums, kernel, self.problem(), batches.nw());
        Ok(Calculation { sums, seconds, blocks, workers })
    }
}

struct SlabRun<'r> {
    slabs: Slabs<'r>,
    kernel: Kernel,
    batches: &'r Batches<'r>,
    stop: &'r Stop,
    begin: Instant,
}

/// A worker's slabs, each at all energies, as many in flight as the device takes.
struct SlabPipeline<'r> {
    run: &'r SlabRun<'r>,
    worker: &'r mut dyn Worker,
    /// The batch in flight and the next one, which is made meanwhile, by their numbers.
    made: Vec<(usize, Arc<Batch>)>,
    /// The batches for the next slab, last first, from the one in place on: a device holds one at a time.
    order: Vec<usize>,
    in_flight: VecDeque<InFlight<'r>>,
    stats: WorkerStats,
}

struct InFlight<'r> {
    slab: usize,
    /// Its data, as long as there are batches to begin.
    data: Option<SlabRef<'r>>,
    /// The batches to begin, last first.
    left: Vec<usize>,
    batch: usize,
    /// The sums so far, with the numbers of their batches.
    sums: Vec<(usize, SlabSums)>,
}

impl<'r> SlabPipeline<'r> {
    fn new(run: &'r SlabRun<'r>, worker: &'r mut dyn Worker) -> SlabPipeline<'r> {
        let order = (0..run.batches.count()).rev().collect();
        let (made, in_flight, stats) = Default::default();
        SlabPipeline { run, worker, made, order, in_flight, stats }
    }

    fn batch(&mut self, at: usize) -> Arc<Batch> {
        if let Some((_, batch)) = self.made.iter().find(|(number, _)| *number == at) {
            return batch.clone();
        }
        let batch = Arc::new(self.run.batches.get(at));
        if self.made.len() > 1 {
            self.made.remove(0);
        }
        self.made.push((at, batch.clone()));
        batch
    }

    fn begin_batch(&mut self, mut slab: InFlight<'r>, done: Done) -> Result<()> {
        let SlabRun { kernel, batches, stop, .. } = *self.run;
        let finished = slab.sums.len();
        let of_batch = |of: f64| done((finished as f64 + of) / batches.count() as f64);
        if finished > 0 {
            of_batch(0.0);
        }
        let watch = Watch { done: &of_batch, stop };
        watch.check()?;
        slab.batch = slab.left.pop().expect("a batch is left");
        let batch = self.batch(slab.batch);
        let data = slab.data.as_ref().expect("it stays until the last batch");
        self.worker.begin(data.view(), &batch, kernel, watch)?;
        slab.data = slab.data.filter(|_| !slab.left.is_empty());
        self.in_flight.push_back(slab);
        Ok(())
    }
}

impl Pipeline<SlabSums> for SlabPipeline<'_> {
    fn device(&self) -> &str {
        self.worker.device()
    }

    /// The batches of a slab follow each other. While its last one is in flight the next slab may begin.
    fn has_room(&self) -> bool {
        let last = self.in_flight.back();
        self.in_flight.len() < self.worker.depth() && last.is_none_or(|last| last.left.is_empty())
    }

    fn begin(&mut self, slab: usize, done: Done) -> Result<bool> {
        let begin = Instant::now();
        let igp = self.run.slabs.range(slab).expect("the queue is of these slabs");
        let data = self.run.slabs.problem().part(igp)?;
        if let SlabRef::Owned(_) = data {
            self.stats.source_s += begin.elapsed().as_secs_f64();
        }
        let (data, left) = (Some(data), self.order.clone());
        self.begin_batch(InFlight { slab, data, left, batch: 0, sums: Vec::new() }, done)?;
        self.order.reverse();
        Ok(true)
    }

    fn finish(&mut self, done: Done) -> Result<Option<SlabSums>> {
        let mut first = self.in_flight.pop_front().expect("a slab is in flight");
        if let Some(&next) = first.left.last() {
            self.batch(next);
        }
        first.sums.push((first.batch, self.worker.finish()?));
        if !first.left.is_empty() {
            self.begin_batch(first, done)?;
            return Ok(None);
        }
        first.sums.sort_by_key(|(batch, _)| *batch);
        let sums = SlabSums::joined(first.sums.into_iter().map(|(_, sums)| sums));
        let sums = sums.expect("a problem has an energy");
        let stats = &mut self.stats;
        stats.slabs += 1;
        stats.igp += self.run.slabs.range(first.slab).map_or(0, |igp| igp.len());
        stats.kernels_s += sums.seconds;
        stats.uploads_s += sums.upload.seconds;
        stats.uploaded += sums.upload.bytes;
        stats.busy_s = self.run.begin.elapsed().as_secs_f64();
        Ok(Some(sums))
    }
}

/// After an error or a panic, waits for what is in flight: the worker's next calculation begins with nothing in flight.
impl Drop for SlabPipeline<'_> {
    fn drop(&mut self) {
        while self.in_flight.pop_front().is_some() {
            // The first error is the one that is returned.
            _ = self.worker.finish();
        }
    }
}

/// The sums of slabs in the order of igp, and the work of each worker.
type Report = (Vec<SlabSums>, Vec<WorkerStats>);

/// On rank 0 the reports of all, its own first; other ranks get their own. Collective.
fn gathered(ranks: &dyn Ranks, own: Report) -> Report {
    if ranks.size() == 1 {
        return own;
    }
    let (sums, workers) = &own;
    let counts: Vec<_> = sums.iter().map(|of| (of.groups, of.blocks, of.values.len())).collect();
    let values = sums.iter().flat_map(|of| &of.values).copied().collect::<Vec<f64>>();
    let message = serde_json::to_vec(&(workers, counts)).expect("numbers under names");
    // JSON has no NaN.
    let sent = [ranks.gather(&message), ranks.gather(bytemuck::cast_slice(&values))];
    let [Some(messages), Some(values)] = sent else { return own };
    let mut all = Report::default();
    for (message, values) in messages.iter().zip(values) {
        let (workers, counts): (Vec<WorkerStats>, Vec<(usize, Option<u32>, usize)>) =
            serde_json::from_slice(message).expect("the same program wrote it");
        let mut values = bytemuck::pod_collect_to_vec::<u8, f64>(&values).into_iter();
        for (groups, blocks, length) in counts {
            let values = values.by_ref().take(length).collect();
            let (seconds, upload) = (0.0, Upload::default());
            all.0.push(SlabSums { values, groups, seconds, blocks, upload });
        }
        all.1.extend(workers);
    }
    all
}

/// The sums of `nw` energies over slabs in the order of `igp`, by Neumaier's compensated summation (ZAMM 54, 39,
/// 1974), one group after the other: bits depend neither on workers nor on the number of slabs. Of a kernel of
/// [`ch_of_bands`](crate::catalogue::ch_of_bands) `ach` is that of each band, in the problem's order.
pub fn ordered_sum<'a>(
    slabs: impl IntoIterator<Item = &'a SlabSums>,
    kernel: Kernel,
    problem: &Problem,
    nw: usize,
) -> Sums {
    let nbands = problem.header().nbands;
    let mut totals = vec![Compensated::default(); kernel.values([nbands, nw])];
    for slab in slabs {
        for (of_groups, total) in slab.values.chunks_exact(slab.groups).zip(&mut totals) {
            of_groups.iter().for_each(|&group| total.add(group));
        }
    }
    let values: Vec<f64> = totals.into_iter().map(Compensated::value).collect();
    if !kernel.is_per_band() {
        return Sums::from_values(&values);
    }
    let (bands, _) = values.as_chunks::<2>();
    let mut ach = vec![Complex64::ZERO; nbands];
    for (at, &[re, im]) in bands.iter().enumerate() {
        let n = if kernel.gpu().is_some() { problem.order().bands()[at] } else { at };
        ach[n] = Complex64::new(re, im);
    }
    Sums { asx: Vec::new(), ach }
}
