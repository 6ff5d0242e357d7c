//! Deals parts to workers, and takes what they have summed in the order of parts.
//!
//! Parts are dealt a few ahead of the one that is taken next, so that few matrices wait in memory. They are shared out
//! by their operations, and a part stays with the worker that had it, which may still have its A. In a lone calculation
//! a worker that would wait takes those of another.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use gpp_cpu::stop::Stop;

use super::Sums;
use super::gpu::UNDER_WAY;
use crate::devices::Done;

/// Where each part is summed.
pub type Homes = Vec<Home>;

/// Where a part is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// The worker.
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
    /// To sum this part.
    Part(usize),
    /// To give what it has summed, and to ask again.
    Later,
    /// Nothing more.
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
    /// Parts, in their order.
    parts: Vec<usize>,
    /// How many of them have been taken in.
    taken: usize,
    /// Whether each has been dealt.
    dealt: Vec<bool>,
    homes: Homes,
    /// How many may be dealt ahead.
    ahead: usize,
    given: BTreeMap<usize, Sums>,
    /// How much of its part each worker has done.
    under_way: Vec<f64>,
    at_work: usize,
    /// Whether nothing more is dealt.
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

    /// Gives the sums of a part.
    pub fn give(&self, worker: usize, part: usize, sums: Sums) {
        let mut state = self.state();
        state.given.insert(part, sums);
        state.under_way[worker] = 0.0;
        self.told(&state);
        self.changed.notify_all();
    }

    /// A worker has ended.
    pub fn leave(&self) {
        self.state().at_work -= 1;
        self.changed.notify_all();
    }

    /// Deals nothing more.
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

#[cfg(test)]
mod tests {
    use super::*;
    use gpp_cpu::stop::NEVER;

    fn deal(parts: usize, homes: Homes, workers: usize) -> Deal<'static> {
        Deal::new((0..parts).collect(), homes, &vec![AHEAD; workers], &|_| (), &NEVER)
    }

    #[test]
    fn parts_are_dealt_a_few_ahead_and_taken_in_their_order() {
        let deal = deal(12, shared_out([1.0; 12].into_iter(), 2, false), 2);
        let zero = || Sums::zero(1, 1);
        // Worker 0 sums part 0 for long. The other one has its own parts, then one of worker 0's.
        assert_eq!(deal.next(0, true), Next::Part(0));
        for part in [1, 3, 5, 7] {
            assert_eq!(deal.next(1, false), Next::Part(part));
            deal.give(1, part, zero());
        }
        assert_eq!(deal.next(1, false), Next::Later);
        for part in [2, 4, 6] {
            assert_eq!(deal.next(1, true), Next::Part(part));
            deal.give(1, part, zero());
        }
        assert_eq!(deal.next(1, false), Next::Later);
        deal.give(0, 0, zero());
        for part in 8..12 {
            assert!(deal.take().is_some());
            assert_eq!(deal.next(part % 2, true), Next::Part(part));
        }
        assert_eq!((deal.next(0, true), deal.next(1, false)), (Next::Nothing, Next::Nothing));
        deal.leave();
        deal.leave();
        assert!((4..8).all(|_| deal.take().is_some()) && deal.take().is_none());
        let homes = [0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1].map(|worker| Home { worker, stays: true });
        assert_eq!(deal.homes(), homes);
    }

    #[test]
    fn parts_stay_where_they_were() {
        let homes = [1, 0, 0, 0].map(|worker| Home { worker, stays: true });
        let deal = deal(4, homes.to_vec(), 2);
        assert_eq!(deal.next(0, true), Next::Part(1));
        assert_eq!(deal.next(0, true), Next::Part(2));
        assert_eq!(deal.next(1, true), Next::Part(0));
        assert_eq!(deal.next(1, true), Next::Nothing);
        assert_eq!(deal.next(0, true), Next::Part(3));
    }

    #[test]
    fn workers_have_as_many_operations() {
        let workers = |operations: &[f64], workers| {
            let homes = shared_out(operations.iter().copied(), workers, true);
            homes.into_iter().map(|home| home.worker).collect::<Vec<_>>()
        };
        assert_eq!(workers(&[2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0], 2), [0, 1, 0, 1, 1, 0, 1]);
        assert_eq!(workers(&[1.0; 3], 1), [0; 3]);
    }

    #[test]
    fn nothing_is_dealt_after_a_stop() {
        let stop = Stop::new();
        stop.ask(2);
        let homes = shared_out([1.0; 2].into_iter(), 1, false);
        let deal = Deal::new(vec![0, 1], homes, &[1], &|_| (), &stop);
        assert_eq!(deal.next(0, true), Next::Nothing);
        deal.leave();
        assert!(deal.take().is_none());
    }
}
