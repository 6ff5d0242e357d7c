//! The comparison with the reference.
//!
//! Grouped sums lose a few ε of Σ|terms|. A sum of N terms of random sign is of the order of
//! Σ|terms|/√N, so relative to that they lose a few ε·√N. To that comes what a single term can lose:
//! near its pole `w² − ω̃²` cancels up to `2|w|/gamma` times.
//!
//! Errors are relative to the reference or, where the terms were evaluated and happen to cancel to
//! less than Σ|terms|/√N, to that.

use num_complex::Complex64;
use serde::Serialize;

use crate::problem::{Problem, Sums};
use crate::reference::{Reference, Source};

/// Roundings relative to Σ|terms| that a grouped sum may lose.
const SUM: f64 = 8.0;

/// Roundings that one term may lose.
const TERM: f64 = 128.0;

/// How a run came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every output is within the tolerance.
    Passed,
    /// Some output is not.
    Incorrect,
    /// There was nothing to compare with.
    NotVerified,
    /// Repeated runs gave different bits.
    Nondeterministic,
}

/// A comparison and what it found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verification {
    /// The verdict.
    pub outcome: Outcome,
    /// Largest error of an output relative to its reference; `None` where there is none or where
    /// it is not a number.
    pub max_rel_error: Option<f64>,
    /// Largest error that passes.
    pub tolerance: f64,
    /// Where the reference comes from.
    pub reference: Option<Source>,
    /// Whether the reference mini-app would accept the sums, for a file's own reference.
    pub reference_app_accepts: Option<bool>,
    /// The output with the largest error, its value and its reference.
    #[serde(skip)]
    pub worst: Option<(String, Complex64, Complex64)>,
}

/// Largest relative error of a sum of `terms` terms.
pub fn tolerance(terms: u64) -> f64 {
    f64::EPSILON * (TERM + SUM * (terms as f64).sqrt())
}

/// Compares `sums`, starting sums included, with the reference of `problem`.
pub fn verify(problem: &Problem, sums: &Sums, reference: Option<&Reference>) -> Verification {
    let terms = problem.terms() / problem.nw() as u64;
    let tolerance = tolerance(terms);
    let Some(reference) = reference else {
        return Verification {
            outcome: Outcome::NotVerified,
            max_rel_error: None,
            tolerance,
            reference: None,
            reference_app_accepts: None,
            worst: None,
        };
    };

    let nstart = problem.header.nstart;
    let mut worst: Option<(f64, String, Complex64, Complex64)> = None;
    let mut passed =
        sums.asx.len() == reference.sums.asx.len() && sums.ach.len() == reference.sums.ach.len();
    let outputs = sums
        .named(nstart)
        .zip(reference.sums.named(nstart))
        .zip(problem.start.named(nstart))
        .zip(expected_sizes(problem, reference, terms));
    for ((((name, value), (_, expected)), (_, start)), size) in outputs {
        // What was added is what was computed; the starting sum's own rounding counts as well.
        let scale = (expected - start).norm().max(expected.norm()).max(size);
        let difference = (value - expected).norm();
        let error = if difference == 0.0 { 0.0 } else { difference / scale };
        passed &= error <= tolerance;
        if worst.as_ref().is_none_or(|(so_far, ..)| error.is_nan() || error > *so_far) {
            worst = Some((error, name, value, expected));
        }
        if error.is_nan() {
            break;
        }
    }

    Verification {
        outcome: if passed { Outcome::Passed } else { Outcome::Incorrect },
        max_rel_error: worst.as_ref().map(|w| w.0).filter(|error| error.is_finite()),
        tolerance,
        reference: Some(reference.source),
        reference_app_accepts: (reference.source == Source::File)
            .then(|| reference_app_accepts(sums, &reference.sums)),
        worst: worst.map(|(_, name, value, expected)| (name, value, expected)),
    }
}

/// Σ|terms|/√N of each output in the order of [`Sums::named`]; zero where the terms are not known.
fn expected_sizes(problem: &Problem, reference: &Reference, terms: u64) -> Vec<f64> {
    let nw = problem.nw();
    match &reference.magnitudes {
        None => vec![0.0; 2 * nw],
        Some(magnitudes) => (0..2)
            .flat_map(|part| magnitudes.iter().map(move |m| m[part] / (terms as f64).sqrt()))
            .collect(),
    }
}

/// The reference mini-app's criterion: `|Δ(nstart)| + |Δ(nend)| < 1e-12` for `asx` and for `ach`.
fn reference_app_accepts(sums: &Sums, expected: &Sums) -> bool {
    let accepts = |a: &[Complex64], b: &[Complex64]| {
        let off = |at: usize| (a[at] - b[at]).norm();
        off(0) + off(a.len() - 1) < 1e-12
    };
    accepts(&sums.asx, &expected.asx) && accepts(&sums.ach, &expected.ach)
}
