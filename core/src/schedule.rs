//! Items → workers → sums in the order of items. Items are the slabs of a problem or the groups of bands n of a matrix.
//!
//! A queue deals the items, each to a worker that has room for it. A worker may have several steps in flight: a GPU
//! uploads one while it sums another. An item goes to the worker that had it in the last run, where its arrays may still
//! be. Sums are handed on in the order of items, whoever finished them first, so bits do not depend on workers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use gpp_cpu::stop::Stop;

use crate::devices::{Done, spawned};
use crate::error::{Error, Result};

/// A worker as the scheduler knows it: items go in, their sums `S` come out in the same order. An item has one step or
/// several.
pub trait Pipeline<S>: Send {
    /// The device, as errors of several workers name it.
    fn device(&self) -> &str;

    /// Whether another step may begin; it may if none is in flight.
    fn has_room(&self) -> bool;

    /// Begins the next step of an item, and reports to `done` which part of the item is finished. Returns whether the step
    /// is the item's last.
    fn begin(&mut self, item: usize, done: Done) -> Result<bool>;

    /// Waits for the step that was begun first. Returns the sums of its item if that is complete.
    fn finish(&mut self, done: Done) -> Result<Option<S>>;
}

/// What is to be done in a run.
pub struct Run<'r> {
    /// Ascending numbers of items.
    pub items: Vec<usize>,
    pub homes: &'r mut Homes,
    /// How many items may be dealt before the first of them is handed on: so many sums wait in memory.
    pub ahead: usize,
    pub done: Done<'r>,
    /// Once it is asked no step begins, and items in flight are lost.
    pub stop: &'r Stop,
}

/// The worker that had each item last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Homes {
    pub of: Vec<Option<usize>>,
    /// Whether an idle worker takes items of others.
    pub moves: bool,
}

/// Runs all items, and hands the sums of each to `take`, on this thread and in the order of items. A single worker is
/// driven by this thread, several by a thread each. Returns the code of the stop that ended the run, if one did.
pub fn each<S: Send>(
    mut workers: Vec<&mut dyn Pipeline<S>>,
    run: Run,
    take: &mut dyn FnMut(S) -> Result<()>,
) -> Result<Option<i32>> {
    let queue = &WorkQueue::new(run, workers.len());
    let (mut waiting, mut next) = (BTreeMap::new(), 0);
    let mut in_order = |at: usize, sums: S| -> Result<()> {
        waiting.insert(at, sums);
        while let Some(sums) = waiting.remove(&next) {
            next += 1;
            queue.hand_on();
            take(sums)?;
        }
        Ok(())
    };
    let ran = match &mut workers[..] {
        [only] => worker_loop(*only, 0, queue, &mut in_order),
        several => thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let threads = several.iter_mut().enumerate().map(|(at, worker)| {
                let sender = sender.clone();
                let run = move || {
                    let _leaves = Leaves(queue);
                    let mut give = |at, sums| {
                        // Nobody listens once the run has failed.
                        _ = sender.send((at, sums));
                        Ok(())
                    };
                    let done = worker_loop(*worker, at, queue, &mut give);
                    done.inspect_err(|_| queue.end()).map_err(|error| error.on(worker.device()))
                };
                spawned(scope, run).inspect_err(|_| queue.end())
            });
            let threads: Vec<_> = threads.collect();
            drop(sender);
            let taken = receiver.iter().try_for_each(|(at, sums)| in_order(at, sums));
            queue.end();
            let joined = threads.into_iter().map(|thread| {
                thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect::<Result<()>>().and(taken)
        }),
    };
    match ran {
        Ok(()) if next == queue.items.len() => Ok(None),
        Ok(()) => Ok(queue.stop.asked()),
        Err(Error::Stopped { code, .. }) => Ok(Some(code)),
        Err(error) => Err(error),
    }
}

/// Item after item on one worker, as many steps in flight as it has room for.
fn worker_loop<S>(
    worker: &mut dyn Pipeline<S>,
    who: usize,
    queue: &WorkQueue,
    give: &mut dyn FnMut(usize, S) -> Result<()>,
) -> Result<()> {
    let done = |part: f64| queue.progress(who, part);
    let (mut in_flight, mut is_begun) = (VecDeque::new(), true);
    loop {
        while worker.has_room() {
            if is_begun {
                let Some(at) = queue.next(who, in_flight.is_empty()) else { break };
                in_flight.push_back(at);
            } else if queue.stop.is_asked() {
                return Ok(());
            }
            let at = *in_flight.back().expect("an item is in flight");
            is_begun = worker.begin(queue.items[at], &done)?;
        }
        let Some(&first) = in_flight.front() else { return Ok(()) };
        if let Some(sums) = worker.finish(&done)? {
            in_flight.pop_front();
            queue.finished(who);
            give(first, sums)?;
        }
    }
}

/// A worker that leaves: others may have waited for it. After a panic nothing more is dealt.
struct Leaves<'q>(&'q WorkQueue<'q>);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
        let _state = self.0.state();
        self.0.changed.notify_all();
    }
}

/// The items of a run that nobody has taken yet.
pub struct WorkQueue<'r> {
    items: Vec<usize>,
    ahead: usize,
    state: Mutex<State<'r>>,
    changed: Condvar,
    /// Finished items, and the bits of the part of its item that each worker has done.
    finished: AtomicUsize,
    parts: Vec<AtomicU64>,
    done: Done<'r>,
    stop: &'r Stop,
}

struct State<'r> {
    homes: &'r mut Homes,
    dealt: Vec<bool>,
    handed_on: usize,
    ended: bool,
}

impl<'r> WorkQueue<'r> {
    pub fn new(run: Run<'r>, workers: usize) -> WorkQueue<'r> {
        let Run { items, homes, ahead, done, stop } = run;
        let dealt = vec![false; items.len()];
        WorkQueue {
            items,
            ahead,
            state: Mutex::new(State { homes, dealt, handed_on: 0, ended: false }),
            changed: Condvar::new(),
            finished: AtomicUsize::new(0),
            parts: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            done,
            stop,
        }
    }

    /// The index in the list of the item that a worker takes next: one of its own, else one that nobody had, else the last
    /// one of the worker with most left, unless it has only one. A worker that `waits` has nothing in flight: it
    /// sleeps until there is an item for it, or none is left.
    pub fn next(&self, worker: usize, waits: bool) -> Option<usize> {
        let mut state = self.state();
        loop {
            if state.ended || self.stop.is_asked() || state.dealt.iter().all(|&dealt| dealt) {
                return None;
            }
            let near = |home: Option<usize>| {
                let State { homes, dealt, handed_on, .. } = &*state;
                let end = self.items.len().min(handed_on.saturating_add(self.ahead));
                (*handed_on..end).filter(move |&at| !dealt[at] && homes.of[self.items[at]] == home)
            };
            let of_busiest = || {
                let left = |worker: &usize| near(Some(*worker)).count();
                let busiest = (0..self.parts.len()).max_by_key(left)?;
                near(Some(busiest)).skip(1).last().filter(|_| state.homes.moves)
            };
            let own = near(Some(worker)).next().or_else(|| near(None).next());
            if let Some(at) = own.or_else(of_busiest) {
                state.dealt[at] = true;
                state.homes.of[self.items[at]] = Some(worker);
                return Some(at);
            }
            if !waits {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The sums of the next item are handed on.
    pub fn hand_on(&self) {
        self.state().handed_on += 1;
        self.changed.notify_all();
    }

    /// Deals nothing more.
    pub fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    fn progress(&self, worker: usize, part: f64) {
        self.parts[worker].store(part.to_bits(), Ordering::Relaxed);
        let part = |part: &AtomicU64| f64::from_bits(part.load(Ordering::Relaxed));
        let parts: f64 = self.parts.iter().map(part).sum();
        let finished = self.finished.load(Ordering::Relaxed) as f64;
        (self.done)(((finished + parts) / self.items.len() as f64).min(1.0));
    }

    fn finished(&self, worker: usize) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        // The end of a single item is the caller's own.
        if self.items.len() > 1 {
            self.progress(worker, 0.0);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'r>> {
        // Every change is whole, whatever a thread that panicked did before or after.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
