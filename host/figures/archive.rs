//! The archived records that the texts quote, and the folder that holds each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpp_kernels::reduction;
use gpp_kernels::versions;
use serde::Deserialize;
use serde_json::Value;

use crate::catalogue::BEST;
use crate::error::{Error, Result};
use crate::experiments::profile::metrics;
use crate::experiments::profile::{self, Profile};
use crate::record::ceilings::Ceilings;

/// Where archived runs are, from the repository's root.
pub const RUNS: &str = "data/runs";

/// The file in [`RUNS`] that names the folder in use.
const MAP: &str = "figures.json";

/// Systems whose runs are records of their own.
const SYSTEMS: [&str; 3] = ["si214", "si214-complex", "si510"];

/// Records besides the systems'.
const OTHERS: [&str; 4] = ["compare", "compare-si510", "scaling", "clock"];

/// The folder in use, and records that another one holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Map {
    folder: String,
    #[serde(default)]
    elsewhere: BTreeMap<String, String>,
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
    pub run: Value,
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

    /// The folder of a system's records.
    pub fn path(&self, system: &str) -> PathBuf {
        self.runs.join(self.folder(system)).join(system)
    }

    /// What is archived of a system.
    ///
    /// # Errors
    /// The name, where there is none of it.
    pub fn system(&self, name: &str) -> std::result::Result<&System, String> {
        self.systems.get(name).ok_or_else(|| format!("no system `{name}` in the archive"))
    }

    /// A file of a record.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn json(&self, record: &str, file: &str) -> std::result::Result<Value, String> {
        let path = self.runs.join(self.folder(record)).join(file);
        let text = read(&path).map_err(|e| e.to_string())?;
        serde_json::from_str(&text).map_err(|e| wrong(&path, e).to_string())
    }
}

/// Whether the map may say where `name` is.
pub fn is_record(name: &str) -> bool {
    SYSTEMS.contains(&name) || OTHERS.contains(&name)
}

impl System {
    fn read(folder: &Path) -> Result<System> {
        let json = |name: &str| -> Result<Value> {
            let path = folder.join(name);
            serde_json::from_str(&read(&path)?).map_err(|e| wrong(&path, e))
        };
        let counters = folder.join("counters.csv");
        Ok(System {
            run: json("run.json")?,
            profiles: profile::load(folder)?,
            ceilings: serde_json::from_value(json("ceilings.json")?)
                .map_err(|e| wrong(&folder.join("ceilings.json"), e))?,
            cycles: cycles(&read(&counters)?).map_err(|what| wrong(&counters, what))?,
        })
    }

    /// The result of a version.
    ///
    /// # Errors
    /// The version, where it did not run or did not pass.
    pub fn result(&self, version: &str) -> std::result::Result<&Value, String> {
        let results = self.run["results"].as_array().ok_or("the run has no results")?;
        results
            .iter()
            .find(|r| r["version"] == version && r["verification"]["outcome"] == "passed")
            .ok_or_else(|| format!("the run has no {version} that passed"))
    }

    /// The profile of a version.
    ///
    /// # Errors
    /// The version, where it has none.
    pub fn profile(&self, version: &str) -> std::result::Result<&Profile, String> {
        let mut all = self.profiles.iter();
        all.find(|p| p.version == version).ok_or_else(|| format!("no profile of {version}"))
    }
}

/// Cycles by version, a second stage's with those of the version before it.
fn cycles(counters: &str) -> std::result::Result<BTreeMap<String, f64>, String> {
    let mut cycles = BTreeMap::new();
    let mut version = BEST;
    for launch in metrics::parse(counters)? {
        if launch.kernel != reduction::SYMBOL {
            version = versions::find(&launch.kernel).map_or(BEST, |(version, ..)| version);
        }
        *cycles.entry(version.id().to_string()).or_insert(0.0) +=
            launch.required(metrics::CYCLES)?;
    }
    Ok(cycles)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| wrong(path, format!("cannot read: {e}")))
}

fn wrong(path: &Path, what: impl ToString) -> Error {
    Error::Data { origin: path.display().to_string(), what: what.to_string() }
}
