//! How far sums may be from exact ones.
//!
//! A term loses a few roundings, with partial fractions up to 128 ([`crate::problem::plan`]); a sum loses at most
//! one for each addition that follows another, since a partial sum is at most Σ|terms|: see `chain`. To that comes
//! what rounding decides of a branch or the cutoff, where v3 itself cannot tell.
//!
//! Terms below the smallest normal number count for that number: what rounding takes from them does not become
//! smaller with them.

use super::{Evaluation, Terms, evaluate};
use crate::error::Result;
use crate::problem::{Header, Problem};
use crate::progress::Progress;

/// Roundings that one term may lose.
pub const TERM: f64 = 128.0;

/// Roundings relative to Σ|terms| that a sum of any version may lose.
pub fn roundings(header: &Header) -> f64 {
    TERM + chain(header)
}

/// Additions that follow each other on the way of a term to its sum, in any version: at most all; in a
/// thread all bands, or a share of the collapsed loops of a grid of 65535 · 128 threads, where v6 to v8
/// may have twice the average; in the second stage a 512th of the blocks, of at most 65535 or of one for
/// 32 · 8 pairs; and a tree over the lanes and warps of a block in both stages. Versions for processors have fewer: 64 bands or
/// `ig`, 64 blocks of `ig` in a piece of work, and a tree of eight; what goes on is compensated.
fn chain(header: &Header) -> f64 {
    let Header { nbands, ngpown, ncouls, .. } = *header;
    let pairs = ngpown as f64 * ncouls as f64;
    let terms = nbands as f64 * pairs;
    let blocks = (pairs / 256.0).max(65_535.0);
    let thread = nbands as f64 + 2.0 * terms / (65_535.0 * 128.0);
    (thread + blocks / 512.0 + 2.0 * (5.0 + 16.0)).min(terms)
}

/// How far the sums of any version may be from exact ones, by the absolute value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bound {
    /// Of `asx` at each energy, in the sums' unit.
    pub asx: Vec<f64>,
    /// Of `ach`.
    pub ach: Vec<f64>,
    /// The columns whose terms were looked at. It is a bound where these are all, else an estimate of it.
    pub columns: usize,
}

/// That of a problem, from the terms of so many columns at most, evenly spaced. Those of others are taken to be as
/// large beside `vcoul · Σ|aqsm| · Σ|eps|` of their column; of what rounding decides there nothing is known.
///
/// # Errors
/// None: the problem is in memory.
pub fn bound(problem: &Problem, columns: usize) -> Result<Bound> {
    let terms = Terms::from(problem).of_igp(columns);
    let slab = problem.slab();
    let weight = |igp: usize| {
        let eps = &slab.eps()[igp * slab.ncouls()..(igp + 1) * slab.ncouls()];
        let aqsm = slab.aqsm_local().columns().map(|column| column[igp].norm()).sum::<f64>();
        slab.vcoul_loc()[igp].abs() * aqsm * eps.iter().map(|eps| eps.norm()).sum::<f64>()
    };
    let columns = terms.igp();
    let share = if columns == slab.len() {
        1.0
    } else {
        let (mut some, mut all) = (0.0, 0.0);
        for igp in 0..slab.len() {
            let weight = weight(igp);
            all += weight;
            some += if terms.has(igp) { weight } else { 0.0 };
        }
        if some > 0.0 { all / some } else { slab.len() as f64 / columns as f64 }
    };
    let Evaluation { scale, .. } = evaluate(terms, Progress::NONE)?;
    let lost = f64::EPSILON * roundings(problem.header());
    let of = |part: usize| {
        let both = scale.magnitudes.iter().zip(&scale.undecided);
        both.map(|(size, undecided)| share * (lost * size[part] + undecided[part])).collect()
    };
    Ok(Bound { asx: of(0), ach: of(1), columns })
}
