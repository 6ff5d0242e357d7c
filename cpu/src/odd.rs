//! Odd pairs: by the definition, a vector of them at a time, wherever they stand.

use std::ops::Range;

use gpp_kernels::sums::VALUES;
use num_complex::Complex64;

use crate::compensated::{CHAIN, Compensated};
use crate::definition::{Band, Definition};
use crate::lanes::{Lanes, WIDTH, tree};
use crate::problem::{Odd, Task};
use crate::version::FEW;

/// Adds the odd pairs of an `igp` among some `ig` to `(VALUES, nw)` totals.
#[inline(always)]
pub fn add_odd<L: Lanes, const NW: usize>(
    token: L::Token,
    task: &Task,
    odd: &Odd,
    (igp, ig): (usize, &Range<usize>),
    totals: &mut [Compensated],
) {
    let first = igp * task.bands.ncouls;
    let all = &odd.pairs[odd.begins[igp] as usize..odd.begins[igp + 1] as usize];
    let begin = all.partition_point(|&pair| (pair as usize) < first + ig.start);
    let end = all.partition_point(|&pair| (pair as usize) < first + ig.end);
    let mut at = begin;
    while at < end && !task.stop.is_asked() {
        let pairs = &all[at..end.min(at + WIDTH)];
        add_pairs::<L, NW>(token, task, igp, pairs, totals);
        at += WIDTH;
    }
}

/// Adds at most [`WIDTH`] pairs; the rest of the vector has no weight.
#[inline(always)]
fn add_pairs<L: Lanes, const NW: usize>(
    token: L::Token,
    task: &Task,
    igp: usize,
    pairs: &[u32],
    totals: &mut [Compensated],
) {
    let (bands, slab) = (&task.bands, &task.slab);
    let definition = Definition::<L, true>::new(token, bands.limits);
    let first = igp * bands.ncouls;
    let (mut wtilde, mut eps) = ([Complex64::ONE; WIDTH], [Complex64::ZERO; WIDTH]);
    for (lane, &pair) in pairs.iter().enumerate() {
        (wtilde[lane], eps[lane]) = (slab.wtilde[pair as usize], slab.eps[pair as usize]);
    }
    for begin in (0..bands.nbands).step_by(CHAIN) {
        let mut lanes = [[0.0; WIDTH]; FEW * VALUES];
        for n in begin..bands.nbands.min(begin + CHAIN) {
            let column = &bands.aqsn[n * bands.ncouls..][..bands.ncouls];
            let mut aqsn = [Complex64::ZERO; WIDTH];
            for (lane, &pair) in pairs.iter().enumerate() {
                aqsn[lane] = column[pair as usize - first];
            }
            for e in 0..NW {
                let band = Band::of(bands, slab, igp, n, e);
                let lanes = &mut lanes[e * VALUES..][..VALUES];
                definition.blocks((&wtilde, &eps, &aqsn), band, lanes);
            }
        }
        for (total, lanes) in totals.iter_mut().zip(&lanes[..NW * VALUES]) {
            total.add(tree(lanes));
        }
    }
}
