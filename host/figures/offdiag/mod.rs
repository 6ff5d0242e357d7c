//! Σ as a matrix on a GPU: a folder with a record of each system, number of bands and version, and the library's times.

pub mod processor;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpp_core::offdiag::versions::{self, Version};
use serde::Deserialize;

use crate::error::FigureError;
use crate::figures::archive::Archive;
use crate::figures::quantities::text;
use crate::figures::tables;
use crate::record;
use crate::record::offdiag::{OfVersion, Offdiag};
use crate::record::state::State;
use crate::render::table::or_dash;

type Result<T> = std::result::Result<T, FigureError>;

/// The record's name.
pub const NAME: &str = "offdiag";

/// The system of the tables, the number of bands of that of versions, and the version that sums one element.
const SYSTEM: &str = "si214";
const BANDS: usize = 128;
const RUNS_OF: &str = "v13";

/// The library's way for a band n at an energy, the second product with it: a row of `benches/cuda/offdiag.cu`.
#[derive(Deserialize)]
struct Library {
    system: String,
    bands: usize,
    product_tflops: f64,
    item_ms: f64,
    item_tflops: f64,
    watts: f64,
}

/// What is archived.
pub struct Matrices {
    all: BTreeMap<(String, usize, String), Found>,
    library: Vec<Library>,
    /// Seconds of one element at all energies.
    element: f64,
}

/// A version's calculations, and the record that has them.
struct Found {
    record: Offdiag,
    own: OfVersion,
}

impl Matrices {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with a file.
    pub fn read(archive: &Archive) -> Result<Matrices> {
        let failed = |error: &dyn ToString| FigureError::Record(error.to_string());
        let folder = archive.path(NAME);
        let mut all = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).map_err(|error| failed(&error))? {
            let path = entry.map_err(|error| failed(&error))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let record: Offdiag = record::read(&path).map_err(|error| failed(&error))?;
                for own in record.results.clone() {
                    let version = own.version.clone().unwrap_or_default();
                    let key = (record.system.name.clone(), record.count(), version);
                    all.insert(key, Found { record: record.clone(), own });
                }
            }
        }
        let library = csv::Reader::from_path(folder.join("library.csv"));
        let library = library.map_err(|error| failed(&error))?.into_deserialize();
        let library =
            library.collect::<std::result::Result<_, _>>().map_err(|error| failed(&error))?;
        let element = archive.system(SYSTEM)?.result(RUNS_OF)?.times.median;
        Ok(Matrices { all, library, element })
    }

    /// All calculations of a version, with their records.
    pub fn records(&self) -> impl Iterator<Item = (&Offdiag, &OfVersion)> {
        self.all.values().map(|found| (&found.record, &found.own))
    }

    /// That of the version which is chosen where none is asked for, among those of a system and number of bands.
    fn chosen(&self, system: &str, bands: usize) -> Option<&Found> {
        let version = versions::fastest(9.0, bands)?.id;
        self.all.get(&(system.into(), bands, version.into()))
    }

    /// The library's.
    fn library(&self, found: &Found) -> Option<&Library> {
        let is_of_it = |one: &&Library| {
            one.system == found.record.system.name && one.bands == found.record.count()
        };
        self.library.iter().find(is_of_it)
    }

    /// How many times as long the library takes, and our joules over its.
    fn over_library(&self, found: &Found) -> Option<(f64, Option<f64>)> {
        let (record, library) = (&found.record, self.library(found)?);
        let (bands, of) = (record.count() as f64, &record.system);
        let items = record.flops / (8.0 * of.ngpown as f64 * bands * (of.ncouls as f64 + bands));
        let seconds = 1e-3 * library.item_ms * items;
        let joules = found.own.joules().map(|own| own / (seconds * library.watts));
        Some((seconds / found.own.time_s.median, joules))
    }

    /// How many times as long a run for each element takes.
    fn over_runs(&self, found: &Found) -> f64 {
        self.element * (found.record.count() as f64).powi(2) / found.own.time_s.median
    }
}

/// A figure: `tflops BANDS`, `seconds BANDS`, `over-library BANDS`, `joules BANDS` or `over-runs BANDS` of si214, by the
/// version that is chosen.
///
/// # Errors
/// What there is none of.
pub fn figure(archive: &Archive, name: &str) -> Result<String> {
    let matrices = Matrices::read(archive)?;
    let [what, bands] = name.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(FigureError::Unknown("figure"));
    };
    let none = || FigureError::missing("the matrices", format!("{bands} bands"));
    let found = bands.parse().ok().and_then(|bands| matrices.chosen(SYSTEM, bands));
    let found = found.ok_or_else(none)?;
    let over = || matrices.over_library(found).ok_or_else(none);
    match what {
        "tflops" => Ok(text("tflops", found.own.tflops, None)),
        "seconds" => Ok(text("ratio", found.own.time_s.median, None)),
        "over-library" => Ok(text("ratio", over()?.0, None)),
        "joules" => Ok(text("ratio", over()?.1.ok_or_else(none)?, None)),
        "over-runs" => Ok(format!("{:.0}", matrices.over_runs(found))),
        _ => Err(FigureError::Unknown("figure")),
    }
}

/// A table: `versions` and `counters` at 128 bands of si214, `bands SYSTEM`, or `processor`.
///
/// # Errors
/// What there is none of.
pub fn table(archive: &Archive, name: &str) -> Result<String> {
    let matrices = Matrices::read(archive)?;
    match name.split_whitespace().collect::<Vec<_>>()[..] {
        ["versions"] => Ok(by_version(&matrices)),
        ["processor"] => processor::table(archive),
        ["counters"] => counters(&archive.path(NAME)),
        ["bands", system] => Ok(by_bands(&matrices, system)),
        _ => Err(FigureError::Unknown("table")),
    }
}

fn by_version(matrices: &Matrices) -> String {
    let mut before = None::<f64>;
    let row = |version: &&Version| {
        let found = matrices.all.get(&(SYSTEM.into(), BANDS, version.id.into()));
        let seconds = found.map(|found| found.own.time_s.median);
        let faster = before.zip(seconds).map(|(before, now)| text("ratio", before / now, None));
        before = seconds;
        let row = [
            version.id.into(),
            format!("{:.1}", version.capability),
            version.change.into(),
            or_dash(seconds.map(|seconds| text("ratio", seconds, None))),
            or_dash(found.map(|found| text("tflops", found.own.tflops, None))),
            or_dash(faster),
        ];
        row.into_iter().chain(of_board(found.map(|found| &found.own))).collect()
    };
    let own = ["version", "capability", "what it changes", "time [s]", "TFLOP/s", "× before"];
    let headings: Vec<&str> = own.into_iter().chain(BOARD).collect();
    tables::markdown(&headings, versions::ALL.iter().map(row))
}

/// What the board did meanwhile.
const BOARD: [&str; 3] = ["MHz", "W", "J"];

fn of_board(own: Option<&OfVersion>) -> [String; 3] {
    let state = own.and_then(|own| own.state.as_ref());
    let whole = |value: f64| format!("{value:.0}");
    [
        or_dash(state.and_then(|state| state.sm_mhz).map(|mhz| whole(mhz.median))),
        or_dash(state.and_then(State::watts).map(whole)),
        or_dash(own.and_then(OfVersion::joules).map(whole)),
    ]
}

/// What the profiler names and how the table does, of the first product of `sch`.
const COUNTERS: [[&str; 2]; 6] = [
    ["Compute (SM) Throughput", "busiest pipe [%]"],
    ["Issue Slots Busy", "issue slots [%]"],
    ["L1/TEX Cache Throughput", "L1 and shared memory [%]"],
    ["L2 Cache Throughput", "L2 [%]"],
    ["DRAM Throughput", "memory [%]"],
    ["Local Memory Spilling Requests", "spills [10⁶]"],
];

/// A row of the profiler's table.
#[derive(Deserialize)]
struct Counter {
    kernel: String,
    metric: String,
    value: f64,
}

/// Counters of each version's first product of `sch`.
fn counters(folder: &Path) -> Result<String> {
    let failed = |error: csv::Error| FigureError::Record(error.to_string());
    let rows = csv::Reader::from_path(folder.join("counters.csv")).map_err(failed)?;
    // Some metrics are texts.
    let all: Vec<Counter> = rows.into_deserialize().filter_map(std::result::Result::ok).collect();
    let row = |version: &&Version| {
        let [[hole, _], _] = version.symbols;
        let of = |metric: &str| all.iter().find(|row| row.kernel == hole && row.metric == metric);
        let cell = |[metric, _]: [&str; 2]| {
            let value = of(metric).map(|found| found.value);
            or_dash(value.map(|value| match metric.contains("Requests") {
                true => format!("{:.1}", 1e-6 * value),
                false => format!("{value:.0}"),
            }))
        };
        [version.id.into()].into_iter().chain(COUNTERS.map(cell)).collect()
    };
    let headings: Vec<&str> =
        ["version"].into_iter().chain(COUNTERS.map(|[_, heading]| heading)).collect();
    Ok(tables::markdown(&headings, versions::ALL.iter().map(row)))
}

fn by_bands(matrices: &Matrices, system: &str) -> String {
    let of_system = |(name, bands, _): &(String, usize, String)| (name == system).then_some(*bands);
    let counts: BTreeSet<usize> = matrices.all.keys().filter_map(of_system).collect();
    let row = |bands: usize| {
        let found = matrices.chosen(system, bands)?;
        let library = matrices.library(found);
        let over = matrices.over_library(found);
        let tflops = |value: f64| text("tflops", value, None);
        let ratio = |value: f64| text("ratio", value, None);
        let own = [
            bands.to_string(),
            found.own.version.clone().unwrap_or_default(),
            ratio(found.own.time_s.median),
            tflops(found.own.tflops),
            or_dash(library.map(|library| tflops(library.item_tflops))),
            or_dash(library.map(|library| tflops(library.product_tflops))),
            or_dash(over.map(|(time, _)| ratio(time))),
            or_dash(over.and_then(|(_, joules)| joules).map(ratio)),
        ];
        let runs = (system == SYSTEM).then(|| format!("{:.0}", matrices.over_runs(found)));
        let [mhz, watts, _] = of_board(Some(&found.own));
        Some(own.into_iter().chain([mhz, watts]).chain(runs).collect::<Vec<_>>())
    };
    let runs = format!("over {RUNS_OF}");
    let mut headings = vec![
        "bands",
        "version",
        "time [s]",
        "TFLOP/s",
        "cuBLAS",
        "its first product",
        "times as fast",
        "J / cuBLAS's J",
        "MHz",
        "W",
    ];
    if system == SYSTEM {
        headings.push(&runs);
    }
    tables::markdown(&headings, counts.into_iter().filter_map(row))
}
