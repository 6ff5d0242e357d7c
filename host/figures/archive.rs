//! The archived records that the texts quote, and the folder that holds each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, FigureError, ProfilerError, Result};
use crate::experiments::profile::aggregate::cycles;
use crate::experiments::profile::{counters, folder};
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::{Measurement, Run};
use crate::record::{self, Record};

/// Where archived runs are, from the repository's root.
pub const RUNS: &str = "data/runs";

/// The file in [`RUNS`] that names the folder in use.
const MAP: &str = "figures.json";

/// Systems whose runs are records of their own.
const SYSTEMS: [&str; 3] = ["si214", "si214-complex", "si510"];

/// Records besides the systems'.
const OTHERS: [&str; 8] = [
    "compare",
    "compare-si510",
    "scaling",
    "tuning",
    "energies",
    "si214-journeys",
    "processor",
    "offdiag",
];

/// Whether a folder is one of archived runs, or in one.
pub fn is_within(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_default();
    folder.ancestors().any(|above| above.ends_with(RUNS) && above.join(MAP).exists())
}

/// The folder in use, and records that another one holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Map {
    folder: String,
    #[serde(default)]
    elsewhere: BTreeMap<String, String>,
    /// Folders with records that do not say which kernels they are of.
    #[serde(default)]
    unhashed: Vec<String>,
}

/// The archive as the texts see it.
pub struct Archive {
    /// The folder of all archived runs.
    pub runs: PathBuf,
    map: Map,
    systems: BTreeMap<&'static str, System>,
}

/// What is archived of one system.
pub struct System {
    /// The run.
    pub run: Run,
    /// The profiles, in the versions' order.
    pub profiles: Vec<Profile>,
    /// What the device could do.
    pub ceilings: Ceilings,
    /// Cycles of a calculation by version, as the profiler counted them.
    pub cycles: BTreeMap<String, f64>,
}

impl Archive {
    /// Reads the archive of the repository at `root`.
    ///
    /// # Errors
    /// [`Error::Data`] for a record that is not where the map has it.
    pub fn open(root: &Path) -> Result<Archive> {
        let runs = root.join(RUNS);
        let path = runs.join(MAP);
        let map: Map = serde_json::from_str(&read(&path)?).map_err(|e| wrong(&path, e))?;
        if let Some(name) = map.elsewhere.keys().find(|name| !is_record(name)) {
            return Err(wrong(&path, format!("`{name}` is no record")));
        }
        let mut archive = Archive { runs, map, systems: BTreeMap::new() };
        for name in SYSTEMS {
            let folder = archive.path(name);
            if !folder.is_dir() {
                let what = format!("{name} is not there: name its folder under `elsewhere`");
                return Err(wrong(&path, what));
            }
            archive.systems.insert(name, System::read(&folder)?);
        }
        Ok(archive)
    }

    /// The folder that holds a record.
    pub fn folder(&self, record: &str) -> &str {
        self.map.elsewhere.get(record).unwrap_or(&self.map.folder)
    }

    /// Folders in [`RUNS`] with records that do not say which kernels they are of.
    pub fn unhashed(&self) -> &[String] {
        &self.map.unhashed
    }

    /// What is archived of each system.
    pub fn systems(&self) -> impl Iterator<Item = (&'static str, &System)> {
        self.systems.iter().map(|(&name, system)| (name, system))
    }

    /// The folder of a system's records, or of those of a record that is a folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.runs.join(self.folder(name)).join(name)
    }

    /// What is archived of a system.
    ///
    /// # Errors
    /// The name, where there is none of it.
    pub fn system(&self, name: &str) -> std::result::Result<&System, FigureError> {
        let of = " in the archive";
        let none = || FigureError::NoName { what: "system", name: name.into(), of };
        self.systems.get(name).ok_or_else(none)
    }

    /// A record in a file of its own.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn record<R: Record>(&self, name: &str, file: &str) -> std::result::Result<R, FigureError> {
        let path = self.runs.join(self.folder(name)).join(file);
        record::read(&path).map_err(|error| FigureError::Record(error.to_string()))
    }
}

/// Whether the map may say where `name` is.
pub fn is_record(name: &str) -> bool {
    SYSTEMS.contains(&name) || OTHERS.contains(&name)
}

impl System {
    fn read(path: &Path) -> Result<System> {
        let counters = path.join("counters.csv");
        let wrong = |error| ProfilerError::Counters { path: counters.clone(), error };
        let launches = counters::parse(&read(&counters)?).map_err(wrong)?;
        Ok(System {
            run: record::read(&path.join(folder::RUN))?,
            profiles: folder::load(path)?,
            ceilings: record::read(&path.join(folder::CEILINGS))?,
            cycles: cycles(&launches).map_err(wrong)?,
        })
    }

    /// The result of a version.
    ///
    /// # Errors
    /// The version, where it did not run or did not pass.
    pub fn result(&self, version: &str) -> std::result::Result<&Measurement, FigureError> {
        let none = || FigureError::missing("the run", format!("{version} that passed"));
        self.run.passed_result(version).ok_or_else(none)
    }

    /// The profile of a version.
    ///
    /// # Errors
    /// The version, where it has none.
    pub fn profile(&self, version: &str) -> std::result::Result<&Profile, FigureError> {
        let mut all = self.profiles.iter();
        let none = || FigureError::missing("the archive", format!("profile of {version}"));
        all.find(|p| p.version == version).ok_or_else(none)
    }
}

fn read(path: &Path) -> Result<String> {
    crate::process::input::text(path).map_err(|e| wrong(path, format!("cannot read: {e}")))
}

fn wrong(path: &Path, what: impl ToString) -> Error {
    Error::Data { origin: path.display().to_string(), what: what.to_string() }
}
