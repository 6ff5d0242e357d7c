//! How much faster versions are than the one that their journey begins with.

use crate::catalogue::{JOURNEYS, order};
use crate::record::run::Measurement;

/// The results by the journey that their versions are told in, with what goes on from it, in the order
/// in which these begin. Versions of no journey are told with the paper's.
pub fn by_story(results: &[Measurement]) -> Vec<(&'static str, Vec<Measurement>)> {
    let mut stories: Vec<(&'static str, Vec<Measurement>)> = Vec::new();
    for result in results {
        let id = order::story(&result.version).unwrap_or(&JOURNEYS[0]).id;
        match stories.iter_mut().find(|(story, _)| *story == id) {
            Some((_, told)) => told.push(result.clone()),
            None => stories.push((id, vec![result.clone()])),
        }
    }
    stories
}

/// What speed-ups are over: the first version of the journey of the first result.
pub fn baseline(first: Option<&str>) -> &'static str {
    let of_none = || order::all().first().copied().unwrap_or_default();
    first.and_then(order::baseline).unwrap_or_else(of_none)
}

/// What versions are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// The median time, of a GPU sustained.
    #[default]
    Time,
    /// The median time before the limit of power lowered the clock.
    BeforeCap,
    /// Cycles of a multiprocessor: what is left of the time where all ran at one clock.
    Cycles,
    /// Energy of a calculation.
    Energy,
}

impl By {
    /// In a heading.
    pub fn name(self) -> &'static str {
        match self {
            By::Time => "time",
            By::BeforeCap => "time before the cap",
            By::Cycles => "cycles",
            By::Energy => "energy",
        }
    }

    /// Of a version; `None` where it was not measured.
    pub fn of(self, result: &Measurement) -> Option<f64> {
        match self {
            By::Time => Some(result.times.median),
            By::BeforeCap => Some(result.before_cap.as_ref()?.times.median),
            By::Cycles => result.cycles,
            By::Energy => result.energy_j,
        }
    }

    /// How speed-ups over a baseline are headed: `over v0`, `over v0 in cycles`.
    pub fn over(self, baseline: &str) -> String {
        match self {
            By::Time => format!("over {baseline}"),
            By::BeforeCap => format!("over {baseline} before the cap"),
            _ => format!("over {baseline} in {}", self.name()),
        }
    }
}

/// The baseline and its time over that of each result, where the baseline ran and passed, and another version
/// beside it.
pub fn over_baseline(results: &[Measurement]) -> (&'static str, Vec<Option<f64>>) {
    let id = baseline(results.first().map(|result| result.version.as_str()));
    let is_alone = results.iter().all(|result| result.version == id);
    let ran = results.iter().find(|result| result.version == id && result.passed() && !is_alone);
    let over = |result: &Measurement| Some(ran?.times.median / result.times.median);
    (id, results.iter().map(over).collect())
}
