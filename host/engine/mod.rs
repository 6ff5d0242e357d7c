//! A run: slabs → workers → sums.
//!
//! The slabs of a problem are dealt out to workers ([`deal`]), each on a device of its own or sharing one.
//! What they sum is kept for each group of `igp` ([`gpp_kernels::kernel::Kernel::igp_of_group`]) and added
//! here in the order of `igp`: see [`total`]. So slabs of whole groups, of any size and on any number of
//! workers and ranks, give the same bits. Kernels for processors have groups of one `igp`, the paper's grids
//! one group, the slab: the same slabs give the same bits.
//!
//! A problem that is one slab stays where it was put first; a run is then nothing but its launches.

pub mod deal;
pub mod total;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::catalogue::Kernel;
use crate::devices::{Device, Done, SlabSums, Worker};
use crate::error::{Error, Result};
use crate::problem::{Frame, Part, Problem, Slabs, Sums};
use deal::Deal;

/// A problem parted into slabs, and who sums them.
pub struct Engine<'a> {
    slabs: Slabs<'a>,
    workers: Vec<Box<dyn Worker + 'a>>,
    deal: Deal,
}

/// One calculation.
#[derive(Clone, Debug, PartialEq)]
pub struct Calculation {
    /// The sums, without the starting sums.
    pub sums: Sums,
    /// Seconds. Of one slab that was in place, by the device's clock; of several, from the begin to the last
    /// sum, whatever had to be made, read and uploaded meanwhile.
    pub seconds: f64,
    /// Blocks of a launch, for the first slab, of kernels for GPUs.
    pub blocks: Option<u32>,
    /// What each worker did.
    pub shares: Vec<Share>,
}

/// What one worker did in a calculation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Slabs.
    pub slabs: usize,
    /// Their `igp`.
    pub igp: usize,
    /// Seconds of its kernels. Those of two slabs may run at the same time.
    pub kernels_s: f64,
    /// Seconds of its uploads.
    pub uploads_s: f64,
    /// Bytes of its uploads.
    pub uploaded: u64,
    /// Seconds in which its slabs were made or read.
    pub source_s: f64,
    /// Seconds from the begin of the calculation to its last sum.
    pub busy_s: f64,
}

impl Share {
    fn add(&mut self, igp: usize, sums: &SlabSums) {
        self.slabs += 1;
        self.igp += igp;
        self.kernels_s += sums.seconds;
        self.uploads_s += sums.upload.seconds;
        self.uploaded += sums.upload.bytes;
    }
}

/// Told of each slab that is finished, by its number; what fails ends the run.
pub type Finished<'a> = &'a (dyn Fn(usize, &SlabSums) -> Result<()> + Sync);

/// How a run goes on: what is done already, and who hears of it.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Told of the part that is done, where the devices know it.
    pub done: Done<'a>,
    /// Told of each slab that is finished.
    pub finished: Finished<'a>,
    /// Whether to stop before the next slab.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Watch<'_> {
    /// Nobody watches.
    pub const NONE: Watch<'static> =
        Watch { done: &|_| (), finished: &|_, _| Ok(()), stop: &|| false };
}

/// Numbers of slabs with their sums.
pub type Numbered = Vec<(usize, SlabSums)>;

/// What is there when the workers are done.
pub struct Summed {
    /// The slabs that they summed.
    pub slabs: Numbered,
    /// What each did.
    pub shares: Vec<Share>,
    /// Seconds, as in [`Calculation::seconds`].
    pub seconds: f64,
    /// False where the run was stopped before its last slab.
    pub complete: bool,
}

impl<'a> Engine<'a> {
    /// The whole problem as one slab on one device, where its arrays are put now.
    ///
    /// # Errors
    /// As [`Device::worker`] and [`Worker::place`].
    pub fn whole(device: &'a dyn Device, problem: &'a Problem) -> Result<Self> {
        let mut worker = device.worker(problem.frame())?;
        worker.place(problem.slab())?;
        Self::new(problem, problem.header().ngpown, vec![worker])
    }

    /// Slabs of so many `igp`, dealt out to `workers`.
    ///
    /// # Errors
    /// [`Error::Data`] without workers or for empty slabs; as [`Worker::expect`].
    pub fn new(
        problem: impl Into<Slabs<'a>>,
        igp: usize,
        mut workers: Vec<Box<dyn Worker + 'a>>,
    ) -> Result<Self> {
        let whole = problem.into();
        if igp == 0 || workers.is_empty() {
            let what =
                format!("needs slabs and workers, has {igp} igp a slab, {} workers", workers.len());
            return Err(Error::Data { origin: whole.frame().name().into(), what });
        }
        let slabs = whole.of_size(igp);
        if slabs.count() > 1 {
            let each = slabs.count().div_ceil(workers.len());
            workers.iter_mut().try_for_each(|worker| worker.expect(igp, each))?;
        }
        let deal = Deal::new(slabs.count(), workers.len());
        Ok(Engine { slabs, workers, deal })
    }

    /// The problem.
    pub fn problem(&self) -> &'a Frame {
        self.slabs.frame()
    }

    /// The problem in the run's slabs.
    pub fn slabs(&self) -> Slabs<'a> {
        self.slabs
    }

    /// Has the workers forget what is in place, so that the next run uploads all slabs again.
    pub fn forget(&mut self) {
        self.workers.iter_mut().for_each(|worker| worker.forget());
    }

    /// One calculation by these kernels.
    ///
    /// # Errors
    /// [`Error::Data`] where slabs are no whole groups of the kernel; those of the workers.
    pub fn run(&mut self, kernel: Kernel) -> Result<Calculation> {
        self.run_telling(kernel, &|_| ())
    }

    /// The same; `done` is told of the part that is done, where the device knows it.
    ///
    /// # Errors
    /// Those of [`Engine::run`].
    pub fn run_telling(&mut self, kernel: Kernel, done: Done) -> Result<Calculation> {
        let all: Vec<usize> = (0..self.slabs.count()).collect();
        let summed = self.sum(kernel, &all, Watch { done, ..Watch::NONE })?;
        let sums = total::of(summed.slabs.iter().map(|(_, sums)| sums), self.problem().nw());
        let blocks = summed.slabs.first().and_then(|(_, sums)| sums.blocks);
        Ok(Calculation { sums, seconds: summed.seconds, blocks, shares: summed.shares })
    }

    /// Sums the slabs of these numbers, each on a worker that is free.
    ///
    /// # Errors
    /// Those of [`Engine::run`] and of `watch`.
    pub fn sum(&mut self, kernel: Kernel, numbers: &[usize], watch: Watch) -> Result<Summed> {
        self.require_whole_groups(kernel)?;
        let Engine { slabs, workers, deal } = self;
        deal.begin(numbers);
        let all: usize =
            numbers.iter().filter_map(|&at| slabs.range(at)).map(|igp| igp.len()).sum();
        let run = Running { slabs: *slabs, deal, kernel, watch, all, summed: AtomicUsize::new(0) };
        let begin = Instant::now();
        let shares: Vec<(Numbered, Share)> = match &mut workers[..] {
            [only] => vec![run.share(0, only.as_mut(), begin)?],
            several => thread::scope(|scope| {
                let run = &run;
                let threads: Vec<_> = several
                    .iter_mut()
                    .enumerate()
                    .map(|(at, worker)| scope.spawn(move || run.share(at, worker.as_mut(), begin)))
                    .collect();
                let joined = threads.into_iter().map(|thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                });
                joined.collect::<Result<_>>()
            })?,
        };
        let elapsed = begin.elapsed().as_secs_f64();
        let (numbered, shares): (Vec<Numbered>, Vec<Share>) = shares.into_iter().unzip();
        let mut slabs: Numbered = numbered.into_iter().flatten().collect();
        slabs.sort_by_key(|(at, _)| *at);
        let seconds = match &slabs[..] {
            [(_, only)] if only.upload.bytes == 0 => only.seconds,
            _ => elapsed,
        };
        let complete = slabs.len() == numbers.len();
        Ok(Summed { slabs, shares, seconds, complete })
    }

    /// Fails where a slab other than the last ends within a group.
    fn require_whole_groups(&self, kernel: Kernel) -> Result<()> {
        let group = self.problem().plan().igp_of_group(kernel);
        let (Some(group), 2..) = (group, self.slabs.count()) else { return Ok(()) };
        if self.slabs.igp().is_multiple_of(group) {
            return Ok(());
        }
        Err(Error::Data {
            origin: self.problem().name().into(),
            what: format!(
                "{} needs slabs of whole groups, {group} igp each; they have {} igp",
                kernel.id(),
                self.slabs.igp()
            ),
        })
    }
}

/// A run of several workers.
struct Running<'a, 'r> {
    slabs: Slabs<'a>,
    deal: &'r Deal,
    kernel: Kernel,
    watch: Watch<'r>,
    /// `igp` of all slabs.
    all: usize,
    /// Those of the slabs that are summed.
    summed: AtomicUsize,
}

impl Running<'_, '_> {
    /// What a worker takes, slab after slab.
    fn share(
        &self,
        who: usize,
        worker: &mut dyn Worker,
        begin: Instant,
    ) -> Result<(Numbered, Share)> {
        let mut share = Share::default();
        // Nobody begins another slab of a run that has failed.
        let sums = self.slabs_of(who, worker, &mut share).inspect_err(|_| self.deal.end())?;
        share.busy_s = begin.elapsed().as_secs_f64();
        Ok((sums, share))
    }

    fn slabs_of(&self, who: usize, worker: &mut dyn Worker, share: &mut Share) -> Result<Numbered> {
        let (mut sums, mut begun) = (Vec::new(), VecDeque::new());
        loop {
            let next = if (self.watch.stop)() { None } else { self.deal.next(who) };
            if let Some(at) = next {
                let igp = self.slabs.range(at).expect("the deal is of these slabs");
                let length = igp.len();
                let making = Instant::now();
                let part = self.slabs.part(igp)?;
                if let Part::Made(_) = part {
                    share.source_s += making.elapsed().as_secs_f64();
                }
                let of_slab = |part: f64| {
                    let before = self.summed.load(Ordering::Relaxed) as f64;
                    (self.watch.done)((before + part * length as f64) / self.all as f64);
                };
                worker.begin(part.view(), self.kernel, &of_slab)?;
                begun.push_back((at, length));
            }
            if begun.len() < worker.depth() && next.is_some() {
                continue;
            }
            let Some((at, length)) = begun.pop_front() else { return Ok(sums) };
            let of_slab = worker.finish()?;
            share.add(length, &of_slab);
            (self.watch.finished)(at, &of_slab)?;
            sums.push((at, of_slab));
            let summed = self.summed.fetch_add(length, Ordering::Relaxed) + length;
            (self.watch.done)(summed as f64 / self.all as f64);
        }
    }
}
