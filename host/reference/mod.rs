//! The sums that a run is compared with.

pub mod golden;
pub mod precise;
pub mod serial;
mod term;
pub mod verify;

use std::sync::OnceLock;

use crate::problem::{Origin, Problem, Sums};
use crate::process::progress::Progress;

/// Where reference sums come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `asxtempref` and `achtempref` of the input file.
    File,
    /// `data/golden.json`, of a built-in system.
    Golden,
    /// Evaluated now by [`evaluate`].
    Serial,
    /// A version's that has the terms as the definition writes them, on the same device.
    Device,
}

/// Terms that are evaluated in double-double numbers at most: a second on two cores.
const MAX_PRECISE_TERMS: u64 = 4_000_000;

/// Most terms that are evaluated for a reference that is stored nowhere: some minutes on two cores.
pub const MAX_SERIAL_TERMS: u64 = 60_000_000_000;

/// Part of `|vcoul·M·eps|` below which a term of `asx` may vanish, since squares of what it is made of are
/// no numbers any more, and one of `ach`.
const VANISHING: [f64; 2] = [1e-130, 1e-250];

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
    /// Σ|terms|, by the 1-norm.
    pub magnitudes: Vec<[f64; 2]>,
    /// What rounding may add or take away, where it decides about a branch or the cutoff.
    pub undecided: Vec<[f64; 2]>,
}

/// Evaluates all terms of `problem`: in double-double numbers where they are few.
pub fn evaluate(problem: &Problem, progress: Progress) -> Evaluation {
    if problem.terms() <= MAX_PRECISE_TERMS {
        precise::evaluate(problem)
    } else {
        serial::evaluate(problem, progress)
    }
}

/// Reference sums, the starting sums included.
#[derive(Clone, Debug)]
pub struct Reference {
    /// What a run must find.
    pub sums: Sums,
    /// Where it comes from.
    pub source: Source,
    scale: OnceLock<Scale>,
    progress: Progress,
}

impl Reference {
    /// Sums from elsewhere.
    pub fn new(sums: Sums, source: Source, progress: Progress) -> Reference {
        Reference { sums, source, scale: OnceLock::new(), progress }
    }

    /// How large the terms are, where they were evaluated with the sums.
    pub fn scale(&self) -> Option<&Scale> {
        self.scale.get()
    }

    /// [`Reference::scale`], evaluated now for sums of a file: a built-in system's do not cancel.
    pub fn evaluated_scale(&self, problem: &Problem) -> Option<&Scale> {
        if self.source == Source::File && problem.terms() <= MAX_SERIAL_TERMS {
            self.scale.get_or_init(|| evaluate(problem, self.progress).scale);
        }
        self.scale()
    }
}

/// The reference of `problem`: stored with it, golden, or evaluated now where that is not too much.
pub fn of(problem: &Problem, progress: Progress) -> Option<Reference> {
    if let Some(sums) = problem.stored() {
        return Some(Reference::new(sums.clone(), Source::File, progress));
    }
    if let Origin::System(system, seed) = problem.origin()
        && let Some(sums) = golden::find(&system.name, *seed)
    {
        return Some(Reference::new(sums.clone(), Source::Golden, progress));
    }
    (problem.terms() <= MAX_SERIAL_TERMS).then(|| {
        let evaluation = evaluate(problem, progress);
        let sums = problem.start().plus(&evaluation.sums);
        Reference {
            scale: evaluation.scale.into(),
            ..Reference::new(sums, Source::Serial, progress)
        }
    })
}
