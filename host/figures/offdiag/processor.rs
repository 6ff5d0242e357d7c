//! Σ as a matrix on a processor: records of each number of bands, the yardstick's times, and the processor's ceilings.

use std::path::PathBuf;

use serde::Deserialize;

use super::Result;
use crate::error::FigureError;
use crate::figures::archive::Archive;
use crate::figures::quantities::text;
use crate::figures::{processor, tables};
use crate::record;
use crate::record::ceilings::Ceilings;
use crate::record::offdiag::Offdiag;
use crate::render::table::or_dash;

/// The folder, beside those of the processor's other records.
pub const NAME: &str = "offdiag";

/// Bands of the records.
const BANDS: [usize; 5] = [32, 64, 96, 128, 256];

/// A row of the yardstick's, `benches/fortran/offdiag.f90`.
#[derive(Deserialize)]
struct Yardstick {
    bands: usize,
    way: String,
    gflops: f64,
}

fn folder(archive: &Archive) -> PathBuf {
    archive.path(processor::NAME).with_file_name(NAME)
}

/// The records, of more and more bands.
///
/// # Errors
/// What is wrong with a file.
pub fn records(archive: &Archive) -> Result<Vec<Offdiag>> {
    let of = |bands| record::read(&folder(archive).join(format!("demo-{bands}.json")));
    let all = BANDS.into_iter().map(of);
    all.collect::<crate::Result<_>>().map_err(|error| FigureError::Record(error.to_string()))
}

/// GFLOP/s, their part of the measured ceiling, and those of Fortran with OpenBLAS and with plain loops.
///
/// # Errors
/// What is wrong with a file.
pub fn table(archive: &Archive) -> Result<String> {
    let failed = |error: &dyn ToString| FigureError::Record(error.to_string());
    let folder = folder(archive);
    let ceilings: Ceilings = record::read(&folder.with_file_name("demo").join("ceilings.json"))
        .map_err(|error| failed(&error))?;
    let rows =
        csv::Reader::from_path(folder.join("fortran.csv")).map_err(|error| failed(&error))?;
    let rows: std::result::Result<Vec<Yardstick>, _> = rows.into_deserialize().collect();
    let rows = rows.map_err(|error| failed(&error))?;
    let row = |record: Offdiag| {
        let bands = record.count();
        let own = 1e12 * record.results[0].tflops;
        let of = |way: &str| {
            let mut rows = rows.iter().filter(|row| row.bands == bands && row.way == way);
            rows.next().map(|row| row.gflops)
        };
        let gflops = |value: f64| format!("{value:.0}");
        let library = of("library");
        vec![
            bands.to_string(),
            gflops(1e-9 * own),
            format!("{:.0} %", 100.0 * own / ceilings.fp64),
            or_dash(library.map(gflops)),
            or_dash(of("plain").map(gflops)),
            or_dash(library.map(|library| text("ratio", 1e-9 * own / library, None))),
        ]
    };
    let headings =
        ["bands", "GFLOP/s", "of the ceiling", "OpenBLAS", "plain loops", "over OpenBLAS"];
    Ok(tables::markdown(&headings, records(archive)?.into_iter().map(row)))
}
