//! The comparison with the reference.
//!
//! **Where Σ|terms| is known**, errors are relative to it, and bounded as [`gpp_core::reference::roundings`] says.
//!
//! **Elsewhere**, for sums of a file, a device or a built-in system, errors are relative to the sum. One of N
//! terms of random sign is of the order of Σ|terms|/√N and loses a few ε·√N of itself. Sums of a file or a device
//! that are farther off than that may cancel: then Σ|terms| is evaluated, of every few `igp` where there are
//! many. That is less than Σ|terms|, so what passes by a part would pass by all.
//!
//! **What rounding decides**, a branch or the cutoff, may differ from program to program: sums may be off by the size
//! of these terms beside the tolerance, and the verdict says so.
//!
//! **Real parts alone** are compared with a file of BerkeleyGW's real flavour, which keeps no imaginary parts of its
//! sums, not even where poles are off the real axis.

use gpp_core::reference::{TERM, roundings};
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::problem::input_file::MINI_APPS_ENERGIES;
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
    /// The most that a sum may be off by, relative to itself; null where that is no number.
    pub of_sum: Option<f64>,
}

impl Undecided {
    /// The most of sums, each given by what rounding decides of it, Σ|terms| and its value; none where all is within
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
    /// Largest error of an output; `None` where there is none or where it is not a number.
    pub max_rel_error: Option<f64>,
    /// Largest error that passes, beside what rounding decides.
    pub tolerance: f64,
    /// What both are relative to.
    #[serde(default)]
    pub relative_to: RelativeTo,
    /// What rounding decides, where that is more than the tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// Whether real parts alone were compared: the file's sums have no imaginary ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real_parts: bool,
    pub reference: Option<Source>,
    /// Which energies were compared, by their `iw`; all, where that is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energies: Option<Vec<usize>>,
    /// Whether the reference mini-app would accept the sums, for a file's own reference.
    pub reference_app_accepts: Option<bool>,
    /// The output with the largest error, its value and its reference.
    #[serde(skip)]
    pub worst: Option<(String, Complex64, Complex64)>,
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
        return Ok(Verification {
            outcome: Outcome::NotVerified,
            max_rel_error: None,
            tolerance: tolerance(problem, RelativeTo::Sum),
            relative_to: RelativeTo::Sum,
            undecided: None,
            real_parts: false,
            reference: None,
            energies: None,
            reference_app_accepts: None,
            worst: None,
        });
    };
    let verification = compared(problem, sums, reference);
    if verification.outcome != Outcome::Incorrect {
        return Ok(verification);
    }
    reference.look_closer(slabs)?;
    Ok(compared(problem, sums, reference))
}

/// Compares a static CH with one that was evaluated, relative to Σ|terms|.
pub fn verify_static_ch(
    problem: &Problem,
    found: Complex64,
    reference: Option<StaticCh>,
) -> Verification {
    let tolerance = tolerance(problem, RelativeTo::Terms);
    let error = reference.map(|StaticCh { sum, magnitude }| {
        let difference = (found - sum).norm();
        if difference == 0.0 { 0.0 } else { difference / magnitude }
    });
    let is_bounded = reference.is_some_and(|reference| reference.magnitude < f64::INFINITY);
    let outcome = match error {
        None => Outcome::NotVerified,
        Some(error) if error <= tolerance && is_bounded => Outcome::Passed,
        Some(_) => Outcome::Incorrect,
    };
    Verification {
        outcome,
        max_rel_error: error.filter(|error| error.is_finite()),
        tolerance,
        relative_to: RelativeTo::Terms,
        undecided: None,
        real_parts: false,
        reference: reference.map(|_| Source::Serial),
        energies: None,
        reference_app_accepts: None,
        worst: reference.map(|reference| ("static CH".into(), found, reference.sum)),
    }
}

/// Compares with errors relative to Σ|terms| where the reference has them, else relative to the sums.
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
        let sizes =
            |part: usize| undecided.iter().zip(magnitudes).map(move |(u, m)| (u[part], m[part]));
        let sums = sizes(0).zip(&expected.asx).chain(sizes(1).zip(&expected.ach));
        Undecided::of(sums.map(|((undecided, terms), sum)| (undecided, terms, *sum)), tolerance)
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
        reference_app_accepts: (reference.source == Source::File
            && problem.header().nend <= MINI_APPS_ENERGIES)
            .then(|| reference_app_accepts(sums, expected, real_parts)),
        worst: worst.map(|(_, name, value, expected)| (name, value, expected)),
    }
}

/// `|found − expected|`, or that of the real parts, which is no number either where an imaginary one is none.
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

/// The reference mini-app's criterion: `|Δ(nstart)| + |Δ(nend)| < 1e-12` for `asx` and for `ach`.
fn reference_app_accepts(sums: &Sums, expected: &Sums, real_parts: bool) -> bool {
    let accepts = |a: &[Complex64], b: &[Complex64]| {
        let off = |at: usize| difference(a[at], b[at], real_parts);
        off(0) + off(a.len() - 1) < 1e-12
    };
    accepts(&sums.asx, &expected.asx) && accepts(&sums.ach, &expected.ach)
}
