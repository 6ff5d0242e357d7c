//! Items → workers → sums in the order of items. Items are slabs of a problem, or chunks of bands n of a matrix.
//!
//! A queue gives each item to a free worker, if possible that of the last run, which may still hold its arrays. A
//! worker may have several steps in flight. Sums come in the order of items: bits do not depend on workers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use crate::devices::{Advance, Control, spawned};
use crate::error::{Error, Result};

/// A worker: items go in, their sums `S` come out in the same order. An item has one step or several.
pub trait StepPipeline<S>: Send {
    /// The device, as errors of several workers name it.
    fn device(&self) -> &str;

    /// Whether another step may begin; it may if none is in flight.
    fn has_room(&self) -> bool;

    /// Begins the next step of an item; `advance` gets its finished fraction. Returns whether the step is its last.
    fn begin(&mut self, item: usize, advance: Advance) -> Result<bool>;

    /// Waits for the step that was begun first. Returns the sums of its item if that is complete.
    fn finish(&mut self, advance: Advance) -> Result<Option<S>>;
}

pub struct Dispatch<'r> {
    /// Ascending numbers of items.
    pub items: Vec<usize>,
    pub homes: &'r mut Affinity,
    /// How many items may be dealt before the sums of the first are returned: so many sums wait in memory.
    pub ahead: usize,
    /// Once it stops, no step begins, and items in flight are lost.
    pub control: Control<'r>,
}

/// The worker that had each item last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity {
    pub of: Vec<Option<usize>>,
    /// Whether an idle worker takes items of others.
    pub moves: bool,
}

/// Runs all items, and calls `take` with the sums of each on this thread, in the order of items. A single worker runs on
/// this thread, several on a thread each. Returns the code of the stop that ended the run, if one did.
pub fn each<S: Send, W: StepPipeline<S> + ?Sized>(
    mut workers: Vec<&mut W>,
    run: Dispatch,
    take: &mut dyn FnMut(S) -> Result<()>,
) -> Result<Option<i32>> {
    let queue = &WorkQueue::new(run, workers.len());
    let (mut waiting, mut next) = (BTreeMap::new(), 0);
    let mut in_order = |place: usize, sums: S| -> Result<()> {
        waiting.insert(place, sums);
        while let Some(sums) = waiting.remove(&next) {
            next += 1;
            queue.change(|state| state.returned += 1);
            take(sums)?;
        }
        Ok(())
    };
    let ran = match &mut workers[..] {
        [only] => worker_loop(*only, 0, queue, &mut in_order),
        several => thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let threads = several.iter_mut().enumerate().map(|(place, worker)| {
                let sender = sender.clone();
                let run = move || {
                    let _leaves = Leaves(queue);
                    let mut give = |place, sums| {
                        // Nobody listens once the run has failed.
                        _ = sender.send((place, sums));
                        Ok(())
                    };
                    let done = worker_loop(*worker, place, queue, &mut give);
                    done.inspect_err(|_| queue.end())
                        .map_err(|error| error.of_part(worker.device()))
                };
                spawned(scope, run).inspect_err(|_| queue.end())
            });
            let threads: Vec<_> = threads.collect();
            drop(sender);
            let taken = receiver.iter().try_for_each(|(place, sums)| in_order(place, sums));
            queue.end();
            let joined = threads.into_iter().map(|thread| {
                thread?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect::<Result<()>>().and(taken)
        }),
    };
    match ran {
        Ok(()) if next == queue.items.len() => Ok(None),
        Ok(()) => Ok(queue.control.stop.asked()),
        Err(Error::Stopped { code, .. }) => Ok(Some(code)),
        Err(error) => Err(error),
    }
}

fn worker_loop<S, W: StepPipeline<S> + ?Sized>(
    worker: &mut W,
    who: usize,
    queue: &WorkQueue,
    give: &mut dyn FnMut(usize, S) -> Result<()>,
) -> Result<()> {
    let advance = |part: f64| queue.progress(who, part);
    let (mut in_flight, mut is_begun) = (VecDeque::new(), true);
    loop {
        while worker.has_room() {
            if is_begun {
                let Some(at) = queue.next(who, in_flight.is_empty()) else { break };
                in_flight.push_back(at);
            } else if queue.control.stop.is_asked() {
                return Ok(());
            }
            let place = *in_flight.back().expect("an item is in flight");
            is_begun = worker.begin(queue.items[place], &advance)?;
        }
        let Some(&first) = in_flight.front() else { return Ok(()) };
        if let Some(sums) = worker.finish(&advance)? {
            in_flight.pop_front();
            queue.finished(who);
            give(first, sums)?;
        }
    }
}

/// Wakes the other workers when one ends, and ends the run after a panic.
struct Leaves<'q>(&'q WorkQueue<'q>);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.ended |= thread::panicking());
    }
}

pub struct WorkQueue<'r> {
    items: Vec<usize>,
    ahead: usize,
    state: Mutex<QueueState<'r>>,
    changed: Condvar,
    /// Finished items, and the bits of the finished fraction of each worker's item.
    finished: AtomicUsize,
    parts: Vec<AtomicU64>,
    control: Control<'r>,
}

struct QueueState<'r> {
    homes: &'r mut Affinity,
    dealt: Vec<bool>,
    returned: usize,
    ended: bool,
}

impl<'r> WorkQueue<'r> {
    pub fn new(run: Dispatch<'r>, workers: usize) -> WorkQueue<'r> {
        let Dispatch { items, homes, ahead, control } = run;
        let dealt = vec![false; items.len()];
        WorkQueue {
            items,
            ahead,
            state: Mutex::new(QueueState { homes, dealt, returned: 0, ended: false }),
            changed: Condvar::new(),
            finished: AtomicUsize::new(0),
            parts: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            control,
        }
    }

    /// The index of a worker's next item: one it had before, else one that nobody had, else the last of the worker with
    /// most left (at least two). A worker that `waits` sleeps until there is one for it, or none is left.
    pub fn next(&self, worker: usize, waits: bool) -> Option<usize> {
        let mut state = self.state();
        loop {
            if state.ended || self.control.stop.is_asked() || state.dealt.iter().all(|&dealt| dealt)
            {
                return None;
            }
            let near = |home: Option<usize>| {
                let QueueState { homes, dealt, returned, .. } = &*state;
                let end = self.items.len().min(returned.saturating_add(self.ahead));
                (*returned..end).filter(move |&at| !dealt[at] && homes.of[self.items[at]] == home)
            };
            let of_busiest = || {
                let left = |worker: &usize| near(Some(*worker)).count();
                let busiest = (0..self.parts.len()).max_by_key(left)?;
                near(Some(busiest)).skip(1).last().filter(|_| state.homes.moves)
            };
            let nearest = near(Some(worker)).next().or_else(|| near(None).next());
            if let Some(at) = nearest.or_else(of_busiest) {
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

    fn end(&self) {
        self.change(|state| state.ended = true);
    }

    fn change(&self, change: impl FnOnce(&mut QueueState<'r>)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    fn progress(&self, worker: usize, part: f64) {
        self.parts[worker].store(part.to_bits(), Ordering::Relaxed);
        let part = |part: &AtomicU64| f64::from_bits(part.load(Ordering::Relaxed));
        let parts: f64 = self.parts.iter().map(part).sum();
        let finished = self.finished.load(Ordering::Relaxed) as f64;
        (self.control.advance)(((finished + parts) / self.items.len() as f64).min(1.0));
    }

    fn finished(&self, worker: usize) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        // The caller reports the end of a single item.
        if self.items.len() > 1 {
            self.progress(worker, 0.0);
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<'r>> {
        // Every change is atomic, so a panic leaves the state intact.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
