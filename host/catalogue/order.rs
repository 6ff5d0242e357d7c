//! The order in which versions build on each other: that of their journeys.

use super::journey::{JOURNEYS, Journey, journey_of};
use super::versions;

/// A version's place among all, for sorting.
pub fn place(id: &str) -> Option<usize> {
    versions().position(|listed| listed.id() == id)
}

/// The version that one starts from.
pub fn before(id: &str) -> Option<&'static str> {
    journey_of(id)?.before(id)
}

/// The baseline of the journey that a version is of: what speed-ups are over.
pub fn baseline(id: &str) -> Option<&'static str> {
    Some(journey_of(id)?.baseline)
}

/// The versions from one to another.
pub fn range(first: &str, last: &str) -> Vec<&'static str> {
    let (Some(first), Some(last)) = (place(first), place(last)) else { return Vec::new() };
    all().get(first..=last).unwrap_or_default().to_vec()
}

/// All versions.
pub fn all() -> Vec<&'static str> {
    versions().map(|listed| listed.id()).collect()
}

/// What comes past the paper, and the version that it starts from.
pub fn past() -> Vec<&'static str> {
    let continued = JOURNEYS.iter().filter(|journey| journey.continues.is_some());
    let from = |journey: &'static Journey| {
        let own = journey.ids();
        let start = own.first().and_then(|first| journey.before(first));
        start.into_iter().chain(own)
    };
    continued.flat_map(from).collect()
}

/// The nearest of these versions that comes before another.
pub fn nearest_before<'a>(id: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let own = place(id)?;
    among.into_iter().filter(|other| place(other).is_some_and(|p| p < own)).max_by_key(|o| place(o))
}
