//! The comparison with the reference.
//!
//! If Σ|terms| is known, errors are relative to it, with the bound of [`gpp_core::reference::roundings`]. Otherwise, for
//! sums of a file, a device or a built-in system, they are relative to the sum: one of N terms of random sign is of the
//! order of Σ|terms|/√N and loses a few ε·√N of itself. If sums of a file or a device are farther off, they may cancel,
//! and Σ|terms| is evaluated, of many terms for every few `igp`: less than all, so that no error passes that would not
//! pass by all.
//!
//! Rounding may decide on which side of a bound between branches, or of the cutoff, a term is. Sums may be off by the
//! size of such terms in addition to the tolerance, and the verdict says so.
//!
//! With a file of BerkeleyGW's real flavour, which has no imaginary parts of sums even if poles are off the real axis,
//! real parts alone are compared.

use gpp_core::reference::{TERM, roundings};
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::problem::{Problem, Slabs, Sums};
use crate::reference::{Reference, Scale, Source, StaticCh};

/// Roundings relative to Σ|terms| that a sum of terms of random sign may lose.
const RANDOM: f64 = 8.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every output is within the tolerance.
    Passed,
    Incorrect,
    NotVerified,
    Nondeterministic,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelativeTo {
    #[default]
    Sum,
    Terms,
}

/// What rounding decides of sums: terms at a bound between the branches, or at the cutoff.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undecided {
    /// The largest share of a sum's Σ|terms|.
    pub of_terms: f64,
    /// The most that a sum may be off by, relative to itself; null if that is not finite.
    pub of_sum: Option<f64>,
}

impl Undecided {
    /// The most of some sums, each with the size of its undecided terms, Σ|terms| and its value; none if all is within
    /// the tolerance.
    pub fn of(
        sums: impl IntoIterator<Item = (f64, f64, Complex64)>,
        tolerance: f64,
    ) -> Option<Undecided> {
        let above = sums.into_iter().filter(|&(undecided, terms, _)| undecided > tolerance * terms);
        let each = above.map(|(undecided, terms, sum)| Undecided {
            of_terms: (undecided / terms).min(1.0),
            of_sum: Some(undecided / sum.norm()).filter(|of_sum| of_sum.is_finite()),
        });
        each.reduce(|a, b| Undecided {
            of_terms: a.of_terms.max(b.of_terms),
            of_sum: a.of_sum.zip(b.of_sum).map(|(a, b)| a.max(b)),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    pub outcome: Outcome,
    /// Largest error of an output, if it is a number.
    pub max_rel_error: Option<f64>,
    /// Largest error that passes, in addition to what rounding decides.
    pub tolerance: f64,
    /// What both are relative to.
    #[serde(default)]
    pub relative_to: RelativeTo,
    /// What rounding decides, if that is more than the tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// Whether real parts alone were compared: the file's sums have no imaginary ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real_parts: bool,
    pub reference: Option<Source>,
    /// The `iw` of the energies that were compared; null of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energies: Option<Vec<usize>>,
    /// The output with the largest error, its value and its reference.
    #[serde(skip)]
    pub worst: Option<(String, Complex64, Complex64)>,
}

impl Verification {
    fn none(tolerance: f64, relative_to: RelativeTo) -> Verification {
        Verification {
            outcome: Outcome::NotVerified,
            max_rel_error: None,
            tolerance,
            relative_to,
            undecided: None,
            real_parts: false,
            reference: None,
            energies: None,
            worst: None,
        }
    }
}

/// Compares `sums`, starting sums included, with the reference of a problem.
pub fn verify<'a>(
    problem: impl Into<Slabs<'a>>,
    sums: &Sums,
    reference: Option<&Reference>,
) -> Result<Verification> {
    let slabs = problem.into();
    let problem = slabs.problem();
    let Some(reference) = reference else {
        let tolerance = tolerance(problem, RelativeTo::Sum);
        return Ok(Verification::none(tolerance, RelativeTo::Sum));
    };
    let verification = compared(problem, sums, reference);
    if verification.outcome != Outcome::Incorrect {
        return Ok(verification);
    }
    reference.look_closer(slabs)?;
    Ok(compared(problem, sums, reference))
}

/// Compares a static CH with the definition's, relative to Σ|terms|.
pub fn verify_static_ch(
    problem: &Problem,
    found: Complex64,
    reference: Option<StaticCh>,
) -> Verification {
    let tolerance = tolerance(problem, RelativeTo::Terms);
    let none = Verification::none(tolerance, RelativeTo::Terms);
    let Some(StaticCh { sum, magnitude }) = reference else { return none };
    let difference = (found - sum).norm();
    let error = if difference == 0.0 { 0.0 } else { difference / magnitude };
    let passed = error <= tolerance && magnitude < f64::INFINITY;
    Verification {
        outcome: if passed { Outcome::Passed } else { Outcome::Incorrect },
        max_rel_error: Some(error).filter(|error| error.is_finite()),
        reference: Some(Source::Serial),
        worst: Some(("static CH".into(), found, sum)),
        ..none
    }
}

/// Compares with errors relative to Σ|terms| if the reference has them, else relative to the sums.
fn compared(problem: &Problem, sums: &Sums, reference: &Reference) -> Verification {
    let (scale, real_parts) = (reference.scale(), reference.real_parts());
    let relative_to = if scale.is_some() { RelativeTo::Terms } else { RelativeTo::Sum };
    let tolerance = tolerance(problem, relative_to);
    let (nw, nstart) = (problem.nw(), problem.header().nstart);
    let energies = reference.energies.clone().unwrap_or_else(|| (0..nw).collect());
    let expected = &reference.sums;
    let lengths = [sums.asx.len(), sums.ach.len(), expected.asx.len(), expected.ach.len()];
    let mut passed = lengths == [nw, nw, energies.len(), energies.len()];
    let mut largest = 0.0_f64;
    let mut worst: Option<(f64, String, Complex64, Complex64)> = None;
    let all = sums.named(nstart).zip(problem.start().named(nstart)).enumerate();
    let compared = all.filter(|(at, _)| energies.binary_search(&(at % nw)).is_ok());
    let with = compared.map(|(_, found)| found).zip(expected.named(nstart)).enumerate();
    for (at, (((name, value), (_, start)), (_, expected))) in with {
        let difference = difference(value, expected, real_parts);
        let (undecided, scale) = match scale {
            None => (0.0, (expected - start).norm().max(expected.norm())),
            Some(Scale { magnitudes, undecided }) => {
                let (part, e) = (at / energies.len(), at % energies.len());
                // The starting sum is rounded as well.
                (undecided[e][part], magnitudes[e][part] + start.norm())
            }
        };
        let error = |difference: f64| if difference == 0.0 { 0.0 } else { difference / scale };
        let beyond = error(if difference <= undecided { 0.0 } else { difference - undecided });
        passed &= beyond <= tolerance && scale < f64::INFINITY && undecided < f64::INFINITY;
        largest = largest.max(error(difference));
        if worst.as_ref().is_none_or(|(so_far, ..)| beyond.is_nan() || beyond > *so_far) {
            worst = Some((beyond, name, value, expected));
        }
        if beyond.is_nan() {
            largest = f64::NAN;
            break;
        }
    }
    let undecided = scale.and_then(|Scale { magnitudes, undecided }| {
        let sizes = |part: usize, sums: &[Complex64]| -> Vec<_> {
            let sizes = undecided.iter().zip(magnitudes).zip(sums);
            sizes.map(|((u, m), sum)| (u[part], m[part], *sum)).collect()
        };
        Undecided::of([sizes(0, &expected.asx), sizes(1, &expected.ach)].concat(), tolerance)
    });
    Verification {
        outcome: if passed { Outcome::Passed } else { Outcome::Incorrect },
        max_rel_error: worst.as_ref().map(|_| largest).filter(|error| error.is_finite()),
        tolerance,
        relative_to,
        undecided,
        real_parts,
        reference: Some(reference.source),
        energies: reference.energies.as_ref().map(|all| all.iter().map(|at| at + nstart).collect()),
        worst: worst.map(|(_, name, value, expected)| (name, value, expected)),
    }
}

/// `|found − expected|`, or that of the real parts, which is NaN too if an imaginary part is none.
fn difference(found: Complex64, expected: Complex64, real_parts: bool) -> f64 {
    let Complex64 { re, im } = found - expected;
    if real_parts { (re + 0.0 * im).abs() } else { (found - expected).norm() }
}

fn tolerance(problem: &Problem, relative_to: RelativeTo) -> f64 {
    let terms = (problem.terms() / problem.nw() as u64) as f64;
    let roundings = match relative_to {
        RelativeTo::Sum => TERM + RANDOM * terms.sqrt(),
        RelativeTo::Terms => roundings(problem.header()),
    };
    f64::EPSILON * roundings
}
