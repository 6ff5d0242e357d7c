//! A run: slabs → workers → sums.
//!
//! The slabs of a problem are dealt to workers ([`crate::schedule`]), one for each device. The sums of each group of
//! `igp` ([`gpp_kernels::kernel::Kernel::igp_of_group`]) stay apart and are added here in the order of `igp`: see
//! [`ordered_sum`]. So if slabs hold whole groups, bits do not depend on slabs, workers and ranks. In kernels for CPUs
//! each `igp` is a group. The paper's grids and sorted pairs have one group, the slab: their bits depend on the size of
//! slabs.
//!
//! A version whose kernels do not hold all energies sums them in batches ([`crate::problem::Batch`]). A slab goes
//! through all batches before the next slab begins; each batch is made while the one before runs. The sums of a batch do
//! not depend on other batches, except of sorted pairs: clusters depend on all energies.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use gpp_cpu::stop::{NEVER, Stop};
use gpp_cpu::work::Compensated;
use gpp_kernels::formula::VALUES;
use serde::{Deserialize, Serialize};

use crate::catalogue::Kernel;
use crate::devices::{Device, Done, Locked, SlabSums, Upload, Watch, Worker};
use crate::error::{Error, Result};
use crate::problem::{Batch, Batches, Matrix, Problem, Slab, SlabRef, Slabs, Sums};
use crate::ranks::{Alone, Ranks};
use crate::schedule::{self, Homes, Pipeline, Run};

/// A problem cut into slabs, and the workers that sum them.
pub struct Engine<'a> {
    slabs: Slabs<'a>,
    workers: Vec<Box<dyn Worker + 'a>>,
    homes: Homes,
    ranks: &'a dyn Ranks,
    stop: &'a Stop,
    /// Bytes of the host's memory for what workers compute from slabs and need again.
    cache: u64,
    /// Whether there was a calculation before, and whether the devices have forgotten since then what was in place.
    ran: bool,
    forgotten: bool,
    /// Page-locked arrays of slabs, once locking was tried.
    locked: Option<Vec<Locked>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Calculation {
    /// The sums, without the starting sums.
    pub sums: Sums,
    /// Seconds: by the device's clock for one slab that was in place, else from the begin to the last sum, with
    /// all making, reading and uploading.
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

    /// Slabs of so many `igp` on `workers`.
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
        if igp == 0 || workers.is_empty() {
            let what =
                format!("needs slabs and workers, has {igp} igp a slab, {} workers", workers.len());
            return Err(Error::Input { origin: whole.problem().name().into(), what });
        }
        let slabs = whole.of_size(igp);
        if slabs.count() > 1 {
            let each = ranks.share(slabs.count()).len().div_ceil(workers.len());
            workers.iter_mut().try_for_each(|worker| worker.expect(igp, each))?;
        }
        let first = |at: usize| (at < workers.len()).then_some(at);
        let homes = Homes { of: (0..slabs.count()).map(first).collect(), moves: true };
        let (stop, cache, ran, forgotten, locked) = (&NEVER, 0, false, false, None);
        Ok(Engine { slabs, workers, homes, ranks, stop, cache, ran, forgotten, locked })
    }

    /// Has `stop` polled between slabs.
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

    /// Allows so many bytes of the host's memory for what workers compute from slabs and need again.
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

    /// Places all that a version's kernels read, if it stays there. The next calculation, even the first, then only
    /// launches, and prepares the next batch of energies.
    pub fn ready(&mut self, kernel: Kernel) -> Result<()> {
        let slabs = self.slabs;
        let (Some(slab), [only]) = (slabs.in_memory(), &mut self.workers[..]) else {
            return Ok(());
        };
        let (1, 1) = (slabs.count(), self.ranks.size()) else { return Ok(()) };
        // The first batch last: its energies are to be there.
        let kinds: Vec<_> = kernel.batches(slabs.problem()).kinds().collect();
        kinds.iter().rev().try_for_each(|batch| only.ready(slab.view(), batch, kernel))
    }

    /// Has the workers forget what is in place, so that the next run uploads all slabs again.
    pub fn forget(&mut self) {
        self.workers.iter_mut().for_each(|worker| worker.forget());
        self.forgotten = true;
    }

    pub fn run(&mut self, kernel: Kernel) -> Result<Calculation> {
        self.run_with(kernel, Watch::none())
    }

    /// One calculation with progress, and with a stop within a slab too. With several processes rank 0 has the sums of
    /// all, the others have their own.
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
        let group = kernel.igp_of_group(batches.first().plan());
        let (count, igp) = (self.slabs.count(), self.slabs.igp());
        if let Some(group) = group.filter(|group| count > 1 && !igp.is_multiple_of(*group)) {
            let (origin, id) = (self.problem().name().into(), kernel.id());
            let what =
                format!("{id} needs slabs of whole groups, {group} igp each; they have {igp} igp");
            return Err(Error::Input { origin, what });
        }
        let uploads_again = self.uploads_again();
        let own = self.ranks.share(count);
        // Splitting helps with sums of groups, and with uploads under kernels of other slabs.
        let overlaps = own.len() > 1 && self.workers.iter().all(|worker| worker.depth() > 1);
        let split = group.filter(|_| overlaps && uploads_again);
        self.ranks.barrier();
        let begin = Instant::now();
        let first = own.start..own.start + self.workers.len();
        let run = SlabRun {
            slabs: self.slabs,
            split: split.map(|group| (first, group)),
            kernel,
            batches,
            stop: watch.stop,
            begin,
        };
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
        let (mut sums, mut done) = (Vec::new(), 0);
        let mut take = |of_slab: Vec<SlabSums>| {
            sums.extend(of_slab);
            done += 1;
            Ok(())
        };
        let workers = pipelines.iter_mut().map(|one| one as &mut dyn Pipeline<_>).collect();
        let stopped = schedule::each(workers, queue, &mut take)?;
        let workers = pipelines.iter().map(|pipeline| pipeline.stats.clone()).collect();
        drop(pipelines);
        let stopped = self.ranks.first_code(stopped);
        let (sums, workers, done) = gathered(self.ranks, (sums, workers, done));
        let elapsed = begin.elapsed().as_secs_f64();
        if let Some(code) = stopped {
            return Err(Error::Stopped { code, done, all: count, of: "slabs" });
        }
        let seconds = match &sums[..] {
            [only] if self.ranks.size() == 1 && only.upload.bytes == 0 => only.seconds,
            _ => elapsed,
        };
        let blocks = sums.first().and_then(|first| first.blocks);
        Ok(Calculation { sums: ordered_sum(&sums, batches.nw()), seconds, blocks, workers })
    }

    /// Whether the calculation that begins uploads slabs again. The second that does so page-locks the slabs in memory:
    /// that takes longer than the copies of one calculation. A lock that was refused once is not tried again.
    fn uploads_again(&mut self) -> bool {
        let again = std::mem::take(&mut self.forgotten) || self.streams();
        if std::mem::replace(&mut self.ran, true) && self.locked.is_none() && again {
            let arrays = self.slabs.in_memory().into_iter().flat_map(Slab::shared);
            let lock =
                |array: Arc<Matrix>| self.workers.iter().find_map(|to| to.lock(array.clone()));
            self.locked = Some(arrays.filter_map(lock).collect());
        }
        again
    }
}

// A worker's slabs: each at all energies, as many in flight as the device takes.

/// What all workers of a calculation share.
struct SlabRun<'r> {
    slabs: Slabs<'r>,
    /// Slabs that are split in two, and the igp of a group.
    split: Option<(Range<usize>, usize)>,
    kernel: Kernel,
    batches: &'r Batches<'r>,
    stop: &'r Stop,
    begin: Instant,
}

/// The first part of a slab that is split is one of this many, in whole groups. No kernel hides the upload of a worker's
/// first slab; that of a small part is soon done, and its kernels hide the upload of the rest. On an H200 si510's upload
/// takes a quarter of the kernels' time.
const SPLIT: usize = 4;

impl SlabRun<'_> {
    /// The parts in which a slab is begun.
    fn parts(&self, slab: usize) -> Vec<Range<usize>> {
        let whole = self.slabs.range(slab).expect("the queue is of these slabs");
        let group = self.split.as_ref().filter(|(first, _)| first.contains(&slab));
        match group.map_or(0, |(_, group)| whole.len() / group / SPLIT * group) {
            0 => vec![whole],
            first => vec![whole.start..whole.start + first, whole.start + first..whole.end],
        }
    }
}

struct SlabPipeline<'r> {
    run: &'r SlabRun<'r>,
    worker: &'r mut dyn Worker,
    /// The batch in flight and the next one, which is made meanwhile.
    made: Vec<(usize, Arc<Batch>)>,
    /// The numbers of batches in the order of the next slab. Each slab begins with the batch that the one before ends
    /// with: a device holds the energies of one batch at a time.
    order: Vec<usize>,
    /// Parts of the slab that was begun last.
    parts: VecDeque<Range<usize>>,
    in_flight: VecDeque<InFlight<'r>>,
    /// Sums of parts whose slab is not complete.
    sums: Vec<SlabSums>,
    stats: WorkerStats,
}

/// A part of a slab at one of its batches.
struct InFlight<'r> {
    slab: usize,
    igp: Range<usize>,
    /// Its data, as long as there are batches to begin.
    data: Option<SlabRef<'r>>,
    /// The batches to begin, in reverse order.
    left: Vec<usize>,
    batch: usize,
    /// The sums so far, with the numbers of their batches.
    sums: Vec<(usize, SlabSums)>,
}

impl<'r> SlabPipeline<'r> {
    fn new(run: &'r SlabRun<'r>, worker: &'r mut dyn Worker) -> SlabPipeline<'r> {
        SlabPipeline {
            run,
            worker,
            made: Vec::new(),
            order: (0..run.batches.count()).rev().collect(),
            parts: VecDeque::new(),
            in_flight: VecDeque::new(),
            sums: Vec::new(),
            stats: WorkerStats::default(),
        }
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

    /// Begins the next batch of a part.
    fn begin_batch(&mut self, mut part: InFlight<'r>, done: Done) -> Result<()> {
        let SlabRun { slabs, kernel, batches, stop, .. } = *self.run;
        let whole = slabs.range(part.slab).expect("the queue is of these slabs");
        let (before, length) = (part.igp.start - whole.start, part.igp.len());
        let finished = part.sums.len();
        let of_batch = |of: f64| {
            let of_part = (finished as f64 + of) / batches.count() as f64;
            done((before as f64 + of_part * length as f64) / whole.len() as f64);
        };
        if finished > 0 {
            of_batch(0.0);
        }
        let watch = Watch { done: &of_batch, stop };
        watch.check()?;
        part.batch = part.left.pop().expect("a batch is left");
        let batch = self.batch(part.batch);
        let data = part.data.as_ref().expect("it stays until the last batch");
        self.worker.begin(data.view(), &batch, kernel, watch)?;
        part.data = part.data.filter(|_| !part.left.is_empty());
        self.in_flight.push_back(part);
        Ok(())
    }
}

impl Pipeline<Vec<SlabSums>> for SlabPipeline<'_> {
    fn device(&self) -> &str {
        self.worker.device()
    }

    /// The batches of a part follow each other. Beside its last one the next part may begin.
    fn has_room(&self) -> bool {
        let last = self.in_flight.back();
        self.in_flight.len() < self.worker.depth() && last.is_none_or(|last| last.left.is_empty())
    }

    fn begin(&mut self, slab: usize, done: Done) -> Result<bool> {
        if self.parts.is_empty() {
            self.parts = self.run.parts(slab).into();
        }
        let igp = self.parts.pop_front().expect("a slab has a part");
        let begin = Instant::now();
        let data = self.run.slabs.part(igp.clone())?;
        if let SlabRef::Owned(_) = data {
            self.stats.source_s += begin.elapsed().as_secs_f64();
        }
        let (left, sums) = (self.order.clone(), Vec::new());
        let part = InFlight { slab, igp, data: Some(data), left, batch: 0, sums };
        self.begin_batch(part, done)?;
        self.order.reverse();
        Ok(self.parts.is_empty())
    }

    fn finish(&mut self, done: Done) -> Result<Option<Vec<SlabSums>>> {
        let mut first = self.in_flight.pop_front().expect("a part is in flight");
        if let (Some(&next), Some(data)) = (first.left.last(), &first.data) {
            let batch = self.batch(next);
            self.worker.look_ahead(data.view(), &batch, self.run.kernel);
        }
        first.sums.push((first.batch, self.worker.finish()?));
        if !first.left.is_empty() {
            self.begin_batch(first, done)?;
            return Ok(None);
        }
        first.sums.sort_by_key(|(batch, _)| *batch);
        let sums = SlabSums::joined(first.sums.into_iter().map(|(_, sums)| sums));
        let sums = sums.expect("a problem has an energy");
        self.stats.igp += first.igp.len();
        self.stats.kernels_s += sums.seconds;
        self.stats.uploads_s += sums.upload.seconds;
        self.stats.uploaded += sums.upload.bytes;
        self.sums.push(sums);
        if self.run.slabs.range(first.slab).is_none_or(|whole| first.igp.end < whole.end) {
            return Ok(None);
        }
        self.sums[0].blocks = self.sums.iter().filter_map(|sums| sums.blocks).max();
        self.stats.slabs += 1;
        self.stats.busy_s = self.run.begin.elapsed().as_secs_f64();
        Ok(Some(std::mem::take(&mut self.sums)))
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

// What the processes of a run send to rank 0.

/// The sums of slabs in the order of igp, the work of each worker, and how many slabs are summed.
type Report = (Vec<SlabSums>, Vec<WorkerStats>, usize);

/// The reports of all in one on rank 0, whose slabs come first; other ranks get their own. Collective.
fn gathered(ranks: &dyn Ranks, own: Report) -> Report {
    if ranks.size() == 1 {
        return own;
    }
    let (sums, workers, done) = &own;
    let message = serde_json::to_vec(&(workers, done)).expect("numbers under names");
    let sent = [ranks.gather(&message), ranks.gather(bytemuck::cast_slice(&numbers(sums)))];
    let [Some(messages), Some(numbers)] = sent else { return own };
    let mut all = Report::default();
    for (message, numbers) in messages.iter().zip(numbers) {
        let (workers, done): (Vec<WorkerStats>, usize) =
            serde_json::from_slice(message).expect("the same program wrote it");
        all.0.extend(slab_sums(&bytemuck::pod_collect_to_vec::<u8, f64>(&numbers)));
        all.1.extend(workers);
        all.2 += done;
    }
    all
}

/// Sums as numbers: of each slab how many groups, blocks and values there are, then the values.
fn numbers(sums: &[SlabSums]) -> Vec<f64> {
    let of_slab = |sums: &SlabSums| {
        let blocks = sums.blocks.unwrap_or(0).into();
        let counts = [sums.groups as f64, blocks, sums.values.len() as f64];
        [&counts[..], &sums.values].concat()
    };
    sums.iter().flat_map(of_slab).collect()
}

/// The sums of such numbers, without their times.
fn slab_sums(mut numbers: &[f64]) -> Vec<SlabSums> {
    let mut sums = Vec::new();
    while let [groups, blocks, count, rest @ ..] = numbers {
        let (values, rest) = rest.split_at(*count as usize);
        let (values, groups) = (values.to_vec(), *groups as usize);
        let blocks = Some(*blocks as u32).filter(|&blocks| blocks > 0);
        sums.push(SlabSums { values, groups, seconds: 0.0, blocks, upload: Upload::default() });
        numbers = rest;
    }
    sums
}

// Sums of groups of `igp`, added up in the order of `igp`.
//
// Each output is added by Neumaier's compensated summation (A. Neumaier, ZAMM 54, 39, 1974), one group
// after the other. So bits do not depend on which worker summed a group, nor on the number of slabs.

/// The sums of `nw` energies over slabs in the order of `igp`.
pub fn ordered_sum<'a>(slabs: impl IntoIterator<Item = &'a SlabSums>, nw: usize) -> Sums {
    let mut totals = vec![Compensated::default(); nw * VALUES];
    for slab in slabs {
        for (value, total) in totals.iter_mut().enumerate() {
            slab.of_value(value).iter().for_each(|&group| total.add(group));
        }
    }
    let values: Vec<f64> = totals.into_iter().map(Compensated::value).collect();
    Sums::from_values(&values)
}
