//! What a worker does in a run: slab after slab, as many under way as it takes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::checkpoint::Checkpoint;
use super::deal::Deal;
use super::{Numbered, Share};
use crate::catalogue::Kernel;
use crate::devices::{Done, Worker};
use crate::error::{Error, Result};
use crate::problem::{Part, Slabs};
use crate::process::interrupt;

/// A run that workers share.
pub struct Running<'a, 'r> {
    pub slabs: Slabs<'a>,
    pub deal: &'r Deal,
    pub kernel: Kernel,
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
        let (mut sums, mut begun) = (Vec::new(), VecDeque::new());
        loop {
            let next = if interrupt::asked().is_some() { None } else { self.deal.next(who) };
            if let Some(at) = next {
                begun.push_back((at, self.begin_slab(at, worker, share)?));
                if begun.len() < worker.depth() {
                    continue;
                }
            }
            let Some((at, length)) = begun.pop_front() else { return Ok(sums) };
            let of_slab = worker.finish()?;
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

    /// Begins a slab and gives its length.
    fn begin_slab(&self, at: usize, worker: &mut dyn Worker, share: &mut Share) -> Result<usize> {
        let igp = self.slabs.range(at).expect("the deal is of these slabs");
        let length = igp.len();
        let making = Instant::now();
        let part = self.slabs.part(igp)?;
        if let Part::Made(_) = part {
            share.source_s += making.elapsed().as_secs_f64();
        }
        let of_slab = |part: f64| {
            let before = self.summed.load(Ordering::Relaxed) as f64;
            (self.done)((before + part * length as f64) / self.all as f64);
        };
        worker.begin(part.view(), self.kernel, &of_slab)?;
        Ok(length)
    }
}
