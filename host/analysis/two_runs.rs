//! Two runs side by side: what became of the time of each version.

use serde::Serialize;

use super::outcomes::words;
use super::steps::Change;
use crate::record::run::{Measurement, Run};

/// One of two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// Its file.
    pub file: String,
    /// The device's name.
    pub device: String,
    /// When it was made; null in older records.
    pub date: Option<String>,
    /// The program's commit, where it is known.
    pub commit: Option<String>,
}

/// A version in two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The version's id.
    pub version: String,
    /// How its time changed.
    pub time: Change,
    /// Median clock of the multiprocessors before and now, in MHz; null where a record has none.
    pub sm_mhz: Option<[f64; 2]>,
    /// Whether its kernel is of another code; null where a record does not tell.
    pub other_code: Option<bool>,
}

/// Two runs on one system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The system's name.
    pub system: String,
    /// The first run.
    pub before: End,
    /// The second.
    pub now: End,
    /// What passed in both.
    pub rows: Vec<Row>,
    /// What did not, or ran in one of them only.
    pub left_out: Vec<String>,
}

/// Why two runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DifferenceError {
    /// They are of two problems.
    #[error("are of {before} and of {now}")]
    Problems {
        /// That of the first.
        before: String,
        /// That of the second.
        now: String,
    },
    /// No version passed in both.
    #[error("have no version that passed in both: {0}")]
    Nothing(String),
}

/// The second run against the first.
///
/// # Errors
/// [`DifferenceError`].
pub fn difference(before: (&str, &Run), now: (&str, &Run)) -> Result<Difference, DifferenceError> {
    let extents = |run: &Run| {
        let system = &run.system;
        let size = (system.nbands, system.ngpown, system.ncouls, system.nw());
        (system.name.clone(), size)
    };
    if extents(before.1) != extents(now.1) {
        let named = |run: &Run| {
            let (name, (nbands, ngpown, ncouls, nw)) = extents(run);
            format!("{name} ({nbands} bands, {ngpown} G′, {ncouls} G, {nw} energies)")
        };
        return Err(DifferenceError::Problems { before: named(before.1), now: named(now.1) });
    }
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for old in &before.1.results {
        let id = &old.version;
        match now.1.results.iter().find(|new| new.version == *id) {
            None => left_out.push(format!("{id}: in {} only", before.0)),
            Some(new) if !(old.passed() && new.passed()) => {
                let [old, new] = [old, new].map(|result| words(result.outcome()));
                left_out.push(format!("{id}: {old} before, {new} now"));
            }
            Some(new) if old.is_emulated() != new.is_emulated() => {
                left_out.push(format!("{id}: emulated in one of them"));
            }
            Some(new) => rows.push(row(old, new)),
        }
    }
    let is_new = |new: &&Measurement| before.1.results.iter().all(|old| old.version != new.version);
    let only = |new: &Measurement| format!("{}: in {} only", new.version, now.0);
    left_out.extend(now.1.results.iter().filter(is_new).map(only));
    if rows.is_empty() {
        return Err(DifferenceError::Nothing(left_out.join(", ")));
    }
    let system = now.1.system.name.clone();
    let [before, now] = [before, now].map(|(file, run)| end(file, run));
    Ok(Difference { system, before, now, rows, left_out })
}

fn end(file: &str, run: &Run) -> End {
    let provenance = run.head.provenance.as_ref();
    End {
        file: file.into(),
        device: run.head.device.name.clone(),
        date: provenance.map(|from| from.date.clone()),
        commit: provenance.and_then(|from| from.commit.clone()),
    }
}

fn row(old: &Measurement, new: &Measurement) -> Row {
    let clock = |result: &Measurement| Some(result.state.as_ref()?.sm_mhz?.median);
    let codes = old.kernel_hash.as_ref().zip(new.kernel_hash.as_ref());
    Row {
        version: old.version.clone(),
        time: Change::of(&old.times, &new.times),
        sm_mhz: clock(old).zip(clock(new)).map(|(old, new)| [old, new]),
        other_code: codes.map(|(old, new)| old != new),
    }
}
