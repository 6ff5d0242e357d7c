//! Runs and profiles of versions at several numbers of energies: a folder of files `run-N.json` and of
//! folders `nwN`, read when a text wants them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::words;
use crate::analysis::by_energies::ByEnergies;
use crate::analysis::levels::Level;
use crate::error::{Error, FigureError};
use crate::experiments::profile::folder::Records;
use crate::record;
use crate::record::profile::Profile;
use crate::record::run::Run;
use crate::render::chart::Roofline;

type Found<T> = std::result::Result<T, FigureError>;

/// The record's name, and the folder's.
const NAME: &str = "energies";

/// The number of energies whose ceilings the pictures have.
const CEILINGS_AT: u32 = 2;

/// The runs by their number of energies.
///
/// # Errors
/// The folder, where it is not there or has none; what is wrong with a file.
pub fn runs(archive: &Archive) -> Found<BTreeMap<usize, Run>> {
    runs_in(&archive.path(NAME))
}

/// Those of a folder.
///
/// # Errors
/// As [`runs`].
pub fn runs_in(folder: &Path) -> Found<BTreeMap<usize, Run>> {
    let files = named(folder, |name| name.starts_with("run-") && name.ends_with(".json"))?;
    let read = |path: &PathBuf| record::read(path).map_err(wrong);
    files.iter().map(read).map(|run| run.map(|run: Run| (run.system.nw(), run))).collect()
}

/// A quantity of a version at so many energies, by its name: its `time` in ms, or what that is `over` v13's for
/// two.
///
/// # Errors
/// As [`runs`]; what there is none of.
pub fn quantity(
    archive: &Archive,
    what: &str,
    version: &str,
    nw: &str,
) -> Found<(&'static str, f64)> {
    let runs = runs(archive)?;
    let seconds = |version: &str, nw: usize| -> Found<f64> {
        let none = || FigureError::missing(format!("{nw} energies"), version);
        let result = runs.get(&nw).and_then(|run| run.passed_result(version)).ok_or_else(none)?;
        Ok(result.times.median)
    };
    let number = nw.parse().map_err(|_| FigureError::Unknown("figure"))?;
    let own = seconds(version, number)?;
    match what {
        "time" => Ok(("time", 1e3 * own)),
        "over" => Ok(("ratio", own / seconds("v13", 2)?)),
        _ => Err(FigureError::Unknown("figure")),
    }
}

/// The numbers of energies at which the limit of power lowers a version's clock, in words.
///
/// # Errors
/// As [`runs`]; a run whose clock is not known.
pub fn capped(archive: &Archive, version: &str) -> Found<String> {
    let runs = runs(archive)?;
    let of = runs.iter().filter_map(|(nw, run)| Some((nw, run.passed_result(version)?)));
    let lost: Found<Vec<(String, bool)>> =
        of.map(|(nw, result)| Ok((nw.to_string(), words::lost(result)? >= words::MEETS))).collect();
    let (numbers, marks): (Vec<String>, Vec<bool>) = lost?.into_iter().unzip();
    Ok(words::listed(&numbers, &marks))
}

/// Profiles, and the ceilings beside them, by their number of energies.
///
/// # Errors
/// The folder, where it is not there or has none; what is wrong with a file.
pub fn profiled(archive: &Archive) -> Found<BTreeMap<u32, Records>> {
    let folders = named(&archive.path(NAME), |name| name.starts_with("nw"))?;
    let read = |path: &PathBuf| -> Found<(u32, Records)> {
        let records = Records::load(path).map_err(wrong)?;
        let nw = records.profiles[0].nw;
        let none = || FigureError::missing(path.display().to_string(), "number of energies");
        Ok((nw.ok_or_else(none)?, records))
    };
    folders.iter().map(read).collect()
}

/// The versions that there are profiles of at several numbers.
pub fn versions(profiled: &BTreeMap<u32, Records>) -> Vec<ByEnergies> {
    let profiles = profiled.values().flat_map(|records| &records.profiles);
    ByEnergies::of(&profiles.cloned().collect::<Vec<Profile>>())
}

/// The roofline of each version with the number of energies as its knob, by the name of its file.
///
/// # Errors
/// As [`profiled`]; a picture that cannot be drawn.
pub fn pictures(archive: &Archive) -> Found<Vec<(String, String)>> {
    let profiled = profiled(archive)?;
    let none = || FigureError::missing(NAME, format!("ceilings at {CEILINGS_AT} energies"));
    let ceilings = &profiled.get(&CEILINGS_AT).ok_or_else(none)?.ceilings;
    let draw = |version: &ByEnergies| {
        let shown: Vec<&Profile> = version.profiles.iter().collect();
        let (title, levels) = (version.title(), &[Level::Hbm]);
        let chart = Roofline { title: &title, profiles: &shown, ceilings, levels };
        Ok((version.name(), chart.svg()?))
    };
    versions(&profiled).iter().map(draw).collect()
}

/// What the folder holds by these names.
fn named(folder: &Path, is: impl Fn(&str) -> bool) -> Found<Vec<PathBuf>> {
    let failed = |error| FigureError::Record(format!("{}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let named = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(&is));
    Ok(named.map(|entry| entry.path()).collect())
}

fn wrong(error: Error) -> FigureError {
    FigureError::Record(error.to_string())
}
