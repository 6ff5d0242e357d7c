//! What a worker does in a run: slab after slab, each at all energies, as many under way as it takes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::checkpoint::Checkpoint;
use super::deal::Deal;
use super::{Numbered, Share};
use crate::catalogue::Kernel;
use crate::devices::{Done, SlabSums, Worker};
use crate::error::{Error, Result};
use crate::problem::{Batch, Part, Slabs};
use crate::process::interrupt;

/// A run that workers share.
pub struct Running<'a, 'r> {
    pub slabs: Slabs<'a>,
    pub deal: &'r Deal,
    pub kernel: Kernel,
    /// The energies in the batches of the kernel.
    pub batches: &'r [Batch],
    pub done: Done<'r>,
    pub checkpoint: Option<&'r Mutex<Checkpoint>>,
    pub begin: Instant,
    /// `igp` of all slabs.
    pub all: usize,
    /// Those of the slabs that are summed.
    pub summed: AtomicUsize,
}

/// Leaves the others nothing to take where one panics.
struct EndsOnPanic<'d>(&'d Deal);

impl Drop for EndsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

impl Running<'_, '_> {
    /// What a worker takes, and the sums. It begins no slab once someone has asked the program to stop.
    ///
    /// # Errors
    /// Those of the worker, of the source and of the checkpoint.
    pub fn share(&self, who: usize, worker: &mut dyn Worker) -> Result<(Numbered, Share)> {
        let mut share = Share::default();
        let _ends = EndsOnPanic(self.deal);
        // Nobody begins another slab of a run that has failed.
        let sums = self.slabs_of(who, worker, &mut share).inspect_err(|_| self.deal.end())?;
        share.busy_s = self.begin.elapsed().as_secs_f64();
        Ok((sums, share))
    }

    /// The same as one of several workers: errors name its device.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn named_share(&self, who: usize, worker: &mut dyn Worker) -> Result<(Numbered, Share)> {
        let done = self.share(who, worker);
        done.map_err(|error| Error::Device {
            device: worker.device().into(),
            error: Box::new(error),
        })
    }

    fn slabs_of(&self, who: usize, worker: &mut dyn Worker, share: &mut Share) -> Result<Numbered> {
        let (mut sums, mut begun) = (Vec::new(), VecDeque::<Begun>::new());
        let mut order: Vec<usize> = (0..self.batches.len()).collect();
        loop {
            // The batches of a slab follow each other. Beside its last one the next slab begins, with the same
            // batch: what devices hold of energies is of one batch at a time.
            while begun.len() < worker.depth() && begun.back().is_none_or(Begun::is_on_last) {
                let next = if interrupt::asked().is_some() { None } else { self.deal.next(who) };
                let Some(at) = next else { break };
                begun.push_back(self.begin_slab(at, &order, worker, share)?);
                order.reverse();
            }
            let Some(mut first) = begun.pop_front() else { return Ok(sums) };
            first.finish(worker.finish()?);
            if self.begin_next(&mut first, worker)? {
                begun.push_back(first);
                continue;
            }
            let (at, length, of_slab) = first.joined();
            share.add(length, &of_slab);
            if let Some(checkpoint) = self.checkpoint {
                checkpoint.lock().unwrap_or_else(PoisonError::into_inner).keep(at, &of_slab)?;
            }
            sums.push((at, of_slab));
            let summed = self.summed.fetch_add(length, Ordering::Relaxed) + length;
            if self.slabs.count() > 1 {
                (self.done)(summed as f64 / self.all as f64);
            }
        }
    }

    /// Begins a slab with the first of its batches, which come in this order.
    fn begin_slab(
        &self,
        at: usize,
        order: &[usize],
        worker: &mut dyn Worker,
        share: &mut Share,
    ) -> Result<Begun<'_>> {
        let igp = self.slabs.range(at).expect("the deal is of these slabs");
        let length = igp.len();
        let making = Instant::now();
        let part = self.slabs.part(igp)?;
        if let Part::Made(_) = part {
            share.source_s += making.elapsed().as_secs_f64();
        }
        let left = order.iter().rev().copied().collect();
        let mut begun = Begun { at, length, part: Some(part), left, at_batch: 0, sums: Vec::new() };
        self.begin_next(&mut begun, worker)?;
        Ok(begun)
    }

    /// Begins the next batch of a slab, if there is one.
    fn begin_next(&self, slab: &mut Begun<'_>, worker: &mut dyn Worker) -> Result<bool> {
        let (finished, all) = (slab.sums.len() as f64, self.batches.len() as f64);
        let length = slab.length as f64;
        let of_batch = |part: f64| {
            let before = self.summed.load(Ordering::Relaxed) as f64;
            (self.done)((before + (finished + part) / all * length) / self.all as f64);
        };
        if finished > 0.0 && self.batches.len() > 1 {
            of_batch(0.0);
        }
        let (Some(next), Some(part)) = (slab.left.pop(), &slab.part) else { return Ok(false) };
        slab.at_batch = next;
        worker.begin(part.view(), &self.batches[next], self.kernel, &of_batch)?;
        if slab.is_on_last() {
            slab.part = None;
        }
        Ok(true)
    }
}

/// A slab that is under way.
struct Begun<'a> {
    /// Its number.
    at: usize,
    /// Its igp.
    length: usize,
    /// Its data, as long as batches are to be begun.
    part: Option<Part<'a>>,
    /// These, the last one first.
    left: Vec<usize>,
    /// The one that is under way.
    at_batch: usize,
    /// What is summed, with the numbers of the batches.
    sums: Vec<(usize, SlabSums)>,
}

impl Begun<'_> {
    /// Whether no further batch is to be begun.
    fn is_on_last(&self) -> bool {
        self.left.is_empty()
    }

    /// Takes the sums of the batch that is under way.
    fn finish(&mut self, sums: SlabSums) {
        self.sums.push((self.at_batch, sums));
    }

    /// Its number, its igp, and the sums of all batches.
    fn joined(mut self) -> (usize, usize, SlabSums) {
        self.sums.sort_by_key(|(batch, _)| *batch);
        let sums = SlabSums::joined(self.sums.into_iter().map(|(_, sums)| sums));
        (self.at, self.length, sums.expect("a problem has an energy"))
    }
}
