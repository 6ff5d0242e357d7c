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

/// The baseline and its time over that of each result, where the baseline ran and passed.
pub fn over_baseline(results: &[Measurement]) -> (&'static str, Vec<Option<f64>>) {
    let id = baseline(results.first().map(|result| result.version.as_str()));
    let ran = results.iter().find(|result| result.version == id && result.passed());
    let over = |result: &Measurement| Some(ran?.times.median / result.times.median);
    (id, results.iter().map(over).collect())
}
