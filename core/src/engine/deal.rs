//! Deals slabs to workers.
//!
//! A worker takes a slab whenever it is free, at first in order. A slab then is at home with the worker that
//! had it last, where it may still be in place. In later runs each worker begins with the slabs at home with
//! it, and helps the others afterwards.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ranks::Ranks;

/// The slabs of a run that nobody has taken.
pub struct Deal(Mutex<State>);

struct State {
    workers: usize,
    /// The worker with which each slab is at home.
    homes: Vec<Option<usize>>,
    /// Whether it is still to be taken.
    waits: Vec<bool>,
}

impl Deal {
    /// A deal of so many slabs to so many workers. At first each worker has one of the first slabs at home.
    pub fn new(slabs: usize, workers: usize) -> Deal {
        let homes = (0..slabs).map(|at| (at < workers).then_some(at)).collect();
        Deal(Mutex::new(State { workers, homes, waits: vec![false; slabs] }))
    }

    /// Begins a run of the slabs of these numbers.
    pub fn begin(&self, numbers: &[usize]) {
        let mut state = self.state();
        state.waits.fill(false);
        numbers.iter().for_each(|&at| state.waits[at] = true);
    }

    /// Leaves nothing to be taken.
    pub fn end(&self) {
        self.state().waits.fill(false);
    }

    /// The slab that a worker takes next: one of its own; else one that nobody has; else the last one of the
    /// worker with most left, unless it has only one.
    pub fn next(&self, worker: usize) -> Option<usize> {
        let mut state = self.state();
        let at = state
            .first_of(Some(worker))
            .or_else(|| state.first_of(None))
            .or_else(|| state.last_of_busiest())?;
        state.waits[at] = false;
        state.homes[at] = Some(worker);
        Some(at)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is whole, whatever a thread that panicked did before or after.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The waiting slabs with this home, in their order.
    fn waiting(&self, home: Option<usize>) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.waits.len()).filter(move |&at| self.waits[at] && self.homes[at] == home)
    }

    fn first_of(&self, home: Option<usize>) -> Option<usize> {
        self.waiting(home).next()
    }

    fn last_of_busiest(&self) -> Option<usize> {
        let left = |worker: &usize| self.waiting(Some(*worker)).count();
        let busiest = (0..self.workers).max_by_key(left).filter(|worker| left(worker) > 1)?;
        self.waiting(Some(busiest)).next_back()
    }
}

/// The slabs of one of several processes: neighbouring slabs, as many as the others have or one more.
pub fn share_of(slabs: usize, ranks: &dyn Ranks) -> Vec<usize> {
    ranks.share(slabs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slabs that each worker takes when workers come in this order, again and again.
    fn taken(deal: &Deal, turns: &[usize], workers: usize) -> Vec<Vec<usize>> {
        let mut taken = vec![Vec::new(); workers];
        let mut idle = 0;
        for &worker in turns.iter().cycle() {
            match deal.next(worker) {
                Some(at) => {
                    taken[worker].push(at);
                    idle = 0;
                }
                None => idle += 1,
            }
            if idle > turns.len() {
                break;
            }
        }
        taken
    }

    #[test]
    fn every_slab_is_taken_once_and_stays_at_home() {
        let deal = Deal::new(9, 3);
        let all: Vec<usize> = (0..9).collect();
        deal.begin(&all);
        let first = taken(&deal, &[0, 1, 0, 2], 3);
        assert_eq!(first, [vec![0, 3, 4, 6, 8], vec![1, 5], vec![2, 7]]);
        // The same in the next run, but that the slower one's slabs are no longer all its own.
        deal.begin(&all);
        let second = taken(&deal, &[0, 1, 2], 3);
        assert_eq!(second, [vec![0, 3, 4, 6], vec![1, 5, 8], vec![2, 7]]);
    }

    #[test]
    fn only_the_slabs_of_a_run_are_dealt_out() {
        let deal = Deal::new(6, 2);
        deal.begin(&[1, 4, 5]);
        assert_eq!(taken(&deal, &[0], 1), [vec![4, 5]]);
        assert_eq!(deal.next(1), Some(1));
        deal.begin(&[0, 1, 2]);
        deal.end();
        assert_eq!((deal.next(0), deal.next(1)), (None, None));
    }
}
