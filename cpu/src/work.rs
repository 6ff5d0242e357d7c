//! How the pairs of a slab are shared out to threads.
//!
//! A piece of work is a few `igp` and a range of `ig`, the same ones however many threads there are, and
//! whoever is free takes the next. What a piece sums of an `igp` is kept apart and added in the order of
//! `ig`: sums have the same bits for any number of threads and in whatever slab an `igp` stands.

use std::ops::Range;

use gpp_kernels::sums::VALUES;
use rayon::prelude::*;

use crate::compensated::Compensated;
use crate::problem::Task;

/// Sizes of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Most `igp`.
    pub igp: usize,
    /// Most `ig`, a multiple of [`crate::lanes::WIDTH`]; all of them where that is `usize::MAX`.
    pub ig: usize,
}

/// A piece of work.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_every_pair_once() {
        for (igp, ig, pieces) in [
            (5, 17, Pieces { igp: 2, ig: 8 }),
            (1, 1, Pieces { igp: 16, ig: 512 }),
            (3, 9, Pieces { igp: 1, ig: usize::MAX }),
        ] {
            let mut seen = vec![0; igp * ig];
            for piece in pieces.of(igp, ig) {
                for at in piece.igp {
                    piece.ig.clone().for_each(|ig_at| seen[at * ig + ig_at] += 1);
                }
            }
            assert_eq!(seen, vec![1; igp * ig]);
        }
    }
}
