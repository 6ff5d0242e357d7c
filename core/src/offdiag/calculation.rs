//! A calculation: parts → workers → total.

use std::ops::AddAssign;
use std::thread;
use std::time::Instant;

use gpp_cpu::stop::Stop;
use num_complex::Complex64;

use super::deal::{self, Deal, Homes};
use super::{Summed, Sums, Task, parts};
use crate::devices::{Done, spawned};
use crate::error::{Error, Result};
use crate::ranks::Ranks;

/// What sums parts: a processor or a GPU, with a task in place.
pub trait Worker: Send {
    /// The device, as errors name it.
    fn device(&self) -> &str;

    /// How many parts may be dealt to it before the first of them is taken: their matrices wait in memory.
    fn ahead(&self) -> usize;

    /// Sums the parts that are dealt to the worker of this number, and gives them. Seconds of the products.
    ///
    /// # Errors
    /// Those of the device.
    fn work(&mut self, worker: usize, deal: &Deal) -> Result<f64>;
}

/// Who sums: the workers of this process, one of several or alone.
pub struct Crew<'a> {
    workers: Vec<Box<dyn Worker + 'a>>,
    ranks: &'a dyn Ranks,
    homes: Homes,
    stays: bool,
}

/// Bytes of a message between ranks, of all ranks together.
const MESSAGE: usize = 256 << 20;

impl<'a> Crew<'a> {
    /// These workers, one at least, in one of these processes.
    pub fn new(workers: Vec<Box<dyn Worker + 'a>>, ranks: &'a dyn Ranks) -> Crew<'a> {
        Crew { workers, ranks, homes: Homes::new(), stays: false }
    }

    /// The same, for several calculations: a part stays where it is first, so that its A comes once.
    pub fn for_several(self) -> Crew<'a> {
        Crew { stays: true, ..self }
    }

    /// Sums all parts. Ranks take parts in turn; rank 0 has the sums, and adds each part in its turn. Collective.
    ///
    /// # Errors
    /// Those of the workers, with several of them as [`Error::Device`]; [`Error::Stopped`] where `stop` says so, once
    /// parts at hand are summed.
    pub fn sum(&mut self, task: &Task, done: Done, stop: &Stop) -> Result<Summed> {
        let begun = Instant::now();
        let (all, ranks) = (parts::count(task), self.ranks);
        let (mut sums, mut summed) = (Sums::zero(task.bands(), task.planes()), 0);
        let own = (ranks.rank()..all).step_by(ranks.size()).collect();
        let mut homes = std::mem::take(&mut self.homes);
        if homes.len() != all {
            let operations = |part| match part % ranks.size() == ranks.rank() {
                true => task.operations_of(parts::bands(task, part)),
                false => 0.0,
            };
            homes = deal::shared_out((0..all).map(operations), self.workers.len(), self.stays);
        }
        let ahead: Vec<usize> = self.workers.iter().map(|worker| worker.ahead()).collect();
        let deal = Deal::new(own, homes, &ahead, done, stop);
        let mut rounds = || -> Option<i32> {
            for round in (0..all).step_by(ranks.size()) {
                let is_own = round + ranks.rank() < all;
                let part = if is_own { deal.take() } else { None };
                if let (true, None, None) = (is_own, &part, stop.asked()) {
                    // A worker has failed, and says why.
                    return None;
                }
                let lacks = is_own && part.is_none();
                let code = stopped(ranks, if lacks { stop.asked() } else { None });
                if code.is_some() {
                    return code;
                }
                summed += add(ranks, part.as_ref(), &mut sums);
            }
            None
        };
        let (ended, seconds) = thread::scope(|scope| {
            let (deal, several) = (&deal, self.workers.len() > 1);
            let workers = self.workers.iter_mut().enumerate();
            let threads = workers.map(|(at, worker)| {
                spawned(scope, move || worked(worker.as_mut(), at, deal, several)).inspect_err(
                    |_| {
                        deal.end();
                        deal.leave();
                    },
                )
            });
            let threads: Vec<_> = threads.collect();
            let ended = rounds();
            deal.end();
            let joined = threads.into_iter().map(|thread| {
                thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            let seconds: Result<Vec<f64>> = joined.collect();
            (ended, seconds)
        });
        self.homes = deal.homes();
        let seconds = seconds?.into_iter().fold(0.0, f64::max);
        if let Some(code) = ended {
            return Err(Error::Stopped { code, done: summed, all, of: "parts" });
        }
        let seconds = longest(ranks, seconds);
        Ok(Summed { sums, seconds, total: begun.elapsed().as_secs_f64() })
    }
}

/// The work of one worker; errors of one of several name its device.
fn worked(worker: &mut dyn Worker, at: usize, deal: &Deal, several: bool) -> Result<f64> {
    let _leaves = Leaves(deal);
    let done = worker.work(at, deal).inspect_err(|_| deal.end());
    let named = |error| match several {
        true => Error::Device { device: worker.device().into(), error: Box::new(error) },
        false => error,
    };
    done.map_err(named)
}

/// Leaves when it is dropped, after a panic too; where it panics nothing more is dealt.
struct Leaves<'d>(&'d Deal<'d>);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
        self.0.leave();
    }
}

/// Adds the parts of a round to the total of rank 0, in the order of ranks, and says how many there were.
/// Collective.
fn add(ranks: &dyn Ranks, own: Option<&Sums>, total: &mut Sums) -> usize {
    if ranks.size() == 1 {
        let Some(own) = own else { return 0 };
        total.add(own);
        return 1;
    }
    let each = (MESSAGE / ranks.size() / size_of::<Complex64>()).max(1);
    let mut count = 0;
    for part in 0..2 {
        let own = own.map(|own| &own.parts()[part][..]);
        let total = &mut total.parts_mut()[part][..];
        for at in (0..total.len()).step_by(each) {
            let to = &mut total[at..];
            let some = to.len().min(each);
            let bytes = own.map_or(&[][..], |own| bytemuck::cast_slice(&own[at..at + some]));
            let messages = ranks.gather(bytes).unwrap_or_default();
            for message in messages.iter().filter(|message| !message.is_empty()) {
                let values = message.as_chunks::<16>().0;
                let values = values.iter().map(|bytes| bytemuck::pod_read_unaligned(bytes));
                to.iter_mut()
                    .zip(values)
                    .for_each(|(to, value): (_, Complex64)| to.add_assign(value));
            }
            count = messages.iter().filter(|message| !message.is_empty()).count();
        }
    }
    count
}

/// What stopped the first rank that is stopped, for all. Collective.
fn stopped(ranks: &dyn Ranks, own: Option<i32>) -> Option<i32> {
    if ranks.size() == 1 {
        return own;
    }
    let all = ranks.gather(&own.unwrap_or(0).to_ne_bytes()).unwrap_or_default();
    let read = |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(0, i32::from_ne_bytes);
    let first = all.iter().map(read).find(|&code| code != 0).unwrap_or(0);
    Some(read(&ranks.broadcast(first.to_ne_bytes().to_vec()))).filter(|&code| code != 0)
}

/// The longest of all times, for rank 0. Collective.
fn longest(ranks: &dyn Ranks, own: f64) -> f64 {
    let all = ranks.gather(&own.to_ne_bytes()).unwrap_or_default();
    let read = |bytes: Vec<u8>| bytes.try_into().map_or(own, f64::from_ne_bytes);
    all.into_iter().map(read).fold(own, f64::max)
}
