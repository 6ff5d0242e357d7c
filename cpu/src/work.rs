//! How work is shared out to threads, how a caller stops them, and compensated sums.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::simd::WIDTH;

/// Called now and then with the fraction of the work that is done.
pub type Progress<'a> = &'a (dyn Fn(f64) + Sync);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlabTile {
    /// In the slab's numbers.
    pub igp: Range<usize>,
    pub ig: Range<usize>,
}

/// Results of `work` on all items, in their order, on the threads of the pool that this is called in.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    progress: Progress,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let finished = AtomicUsize::new(0);
    let results = items.par_iter().with_max_len(1).map(|item| {
        let result = work(item);
        let finished = finished.fetch_add(1, Ordering::Relaxed) + 1;
        progress(finished as f64 / items.len() as f64);
        result
    });
    results.collect()
}

/// A request to stop, with a code of the caller's, that of a signal for instance. Versions look at it between tiles
/// of a few milliseconds; what they return after that is not a sum.
pub struct Stop(Option<OnceLock<i32>>);

impl Stop {
    pub const fn new() -> Stop {
        Stop(Some(OnceLock::new()))
    }

    /// Requests it. Returns whether this is the first time; later ones have no effect.
    pub fn ask(&self, code: i32) -> bool {
        self.0.as_ref().is_some_and(|asked| asked.set(code).is_ok())
    }

    pub fn asked(&self) -> Option<i32> {
        self.0.as_ref()?.get().copied()
    }

    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        self.asked().is_some()
    }
}

impl Default for Stop {
    fn default() -> Self {
        Stop::new()
    }
}

/// For calculations that nobody stops: it takes no request.
pub static NEVER: Stop = Stop(None);

// Compensated summation (A. Neumaier, ZAMM 54, 39, 1974).

/// Additions that follow each other before their sum goes to a compensated one.
pub const CHAIN: usize = 64;

/// A sum and what its additions have rounded off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
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

    /// The sum; if it is not finite, as it stands: nothing is known of what it lost.
    #[inline(always)]
    pub fn value(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// Adds the sum of each value's chains, in a tree.
#[inline(always)]
pub fn add_lanes(totals: &mut [CompensatedSum], lanes: &[[f64; WIDTH]]) {
    for (total, [a, b, c, d, e, f, g, h]) in totals.iter_mut().zip(lanes) {
        total.add(((a + b) + (c + d)) + ((e + f) + (g + h)));
    }
}

#[cfg(test)]
mod tests;
