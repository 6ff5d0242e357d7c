//! A run: slabs → workers → sums.
//!
//! The slabs of a problem are dealt out to workers, each on a device of its own or sharing one. What they
//! sum is kept for each group of `igp` ([`gpp_kernels::kernel::Kernel::igp_of_group`]) and added here in the
//! order of `igp`: see [`total`]. So slabs of whole groups, of any size and on any number of workers,
//! give the same bits. Kernels for processors have groups of one `igp`, the paper's grids one group, the
//! slab: the same slabs give the same bits.
//!
//! A problem that is one slab stays where it was put first; a run is then nothing but its launches.

pub mod checkpoint;
pub mod partition;
pub mod total;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::catalogue::Kernel;
use crate::devices::{Device, Done, SlabSums, Worker};
use crate::error::{Error, Result};
use crate::problem::{Problem, Sums};

/// A problem parted into slabs, and who sums them.
pub struct Engine<'a> {
    problem: &'a Problem,
    slabs: Vec<Range<usize>>,
    workers: Vec<Box<dyn Worker + 'a>>,
}

/// One calculation.
#[derive(Clone, Debug, PartialEq)]
pub struct Calculation {
    /// The sums, without the starting sums.
    pub sums: Sums,
    /// Seconds, data in place: of the worker that took longest. Workers on one device have its time
    /// between them.
    pub seconds: f64,
    /// Blocks of a launch, for the first slab, of kernels for GPUs.
    pub blocks: Option<u32>,
}

impl<'a> Engine<'a> {
    /// The whole problem as one slab on one device, where its arrays are put now.
    ///
    /// # Errors
    /// As [`Device::worker`] and [`Worker::place`].
    pub fn whole(device: &'a dyn Device, problem: &'a Problem) -> Result<Self> {
        let mut worker = device.worker(problem)?;
        worker.place(problem.slab())?;
        Self::new(problem, problem.header().ngpown, vec![worker])
    }

    /// Slabs of so many `igp`, dealt out to `workers`.
    ///
    /// # Errors
    /// [`Error::Data`] without workers or for empty slabs.
    pub fn new(
        problem: &'a Problem,
        igp: usize,
        workers: Vec<Box<dyn Worker + 'a>>,
    ) -> Result<Self> {
        if igp == 0 || workers.is_empty() {
            let what =
                format!("needs slabs and workers, has {igp} igp a slab, {} workers", workers.len());
            return Err(Error::Data { origin: problem.name().into(), what });
        }
        let slabs = partition::slabs(problem.header().ngpown, igp);
        Ok(Engine { problem, slabs, workers })
    }

    /// The problem.
    pub fn problem(&self) -> &'a Problem {
        self.problem
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
        self.require_whole_groups(kernel)?;
        let (problem, slabs) = (self.problem, &self.slabs);
        // Each begins with a slab of its own, so that as many slabs as workers stay where they are.
        let next = AtomicUsize::new(self.workers.len());
        let (all, summed) = (problem.header().ngpown as f64, AtomicUsize::new(0));
        let work = |first: usize, worker: &mut dyn Worker| -> Result<Vec<(usize, SlabSums)>> {
            let mut share = Vec::new();
            let mut at = first;
            while let Some(slab) = slabs.get(at) {
                let of_slab = |part: f64| {
                    let before = summed.load(Ordering::Relaxed) as f64;
                    done((before + part * slab.len() as f64) / all);
                };
                let sums = worker.sum(problem.slab().part(slab.clone()), kernel, &of_slab);
                summed.fetch_add(slab.len(), Ordering::Relaxed);
                // Nobody begins another slab of a run that has failed.
                share.push((at, sums.inspect_err(|_| next.store(slabs.len(), Ordering::Relaxed))?));
                at = next.fetch_add(1, Ordering::Relaxed);
            }
            Ok(share)
        };
        let shares: Vec<Vec<(usize, SlabSums)>> = match &mut self.workers[..] {
            [only] => vec![work(0, only.as_mut())?],
            several => thread::scope(|scope| {
                let work = &work;
                let threads: Vec<_> = several
                    .iter_mut()
                    .enumerate()
                    .map(|(at, worker)| scope.spawn(move || work(at, worker.as_mut())))
                    .collect();
                let joined = threads.into_iter().map(|thread| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                });
                joined.collect::<Result<_>>()
            })?,
        };
        let seconds = shares
            .iter()
            .map(|share| share.iter().map(|(_, sums)| sums.seconds).sum())
            .fold(0.0, f64::max);
        let mut all: Vec<(usize, SlabSums)> = shares.into_iter().flatten().collect();
        all.sort_by_key(|(at, _)| *at);
        let sums = total::of(all.iter().map(|(_, sums)| sums), problem.nw());
        let blocks = all.first().and_then(|(_, sums)| sums.blocks);
        Ok(Calculation { sums, seconds, blocks })
    }

    /// Fails where a slab other than the last ends within a group.
    fn require_whole_groups(&self, kernel: Kernel) -> Result<()> {
        let group = kernel.gpu().and_then(|gpu| self.problem.plan().kernel(gpu).igp_of_group());
        let (Some(group), [first, _, ..]) = (group, &self.slabs[..]) else {
            return Ok(());
        };
        if first.len().is_multiple_of(group as usize) {
            return Ok(());
        }
        Err(Error::Data {
            origin: self.problem.name().into(),
            what: format!(
                "{} needs slabs of whole groups, {group} igp each; they have {} igp",
                kernel.id(),
                first.len()
            ),
        })
    }
}
