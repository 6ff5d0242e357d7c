//! The versions named on the command line.

use super::journey::{BackEnd, best};
use super::{Listed, order, versions as all};
use crate::error::{Error, Result};

/// The versions that ids, ranges (`v0-v8`), `best` and `all` with commas between them name, each
/// once, in the order named; `best` is the one on this back end.
///
/// # Errors
/// [`Error::UnknownName`] for a version that is none, [`Error::Data`] for a range that is none.
pub fn versions(names: &str, back_end: BackEnd) -> Result<Vec<Listed>> {
    let mut named: Vec<Listed> = Vec::new();
    for name in names.split(',').map(str::trim) {
        if let Some((first, last)) = name.split_once("..") {
            let range = format!("{first}-{}", last.trim_start_matches('='));
            let what = format!("ranges are written with a hyphen: {range}");
            return Err(Error::Data { origin: format!("--version {name}"), what });
        }
        let range = match (place(name, back_end), name.split_once('-')) {
            _ if name == "all" => 0..=all().count() - 1,
            (Some(at), _) => at..=at,
            (None, Some((first, last))) => {
                let (from, to) = (one(first, back_end)?, one(last, back_end)?);
                if from > to {
                    let what = format!(
                        "the range runs backwards, {first} comes after {last}: write {last}-{first}"
                    );
                    return Err(Error::Data { origin: format!("--version {name}"), what });
                }
                from..=to
            }
            (None, None) => {
                let at = one(name, back_end)?;
                at..=at
            }
        };
        for version in all().skip(*range.start()).take(range.count()) {
            if named.iter().all(|other| other.id() != version.id()) {
                named.push(version);
            }
        }
    }
    Ok(named)
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

fn place(name: &str, back_end: BackEnd) -> Option<usize> {
    order::place(if name == "best" { best(back_end).id() } else { name })
}

fn one(name: &str, back_end: BackEnd) -> Result<usize> {
    let known = order::all().into_iter().chain(["best", "all"]);
    place(name, back_end).ok_or_else(|| Error::unknown("version", name, known))
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
        assert_eq!(ids("v0,all").len(), all().count());
        for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
            let named = single("--version", "best", back_end).unwrap();
            assert_eq!(named.id(), best(back_end).id());
        }
        assert_eq!(ids("v0-best").len(), all().count());
        for wrong in ["", "v8-v0", "v0-x", "8", "v0,", "v0..v8"] {
            assert!(versions(wrong, BackEnd::Gpu).is_err(), "{wrong}");
        }
        assert!(single("--version", "v0,v1", BackEnd::Gpu).is_err());
    }
}
