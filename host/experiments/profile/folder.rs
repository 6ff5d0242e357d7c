//! Stored profiles, as `profile` leaves them: a folder for each system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::catalogue::order;
use crate::error::{Error, Result};
use crate::process::output::write_text;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::Run;
use crate::record::{self, text};

/// The ceilings' file in a folder of profiles.
pub const CEILINGS: &str = "ceilings.json";

/// The run's file in a folder of profiles.
pub const RUN: &str = "run.json";

/// One system's profiles and the ceilings of their device.
pub struct Records {
    /// Where they are.
    pub folder: PathBuf,
    /// The system's name.
    pub system: String,
    /// In the versions' order.
    pub profiles: Vec<Profile>,
    /// Of the device.
    pub ceilings: Ceilings,
}

impl Records {
    /// From `dir` itself, or from the only folder in it that has any.
    ///
    /// # Errors
    /// [`Error::Data`] for a folder of none or of several systems;
    /// [`crate::error::RecordError`].
    pub fn load(dir: &Path) -> Result<Records> {
        let folder = folder(dir)?;
        let profiles = load(&folder)?;
        let system = one_system(&folder, &profiles)?;
        let ceilings = ceilings(&folder)?;
        Ok(Records { folder, system, profiles, ceilings })
    }

    /// The run that the profiles were made beside.
    ///
    /// # Errors
    /// [`crate::error::RecordError`]; [`Error::Data`] for a run of another system, of other data or of other
    /// kernels.
    pub fn run(&self) -> Result<Run> {
        let path = self.folder.join(RUN);
        let remedy = format!("`gpp --json {}` on the same GPU writes it", path.display());
        let run: Run = record::read_or(&path, &remedy)?;
        self.require_same(&path, &run.system.name)?;
        for profile in &self.profiles {
            let result = run.results.iter().find(|result| result.version == profile.version);
            let both = profile.task.as_ref().zip(result.and_then(|result| result.task.as_ref()));
            if both.is_some_and(|(own, of_run)| own != of_run) {
                let version = &profile.version;
                let what = format!(
                    "its {version} has other data, kernels or devices than the profile beside it"
                );
                return Err(wrong(&path, what));
            }
        }
        Ok(run)
    }

    fn require_same(&self, path: &Path, of: &str) -> Result<()> {
        if of == self.system {
            return Ok(());
        }
        Err(wrong(path, format!("is of {of}, the profiles beside it are of {}", self.system)))
    }

    /// The files that were read, or will be.
    pub fn files(&self) -> Vec<PathBuf> {
        let profiles = self.profiles.iter().map(|p| path(&self.folder, &p.version));
        profiles.chain([CEILINGS, RUN].map(|name| self.folder.join(name))).collect()
    }
}

fn wrong(path: &Path, what: String) -> Error {
    Error::Data { origin: path.display().to_string(), what }
}

/// The system that all profiles of a folder are of.
fn one_system(folder: &Path, profiles: &[Profile]) -> Result<String> {
    let systems: BTreeSet<&str> = profiles.iter().map(|profile| profile.system.as_str()).collect();
    let systems: Vec<&str> = systems.into_iter().collect();
    match systems[..] {
        [system] => Ok(system.into()),
        _ => Err(wrong(
            folder,
            format!("holds profiles of {}: each system needs a folder", systems.join(" and ")),
        )),
    }
}

/// Fails where a folder already holds profiles of another system, or of another number of energies.
///
/// # Errors
/// [`Error::Data`] that names both.
pub fn require_room(folder: &Path, system: &str, nw: Option<usize>) -> Result<()> {
    if !has_profiles(folder) {
        return Ok(());
    }
    let holds = |other: String, own: String| {
        let what = format!("holds profiles of {other}; name another with --output for {own}");
        Err(wrong(folder, what))
    };
    let profiles = load(folder)?;
    let other = one_system(folder, &profiles)?;
    if other != system {
        return holds(other, system.into());
    }
    let energies = |nw: usize| format!("{system} at {nw} energies");
    let others = profiles.iter().filter_map(|profile| profile.nw.map(|nw| nw as usize));
    match nw.and_then(|nw| Some((others.into_iter().find(|other| *other != nw)?, nw))) {
        Some((other, own)) => holds(energies(other), energies(own)),
        None => Ok(()),
    }
}

fn folder(dir: &Path) -> Result<PathBuf> {
    if has_profiles(dir) {
        return Ok(dir.into());
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| has_profiles(path)).collect();
    folders.sort();
    match &folders[..] {
        // A run may stand alone; loading says what is missing.
        [] => Ok(dir.into()),
        [folder] => Ok(folder.clone()),
        several => {
            let names: Vec<String> =
                several.iter().map(|folder| format!("--from {}", folder.display())).collect();
            Err(wrong(dir, format!("holds several folders of profiles: {}", names.join(" or "))))
        }
    }
}

/// The file of a run: this one, or that of a folder of records.
///
/// # Errors
/// [`Error::Data`] for a folder of several.
pub fn run_file(path: &Path) -> Result<PathBuf> {
    if path.is_dir() { Ok(folder(path)?.join(RUN)) } else { Ok(path.into()) }
}

fn has_profiles(folder: &Path) -> bool {
    !files(folder).is_empty()
}

/// The files of a folder that are named as profiles.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("profile-") && name.ends_with(".json")
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(named).collect();
    files.sort();
    files
}

fn ceilings(folder: &Path) -> Result<Ceilings> {
    let remedy = "`gpp profile` measures the ceilings on the GPU; copy the file that it wrote there \
                  beside these profiles";
    record::read_or(&folder.join(CEILINGS), remedy)
}

/// Where the profile of a version is kept in a folder of profiles.
pub fn path(folder: &Path, version: &str) -> PathBuf {
    // A colon is no part of a file's name everywhere.
    folder.join(format!("profile-{}.json", version.replace(':', "-")))
}

/// Writes a profile to its folder.
///
/// # Errors
/// [`Error::Write`].
pub fn store(folder: &Path, profile: &Profile) -> Result<()> {
    write_text(&path(folder, &profile.version), &text(profile))
}

/// Reads the profiles of a folder in the versions' order.
///
/// # Errors
/// [`Error::Data`] for a folder without any; [`crate::error::RecordError`] for a file that
/// is none.
pub fn load(folder: &Path) -> Result<Vec<Profile>> {
    let mut profiles: Vec<Profile> =
        files(folder).iter().map(|path| record::read(path)).collect::<Result<_>>()?;
    profiles.sort_by_key(|profile| order::place(&profile.version).unwrap_or(usize::MAX));
    if profiles.is_empty() {
        let what = if folder.is_dir() {
            "holds no profile-*.json; `gpp profile` makes them"
        } else {
            "no such folder; `gpp profile` makes it"
        };
        return Err(wrong(folder, what.into()));
    }
    Ok(profiles)
}
