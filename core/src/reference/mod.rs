//! The sums of a problem by the definition, how large their terms are, and what that says of the errors of other
//! sums.

mod bound;
pub mod precise;
pub mod serial;
mod static_ch;
pub mod term;
mod terms;

use crate::error::Result;
use crate::problem::Sums;
use crate::progress::Progress;
pub use bound::{TERM, roundings};
pub use static_ch::{StaticCh, static_ch};
pub use terms::Terms;

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
    /// How large their terms are.
    pub scale: Scale,
}

/// What errors are relative to: `asx` and `ach` of each energy.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Σ|terms|, by the 1-norm, with what products below the smallest normal number may lose
    /// (`UNDERFLOW`).
    pub magnitudes: Vec<[f64; 2]>,
    /// What rounding may add or take away, where it decides about a branch or the cutoff.
    pub undecided: Vec<[f64; 2]>,
}

/// Evaluates terms of a problem, slab by slab: in double-double numbers where they are few.
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
