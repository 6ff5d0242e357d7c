//! A run: slabs → workers → sums.
//!
//! The slabs of a problem are dealt out to workers (`deal.rs`). gpp has one worker for each device.
//! The sums of each group of `igp` ([`gpp_kernels::kernel::Kernel::igp_of_group`]) are kept apart and
//! added here in the order of `igp`: see [`total`]. So where slabs hold whole groups, bits do not depend
//! on slabs, workers and ranks. In kernels for processors each `igp` is a group. The paper's grids and
//! sorted pairs have one group, the slab: their bits depend on the size of slabs.
//!
//! A version whose kernels do not hold all energies sums them in batches ([`crate::problem::Batch`]). A slab
//! goes through all batches before the next slab begins to; each batch is made while the one before runs. The
//! sums of a batch do not depend on other batches, except where pairs are sorted: cells depend on all energies.
//!
//! A problem of one slab is placed once. Each run then launches its kernels and uploads the energies.

pub mod deal;
mod groups;
mod locked;
pub mod pieces;
mod ready;
mod reports;
mod running;
mod share;
pub mod total;
mod under_way;

use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Instant;

use gpp_cpu::stop::{NEVER, Stop};

use crate::catalogue::Kernel;
use crate::devices::{Device, SlabSums, Watch, Worker, spawned};
use crate::error::{Error, Result};
use crate::problem::{Batches, Frame, Problem, Slabs, Sums};
use crate::ranks::{Alone, Ranks};
use deal::{Deal, share_of};
use locked::Locks;
use pieces::Cut;
use reports::Report;
use running::Running;
pub use share::Share;

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

/// One calculation.
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
        let locks = Locks::default();
        Ok(Engine { slabs, workers, locks, deal, ranks: &Alone, kept: 0, stop: &NEVER })
    }

    /// Makes this the engine of one of several processes, each of which sums a part of the slabs.
    ///
    /// # Errors
    /// As [`Worker::expect`].
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
        self.locks.forgotten();
    }

    /// One calculation by these kernels.
    ///
    /// # Errors
    /// [`Error::Data`] where slabs do not hold whole groups of the kernel, or where its batches have
    /// groups of several sizes; the errors of the workers.
    pub fn run(&mut self, kernel: Kernel) -> Result<Calculation> {
        self.run_telling(kernel, Watch::none())
    }

    /// One calculation that somebody watches. It stops within a slab too, whose sums are lost then. With several
    /// processes rank 0 has the sums of all, the others have their own.
    ///
    /// # Errors
    /// Those of [`Engine::run`].
    pub fn run_telling(&mut self, kernel: Kernel, watch: Watch) -> Result<Calculation> {
        self.run_batches(kernel, &self.problem().batches_for(kernel), watch)
    }

    /// One calculation at some energies (0-based) only: it returns their sums.
    ///
    /// # Errors
    /// Those of [`Engine::run`].
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
    ///
    /// # Errors
    /// Those of [`Engine::run`].
    pub fn static_ch(&mut self, kernel: Kernel, watch: Watch) -> Result<Calculation> {
        self.run_at(&[0], kernel, watch)
    }

    fn run_batches(&mut self, kernel: Kernel, of: &Batches, watch: Watch) -> Result<Calculation> {
        groups::require_whole(self.slabs, kernel, of)?;
        let numbers = share_of(self.slabs.count(), self.ranks);
        let again = self.locks.take(self.slabs, &self.workers);
        let cut = Cut::of(&numbers, &self.workers, of.first().plan().igp_of_group(kernel));
        let cut = cut.filter(|_| again);
        self.ranks.barrier();
        let begin = Instant::now();
        let own = self.sum((kernel, of), (&numbers, cut), watch, begin)?;
        let all = reports::gathered(self.ranks, own)?;
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
            return Err(Error::Data { origin: self.problem().name().into(), what: what.into() });
        }
        let seconds = match &slabs[..] {
            [(_, only)] if self.ranks.size() == 1 && only.upload.bytes == 0 => only.seconds,
            _ => elapsed,
        };
        let sums = total::of(slabs.iter().map(|(_, sums)| sums), of.nw());
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
