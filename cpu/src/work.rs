//! How the pairs of a slab are shared out to threads.
//!
//! A piece of work is a few `igp` and a range of `ig`, the same ones however many threads there are, and
//! whoever is free takes the next. What a piece sums of an `igp` is kept apart and added in the order of
//! `ig`: sums have the same bits for any number of threads and in whatever slab an `igp` stands.

use std::ops::Range;

use gpp_kernels::formula::VALUES;
use rayon::prelude::*;

use crate::problem::Task;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Most `igp`.
    pub igp: usize,
    /// Most `ig`, a multiple of [`crate::lanes::WIDTH`]; all of them where that is `usize::MAX`.
    pub ig: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its `igp`, in the slab's numbers.
    pub igp: Range<usize>,
    /// Its `ig`.
    pub ig: Range<usize>,
}

impl Pieces {
    /// All pieces of so many `igp` and `ig`, the `ig` of the same `igp` next to each other.
    pub fn of(self, ngpown: usize, ncouls: usize) -> Vec<Piece> {
        let igp = ranges(ngpown, self.igp);
        igp.flat_map(|igp| ranges(ncouls, self.ig).map(move |ig| Piece { igp: igp.clone(), ig }))
            .collect()
    }
}

fn ranges(count: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count)
        .step_by(most.min(count))
        .map(move |begin| begin..count.min(begin.saturating_add(most)))
}

/// Sums of all pieces by `sum`, which adds a piece's to a slice of `(nw · VALUES, igp)`, in the pool that
/// this is called in: `(igp, nw · VALUES)`. `done` is told the part that is summed after each piece.
pub fn share(
    task: &Task,
    pieces: Pieces,
    done: &(dyn Fn(f64) + Sync),
    sum: impl Fn(&Piece, &mut [f64]) + Sync,
) -> Vec<f64> {
    let (ngpown, values) = (task.ngpown(), task.bands.nw * VALUES);
    let all = pieces.of(ngpown, task.bands.ncouls);
    let summed = std::sync::atomic::AtomicUsize::new(0);
    let sums: Vec<Vec<f64>> = all
        .par_iter()
        .with_max_len(1)
        .map(|piece| {
            let mut sums = vec![0.0; piece.igp.len() * values];
            if task.stop.is_asked() {
                return sums;
            }
            sum(piece, &mut sums);
            let summed = summed.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
            done(summed as f64 / all.len() as f64);
            sums
        })
        .collect();
    let mut totals = vec![Compensated::default(); ngpown * values];
    for (piece, sums) in all.iter().zip(&sums) {
        let totals = &mut totals[piece.igp.start * values..piece.igp.end * values];
        totals.iter_mut().zip(sums).for_each(|(total, &sum)| total.add(sum));
    }
    (0..values)
        .flat_map(|value| (0..ngpown).map(move |igp| (value, igp)))
        .map(|(value, igp)| totals[igp * values + value].value())
        .collect()
}

// Compensated summation (A. Neumaier, ZAMM 54, 39, 1974).

/// Additions that follow each other before what they sum goes to a compensated sum.
pub const CHAIN: usize = 64;

/// A sum and what its additions have rounded off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    #[inline(always)]
    pub fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        self.lost += if self.sum.abs() >= term.abs() {
            (self.sum - sum) + term
        } else {
            (term - sum) + self.sum
        };
        self.sum = sum;
    }

    /// The sum; where it is not finite, as it stands: nothing is known of what it lost.
    #[inline(always)]
    pub fn value(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

#[cfg(test)]
mod tests;
