//! The versions named on the command line.

use gpp_kernels::offdiag::versions::ALL as OF_MATRICES;

use super::choice::{Task, best_for};
use super::journey::{BackEnd, JOURNEYS, best, journey};
use super::{Listed, find, order, versions as all};
use crate::error::{Error, Result};

/// The journeys that run where no version is named.
pub const MAIN: &str = "paper,past";

/// Those that show what a processor can do: its own, then the paper's, emulated.
pub const ON_PROCESSOR: &str = "cpu,paper";

/// The fastest version.
pub const BEST: &str = "best";

/// The versions that ids, ranges (`v0-v8`, `talk:V1-V9`), journeys, `best`, `JOURNEY:best` and `all`
/// with commas between them name, each once, in the order named; the best are those on this back end,
/// `all` what it runs, what is made for it first.
///
/// # Errors
/// [`Error::UnknownName`] for a version that is none, [`Error::Data`] for a range that is none and
/// for the best version of a journey that states none.
pub fn versions(names: &str, back_end: BackEnd) -> Result<Vec<Listed>> {
    versions_for(names, back_end, None)
}

/// The same for a problem: `best` is the fastest for it, but as the end of a range.
///
/// # Errors
/// As [`versions`].
pub fn versions_for(names: &str, back_end: BackEnd, task: Option<&Task>) -> Result<Vec<Listed>> {
    let mut named: Vec<Listed> = Vec::new();
    for name in names.split(',').map(str::trim) {
        let versions = match (journey(name), task) {
            (Some(whole), _) => whole.versions(),
            (None, Some(task)) if name == BEST => vec![best_for(back_end, task)],
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

/// A processor runs all, a GPU what is made for it.
fn all_on(back_end: BackEnd) -> Vec<Listed> {
    let is_made_for = |listed: &Listed| listed.kernel.back_end() == back_end;
    let (mut run, others): (Vec<_>, Vec<_>) = all().partition(is_made_for);
    if back_end == BackEnd::Cpu {
        run.extend(others);
    }
    run
}

/// Fails where one of these names, with commas between them, is no journey.
///
/// # Errors
/// [`Error::UnknownName`].
pub fn require_journeys(names: &str) -> Result<()> {
    let unknown = |name: &&str| journey(name).is_none();
    match names.split(',').map(str::trim).find(unknown) {
        Some(name) => Err(Error::unknown("journey", name, JOURNEYS.iter().map(|known| known.id))),
        None => Ok(()),
    }
}

/// The one version that a name is of.
///
/// # Errors
/// As [`versions`]; [`Error::Data`] that names the flag where there are several.
pub fn single(flag: &str, names: &str, back_end: BackEnd) -> Result<Listed> {
    match versions(names, back_end)?[..] {
        [version] => Ok(version),
        ref several => Err(Error::Data {
            origin: format!("{flag} {names}"),
            what: format!("takes one version, not {}", several.len()),
        }),
    }
}

/// The versions of a range, or the one version of another name.
fn from_to(name: &str, back_end: BackEnd) -> Result<Vec<Listed>> {
    let wrong = |what: String| Err(Error::Data { origin: format!("--version {name}"), what });
    if let Some((first, last)) = name.split_once("..") {
        let range = format!("{first}-{}", last.trim_start_matches('='));
        return wrong(format!("ranges are written with a hyphen: {range}"));
    }
    let (first, last) = match (one(name, back_end), name.split_once('-')) {
        (Err(_), Some((first, last))) => (one(first, back_end)?, within(first, last, back_end)?),
        (version, _) => return Ok(vec![version?]),
    };
    let [of_first, of_last] =
        [first, last].map(|version| order::story(version.id()).map_or("none", |told| told.id));
    if of_first != of_last {
        let ids = (first.id(), last.id());
        return wrong(format!("{} is of {of_first} and {} of {of_last}", ids.0, ids.1));
    }
    let ids = order::range(first.id(), last.id());
    if ids.is_empty() {
        let (first, last) = (first.id(), last.id());
        return wrong(format!(
            "the range runs backwards, {first} comes after {last}: write {last}-{first}"
        ));
    }
    Ok(ids.into_iter().filter_map(find).collect())
}

/// The last version of a range: one of the first one's journey may be named without it.
fn within(first: &str, last: &str, back_end: BackEnd) -> Result<Listed> {
    match first.split_once(':') {
        Some((journey, _)) if !last.contains(':') => one(&format!("{journey}:{last}"), back_end),
        _ => one(last, back_end),
    }
}

fn one(name: &str, back_end: BackEnd) -> Result<Listed> {
    if name == BEST {
        return Ok(best(back_end));
    }
    if let Some(told) = name.strip_suffix(":best").and_then(journey) {
        // A journey for other devices has its best there, which may be emulated here.
        let best = told.best(back_end).or(told.best.first());
        return best.and_then(|best| find(best.version)).ok_or_else(|| Error::Data {
            origin: format!("--version {name}"),
            what: format!("{} states no best version", told.id),
        });
    }
    find(name).ok_or_else(|| match OF_MATRICES.iter().any(|version| version.id == name) {
        true => Error::Data {
            origin: format!("--version {name}"),
            what: format!("is a version of Σ as a matrix: type `gpp offdiag --version {name}`"),
        },
        false => Error::unknown("version", name, known()),
    })
}

/// What names versions: ids, journeys, `best` and `all`.
pub fn known() -> Vec<&'static str> {
    let journeys = JOURNEYS.iter().map(|told| told.id);
    order::all().into_iter().chain(journeys).chain(["best", "all"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ranges_best_and_all() {
        let ids = |names: &str| -> Vec<&str> {
            versions(names, BackEnd::Gpu).unwrap().iter().map(|version| version.id()).collect()
        };
        assert_eq!(ids("v3"), ["v3"]);
        assert_eq!(ids("v1-v3, v8"), ["v1", "v2", "v3", "v8"]);
        assert_eq!(ids("v2,v1-v2"), ["v2", "v1"]);
        let runs = |back_end| versions("v0,all", back_end).unwrap().len();
        let made_for_gpus = |listed: &Listed| listed.kernel.back_end() == BackEnd::Gpu;
        assert_eq!(runs(BackEnd::Gpu), all().filter(made_for_gpus).count());
        assert_eq!(runs(BackEnd::Cpu), all().count());
        for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
            let named = single("--version", "best", back_end).unwrap();
            assert_eq!(named.id(), best(back_end).id());
        }
        assert_eq!(ids("v0-best"), ids(MAIN));
        assert_eq!(ids("v8-v9,blog:step3"), ["v8", "v9", "blog:step3"]);
        assert_eq!(ids("talk:V1-V9"), ids("talk:V1-talk:V9"));
        assert_eq!(ids("blog"), ids("blog:baseline-step4"));
        assert_eq!(ids("talk:V9-bgw"), ["talk:V9", "talk:bgw"]);
        for told in JOURNEYS {
            assert_eq!(ids(told.id), told.ids());
            let Some(best) = told.best(BackEnd::Gpu) else { continue };
            assert_eq!(ids(&format!("{}:best", told.id)), [best.version]);
        }
        let wrong = [
            "",
            "v8-v0",
            "v0-x",
            "8",
            "v0,",
            "v0..v8",
            "v0-talk:V1",
            "talk:V9-V1",
            "talk:v0",
            "talk:",
            "talk-v8",
            "V1",
        ];
        for wrong in wrong {
            assert!(versions(wrong, BackEnd::Gpu).is_err(), "{wrong}");
        }
        assert!(single("--version", "v0,v1", BackEnd::Gpu).is_err());
        assert!(require_journeys("paper,talk").is_ok() && require_journeys("paper,v0").is_err());
    }

    #[test]
    fn what_was_meant() {
        let nearest = |name: &str| match versions(name, BackEnd::Gpu) {
            Err(Error::UnknownName { nearest, .. }) => nearest,
            _ => panic!("{name} is known, or no name"),
        };
        assert_eq!(nearest("8"), "v8");
        assert_eq!(nearest("talk:v7"), "talk:V7");
        assert_eq!(nearest("step3"), "blog:step3");
        assert_eq!(nearest("blog:step5-step6"), "blog:step4");
        assert_eq!(nearest("blogs"), "blog");
    }
}
