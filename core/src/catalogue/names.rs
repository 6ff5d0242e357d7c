//! The versions named on the command line.

use gpp_kernels::offdiag::ALL as OF_MATRICES;

use crate::catalogue::{
    BackEnd, JOURNEYS, Listed, best, best_for, find, journey, order, versions as all,
};
use crate::error::{Error, Result};
use crate::problem::Outline;

/// The journeys that run if no version is named.
pub const MAIN: &str = "paper,past";

pub const BEST: &str = "best";

/// The versions that ids, ranges (`v0-v8`, `talk:V1-V9`), journeys, `best`, `JOURNEY:best` and `all`
/// with commas between them name, each once, in the order named; the best are those on this back end,
/// `all` what it runs, what is made for it first.
pub fn versions(names: &str, back_end: BackEnd) -> Result<Vec<Listed>> {
    versions_for(names, back_end, None)
}

/// The same for a problem: `best` is the fastest for it, except as the end of a range.
pub fn versions_for(
    names: &str,
    back_end: BackEnd,
    problem: Option<Outline>,
) -> Result<Vec<Listed>> {
    let mut named: Vec<Listed> = Vec::new();
    for name in names.split(',').map(str::trim) {
        let versions = match (journey(name), problem) {
            (Some(whole), _) => whole.versions(),
            (None, Some(problem)) if name == BEST => vec![best_for(back_end, problem)],
            (None, _) if name == "all" => all_on(back_end),
            (None, _) => from_to(name, back_end)?,
        };
        for version in versions {
            if named.iter().all(|other| other.id() != version.id()) {
                named.push(version);
            }
        }
    }
    Ok(named)
}

/// A CPU runs all, a GPU what is made for it.
fn all_on(back_end: BackEnd) -> Vec<Listed> {
    let is_made_for = |listed: &Listed| listed.kernel.back_end() == back_end;
    let (mut run, others): (Vec<_>, Vec<_>) = all().partition(is_made_for);
    if back_end == BackEnd::Cpu {
        run.extend(others);
    }
    run
}

/// The one version that a name is of.
pub fn single(flag: &str, names: &str, back_end: BackEnd) -> Result<Listed> {
    match versions(names, back_end)?[..] {
        [version] => Ok(version),
        ref several => Err(Error::Input {
            origin: format!("{flag} {names}"),
            what: format!("takes one version, not {}", several.len()),
        }),
    }
}

/// The versions of a range, or the one version of another name. The last version of a range may be named without the
/// journey of the first.
fn from_to(name: &str, back_end: BackEnd) -> Result<Vec<Listed>> {
    let (first, last) = match (one(name, back_end), name.split_once('-')) {
        (Err(_), Some(ends)) => ends,
        (version, _) => return Ok(vec![version?]),
    };
    let first = one(first, back_end)?;
    let last = match first.id().split_once(':') {
        Some((journey, _)) if !last.contains(':') => one(&format!("{journey}:{last}"), back_end)?,
        _ => one(last, back_end)?,
    };
    let [of_first, of_last] =
        [first, last].map(|version| order::story(version.id()).map_or("none", |story| story.id));
    let ids = order::range(first.id(), last.id());
    if of_first != of_last || ids.is_empty() {
        let (first, last) = (first.id(), last.id());
        let what = format!(
            "needs two versions of one series, the earlier first: {first} is of {of_first} and {last} of {of_last}"
        );
        return Err(Error::Input { origin: format!("--version {name}"), what });
    }
    Ok(ids.into_iter().filter_map(find).collect())
}

fn one(name: &str, back_end: BackEnd) -> Result<Listed> {
    if name == BEST {
        return Ok(best(back_end));
    }
    let of_journey = name.strip_suffix(":best").and_then(journey).map(|journey| journey.best);
    find(of_journey.unwrap_or(name)).ok_or_else(|| {
        match OF_MATRICES.iter().any(|version| version.id == name) {
            true => Error::Input {
                origin: format!("--version {name}"),
                what: format!("is a version of Σ as a matrix: type `gpp offdiag --version {name}`"),
            },
            false => Error::unknown("version", name, known()),
        }
    })
}

/// All names of versions: ids, journeys, `best` and `all`.
pub fn known() -> Vec<&'static str> {
    let journeys = JOURNEYS.iter().map(|journey| journey.id);
    order::all().into_iter().chain(journeys).chain(["best", "all"]).collect()
}

#[cfg(test)]
mod tests;
