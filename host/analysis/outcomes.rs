//! How runs came out, in words.

use crate::record::run::Measurement;
use crate::record::state::State;
use crate::reference::Source;
use crate::reference::verify::{Outcome, RelativeTo, Undecided, Verification};

/// An outcome in words.
pub fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Incorrect => "incorrect",
        Outcome::NotVerified => "not verified",
        Outcome::Nondeterministic => "nondeterministic",
    }
}

/// Where a reference comes from, in words.
pub fn reference(source: Option<Source>) -> &'static str {
    match source {
        Some(Source::File) => "the sums stored in the input file",
        Some(Source::Golden) => "golden sums of this system and seed",
        Some(Source::Serial) => "every term evaluated now, on the host",
        Some(Source::Device) => "the definition on the same device",
        None => "none",
    }
}

/// What to say of a version that did not pass.
pub fn failure(result: &Measurement) -> Option<String> {
    let verification = &result.verification;
    let version = &result.version;
    match verification.outcome {
        Outcome::Passed => None,
        Outcome::NotVerified => Some(format!(
            "{version}: not verified: there was nothing to compare with, no stored reference and too many \
             terms to evaluate one, or none was asked for"
        )),
        Outcome::Nondeterministic => {
            Some(format!("{version}: nondeterministic: repeated runs gave different bits"))
        }
        Outcome::Incorrect => {
            let worst = verification.worst.as_ref().map(|(name, value, expected)| {
                format!("{name} = {value:e}, the reference has {expected:e}")
            });
            Some(format!(
                "{version}: incorrect: {} (tolerance {:.1e} of {}{})",
                worst.unwrap_or_default(),
                verification.tolerance,
                match verification.relative_to {
                    RelativeTo::Sum => "it",
                    RelativeTo::Terms => "the sum of all terms' sizes",
                },
                verification.undecided.map_or(String::new(), |of| format!("; {}", undecided(of)))
            ))
        }
    }
}

/// How much rounding decides, in words.
pub fn undecided(Undecided { of_terms, of_sum }: Undecided) -> String {
    let share = match 100.0 * of_terms {
        percent if percent >= 0.1 => format!("{percent:.1} %"),
        _ => format!("{of_terms:.1e}"),
    };
    let by = of_sum.map_or(String::new(), |of_sum| format!(" by {of_sum:.1e} of themselves"));
    format!("rounding decides {share} of Σ|terms|: sums may differ{by}")
}

/// What a comparison that passed leaves open: nothing, or words to put after the outcome.
pub fn reservations(of: &Verification) -> String {
    if of.outcome != Outcome::Passed {
        return String::new();
    }
    let undecided = of.undecided.map(|of| format!(", but {}", undecided(of)));
    let real_parts = of.real_parts.then_some(REAL_PARTS);
    undecided.unwrap_or_default() + real_parts.unwrap_or_default()
}

const REAL_PARTS: &str = "; real parts compared: the stored sums have no imaginary parts";

/// The [reservations] of some results, each with its versions.
pub fn all_reservations(results: &[Measurement]) -> Vec<(String, Vec<&str>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for result in results {
        let said = reservations(&result.verification);
        match all.iter_mut().find(|(known, _)| *known == said) {
            Some((_, versions)) => versions.push(&result.version),
            None if said.is_empty() => (),
            None => all.push((said, vec![&result.version])),
        }
    }
    all
}

/// The reference mini-app's own criterion, where a file's sums are judged: it is absolute, 1e-12.
#[derive(Clone, Debug, PartialEq)]
pub struct MiniApp<'a> {
    /// Whether it holds.
    pub holds: bool,
    /// Whether the versions passed.
    pub passed: bool,
    /// Of these versions.
    pub versions: Vec<&'a str>,
    /// The criterion over the largest sum.
    pub relative: f64,
}

/// Which of these results the reference mini-app would accept, and which not: first those that passed.
pub fn mini_app(results: &[Measurement]) -> Vec<MiniApp<'_>> {
    let said = |(holds, passed): (bool, bool)| {
        let judged = |r: &&Measurement| {
            r.passed() == passed && r.verification.reference_app_accepts == Some(holds)
        };
        let of: Vec<&Measurement> = results.iter().filter(judged).collect();
        let first = of.first()?;
        let all = first.sums.asx.iter().chain(&first.sums.ach);
        let largest = all.map(|z| z.norm()).fold(0.0, f64::max);
        let versions = of.iter().map(|result| result.version.as_str()).collect();
        Some(MiniApp { holds, passed, versions, relative: 1e-12 / largest })
    };
    [(true, true), (false, true), (true, false), (false, false)]
        .into_iter()
        .filter_map(said)
        .collect()
}

/// What the limit of power took of the clock, in percent, and what else held it back: `None` where nobody tells.
pub fn clock_lost(state: &State) -> Option<String> {
    let percent = 100.0 * state.clock_lost()?;
    let decimals = usize::from(percent > 0.0 && percent < 2.0);
    let others = state.held_back.keys().filter(|reason| !reason.to_lowercase().contains("power"));
    let others: String = others.map(|reason| format!(", {reason}")).collect();
    Some(format!("{percent:.decimals$} %{others}"))
}

/// A warning of times that stand apart.
pub fn outliers(result: &Measurement) -> Option<String> {
    let times = &result.times;
    (times.outliers() > 0).then(|| {
        format!(
            "outliers: {} of {}, {:.3}–{:.3} ms; device shared?",
            times.outliers(),
            times.samples.len(),
            times.min * 1e3,
            times.max * 1e3,
        )
    })
}
