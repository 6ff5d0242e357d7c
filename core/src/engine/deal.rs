//! Deals slabs to workers.
//!
//! A worker takes a slab whenever it is free, at first in order. A slab then is at home with the worker that
//! had it last, where it may still be in place. In later runs each worker begins with the slabs at home with
//! it, and helps the others afterwards.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::devices::{SlabSums, Worker};
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

// Pieces: the slabs, or parts of slabs, that workers begin one at a time.
//
// Where slabs are uploaded anew, no kernel hides the upload of the first one. So a worker's first slab is
// cut in two: the smaller part is uploaded soon, and its kernels hide the upload of the rest.

/// A slab's first part is one of this many parts, in whole groups. Where the upload takes a third of the
/// kernels' time, the first part's kernels hide the rest of it. On an H200 si510's upload takes a quarter.
const FIRST: usize = 4;

/// A slab or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub slab: usize,
    pub whole: Range<usize>,
    pub igp: Range<usize>,
}

impl Piece {
    pub fn whole(slab: usize, whole: Range<usize>) -> Piece {
        Piece { slab, igp: whole.clone(), whole }
    }

    /// Cuts this piece in two at a multiple of `group` igp; one piece where there are too few groups.
    fn cut(self, group: usize) -> Vec<Piece> {
        let first = self.whole.len() / group / FIRST * group;
        if first == 0 {
            return vec![self];
        }
        let at = self.whole.start + first;
        let part = |igp| Piece { igp, ..self.clone() };
        vec![part(self.whole.start..at), part(at..self.whole.end)]
    }
}

/// The slabs of a run that are cut.
pub struct Cut {
    slabs: Vec<usize>,
    group: usize,
}

impl Cut {
    /// The slabs that workers begin with and that are cut. Cutting helps where there are several slabs, sums
    /// of groups, and uploads under kernels.
    pub fn of(
        slabs: &[usize],
        workers: &[Box<dyn Worker + '_>],
        group: Option<usize>,
    ) -> Option<Cut> {
        let has_use = slabs.len() > 1 && workers.iter().all(|worker| worker.depth() > 1);
        let first = slabs.iter().copied().take(workers.len());
        group.filter(|_| has_use).map(|group| Cut { slabs: first.collect(), group })
    }

    /// The piece with which a slab is begun.
    pub fn pieces(&self, slab: Piece) -> Vec<Piece> {
        if self.slabs.contains(&slab.slab) { slab.cut(self.group) } else { vec![slab] }
    }
}

/// Sums of pieces whose slabs are not complete yet.
#[derive(Default)]
pub struct Pieces(Vec<(Piece, SlabSums)>);

impl Pieces {
    /// Adds a piece. Returns the sums of its slab once that is complete.
    pub fn add(&mut self, piece: Piece, sums: SlabSums) -> Option<SlabSums> {
        let (slab, all) = (piece.slab, piece.whole.len());
        self.0.push((piece, sums));
        let of_slab = |piece: &Piece| piece.slab == slab;
        let there = self.0.iter().filter(|(piece, _)| of_slab(piece));
        if there.map(|(piece, _)| piece.igp.len()).sum::<usize>() < all {
            return None;
        }
        let mut whole: Vec<_> = self.0.extract_if(.., |(piece, _)| of_slab(piece)).collect();
        whole.sort_by_key(|(piece, _)| piece.igp.start);
        Some(SlabSums::side_by_side(whole.into_iter().map(|(_, sums)| sums)).expect("a piece"))
    }
}

#[cfg(test)]
mod tests;
