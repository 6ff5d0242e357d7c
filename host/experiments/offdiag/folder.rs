//! Stored records of Σ as a matrix: a folder of what `gpp offdiag --json` wrote, and the profiler's counters.

use std::path::{Path, PathBuf};

use gpp_core::offdiag::versions::Version;
use serde::Deserialize;

use crate::error::{Error, RecordError, Result};
use crate::record;
use crate::record::offdiag::{OfVersion, Offdiag};

/// The file of counters, of the calculation of the record with most versions; there need be none.
pub const COUNTERS_FILE: &str = "counters.csv";

/// A counter of the first product of `sch`, of real poles.
pub struct Counter {
    /// Its name in the profiler.
    pub metric: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// That over the profiler's.
    pub factor: f64,
    /// Digits behind the point in a table.
    pub decimals: usize,
}

/// Those that tables have.
pub const COUNTERS: [Counter; 6] = [
    percent("Compute (SM) Throughput", "busiest pipe"),
    percent("Issue Slots Busy", "issue slots"),
    percent("L1/TEX Cache Throughput", "L1 and shared memory"),
    percent("L2 Cache Throughput", "L2"),
    percent("DRAM Throughput", "DRAM"),
    Counter {
        metric: "Local Memory Spilling Requests",
        name: "requests of local memory",
        unit: "10⁶",
        factor: 1e-6,
        decimals: 1,
    },
];

const fn percent(metric: &'static str, name: &'static str) -> Counter {
    Counter { metric, name, unit: "%", factor: 1.0, decimals: 0 }
}

/// The records of a folder.
pub struct Folder {
    /// Where they are: the folder, or the one file.
    pub path: PathBuf,
    /// By the names of their files.
    pub records: Vec<Offdiag>,
    files: Vec<PathBuf>,
    counters: Vec<Row>,
}

/// A row of the profiler's table.
struct Row {
    kernel: String,
    metric: String,
    unit: String,
    value: f64,
}

impl Folder {
    /// All records of a folder and its counters, or the record of a file.
    ///
    /// # Errors
    /// [`Error::Data`] for a folder without records; [`RecordError`] for a file that is none, or a table without the
    /// columns that are needed.
    pub fn load(path: &Path) -> Result<Folder> {
        let mut files = if path.is_file() { vec![path.into()] } else { named(path)? };
        files.sort();
        let records = files.iter().map(|file| record::read(file)).collect::<Result<_>>()?;
        let table = path.join(COUNTERS_FILE);
        let counters = if table.is_file() { counters(&table)? } else { Vec::new() };
        files.extend(table.is_file().then_some(table));
        Ok(Folder { path: path.into(), records, files, counters })
    }

    /// All files that were read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The record with most versions of which nothing came out wrong, the first of several.
    ///
    /// # Panics
    /// Never: a folder without records is not read.
    pub fn of_versions(&self) -> &Offdiag {
        let count = |record: &Offdiag| {
            let right = record.results.iter().filter(|own| own.is_right());
            right.filter(|own| own.version.is_some()).count()
        };
        let most = self.records.iter().rev().max_by_key(|record| count(record));
        most.expect("a folder has a record at least")
    }

    /// A version's calculations of a system and so many bands, unless something came out wrong.
    pub fn find(
        &self,
        system: &str,
        bands: usize,
        version: &str,
    ) -> Option<(&Offdiag, &OfVersion)> {
        let own = |record: &Offdiag| record.system.name == system && record.count() == bands;
        let records = self.records.iter().filter(|record| own(record));
        let mut all =
            records.flat_map(|record| record.results.iter().map(move |own| (record, own)));
        all.find(|(_, own)| own.version.as_deref() == Some(version) && own.is_right())
    }

    /// What the profiler counted of a version's first product of `sch`, of real poles.
    pub fn counter(&self, version: &Version, metric: &str) -> Option<f64> {
        self.rows(version, metric).next().map(|row| row.value)
    }

    /// The same of a metric that the profiler tells in several units, in one of them.
    pub fn counter_in(&self, version: &Version, metric: &str, unit: &str) -> Option<f64> {
        self.rows(version, metric).find(|row| row.unit == unit).map(|row| row.value)
    }

    /// The file of counters that was read.
    pub fn counters_file(&self) -> Option<&Path> {
        self.files.iter().find(|file| file.ends_with(COUNTERS_FILE)).map(PathBuf::as_path)
    }

    fn rows(&self, version: &Version, metric: &str) -> impl Iterator<Item = &Row> {
        let [[kernel, _], _] = version.symbols;
        self.counters.iter().filter(move |row| row.kernel == kernel && row.metric == metric)
    }
}

/// The files of a folder that may be records.
fn named(folder: &Path) -> Result<Vec<PathBuf>> {
    let wrong =
        |what: &str| Error::Data { origin: folder.display().to_string(), what: what.into() };
    let entries = std::fs::read_dir(folder).map_err(|_| wrong("no such folder or file"))?;
    let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_json).collect();
    if files.is_empty() {
        return Err(wrong("holds no *.json; `gpp offdiag --version all --json FILE` writes one"));
    }
    Ok(files)
}

/// The numbers of the profiler's table: of its metrics some are texts.
fn counters(table: &Path) -> Result<Vec<Row>> {
    #[derive(Deserialize)]
    struct Cells {
        kernel: String,
        metric: String,
        #[serde(default)]
        unit: String,
        value: String,
    }
    let failed = |error: csv::Error| RecordError::Field {
        path: table.into(),
        needed: "counters",
        reason: error.to_string(),
    };
    let cells = csv::Reader::from_path(table).map_err(failed)?.into_deserialize::<Cells>();
    let mut rows = Vec::new();
    for cells in cells {
        let Cells { kernel, metric, unit, value } = cells.map_err(failed)?;
        let value = value.parse().ok().filter(|value: &f64| value.is_finite());
        rows.extend(value.map(|value| Row { kernel, metric, unit, value }));
    }
    Ok(rows)
}
