//! What a run comes down to: outcomes in words, the fastest version, speed-ups.

use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

use crate::catalogue::{self, JOURNEYS};
use crate::record::run::{Measurement, Times, Verdict};
use crate::reference::Source;
use crate::reference::verify::{Outcome, RelativeTo, Undecided, Verification};
use crate::terminal::outcome;

pub fn reference(source: Option<Source>) -> &'static str {
    match source {
        Some(Source::File) => "the sums stored in the input file",
        Some(Source::Golden) => "the stored sums of this system",
        Some(Source::Serial) => "the definition, evaluated now on the CPU",
        Some(Source::Device) => "the definition on the same device",
        None => "nothing",
    }
}

/// What is wrong with a version that did not pass.
pub fn failure(result: &Measurement) -> Option<String> {
    let (version, verification) = (&result.version, &result.verification);
    match verification.outcome {
        Outcome::Passed => None,
        Outcome::NotVerified => Some(format!(
            "{version}: not verified: there are no reference sums, and too many terms to evaluate them now"
        )),
        Outcome::Nondeterministic => Some(format!("{version}: repeated runs gave different bits")),
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
                    RelativeTo::Terms => "Σ|terms|",
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
    let real_parts = "; only real parts compared: the stored sums have no imaginary parts";
    undecided.unwrap_or_default() + if of.real_parts { real_parts } else { "" }
}

/// How well the results agree with the reference, a sentence or two.
pub fn agreement(results: &[Measurement]) -> Vec<String> {
    let Some(first) = results.first().map(|result| &result.verification) else { return Vec::new() };
    if first.reference.is_none() {
        return vec!["The results were not verified.".into()];
    }
    let passed = results.iter().filter(|result| result.passed()).count();
    let mut line = match (passed, results.len()) {
        (1, 1) => "The result agrees".into(),
        (passed, all) if passed == all => format!("All {all} results agree"),
        (passed, all) => format!("{passed} of {all} results agree"),
    };
    line += &format!(" with {}", reference(first.reference));
    if let Some(energies) = &first.energies {
        line += &format!(" at {} energies", energies.len());
    }
    let errors = results.iter().filter_map(|result| result.verification.max_rel_error);
    let decided = results.iter().all(|result| result.verification.undecided.is_none());
    if let Some(error) = errors.reduce(f64::max) {
        line += &match decided {
            true => format!(" (largest error {error:.1e}, tolerance {:.1e})", first.tolerance),
            false => format!(" (largest error {error:.1e}, by terms that rounding decides)"),
        };
    }
    let open = |of: &&Measurement| !reservations(&of.verification).is_empty();
    let open = results.iter().filter(open).map(|Measurement { version, verification, .. }| {
        format!("{version}: {}{}.", outcome(Outcome::Passed), reservations(verification))
    });
    [line + "."].into_iter().chain(open).collect()
}

/// Share of the clock from which on a loss is reported.
const LOSS: f64 = 0.01;

/// What the power limit took of the clocks, if there were any.
pub fn power(results: &[Measurement]) -> Option<String> {
    let lost = |result: &Measurement| result.state.as_ref()?.clock_lost();
    let known: Vec<(&Measurement, f64)> =
        results.iter().filter_map(|result| Some((result, lost(result)?))).collect();
    let (most, share) = known.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let count = known.iter().filter(|(_, share)| *share >= LOSS).count();
    let watts = most.state.as_ref().and_then(|state| state.power_limit_w);
    let limit = watts.map_or("power limit".into(), |watts| format!("{watts:.0} W power limit"));
    Some(match count {
        0 => format!("The {limit} did not lower any clock by 1 % or more."),
        _ => format!(
            "The {limit} lowered the clock of {count} of {} versions by 1 % or more, most for {} ({:.0} %).",
            known.len(),
            most.version,
            100.0 * share
        ),
    })
}

/// A warning if some times are far from the others.
pub fn outliers(result: &Measurement) -> Option<String> {
    let (times, count) = (&result.times, result.times.outliers());
    let (id, all, [min, max]) =
        (&result.version, times.samples.len(), [times.min, times.max].map(|s| s * 1e3));
    (count > 0).then(|| {
        let of = format!("{id}: {count} of {all} times are outliers");
        format!("{of} ({min:.3} to {max:.3} ms): is the device shared?")
    })
}

// How much faster versions are than the first of their series.

/// The results by the series of their versions, with what continues it, in the order in which these begin.
pub fn by_series(results: &[Measurement]) -> Vec<(&'static str, Vec<Measurement>)> {
    let mut all: Vec<(&'static str, Vec<Measurement>)> = Vec::new();
    for result in results {
        let id = catalogue::story(&result.version).unwrap_or(&JOURNEYS[0]).id;
        match all.iter_mut().find(|(series, _)| *series == id) {
            Some((_, own)) => own.push(result.clone()),
            None => all.push((id, vec![result.clone()])),
        }
    }
    all
}

/// The baseline of the first result's series, and its time over that of each result, if the baseline ran and passed
/// and is not alone.
pub fn over_baseline(results: &[Measurement]) -> (&'static str, Vec<Option<f64>>) {
    let first = results.first().and_then(|result| catalogue::baseline(&result.version));
    let id = first.unwrap_or(JOURNEYS[0].baseline);
    let is_alone = results.iter().all(|result| result.version == id);
    let ran = results.iter().find(|result| result.version == id && result.passed() && !is_alone);
    let over = |result: &Measurement| Some(ran?.times.median / result.times.median);
    (id, results.iter().map(over).collect())
}

// Whether two sets of times differ by more than their noise.

/// Level of significance.
const LEVEL: f64 = 0.05;

/// Whether two sets of times differ significantly: the two-sided Mann-Whitney test at 5 %, by its normal approximation
/// with corrections for ties and continuity, which assumes no distribution. `None` if there are so few samples that
/// even disjoint sets would not differ.
pub fn differs(a: &Times, b: &Times) -> Option<Verdict> {
    let (a, b) = (&a.samples, &b.samples);
    let disjoint: Vec<f64> = (0..a.len() + b.len()).map(|rank| rank as f64).collect();
    let (below, above) = disjoint.split_at(a.len());
    if probability(below, above)? > LEVEL {
        return None;
    }
    let found = probability(a, b)?;
    Some(if found <= LEVEL { Verdict::Differs } else { Verdict::Noise })
}

/// The probability of ranks as uneven as these or more if both are samples of the same times.
fn probability(a: &[f64], b: &[f64]) -> Option<f64> {
    let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    let (_, probability) = mannwhitneyu(a, b, method, Alternative::TwoSided).ok()?;
    (probability >= 0.0).then_some(probability)
}
