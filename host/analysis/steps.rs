//! How times changed from one version to the next.

use serde::Serialize;

use super::noise::differs;
use crate::catalogue::{find, order};
use crate::record::times::{Times, Verdict};

/// A time and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Median before, in seconds.
    pub before_s: f64,
    /// Median now.
    pub now_s: f64,
    /// Now over before, less one: −0.3 for a third less.
    pub change: f64,
    /// Whether the ranks of the samples tell both apart; null of too few samples.
    pub verdict: Option<Verdict>,
}

impl Change {
    /// From some times to others.
    pub fn of(before: &Times, now: &Times) -> Change {
        let verdict = differs(before, now);
        Change { verdict, ..Change::of_medians(before.median, now.median) }
    }

    /// From one time to another whose samples nobody has.
    pub fn of_medians(before_s: f64, now_s: f64) -> Change {
        Change { before_s, now_s, change: now_s / before_s - 1.0, verdict: None }
    }

    /// What may be said of it.
    pub fn words(&self) -> &'static str {
        match self.verdict {
            Some(Verdict::Differs) if self.change < 0.0 => "faster",
            Some(Verdict::Differs) => "slower",
            Some(Verdict::Noise) => "not told apart",
            None => "too few runs to tell",
        }
    }
}

/// A version after the one before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The version before.
    pub before: &'static str,
    /// The version.
    pub version: &'static str,
    /// What it changes.
    pub what: &'static str,
    /// Its time after that of the version before; null where the records lack one.
    pub time: Option<Change>,
}

/// The steps from one version to a later one of the same story, where there are several; `time` is what
/// changed from one to the next.
pub fn steps(first: &str, last: &str, time: impl Fn(&str, &str) -> Option<Change>) -> Vec<Step> {
    let ids = between(first, last);
    let step = |pair: &[&'static str]| {
        let (before, version) = (pair[0], pair[1]);
        let what = find(version)?.version.change;
        Some(Step { before, version, what, time: time(before, version) })
    };
    if ids.len() < 3 { Vec::new() } else { ids.windows(2).filter_map(step).collect() }
}

/// The versions from one to a later one of the same story; none where they are of two.
pub fn between(first: &str, last: &str) -> Vec<&'static str> {
    let stories = [first, last].map(|id| order::story(id).map(|story| story.id));
    if stories[0] == stories[1] { order::range(first, last) } else { Vec::new() }
}
