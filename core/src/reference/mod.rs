//! Reference values of a problem by the definition, the size of their terms, and the error bounds
//! that follow for results of the kernels.

pub mod precise;
pub mod serial;
pub mod term;

use crate::error::Result;
use crate::problem::Header;
use crate::progress::Progress;
pub use crate::reference::serial::{StaticCh, static_ch};
pub use crate::reference::term::{Evaluation, Scale, Terms, UNDERFLOW, VANISHING};

/// The most terms that are evaluated in double-double numbers: a second on two cores.
pub const MAX_PRECISE_TERMS: u64 = 4_000_000;

/// Evaluates terms of a problem, slab by slab: in double-double numbers if they are few.
///
/// # Errors
/// Those of [`Slabs::part`](crate::problem::Slabs::part): none for a problem in memory.
pub fn evaluate<'a>(
    terms: impl Into<Terms<'a>>,
    progress: impl Into<Progress>,
) -> Result<Evaluation> {
    let terms = terms.into();
    if terms.count() <= MAX_PRECISE_TERMS {
        precise::evaluate(terms)
    } else {
        serial::evaluate(terms, progress)
    }
}

// How far sums may be from exact ones.
//
// A term loses a few roundings, with partial fractions up to 128 ([`crate::problem::plan`]); a sum loses at most
// one for each addition that follows another, since a partial sum is at most Σ|terms|: see `chain`. To that comes
// what rounding decides of a branch or the cutoff, where v3 itself cannot tell.
//
// Terms below the smallest normal number count for that number: what rounding takes from them does not become
// smaller with them.

/// Roundings that one term may lose.
pub const TERM: f64 = 128.0;

/// Roundings relative to Σ|terms| that a sum of any version may lose.
pub fn roundings(header: &Header) -> f64 {
    TERM + chain(header)
}

/// Additions that follow each other on the way of a term to its sum, in any version: at most all; in a
/// thread all bands, or a share of the collapsed loops of a grid of 65535 · 128 threads, where v6 to v8
/// may have twice the average; in the second stage a 512th of the blocks, of at most 65535 or of one for
/// 32 · 8 pairs; and a tree over the lanes and warps of a block in both stages. Versions for CPUs have fewer: 64 bands or
/// `ig`, 64 blocks of `ig` in a piece of work, and a tree of eight; what goes on is compensated.
fn chain(header: &Header) -> f64 {
    let Header { nbands, ngpown, ncouls, .. } = *header;
    let pairs = ngpown as f64 * ncouls as f64;
    let terms = nbands as f64 * pairs;
    let blocks = (pairs / 256.0).max(65_535.0);
    let thread = nbands as f64 + 2.0 * terms / (65_535.0 * 128.0);
    (thread + blocks / 512.0 + 2.0 * (5.0 + 16.0)).min(terms)
}
