//! A run: slabs → workers → sums.
//!
//! The slabs of a problem are dealt to workers ([`crate::schedule`]), one for each device. Each group of `igp`
//! ([`gpp_kernels::kernel::Kernel::igp_of_group`]) has a sum, and these are added here in the order of `igp`: if slabs
//! hold whole groups, the result is bitwise reproducible for any number of slabs, workers and ranks. In most
//! kernels for CPUs each `igp` is a group. The paper's grids, lists and sorted pairs have one group, the slab: their bits
//! depend on its size.
//!
//! A version that does not hold all energies sums a slab in batches ([`crate::problem::Batch`]) before the next slab.
//! Sums do not depend on other batches, except of sorted pairs, whose clusters depend on all energies. Clusters of one
//! slab are dealt out to all workers of a process, each of which then has its share of every kind of work.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Instant;

use gpp_cpu::work::CompensatedSum;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::catalogue::Version;
use crate::devices::{Advance, Control, Device, GroupSample, SlabSums, Worker};
use crate::error::{Error, Result, invalid};
use crate::problem::{Batch, Id, Problem, SlabRef, Slabs, Sums};
use crate::ranks::{Alone, Ranks};
use crate::schedule::{self, Affinity, Dispatch, StepPipeline};

/// A problem cut into slabs, and the workers that sum them.
pub struct Engine<'a> {
    slabs: Slabs<'a>,
    /// The shares of one slab's sorted pairs, if several workers sum them.
    shares: Vec<Id>,
    workers: Vec<Box<dyn Worker + 'a>>,
    /// The only batch of the last calculation.
    batch: Option<Batch>,
    homes: Affinity,
    ranks: &'a dyn Ranks,
    /// Slabs are halved if a device has no room for them, down to so many igp.
    pub(crate) least: usize,
    /// Whether samples of what is summed in single precision are summed in FP64 too.
    pub samples: bool,
}

/// One group of `igp` in so many is summed in FP64 too, from the first one on.
const SAMPLED: usize = 48;

#[derive(Clone, Debug, PartialEq)]
pub struct Calculation {
    /// The sums, without the starting sums; of a version for Σ alone [`Sums::alone`].
    pub sums: Sums,
    /// The derivative of Σ with respect to ω at each energy, of versions that [have](Version::has_derivative) it.
    pub derivative: Option<Vec<Complex64>>,
    /// What single precision may have lost of the sums at any energy, in the unit of `vcoul`; zero in double precision.
    pub bound: f64,
    /// What it has lost of the sums of some igp, if asked for by [`Engine::samples`].
    pub sample: Option<Sample>,
    /// Seconds: by the device's clock for one slab in place, else from the begin to the last sum, uploads included.
    pub seconds: f64,
    /// Blocks of the largest launch of the first slab, for kernels of GPUs.
    pub blocks: Option<u32>,
    /// Rank 0's workers first.
    pub workers: Vec<WorkerStats>,
}

/// What single precision has lost at most, of the energies, of the sums of some igp, in the unit of `vcoul`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// How many igp, and of how many.
    pub igp: [usize; 2],
    pub lost: f64,
    /// What rounding in FP64 may add to it.
    pub rounding: f64,
}

impl Sample {
    /// That of all slabs; none without any.
    fn new(slabs: &[SlabSums], all: usize) -> Option<Sample> {
        let igp = [slabs.iter().map(|slab| slab.sample.igp).sum(), all];
        let mut totals: Vec<[f64; 2]> = Vec::new();
        for GroupSample { lost, .. } in slabs.iter().map(|slab| &slab.sample) {
            totals.resize(lost.len().max(totals.len()), [0.0; 2]);
            totals.iter_mut().zip(lost).for_each(|(total, lost)| {
                *total = [total[0] + lost[0], total[1] + lost[1]];
            });
        }
        let [lost, sizes] = [0, 1].map(|part| {
            let values: Vec<f64> = totals.iter().map(|total| total[part]).collect();
            let sums = Sums::from_values(&values).alone().ach;
            // NaN is the largest.
            sums.iter().map(|z| z.norm().abs()).max_by(f64::total_cmp).unwrap_or(0.0)
        });
        (igp[0] > 0).then_some(Sample { igp, lost, rounding: 1e-11 * sizes })
    }

    /// Whether it is no more than this bound of the error of all.
    pub fn is_within(&self, bound: f64) -> bool {
        self.lost <= bound + self.rounding
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerStats {
    pub slabs: usize,
    pub igp: usize,
    /// Seconds of its kernels.
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
        Self::new(&Alone, problem, problem.header().ngpown, vec![device.worker(problem)?])
    }

    /// The engine of one of several processes, each of which sums a part of the slabs, or of one alone.
    pub fn new(
        ranks: &'a dyn Ranks,
        problem: &'a Problem,
        igp: usize,
        workers: Vec<Box<dyn Worker + 'a>>,
    ) -> Result<Self> {
        assert!(igp > 0 && !workers.is_empty(), "a run has slabs and workers");
        let slabs = Slabs::new(problem, igp);
        let (homes, least) = (Affinity::default(), slabs.igp());
        let (shares, batch) = (Vec::new(), None);
        let samples = false;
        let mut engine = Engine { slabs, shares, workers, batch, homes, ranks, least, samples };
        engine.cut(igp)?;
        Ok(engine)
    }

    fn cut(&mut self, igp: usize) -> Result<()> {
        self.slabs = Slabs::new(self.problem(), igp);
        let (count, workers) = (self.slabs.count(), self.workers.len());
        if count > 1 {
            let each = self.ranks.share(count).len().div_ceil(workers);
            self.workers.iter_mut().try_for_each(|worker| worker.expect(each))?;
        }
        let shares = if count == 1 && self.ranks.size() == 1 { workers } else { 1 };
        self.shares = (0..shares).map(|_| Id::unique()).collect();
        let first = |slab: usize| (slab < workers).then_some(slab);
        self.homes = Affinity { of: (0..count.max(shares)).map(first).collect(), moves: true };
        Ok(())
    }

    pub fn problem(&self) -> &'a Problem {
        self.slabs.problem()
    }

    pub fn slabs(&self) -> Slabs<'a> {
        self.slabs
    }

    /// Places all that a version's kernels read, if it stays there: the first calculation takes as long as the next.
    pub fn ready(&mut self, kernel: Version, control: Control) -> Result<()> {
        let (slabs, problem) = (self.slabs, self.problem());
        let (Some(slab), [only]) = (problem.in_memory(), &mut self.workers[..]) else {
            return Ok(());
        };
        let (1, 1) = (slabs.count(), self.ranks.size()) else { return Ok(()) };
        // In the order of a calculation, which leaves the last batch on the device, and what it made of others here.
        let mut batches = kernel.energies(problem.outline());
        let placed = batches.try_for_each(|energies| match control.stop.is_asked() {
            true => Ok(()),
            false => only.ready(slab.view(), &Batch::new(problem, energies), kernel),
        });
        match placed {
            // The calculation halves the slab.
            Err(error) if error.is_of_device_memory() && slabs.igp() > self.least => Ok(()),
            placed => placed,
        }
    }

    pub fn run(&mut self, kernel: Version) -> Result<Calculation> {
        self.run_with(kernel, None, Control::none())
    }

    /// One calculation with progress, and with a stop between slabs and within: the sums at some energies (0-based), or at
    /// all. Of several processes rank 0 has them.
    pub fn run_with(
        &mut self,
        kernel: Version,
        energies: Option<&[usize]>,
        control: Control,
    ) -> Result<Calculation> {
        let problem = self.problem();
        kernel.require_for(problem.outline())?;
        let batches: Vec<Range<usize>> = match energies {
            Some(energies) => energies.iter().map(|&at| at..at + 1).collect(),
            None => kernel.energies(problem.outline()).collect(),
        };
        loop {
            if let Some(found) = self.run_slabs(kernel, &batches, control)? {
                return Ok(found);
            }
            let parts = if self.slabs.count() == 1 { self.workers.len().max(2) } else { 2 };
            let halves = self.slabs.igp().div_ceil(self.least).div_ceil(parts);
            self.cut(halves * self.least)?;
        }
    }

    /// One calculation at the energies of these batches; none if a device has no room for a slab that may be halved. Collective.
    fn run_slabs(
        &mut self,
        kernel: Version,
        batches: &[Range<usize>],
        control: Control,
    ) -> Result<Option<Calculation>> {
        let (slabs, problem) = (self.slabs, self.problem());
        let (count, igp) = (slabs.count(), slabs.igp());
        let group = kernel.igp_of_group(problem.outline());
        if let Some(group) = group.filter(|group| count > 1 && !igp.is_multiple_of(*group)) {
            let id = kernel.id();
            let what =
                format!("{id} needs slabs of whole groups, {group} igp each; they have {igp} igp");
            return Err(invalid(problem.name(), what));
        }
        let sorts = kernel.sorts(problem.poles()) && self.shares.len() > 1;
        let shares = if sorts { &self.shares[..] } else { &[] };
        let share = self.ranks.share(count.max(shares.len()));
        if let [only] = batches
            && self.batch.as_ref().map(Batch::id) != Some((problem.bands().id(), only.clone()))
        {
            self.batch = Some(Batch::new(problem, only.clone()));
        }
        let batch = self.batch.as_ref().filter(|_| batches.len() == 1);
        self.ranks.barrier();
        let begin = Instant::now();
        let sampled = kernel.igp_of_sums(problem.outline());
        let sampled = sampled.filter(|_| self.samples && kernel.is_single());
        let run = SlabRun { slabs, shares, kernel, batches, batch, control, begin, sampled };
        let workers = self.workers.iter_mut();
        let mut pipelines: Vec<_> =
            workers.map(|worker| SlabPipeline::new(&run, worker.as_mut())).collect();
        let queue =
            Dispatch { items: share.collect(), homes: &mut self.homes, ahead: usize::MAX, control };
        let mut sums = Vec::new();
        let mut take = |of_slab: SlabSums| {
            sums.push(of_slab);
            Ok(())
        };
        let ended = schedule::each(pipelines.iter_mut().collect(), queue, &mut take);
        let workers = pipelines.iter().map(|pipeline| pipeline.stats.clone()).collect();
        drop(pipelines);
        if igp > self.least {
            let lacks = ended.as_ref().is_err_and(Error::is_of_device_memory);
            if self.ranks.least((!lacks).into()) == 0 {
                return Ok(None);
            }
        }
        let stopped = self.ranks.first_code(ended?);
        let (sums, workers) = gathered(self.ranks, (sums, workers));
        let elapsed = begin.elapsed().as_secs_f64();
        if let Some(code) = stopped {
            return Err(Error::Stopped { code, done: sums.len(), total: count, unit: "slabs" });
        }
        let seconds = match &sums[..] {
            [only] if self.ranks.size() == 1 && only.upload.bytes == 0 => only.seconds,
            _ => elapsed,
        };
        let blocks = sums.first().and_then(|first| first.blocks);
        let bound = sums.iter().map(|slab| slab.bound).sum();
        let sample = Sample::new(&sums, problem.extents().ngpown);
        let nw = batches.iter().map(Range::len).sum();
        let mut sums = ordered_sum(&sums, kernel, problem, nw);
        if kernel.is_sigma_alone() {
            sums = sums.alone();
        }
        let mut derivative = None;
        if kernel.has_derivative() {
            let (sigma, of_sigma) = sums.and_derivatives();
            (sums, derivative) = (sigma, Some(of_sigma));
        }
        Ok(Some(Calculation { sums, derivative, bound, sample, seconds, blocks, workers }))
    }
}

struct SlabRun<'r> {
    slabs: Slabs<'r>,
    /// If there are any, items are these.
    shares: &'r [Id],
    kernel: Version,
    batches: &'r [Range<usize>],
    /// The only batch, made once.
    batch: Option<&'r Batch>,
    control: Control<'r>,
    begin: Instant,
    /// The igp of a group, of which some are summed in FP64 too.
    sampled: Option<usize>,
}

impl SlabRun<'_> {
    /// The groups of a slab that are summed in FP64 too: their numbers in the slab, and their igp.
    fn samples(&self, item: usize) -> Vec<(usize, Range<usize>)> {
        let (igp, Some(step)) = (self.igp(item), self.sampled) else { return Vec::new() };
        let groups = igp.clone().step_by(step).enumerate();
        let sampled = groups.filter(|(_, first)| (first / step) % SAMPLED == 0);
        sampled.map(|(group, first)| (group, first..igp.end.min(first + step))).collect()
    }

    fn igp(&self, item: usize) -> Range<usize> {
        let slab = if self.shares.is_empty() { item } else { 0 };
        self.slabs.range(slab)
    }
}

/// A worker's slabs, each at all energies, as many in flight as the device takes.
struct SlabPipeline<'r> {
    run: &'r SlabRun<'r>,
    worker: &'r mut dyn Worker,
    /// The batches for the next slab, last first, from the one in place on: a device holds one at a time.
    order: Vec<usize>,
    in_flight: VecDeque<SlabInFlight<'r>>,
    /// The slab with further batches to begin, when none of it is in flight.
    begun: Option<SlabInFlight<'r>>,
    /// What the worker has begun and not finished, samples included.
    unfinished: usize,
    stats: WorkerStats,
}

struct SlabInFlight<'r> {
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
        let order = (0..run.batches.len()).rev().collect();
        let (in_flight, begun, unfinished, stats) = Default::default();
        SlabPipeline { run, worker, order, in_flight, begun, unfinished, stats }
    }

    fn finished(&mut self) -> Result<SlabSums> {
        self.unfinished -= 1;
        self.worker.finish()
    }
}

impl StepPipeline<SlabSums> for SlabPipeline<'_> {
    fn device(&self) -> &str {
        self.worker.device()
    }

    /// The batches of a slab follow each other. While its last one is in flight the next slab may begin.
    fn has_room(&self) -> bool {
        let last = self.in_flight.back();
        self.in_flight.len() < self.worker.depth() && last.is_none_or(|last| last.left.is_empty())
    }

    fn begin(&mut self, slab: usize, advance: Advance) -> Result<bool> {
        let SlabRun { slabs, shares, kernel, batches, batch, control, .. } = *self.run;
        let mut slab = match self.begun.take() {
            Some(begun) => begun,
            None => {
                let begin = Instant::now();
                let data = slabs.problem().part(self.run.igp(slab))?;
                if let SlabRef::Owned(_) = data {
                    self.stats.source_s += begin.elapsed().as_secs_f64();
                }
                let left = self.order.clone();
                self.order.reverse();
                SlabInFlight { slab, data: Some(data), left, batch: 0, sums: Vec::new() }
            }
        };
        let finished = slab.sums.len();
        let of_batch = |part: f64| advance((finished as f64 + part) / batches.len() as f64);
        if finished > 0 {
            of_batch(0.0);
        }
        let control = Control { advance: &of_batch, ..control };
        control.check()?;
        slab.batch = slab.left.pop().expect("a batch is left");
        let data = slab.data.as_ref().expect("it stays until the last batch");
        let view = match shares.get(slab.slab) {
            Some(&id) => data.view().shared(id, [slab.slab, shares.len()]),
            None => data.view(),
        };
        let make = || Cow::Owned(Batch::new(slabs.problem(), batches[slab.batch].clone()));
        let batch = batch.map_or_else(make, Cow::Borrowed);
        self.worker.begin(view, &batch, kernel, control)?;
        self.unfinished += 1;
        let control = Control { advance: &|_| (), ..control };
        for (_, igp) in self.run.samples(slab.slab) {
            let mut sample = view.part(igp);
            sample.is_sample = true;
            self.worker.begin(sample, &batch, kernel.in_double(), control)?;
            self.unfinished += 1;
        }
        let is_last = slab.left.is_empty();
        slab.data = slab.data.filter(|_| !is_last);
        self.in_flight.push_back(slab);
        Ok(is_last)
    }

    fn finish(&mut self, _: Advance) -> Result<Option<SlabSums>> {
        let mut first = self.in_flight.pop_front().expect("a slab is in flight");
        let mut sums = self.finished()?;
        for (group, igp) in self.run.samples(first.slab) {
            sums.compare(group, igp.len(), &self.finished()?);
        }
        first.sums.push((first.batch, sums));
        if !first.left.is_empty() {
            self.begun = Some(first);
            return Ok(None);
        }
        first.sums.sort_by_key(|(batch, _)| *batch);
        let sums = SlabSums::joined(first.sums.into_iter().map(|(_, sums)| sums));
        let sums = sums.expect("a problem has an energy");
        let stats = &mut self.stats;
        stats.slabs += 1;
        stats.igp += self.run.igp(first.slab).len() / self.run.shares.len().max(1);
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
        while self.unfinished > 0 {
            // The first error is the one that is returned.
            _ = self.finished();
        }
    }
}

/// The sums of slabs in the order of igp, and the work of each worker.
type Report = (Vec<SlabSums>, Vec<WorkerStats>);

/// On rank 0 the reports of all, its own first; other ranks get their own. Collective.
fn gathered(ranks: &dyn Ranks, report: Report) -> Report {
    if ranks.size() == 1 {
        return report;
    }
    let (sums, workers) = &report;
    let counts: Vec<_> =
        sums.iter().map(|of| (of.groups, of.blocks, of.values.len(), of.sample.igp)).collect();
    let lost = |of: &SlabSums| of.sample.lost.clone().into_iter().flatten().collect::<Vec<f64>>();
    let values = sums.iter().flat_map(|of| [of.values.clone(), lost(of), vec![of.bound]].concat());
    let values = values.collect::<Vec<f64>>();
    let message = serde_json::to_vec(&(workers, counts)).expect("numbers under names");
    // JSON has neither NaN nor infinity.
    let sent = [ranks.gather(&message), ranks.gather(bytemuck::cast_slice(&values))];
    let [Some(messages), Some(values)] = sent else { return report };
    let mut reports = Report::default();
    for (message, values) in messages.iter().zip(values) {
        let (workers, counts): (Vec<WorkerStats>, Vec<(usize, Option<u32>, usize, usize)>) =
            serde_json::from_slice(message).expect("the same program wrote it");
        let mut values = bytemuck::pod_collect_to_vec::<u8, f64>(&values).into_iter();
        for (groups, blocks, length, igp) in counts {
            let of_slab: Vec<f64> = values.by_ref().take(length).collect();
            let lost = if igp > 0 { length / groups } else { 0 };
            let mut next = || values.next().unwrap_or(f64::NAN);
            let lost = (0..lost).map(|_| [next(), next()]).collect();
            let (bound, sample) = (next(), GroupSample { igp, lost });
            let rest = SlabSums::default();
            reports.0.push(SlabSums { values: of_slab, groups, blocks, bound, sample, ..rest });
        }
        reports.1.extend(workers);
    }
    reports
}

/// The sums of `nw` energies over slabs in the order of `igp`, by Neumaier's compensated summation (ZAMM 54, 39,
/// 1974), one group after the other: bits depend neither on workers nor on the number of slabs. Of a kernel of
/// [`ch_of_bands`](crate::catalogue::ch_of_bands) `ach` is that of each band, in the problem's order.
fn ordered_sum(slabs: &[SlabSums], kernel: Version, problem: &Problem, nw: usize) -> Sums {
    let nbands = problem.header().nbands;
    let mut totals = vec![CompensatedSum::default(); kernel.values([nbands, nw])];
    for slab in slabs {
        for (of_groups, total) in slab.values.chunks_exact(slab.groups).zip(&mut totals) {
            of_groups.iter().for_each(|&group| total.add(group));
        }
    }
    let values: Vec<f64> = totals.into_iter().map(CompensatedSum::value).collect();
    if !kernel.is_per_band() {
        return Sums::from_values(&values);
    }
    let (bands, _) = values.as_chunks::<2>();
    let mut ach = vec![Complex64::ZERO; nbands];
    for (at, &[re, im]) in bands.iter().enumerate() {
        let n = if kernel.gpu().is_some() { problem.order().bands[at] } else { at };
        ach[n] = Complex64::new(re, im);
    }
    Sums { asx: Vec::new(), ach }
}
