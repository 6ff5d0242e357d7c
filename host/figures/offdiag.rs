//! Σ as a matrix on a GPU: a folder with a record of each system, number of bands and version, and the library's times.

use std::collections::BTreeMap;

use gpp_core::offdiag::versions::{self, Version};
use serde::Deserialize;

use super::archive::Archive;
use super::quantities::text;
use super::tables;
use crate::error::FigureError;
use crate::record;
use crate::record::offdiag::Offdiag;
use crate::render::table::or_dash;

type Found<T> = std::result::Result<T, FigureError>;

/// The record's name.
pub const NAME: &str = "offdiag";

/// The system of the tables, the number of bands of that of versions, and the version that sums one element.
const SYSTEM: &str = "si214";
const BANDS: usize = 128;
const RUNS_OF: &str = "v13";

/// The library's time of an item: P written, and its product.
#[derive(Deserialize)]
struct Library {
    system: String,
    bands: usize,
    with_p_ms: f64,
}

/// What is archived.
pub struct Matrices {
    all: BTreeMap<(String, usize, String), Offdiag>,
    library: Vec<Library>,
    /// Seconds of one element at all energies.
    element: f64,
}

impl Matrices {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with a file.
    pub fn read(archive: &Archive) -> Found<Matrices> {
        let failed = |error: &dyn ToString| FigureError::Record(error.to_string());
        let folder = archive.path(NAME);
        let mut all = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).map_err(|error| failed(&error))? {
            let path = entry.map_err(|error| failed(&error))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let record: Offdiag = record::read(&path).map_err(|error| failed(&error))?;
                let bands = record.bands[1] + 1 - record.bands[0];
                let version = record.version.clone().unwrap_or_default();
                all.insert((record.system.name.clone(), bands, version), record);
            }
        }
        let library = csv::Reader::from_path(folder.join("library.csv"));
        let library = library.map_err(|error| failed(&error))?.into_deserialize();
        let library =
            library.collect::<std::result::Result<_, _>>().map_err(|error| failed(&error))?;
        let element = archive.system(SYSTEM)?.result(RUNS_OF)?.times.median;
        Ok(Matrices { all, library, element })
    }

    /// All records.
    pub fn records(&self) -> impl Iterator<Item = &Offdiag> {
        self.all.values()
    }

    /// The record of a version for so many bands.
    fn of(&self, bands: usize, version: &str) -> Option<&Offdiag> {
        self.all.get(&(SYSTEM.into(), bands, version.into()))
    }

    /// That of the version which is chosen where none is asked for.
    fn chosen(&self, bands: usize) -> Option<&Offdiag> {
        self.of(bands, versions::fastest(9.0, bands)?.id)
    }

    /// How many times as long as a record's the library takes, for the first product alone.
    fn over_library(&self, record: &Offdiag, bands: usize) -> Option<f64> {
        let of = &record.system;
        let width = bands as f64;
        let items = record.flops / (8.0 * of.ngpown as f64 * width * (of.ncouls as f64 + width));
        let mut library = self.library.iter();
        let library = library.find(|one| one.system == SYSTEM && one.bands == bands)?;
        Some(1e-3 * library.with_p_ms * items / record.time_s.median)
    }

    /// How many times as long a run for each element takes.
    fn over_runs(&self, record: &Offdiag, bands: usize) -> f64 {
        self.element * (bands * bands) as f64 / record.time_s.median
    }
}

/// A figure: `tflops BANDS`, `seconds BANDS`, `over-library BANDS` or `over-runs BANDS`, by the version that is chosen.
///
/// # Errors
/// What there is none of.
pub fn figure(archive: &Archive, name: &str) -> Found<String> {
    let matrices = Matrices::read(archive)?;
    let [what, bands] = name.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(FigureError::Unknown("figure"));
    };
    let none = || FigureError::missing("the matrices", format!("{bands} bands"));
    let count = bands.parse().map_err(|_| none())?;
    let record = matrices.chosen(count).ok_or_else(none)?;
    match what {
        "tflops" => Ok(text("tflops", record.tflops, None)),
        "seconds" => Ok(text("ratio", record.time_s.median, None)),
        "over-library" => {
            Ok(text("ratio", matrices.over_library(record, count).ok_or_else(none)?, None))
        }
        "over-runs" => Ok(format!("{:.0}", matrices.over_runs(record, count))),
        _ => Err(FigureError::Unknown("figure")),
    }
}

/// A table: `versions` at 128 bands, or `bands`.
///
/// # Errors
/// What there is none of.
pub fn table(archive: &Archive, name: &str) -> Found<String> {
    let matrices = Matrices::read(archive)?;
    match name.trim() {
        "versions" => Ok(by_version(&matrices)),
        "bands" => Ok(by_bands(&matrices)),
        _ => Err(FigureError::Unknown("table")),
    }
}

fn by_version(matrices: &Matrices) -> String {
    let row = |version: &&Version| {
        let record = matrices.of(BANDS, version.id);
        vec![
            version.id.into(),
            format!("{:.1}", version.capability),
            version.change.into(),
            or_dash(record.map(|one| text("ratio", one.time_s.median, None))),
            or_dash(record.map(|one| text("tflops", one.tflops, None))),
        ]
    };
    let headings = ["version", "capability", "what it changes", "time [s]", "TFLOP/s"];
    tables::markdown(&headings, versions::ALL.iter().map(row))
}

fn by_bands(matrices: &Matrices) -> String {
    let mut counts: Vec<usize> = matrices.all.keys().map(|(_, bands, _)| *bands).collect();
    counts.dedup();
    counts.sort_unstable();
    counts.dedup();
    let row = |bands: usize| {
        let record = matrices.chosen(bands)?;
        Some(vec![
            bands.to_string(),
            record.version.clone().unwrap_or_default(),
            text("ratio", record.time_s.median, None),
            text("tflops", record.tflops, None),
            or_dash(matrices.over_library(record, bands).map(|ratio| text("ratio", ratio, None))),
            format!("{:.0}", matrices.over_runs(record, bands)),
        ])
    };
    let runs = format!("over {RUNS_OF} for each element");
    let headings = ["bands", "version", "time [s]", "TFLOP/s", "over the library", &runs];
    tables::markdown(&headings, counts.into_iter().filter_map(row))
}
