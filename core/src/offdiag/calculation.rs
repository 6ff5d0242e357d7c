//! A calculation: parts → workers → total.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use gpp_cpu::stop::Stop;
use gpp_kernels::offdiag::mma::COLUMNS;
use gpp_kernels::offdiag::pack::B_FRAGMENT;
use num_complex::Complex64;

use crate::devices::gpu::Gpu;
use crate::devices::{Device, Done, spawned};
use crate::error::{Error, Result};
use crate::offdiag::gpu::{OnGpu, STREAMS, UNDER_WAY};
use crate::offdiag::images::Shape;
use crate::offdiag::versions::Version;
use crate::offdiag::{Summed, Sums, Task, parts, versions};
use crate::problem::memory;
use crate::ranks::{Alone, Ranks};

/// What sums parts: a processor or a GPU, with a task in place.
pub trait Worker: Send {
    /// The device, as errors name it.
    fn device(&self) -> &str;

    /// How many parts may be dealt to it before the first of them is taken: their matrices wait in memory.
    fn ahead(&self) -> usize;

    /// Sums the parts that are dealt to the worker of this number, and gives them. Seconds of the products.
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
    /// Those of the workers, which name the device if there are several; [`Error::Stopped`] where `stop` says so, once
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
            homes = shared_out((0..all).map(operations), self.workers.len(), self.stays);
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
    let named = |error: Error| match several {
        true => error.on(worker.device()),
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

// Deals parts to workers, and takes what they have summed in the order of parts.
//
// Parts are dealt a few ahead of the one that is taken next, so that few matrices wait in memory. They are shared out
// by their operations, and a part stays with the worker that had it, which may still have its A. In a lone calculation
// a worker that would wait takes those of another.

pub type Homes = Vec<Home>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    pub worker: usize,
    /// Whether the part stays there: its A may be.
    pub stays: bool,
}

/// Homes of parts of so many operations, each with the worker that has least before it, where it stays or not.
pub fn shared_out(parts: impl Iterator<Item = f64>, workers: usize, stays: bool) -> Homes {
    let mut loads = vec![0.0; workers];
    let home = |operations| {
        let least = (0..workers).min_by(|a, b| f64::total_cmp(&loads[*a], &loads[*b])).unwrap_or(0);
        loads[least] += operations;
        Home { worker: least, stays }
    };
    parts.map(home).collect()
}

/// What a worker is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Part(usize),
    /// To give what it has summed, and to ask again.
    Later,
    Nothing,
}

/// The parts of a calculation that are one process's.
pub struct Deal<'a> {
    state: Mutex<State>,
    changed: Condvar,
    done: Done<'a>,
    stop: &'a Stop,
}

struct State {
    parts: Vec<usize>,
    /// How many of them have been taken in.
    taken: usize,
    dealt: Vec<bool>,
    homes: Homes,
    /// How many may be dealt ahead.
    ahead: usize,
    given: BTreeMap<usize, Sums>,
    /// How much of its part each worker has done.
    under_way: Vec<f64>,
    at_work: usize,
    ended: bool,
}

/// Parts that may be dealt to a GPU before the first of them is taken: those that are under way, and one more.
pub const AHEAD: usize = UNDER_WAY + 1;

impl<'a> Deal<'a> {
    /// Of these parts, ascending, to workers, each of which has so many dealt to it before the first of them is taken.
    /// It tells `done` how much is summed, and deals no more once `stop` says so.
    pub fn new(
        parts: Vec<usize>,
        homes: Homes,
        ahead: &[usize],
        done: Done<'a>,
        stop: &'a Stop,
    ) -> Deal<'a> {
        let state = State {
            taken: 0,
            dealt: vec![false; parts.len()],
            parts,
            homes,
            ahead: ahead.iter().sum(),
            given: BTreeMap::new(),
            under_way: vec![0.0; ahead.len()],
            at_work: ahead.len(),
            ended: false,
        };
        Deal { state: Mutex::new(state), changed: Condvar::new(), done, stop }
    }

    /// What a worker does next. Where it `waits` it has given all that it has summed, and is not told to do so.
    pub fn next(&self, worker: usize, waits: bool) -> Next {
        let mut state = self.state();
        loop {
            if self.stop.is_asked() {
                state.ended = true;
            }
            let State { parts, dealt, homes, taken, ahead, ended, .. } = &mut *state;
            let left = || (*taken..parts.len()).filter(|at| !dealt[*at] && !*ended);
            let near = || left().take_while(|at| *at < *taken + *ahead);
            let is_own = |at: &usize| homes[parts[*at]].worker == worker;
            let is_free = |at: &usize| !homes[parts[*at]].stays;
            let next = near().find(is_own).or_else(|| near().find(is_free).filter(|_| waits));
            if let Some(at) = next {
                dealt[at] = true;
                homes[parts[at]] = Home { worker, stays: true };
                return Next::Part(parts[at]);
            }
            if !left().any(|at| is_own(&at) || is_free(&at)) {
                return Next::Nothing;
            }
            if !waits {
                return Next::Later;
            }
            state = self.wait(state);
        }
    }

    /// How much of its part a worker has done, from 0 to 1.
    pub fn tell(&self, worker: usize, part: f64) {
        let mut state = self.state();
        state.under_way[worker] = part;
        self.told(&state);
    }

    pub fn give(&self, worker: usize, part: usize, sums: Sums) {
        let mut state = self.state();
        state.given.insert(part, sums);
        state.under_way[worker] = 0.0;
        self.told(&state);
        self.changed.notify_all();
    }

    pub fn leave(&self) {
        self.state().at_work -= 1;
        self.changed.notify_all();
    }

    pub fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    /// Waits for the sums of the next part; none where all workers have ended without it.
    pub fn take(&self) -> Option<Sums> {
        let mut state = self.state();
        loop {
            let part = *state.parts.get(state.taken)?;
            if let Some(sums) = state.given.remove(&part) {
                state.taken += 1;
                self.changed.notify_all();
                return Some(sums);
            }
            if state.at_work == 0 {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// Where each part was summed, or is to be.
    pub fn homes(self) -> Homes {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).homes
    }

    fn told(&self, state: &State) {
        let whole = (state.taken + state.given.len()) as f64;
        let under_way: f64 = state.under_way.iter().sum();
        (self.done)(((whole + under_way) / state.parts.len() as f64).min(1.0));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is whole, whatever a thread that panicked did before or after.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

// The memory of a task on a GPU.

/// What a task takes beside the problem's own arrays, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Of the device's memory but for A, and but for pairs that are summed by the definition, of which there are few.
    pub device: u64,
    /// Of the device's memory for A of a group.
    pub a: u64,
    pub groups: usize,
    /// Of the host's memory, for each device.
    pub host: u64,
}

impl Needs {
    /// Bytes of the device's memory without which nothing runs: A that finds no room passes by in two buffers.
    pub fn least(&self) -> u64 {
        self.device + (self.a * self.groups as u64).min(2 * self.a)
    }

    /// Fails where a GPU has less.
    pub fn require_on(&self, gpu: &dyn Device, what: &str) -> Result<()> {
        let (needed, free) = (self.least(), gpu.free_memory()?.unwrap_or(u64::MAX));
        if needed <= free {
            return Ok(());
        }
        Err(Error::memory("device", what, needed, free, None))
    }

    /// Those of a task and a version.
    pub fn of(task: &Task, version: &'static Version) -> Needs {
        let shape = Shape::of(task, version);
        let (nbands, nw) = (task.problem.extents().nbands, task.nw());
        let together = 2 * shape.together(nw);
        let poles = shape.steps as usize * (shape.right * shape.words() * B_FRAGMENT) as usize;
        let lane = shape.u() + shape.v() + together * (shape.sums() + shape.folded());
        let small = nbands * (2 * nw + 2) + (shape.right * COLUMNS) as usize * 3 / 2;
        let matrices = 4 * task.planes() * task.bands() * task.bands();
        let columns = 2 * task.problem.extents().ncouls * task.bands();
        let parts = matrices * (AHEAD + 3) + (UNDER_WAY + 1) * together * shape.folded();
        Needs {
            device: 8 * (poles + STREAMS * lane + small) as u64,
            a: 8 * shape.a() as u64,
            groups: shape.groups,
            // The image of poles is gone when those of A are made, one for each stream.
            host: 8 * (poles.max(STREAMS * shape.a() + columns) + parts) as u64,
        }
    }
}

// A task on GPUs, from the first look at their memory on.

/// Sums it on GPUs, one at least, each by its fastest version. All versions have the same bits. The name is that of
/// the first GPU's.
///
/// # Errors
/// [`crate::Error::Memory`] before anything is allocated; [`crate::Error::Input`] for a GPU that is too old;
/// [`crate::Error::Driver`]; [`crate::Error::Stopped`] if the task's `stop` is asked, between launches.
pub fn on_gpus(gpus: &[&Gpu], task: &Task, done: Done) -> Result<(Summed, &'static str)> {
    let version = |gpu: &&Gpu| versions::on(gpu, None, task.bands());
    let versions = gpus.iter().map(version).collect::<Result<Vec<_>>>()?;
    let name = task.problem.name();
    let mut host = 0;
    for (gpu, version) in gpus.iter().zip(&versions) {
        let needs = Needs::of(task, version);
        needs.require_on(*gpu, name)?;
        host += needs.host;
    }
    memory::require(name, host)?;
    let mut workers: Vec<Box<dyn Worker>> = Vec::new();
    for (gpu, version) in gpus.iter().zip(&versions) {
        workers.push(Box::new(OnGpu::new(gpu, *task, version)?));
    }
    let summed = Crew::new(workers, &Alone).sum(task, done, task.stop)?;
    Ok((summed, versions[0].id))
}

#[cfg(test)]
mod tests;
