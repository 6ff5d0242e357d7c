//! The sums that a run is compared with.

pub mod golden;
pub mod serial;

use crate::problem::{Origin, Problem, Sums};
use crate::progress::Progress;

/// Where reference sums come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `asxtempref` and `achtempref` of the input file.
    File,
    /// `data/golden.json`, of a built-in system.
    Golden,
    /// Evaluated now by [`serial`].
    Serial,
}

/// Reference sums, the starting sums included.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What a run must find.
    pub sums: Sums,
    /// Where it comes from.
    pub source: Source,
    /// Σ|terms| of each energy's `asx` and `ach`, where they were evaluated.
    pub magnitudes: Option<Vec<[f64; 2]>>,
}

/// Most terms that are evaluated for a reference that is stored nowhere: some minutes on two cores.
pub const MAX_SERIAL_TERMS: u64 = 60_000_000_000;

/// The reference of `problem`: stored with it, golden, or evaluated now where that is not too much.
pub fn of(problem: &Problem, progress: Progress) -> Option<Reference> {
    if let Some(sums) = &problem.stored {
        return Some(Reference { sums: sums.clone(), source: Source::File, magnitudes: None });
    }
    if let Origin::System(system, seed) = &problem.origin
        && let Some(sums) = golden::find(&system.name, *seed)
    {
        return Some(Reference { sums: sums.clone(), source: Source::Golden, magnitudes: None });
    }
    (problem.terms() <= MAX_SERIAL_TERMS).then(|| {
        let evaluation = serial::evaluate(problem, progress);
        Reference {
            sums: problem.start.plus(&evaluation.sums),
            source: Source::Serial,
            magnitudes: Some(evaluation.magnitudes),
        }
    })
}
