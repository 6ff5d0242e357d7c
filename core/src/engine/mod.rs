//! A run: slabs → workers → sums.
//!
//! The slabs of a problem are dealt out to workers (`deal.rs`). gpp has one worker for each device.
//! The sums of each group of `igp` ([`gpp_kernels::kernel::Kernel::igp_of_group`]) are kept apart and
//! added here in the order of `igp`: see [`ordered_sum`]. So where slabs hold whole groups, bits do not depend
//! on slabs, workers and ranks. In kernels for processors each `igp` is a group. The paper's grids and
//! sorted pairs have one group, the slab: their bits depend on the size of slabs.
//!
//! A version whose kernels do not hold all energies sums them in batches ([`crate::problem::Batch`]). A slab
//! goes through all batches before the next slab begins to; each batch is made while the one before runs. The
//! sums of a batch do not depend on other batches, except where pairs are sorted: cells depend on all energies.
//!
//! A problem of one slab is placed once. Each run then launches its kernels and uploads the energies.

pub mod deal;
mod running;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Instant;

use gpp_cpu::compensated::Compensated;
use gpp_cpu::stop::{NEVER, Stop};
use gpp_kernels::sums::VALUES;
use serde::{Deserialize, Serialize};

use crate::catalogue::Kernel;
use crate::devices::{Device, Locked, SlabSums, Upload, Watch, Worker, spawned};
use crate::engine::deal::{Cut, Deal, share_of};
use crate::engine::running::Running;
use crate::error::{Error, Result};
use crate::problem::{Batch, Batches, Matrix, Problem, Slab, Slabs, Sums};
use crate::ranks::{Alone, Ranks};

/// A problem cut into slabs, and the workers that sum them.
pub struct Engine<'a> {
    slabs: Slabs<'a>,
    workers: Vec<Box<dyn Worker + 'a>>,
    locks: Locks,
    deal: Deal,
    ranks: &'a dyn Ranks,
    /// Bytes of the host's memory for what workers compute from slabs and need again.
    kept: u64,
    stop: &'a Stop,
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
    /// The work of each worker, rank 0's workers first.
    pub shares: Vec<Share>,
}

/// Numbers of slabs with their sums.
pub type Numbered = Vec<(usize, SlabSums)>;

impl<'a> Engine<'a> {
    /// The whole problem as one slab on one device, which needs room for its arrays.
    pub fn whole(device: &'a dyn Device, problem: &'a Problem) -> Result<Self> {
        let mut worker = device.worker(problem)?;
        worker.place(problem.slab())?;
        Self::new(problem, problem.header().ngpown, vec![worker])
    }

    /// Slabs of so many `igp`, dealt out to `workers`.
    pub fn new(
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
            let each = slabs.count().div_ceil(workers.len());
            workers.iter_mut().try_for_each(|worker| worker.expect(igp, each))?;
        }
        let deal = Deal::new(slabs.count(), workers.len());
        let locks = Locks::default();
        Ok(Engine { slabs, workers, locks, deal, ranks: &Alone, kept: 0, stop: &NEVER })
    }

    /// Makes this the engine of one of several processes, each of which sums a part of the slabs.
    pub fn among(mut self, ranks: &'a dyn Ranks) -> Result<Self> {
        self.ranks = ranks;
        let (igp, own) = (self.slabs.igp(), share_of(self.slabs.count(), ranks).len());
        if ranks.size() > 1 && own > 1 {
            let each = own.div_ceil(self.workers.len());
            self.workers.iter_mut().try_for_each(|worker| worker.expect(igp, each))?;
        }
        Ok(self)
    }

    /// Has `stop` looked at between slabs.
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

    /// Has the workers forget what is in place, so that the next run uploads all slabs again.
    pub fn forget(&mut self) {
        self.workers.iter_mut().for_each(|worker| worker.forget());
        self.locks.forgotten();
    }

    pub fn run(&mut self, kernel: Kernel) -> Result<Calculation> {
        self.run_telling(kernel, Watch::none())
    }

    /// One calculation that somebody watches. It stops within a slab too, whose sums are lost then. With several
    /// processes rank 0 has the sums of all, the others have their own.
    pub fn run_telling(&mut self, kernel: Kernel, watch: Watch) -> Result<Calculation> {
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

    /// The static CH, `−½ Σ vcoul · eps · M` over all bands, as the `ach` of one energy, by a kernel of
    /// [`crate::catalogue::static_ch`]. Collective.
    pub fn static_ch(&mut self, kernel: Kernel, watch: Watch) -> Result<Calculation> {
        self.run_at(&[0], kernel, watch)
    }

    fn run_batches(&mut self, kernel: Kernel, of: &Batches, watch: Watch) -> Result<Calculation> {
        require_whole(self.slabs, kernel, of)?;
        let numbers = share_of(self.slabs.count(), self.ranks);
        let again = self.locks.take(self.slabs, &self.workers);
        let cut = Cut::of(&numbers, &self.workers, kernel.igp_of_group(of.first().plan()));
        let cut = cut.filter(|_| again);
        self.ranks.barrier();
        let begin = Instant::now();
        let own = self.sum((kernel, of), (&numbers, cut), watch, begin)?;
        let all = gathered(self.ranks, own)?;
        let elapsed = begin.elapsed().as_secs_f64();

        let Report { mut slabs, shares, stopped } = all;
        slabs.sort_by_key(|(at, _)| *at);
        if let Some(code) = stopped {
            let (done, all) = (slabs.len(), self.slabs.count());
            return Err(Error::Stopped { code, done, all, of: "slabs" });
        }
        let numbers = slabs.iter().map(|(at, _)| *at);
        if self.ranks.is_root() && !numbers.eq(0..self.slabs.count()) {
            let what = "its slabs were not summed once each: do all ranks read the same problem?";
            return Err(Error::Input { origin: self.problem().name().into(), what: what.into() });
        }
        let seconds = match &slabs[..] {
            [(_, only)] if self.ranks.size() == 1 && only.upload.bytes == 0 => only.seconds,
            _ => elapsed,
        };
        let sums = ordered_sum(slabs.iter().map(|(_, sums)| sums), of.nw());
        let blocks = slabs.first().and_then(|(_, sums)| sums.blocks);
        Ok(Calculation { sums, seconds, blocks, shares })
    }

    /// Sums the slabs of these numbers, each on a free worker.
    fn sum(
        &mut self,
        (kernel, batches): (Kernel, &Batches),
        (numbers, cut): (&[usize], Option<Cut>),
        watch: Watch,
        begin: Instant,
    ) -> Result<Report> {
        let Engine { slabs, workers, deal, .. } = self;
        deal.begin(numbers);
        let all = numbers.iter().filter_map(|&at| slabs.range(at)).map(|igp| igp.len()).sum();
        let run = Running {
            slabs: *slabs,
            deal,
            cut,
            kernel,
            batches,
            watch,
            begin,
            all,
            summed: AtomicUsize::new(0),
            stop: self.stop,
        };
        let of_workers: Vec<(Numbered, Share)> = match &mut workers[..] {
            [only] => vec![run.share(0, only.as_mut())?],
            several => thread::scope(|scope| {
                let run = &run;
                let threads = several.iter_mut().enumerate().map(|(at, worker)| {
                    spawned(scope, move || run.named_share(at, worker.as_mut()))
                        .inspect_err(|_| run.deal.end())
                });
                let threads: Vec<_> = threads.collect();
                let joined = threads.into_iter().map(|thread| {
                    thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                });
                joined.collect::<Result<_>>()
            })?,
        };
        let (numbered, shares): (Vec<Numbered>, Vec<Share>) = of_workers.into_iter().unzip();
        let summed: Numbered = numbered.into_iter().flatten().collect();
        let stopped = if summed.len() == numbers.len() { None } else { self.stop.asked() };
        Ok(Report { slabs: summed, shares, stopped })
    }
}

// Tells whether a kernel's sums depend on the size of slabs.

/// Fails where a slab other than the last ends within a group of igp, or where groups have not the same size
/// at all energies.
pub fn require_whole(slabs: Slabs, kernel: Kernel, batches: &Batches) -> Result<()> {
    let wrong = |what: String| {
        let (origin, what) = (slabs.problem().name().into(), format!("{} {what}", kernel.id()));
        Err(Error::Input { origin, what })
    };
    let of_batch = |batch: &Batch| kernel.igp_of_group(batch.plan());
    let group = of_batch(&batches.first());
    if batches.kinds().any(|batch| of_batch(&batch) != group) {
        return wrong(
            "has groups of one size where the constant memory holds the energies, of another where it does \
             not, and this problem has both: it needs the shape of tiles that it has by default"
                .into(),
        );
    }
    match group {
        Some(group) if slabs.count() > 1 && !slabs.igp().is_multiple_of(group) => {
            let found = slabs.igp();
            wrong(format!("needs slabs of whole groups, {group} igp each; they have {found} igp"))
        }
        _ => Ok(()),
    }
}

// Slabs that are uploaded again and again, page-locked where they are.

/// The page-locked arrays of a problem. Locking takes longer than the copies of one calculation, so it
/// is done when slabs are uploaded for the second time.
#[derive(Default)]
pub struct Locks {
    /// Whether there was a calculation before.
    ran: bool,
    /// Whether the devices have forgotten since then what was in place.
    forgotten: bool,
    /// Nothing was tried yet: a lock that was refused once is not tried again.
    held: Option<Vec<Locked>>,
}

impl Locks {
    /// Says that the next calculation uploads all slabs again.
    pub fn forgotten(&mut self) {
        self.forgotten = true;
    }

    /// Page-locks, once, the slabs that stay in memory, where the calculation that begins uploads them again.
    /// Returns whether it uploads them again.
    pub fn take(&mut self, slabs: Slabs, workers: &[Box<dyn Worker + '_>]) -> bool {
        let forgotten = std::mem::take(&mut self.forgotten);
        let again = forgotten || workers.iter().any(|worker| worker.streams());
        if std::mem::replace(&mut self.ran, true) && self.held.is_none() && again {
            let arrays = slabs.in_memory().into_iter().flat_map(Slab::shared);
            let lock = |array: Arc<Matrix>| workers.iter().find_map(|to| to.lock(array.clone()));
            self.held = Some(arrays.filter_map(lock).collect());
        }
        again
    }
}

// The work of one worker.

/// The work of one worker in a calculation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
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

impl Share {
    fn add(&mut self, igp: usize, sums: &SlabSums) {
        self.slabs += 1;
        self.igp += igp;
        self.kernels_s += sums.seconds;
        self.uploads_s += sums.upload.seconds;
        self.uploaded += sums.upload.bytes;
    }
}

// The report of each process of a run to the others.

/// The sums of one process, or of all.
pub struct Report {
    pub slabs: Numbered,
    pub shares: Vec<Share>,
    /// The signal by which it was stopped before its last slab.
    pub stopped: Option<i32>,
}

/// Number, groups, seconds, blocks and values of a slab. Real numbers are sent as their bits, so that NaN and −0 arrive
/// as they were.
type SentSlab = (usize, usize, u64, Option<u32>, Vec<u64>);

/// A report as it is sent.
#[derive(Serialize, Deserialize)]
struct Message {
    slabs: Vec<SentSlab>,
    shares: Vec<Share>,
    stopped: Option<i32>,
}

/// Gathers all reports in one on rank 0; other ranks get their own. All learn whether one was stopped.
pub fn gathered(ranks: &dyn Ranks, own: Report) -> Result<Report> {
    if ranks.size() == 1 {
        return Ok(own);
    }
    let sent = |(at, sums): &(usize, SlabSums)| {
        let values = sums.values.iter().map(|value| value.to_bits()).collect();
        (*at, sums.groups, sums.seconds.to_bits(), sums.blocks, values)
    };
    let slabs = own.slabs.iter().map(sent).collect();
    let message = Message { slabs, shares: own.shares.clone(), stopped: own.stopped };
    let text = serde_json::to_vec(&message).expect("numbers under names");
    let all = match ranks.gather(&text) {
        None => own,
        Some(messages) => {
            let mut all = Report { slabs: Vec::new(), shares: Vec::new(), stopped: None };
            for message in messages {
                let message: Message =
                    serde_json::from_slice(&message).expect("the same program wrote it");
                all.slabs.extend(message.slabs.into_iter().map(
                    |(at, groups, seconds, blocks, values)| {
                        let values = values.into_iter().map(f64::from_bits).collect();
                        let (seconds, upload) = (f64::from_bits(seconds), Upload::default());
                        (at, SlabSums { values, groups, seconds, blocks, upload })
                    },
                ));
                all.shares.extend(message.shares);
                all.stopped = all.stopped.or(message.stopped);
            }
            all
        }
    };
    let stopped = ranks.broadcast(all.stopped.unwrap_or_default().to_le_bytes().to_vec());
    let stopped = i32::from_le_bytes(stopped.try_into().expect("four bytes"));
    Ok(Report { stopped: (stopped != 0).then_some(stopped), ..all })
}

// Sums of groups of `igp`, added up in the order of `igp`.
//
// Each output is added by Neumaier's compensated summation (A. Neumaier, ZAMM 54, 39, 1974), one group
// after the other. So bits do not depend on which worker summed a group, nor on the number of slabs.

/// The sums of `nw` energies over slabs given in the order of `igp`.
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

#[cfg(test)]
mod tests;
