//! The order in which versions build on each other: that of their journeys.

use crate::catalogue::{Journey, journey, journey_of, versions};

/// The position of a version among all, for sorting.
pub fn place(id: &str) -> Option<usize> {
    versions().position(|listed| listed.id() == id)
}

/// The version that one is compared with: the one before it in its journey, or the last one of the journey that
/// this one continues.
pub fn before(id: &str) -> Option<&'static str> {
    let own = journey_of(id)?;
    let ids = own.ids();
    match ids.iter().position(|own| *own == id)?.checked_sub(1) {
        Some(before) => Some(ids[before]),
        None => journey(own.continues?)?.ids().last().copied(),
    }
}

/// The version that speed-ups are over.
pub fn baseline(id: &str) -> Option<&'static str> {
    Some(journey_of(id)?.baseline)
}

/// The first of the journeys that a version belongs to, following [`Journey::continues`].
pub fn story(id: &str) -> Option<&'static Journey> {
    let continued = |own: &&'static Journey| own.continues.and_then(journey);
    std::iter::successors(journey_of(id), continued).last()
}

/// The versions from one to another.
pub fn range(first: &str, last: &str) -> Vec<&'static str> {
    let (Some(first), Some(last)) = (place(first), place(last)) else { return Vec::new() };
    all().get(first..=last).unwrap_or_default().to_vec()
}

pub fn all() -> Vec<&'static str> {
    versions().map(|listed| listed.id()).collect()
}

/// The nearest of these versions that another builds on.
pub fn nearest_before<'a>(id: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let among: Vec<&str> = among.into_iter().collect();
    let earlier = std::iter::successors(before(id), |id| before(id));
    earlier.into_iter().find_map(|id| among.iter().find(|other| **other == id).copied())
}
