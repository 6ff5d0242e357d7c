//! Whether two sets of times differ by more than their noise.

use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

use crate::record::times::{Times, Verdict};

/// How often equal sides may be said to differ.
const LEVEL: f64 = 0.05;

/// Whether the samples of two sides come from different times: the rank test of Mann and Whitney, two-sided,
/// at 5 %, by its normal approximation with correction for ties and continuity. It asks nothing of how times
/// are distributed, and knows nothing of what differs from session to session. `None` of so few samples that
/// even sides wholly apart would not do.
pub fn differs(a: &Times, b: &Times) -> Option<Verdict> {
    let [a, b] = [a, b].map(|times| thinned(&times.samples));
    let (count, all) = (a.len(), a.len() + b.len());
    let apart: Vec<f64> = (0..all).map(|rank| rank as f64).collect();
    if probability(&apart[..count], &apart[count..])? > LEVEL {
        return None;
    }
    let found = probability(&a, &b)?;
    Some(if found <= LEVEL { Verdict::Differs } else { Verdict::Noise })
}

/// Samples of a side that are looked at, at most: the test compares each with each.
const MOST: usize = 2000;

/// As many of these as are looked at, evenly from the first to the last.
fn thinned(samples: &[f64]) -> Vec<f64> {
    samples.iter().copied().step_by(samples.len().div_ceil(MOST).max(1)).collect()
}

/// Of ranks as uneven as these or more in samples of the same times.
fn probability(a: &[f64], b: &[f64]) -> Option<f64> {
    let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    let (_, probability) = mannwhitneyu(a, b, method, Alternative::TwoSided).ok()?;
    (probability >= 0.0).then_some(probability)
}
