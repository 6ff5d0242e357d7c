//! Why a version's time is what it is: a card with the idea, what changed in the source, what the
//! counters say, and a verdict.
//!
//! A card compares a version with another one, by the records of one folder or one run. What a record lacks
//! is left out: its rows, and the sentences that would need it.

pub mod composed;
pub mod difference;
pub mod items;
#[cfg(test)]
mod made;
pub mod matrices;
pub mod rows;
pub mod step;
pub mod verdict;

use serde::Serialize;

use crate::catalogue::{find, journey_of, sources};
use difference::{Difference, difference};
use rows::Row;
pub use step::Evidence;
use step::Step;
use verdict::Statement;

/// Layout of the JSON.
pub const SCHEMA: u32 = 2;

/// Why a version takes the time that it takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// The version's id.
    pub version: String,
    /// The version that it is compared with; null of a journey's first.
    pub before: Option<String>,
    /// The journey that it is of.
    pub journey: String,
    /// What it is.
    pub idea: Idea,
    /// What changed in the source; null where there is nothing before.
    pub difference: Option<Difference>,
    /// Where the figures come from; null where nothing was measured.
    pub figures: Option<Figures>,
    /// Who published the figures of the same step, and on what; null where nobody did.
    pub published_by: Option<String>,
    /// What was measured, before and now.
    pub rows: Vec<Row>,
    /// Why the time changed, what bounds the version, and what was published: a sentence or two each.
    pub verdict: Vec<Statement>,
}

/// What a version is, in the words of its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Idea {
    /// In a line.
    pub title: String,
    /// Paragraphs.
    pub text: Vec<String>,
    /// What it changes from the version before.
    pub change: String,
    /// The lines of [`sources::NEST`] that it changes, from 1; null where its source names none.
    pub lines: Option<Vec<usize>>,
    /// Where the change is described.
    pub source: String,
    /// Its file in the repository.
    pub file: String,
}

/// Where figures come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// A folder, or that they were measured for the card.
    pub from: String,
    /// The system's name.
    pub system: String,
    /// The device's name.
    pub device: String,
    /// Whether hardware or the source counted operations and bytes.
    pub has_counters: bool,
}

/// The card of a version, against another or, of `None`, by itself; `None` for what is no version, and
/// for one that the records do not have.
pub fn card(version: &str, before: Option<&str>, evidence: Evidence) -> Option<Card> {
    let step = Step::of(version, before, evidence)?;
    let rows = rows::rows(&step);
    Some(Card {
        version: version.into(),
        before: before.map(str::to_string),
        journey: journey_of(version)?.id.into(),
        idea: idea(version)?,
        difference: before.and_then(|before| difference(before, version)),
        figures: Some(Figures {
            from: evidence.from.into(),
            system: step.system.into(),
            device: step.device.into(),
            has_counters: step.now.profile.is_some(),
        }),
        published_by: step.published.as_ref().map(|published| published.by.clone()),
        rows,
        verdict: verdict::verdict(&step),
    })
}

fn idea(version: &str) -> Option<Idea> {
    let (listed, file) = (find(version)?, sources::of(version)?);
    let mut header = file.header().into_iter();
    let title = header.next().unwrap_or_default();
    let own = title.strip_prefix(version).map(|rest| rest.trim_start_matches([',', ':', ' ']));
    let other = title.split_once(": ").filter(|(id, _)| !id.contains(' ')).map(|(_, title)| title);
    let title = own.or(other).unwrap_or(&title);
    Some(Idea {
        title: title.into(),
        text: header.filter(|paragraph| !sources::names_lines(paragraph)).collect(),
        lines: sources::changed(version),
        change: listed.version.change.into(),
        source: listed.version.source.into(),
        file: file.path.into(),
    })
}

/// A number with three digits, or all those before the point.
pub fn digits(value: f64) -> String {
    let first = value.abs().log10().floor();
    let decimals = if first.is_finite() { (2.0 - first).clamp(0.0, 15.0) as usize } else { 0 };
    format!("{value:.decimals$}")
}
