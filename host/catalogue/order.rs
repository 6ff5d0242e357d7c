//! The order in which versions build on each other.

use gpp_kernels::registry::{VERSIONS, Version};

/// The last version of the paper: what comes past it starts from there.
const PAPER_ENDS: &str = "v8";

/// A version by its id.
pub fn find(id: &str) -> Option<&'static Version> {
    VERSIONS.iter().copied().find(|version| version.id == id)
}

/// A version's place among all, for sorting.
pub fn place(id: &str) -> Option<usize> {
    VERSIONS.iter().position(|version| version.id == id)
}

/// The version that one starts from.
pub fn before(id: &str) -> Option<&'static str> {
    Some(VERSIONS[place(id)?.checked_sub(1)?].id)
}

/// The first version of the journey that a version is of: what speed-ups are over.
pub fn baseline(id: &str) -> Option<&'static str> {
    let past = place(PAPER_ENDS)? + 1;
    let first = if place(id)? < past { 0 } else { past };
    Some(VERSIONS[first].id)
}

/// The versions from one to another.
pub fn range(first: &str, last: &str) -> Vec<&'static str> {
    let (Some(first), Some(last)) = (place(first), place(last)) else { return Vec::new() };
    VERSIONS.get(first..=last).unwrap_or_default().iter().map(|version| version.id).collect()
}

/// All versions.
pub fn all() -> Vec<&'static str> {
    VERSIONS.iter().map(|version| version.id).collect()
}

/// What comes past the paper, and the version that it starts from.
pub fn past() -> Vec<&'static str> {
    let from = place(PAPER_ENDS).unwrap_or(0);
    VERSIONS[from..].iter().map(|version| version.id).collect()
}

/// The nearest of these versions that comes before another.
pub fn nearest_before<'a>(id: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let own = place(id)?;
    among.into_iter().filter(|other| place(other).is_some_and(|p| p < own)).max_by_key(|o| place(o))
}
