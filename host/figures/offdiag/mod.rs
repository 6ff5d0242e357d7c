//! Σ as a matrix on a GPU: a folder with a record of each system, number of bands and version, and the library's times.

pub mod processor;
pub mod roofline;

use std::collections::BTreeSet;

use gpp_core::offdiag::versions;
use serde::Deserialize;

use crate::error::FigureError;
use crate::experiments::offdiag::folder::Folder;
use crate::figures::archive::Archive;
use crate::figures::quantities::text;
use crate::figures::tables;
use crate::record::offdiag::{OfVersion, Offdiag};
use crate::render::matrices as render;
use crate::render::table::{Cells, or_dash};

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
    folder: Folder,
    library: Vec<Library>,
    /// Seconds of one element at all energies.
    element: f64,
}

/// A version's calculations, and the record that has them.
struct Found<'a> {
    record: &'a Offdiag,
    own: &'a OfVersion,
}

impl Matrices {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with a file.
    pub fn read(archive: &Archive) -> Result<Matrices> {
        let failed = |error: &dyn ToString| FigureError::Record(error.to_string());
        let folder = folder(archive)?;
        let library = csv::Reader::from_path(folder.path.join("library.csv"));
        let library = library.map_err(|error| failed(&error))?.into_deserialize();
        let library =
            library.collect::<std::result::Result<_, _>>().map_err(|error| failed(&error))?;
        let element = archive.system(SYSTEM)?.result(RUNS_OF)?.times.median;
        Ok(Matrices { folder, library, element })
    }

    /// All calculations of a version, with their records.
    pub fn records(&self) -> impl Iterator<Item = (&Offdiag, &OfVersion)> {
        let all = self.folder.records.iter();
        all.flat_map(|record| record.results.iter().map(move |own| (record, own)))
    }

    /// That of the version which is chosen where none is asked for, among those of a system and number of bands.
    fn chosen(&self, system: &str, bands: usize) -> Option<Found<'_>> {
        let version = versions::fastest(9.0, bands)?.id;
        let (record, own) = self.folder.find(system, bands, version)?;
        Some(Found { record, own })
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
/// version that is chosen; or one of [`roofline`], behind that word.
///
/// # Errors
/// What there is none of.
pub fn figure(archive: &Archive, name: &str) -> Result<String> {
    let (what, bands) = match name.split_whitespace().collect::<Vec<_>>()[..] {
        ["roofline", ref words @ ..] => return roofline::figure(archive, words),
        [what, bands] => (what, bands),
        _ => return Err(FigureError::Unknown("figure")),
    };
    let matrices = Matrices::read(archive)?;
    let none = || FigureError::missing("the matrices", format!("{bands} bands"));
    let found = bands.parse().ok().and_then(|bands| matrices.chosen(SYSTEM, bands));
    let found = found.ok_or_else(none)?;
    let over = || matrices.over_library(&found).ok_or_else(none);
    match what {
        "tflops" => Ok(text("tflops", found.own.tflops, None)),
        "seconds" => Ok(text("ratio", found.own.time_s.median, None)),
        "over-library" => Ok(text("ratio", over()?.0, None)),
        "joules" => Ok(text("ratio", over()?.1.ok_or_else(none)?, None)),
        "over-runs" => Ok(format!("{:.0}", matrices.over_runs(&found))),
        _ => Err(FigureError::Unknown("figure")),
    }
}

/// The records on a GPU.
fn folder(archive: &Archive) -> Result<Folder> {
    Folder::load(&archive.path(NAME)).map_err(|error| FigureError::Record(error.to_string()))
}

/// A table: `versions` and `counters` at 128 bands of si214, `bands SYSTEM`, or `processor`.
///
/// # Errors
/// What there is none of.
pub fn table(archive: &Archive, name: &str) -> Result<String> {
    match name.split_whitespace().collect::<Vec<_>>()[..] {
        ["versions"] => Ok(markdown(render::by_version(&folder(archive)?, SYSTEM, BANDS))),
        ["processor"] => processor::table(archive),
        ["counters"] => Ok(markdown(render::counters(&folder(archive)?))),
        ["bands", system] => Ok(by_bands(&Matrices::read(archive)?, system)),
        _ => Err(FigureError::Unknown("table")),
    }
}

fn markdown(Cells { headings, rows }: Cells) -> String {
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    tables::markdown(&headings, rows)
}

fn by_bands(matrices: &Matrices, system: &str) -> String {
    let of_system = matrices.folder.records.iter().filter(|record| record.system.name == system);
    let counts: BTreeSet<usize> = of_system.map(Offdiag::count).collect();
    let row = |bands: usize| {
        let found = matrices.chosen(system, bands)?;
        let library = matrices.library(&found);
        let over = matrices.over_library(&found);
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
        let runs = (system == SYSTEM).then(|| format!("{:.0}", matrices.over_runs(&found)));
        let [mhz, watts, _] = render::of_board(Some(found.own));
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
