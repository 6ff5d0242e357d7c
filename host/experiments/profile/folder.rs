//! Stored profiles, as `profile` leaves them: a folder for each system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::experiments::profile::{self, Profile};
use crate::record::ceilings::Ceilings;

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
    pub fn load(dir: &Path) -> Result<Records> {
        let folder = folder(dir)?;
        let profiles = profile::load(&folder)?;
        let system = one_system(&folder, &profiles)?;
        let ceilings = ceilings(&folder)?;
        Ok(Records { folder, system, profiles, ceilings })
    }

    /// The files that were read, or will be.
    pub fn files(&self) -> Vec<PathBuf> {
        let profiles = self.profiles.iter().map(|p| profile::path(&self.folder, &p.version));
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

/// Fails where a folder already holds profiles of another system.
pub fn require_room(folder: &Path, system: &str) -> Result<()> {
    if !has_profiles(folder) {
        return Ok(());
    }
    match one_system(folder, &profile::load(folder)?)? {
        other if other != system => {
            let what = format!("holds profiles of {other}; name another with --dir for {system}");
            Err(wrong(folder, what))
        }
        _ => Ok(()),
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
        // Loading says what is missing.
        [] => Ok(dir.into()),
        [folder] => Ok(folder.clone()),
        several => {
            let names: Vec<String> =
                several.iter().map(|folder| format!("--dir {}", folder.display())).collect();
            Err(wrong(dir, format!("holds several systems: {}", names.join(" or "))))
        }
    }
}

fn has_profiles(folder: &Path) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("profile-") && name.ends_with(".json")
    })
}

fn ceilings(folder: &Path) -> Result<Ceilings> {
    let path = folder.join(CEILINGS);
    let text = std::fs::read_to_string(&path).map_err(|e| {
        let remedy = "`gpp profile` measures the ceilings on the GPU; copy the file that it wrote \
                      there beside these profiles";
        wrong(&path, format!("cannot read: {e}; {remedy}"))
    })?;
    serde_json::from_str(&text).map_err(|e| wrong(&path, format!("holds no ceilings: {e}")))
}
