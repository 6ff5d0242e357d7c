//! The sums of a problem by the definition, how large their terms are, and what that says of the errors of other
//! sums.

pub mod precise;
pub mod serial;
pub mod term;

use rayon::prelude::*;

use crate::error::Result;
use crate::problem::{Bands, Header, Problem, SlabView, Slabs, Sums};
use crate::progress::Progress;
pub use crate::reference::serial::{StaticCh, static_ch};

/// Terms that are evaluated in double-double numbers at most: a second on two cores.
pub const MAX_PRECISE_TERMS: u64 = 4_000_000;

/// Part of `|vcoul·M·eps|` below which a term of `asx` or `ach` may vanish, because squares of its factors
/// underflow.
pub const VANISHING: [f64; 2] = [1e-130, 1e-250];

/// Size that each term counts for at least, times the growth ([`term::growth`]) of all its factors. A product below
/// this number loses up to half of the smallest subnormal one, which is ε/2 of it; whatever follows multiplies
/// that by other factors of the term, in an order that each version has of its own.
pub const UNDERFLOW: f64 = f64::MIN_POSITIVE;

/// The sums of a problem and how large their terms are.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Sums that the kernels must find, without the starting sums.
    pub sums: Sums,
    pub scale: Scale,
}

/// What errors are relative to: `asx` and `ach` of each energy.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Σ|terms|, by the 1-norm, with what products below the smallest normal number may lose
    /// (`UNDERFLOW`).
    pub magnitudes: Vec<[f64; 2]>,
    /// What rounding may add or take away, if it decides about a branch or the cutoff.
    pub undecided: Vec<[f64; 2]>,
}

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

// Which terms of a problem are evaluated.

/// All bands and `ig` of a problem, at some energies, of some `igp`.
#[derive(Clone)]
pub struct Terms<'a> {
    slabs: Slabs<'a>,
    energies: Vec<usize>,
    /// One `igp` of so many.
    every: usize,
}

impl<'a> From<Slabs<'a>> for Terms<'a> {
    fn from(slabs: Slabs<'a>) -> Terms<'a> {
        Terms { slabs, energies: (0..slabs.problem().nw()).collect(), every: 1 }
    }
}

impl<'a> From<&'a Problem> for Terms<'a> {
    fn from(problem: &'a Problem) -> Terms<'a> {
        Slabs::from(problem).into()
    }
}

impl<'a> Terms<'a> {
    /// The same at these energies (0-based) only.
    #[must_use]
    pub fn at(self, energies: &[usize]) -> Terms<'a> {
        Terms { energies: energies.to_vec(), ..self }
    }

    /// The same of as few `igp`, evenly spaced, as have so many terms at most; of one if it has more.
    #[must_use]
    pub fn at_most(self, most: u64) -> Terms<'a> {
        let of_igp = self.count() / self.igp().max(1) as u64;
        let igp = (most / of_igp.max(1)).max(1) as usize;
        let every = self.slabs.problem().header().ngpown.div_ceil(igp);
        Terms { every: every.max(self.every), ..self }
    }

    pub fn energies(&self) -> &[usize] {
        &self.energies
    }

    pub fn igp(&self) -> usize {
        self.slabs.problem().header().ngpown.div_ceil(self.every)
    }

    pub fn count(&self) -> u64 {
        let whole = self.slabs.problem().extents();
        let extents = [whole.nbands, self.igp(), whole.ncouls, self.energies.len()];
        extents.map(|n| n as u64).into_iter().fold(1, u64::saturating_mul)
    }

    /// What `column` says of each `igp`, in their order; of its own it knows the number within the slab.
    fn columns<T: Send>(
        &self,
        column: impl Fn(&Bands, SlabView, usize) -> T + Sync,
    ) -> Result<Vec<T>> {
        let (bands, mut columns) = (self.slabs.problem().bands(), Vec::new());
        for igp in self.slabs.ranges() {
            // Those of a slab begin where those of the last one would go on.
            let first = igp.start.next_multiple_of(self.every) - igp.start;
            if first >= igp.len() {
                continue;
            }
            let part = self.slabs.part(igp)?;
            let slab = part.view();
            let some = (first..slab.len()).into_par_iter().step_by(self.every);
            columns.par_extend(some.map(|igp| column(bands, slab, igp)));
        }
        Ok(columns)
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
