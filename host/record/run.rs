//! The record of a run and its JSON. Fields that do not apply are null, never missing.

use serde::Serialize;
use serde_json::{Value, json};

use crate::devices::DeviceInfo;
use crate::experiments::measure::{Record, Repetition};
use crate::problem::Problem;
use crate::process::startup;
use crate::record::provenance::{PROGRAM, Provenance};

/// Version of the JSON's layout.
pub const SCHEMA: u64 = 1;

/// What a record tells of the system.
#[derive(Clone, Debug, Serialize)]
pub struct SystemInfo {
    /// System name or file name.
    pub name: String,
    /// Bands.
    pub nbands: usize,
    /// Occupied bands.
    pub nvband: i32,
    /// G′ vectors.
    pub ngpown: usize,
    /// G vectors.
    pub ncouls: usize,
    /// First energy.
    pub nstart: usize,
    /// Last energy.
    pub nend: usize,
    /// Terms of the sum: (n, igp, ig, iw).
    #[serde(skip)]
    pub terms: u64,
}

/// Versions run on one problem and device: all that tables and JSON read.
#[derive(Clone, Debug)]
pub struct Run {
    /// The device.
    pub device: DeviceInfo,
    /// The problem.
    pub system: SystemInfo,
    /// Where the record comes from.
    pub provenance: Provenance,
    /// What was measured of each version.
    pub records: Vec<Record>,
}

impl Run {
    /// A run that begins.
    pub fn new(device: &DeviceInfo, problem: &Problem, repetition: Repetition) -> Run {
        let h = problem.header();
        Run {
            device: device.clone(),
            system: SystemInfo {
                name: problem.name().into(),
                nbands: h.nbands,
                nvband: h.nvband,
                ngpown: h.ngpown,
                ncouls: h.ncouls,
                nstart: h.nstart,
                nend: h.nend,
                terms: problem.terms(),
            },
            provenance: Provenance::now(device).of(problem.origin(), repetition),
            records: Vec::new(),
        }
    }

    /// The object that `--json` writes; `complete` is false for what an interrupt or an error left.
    pub fn document(&self, complete: bool) -> Value {
        json!({
            "schema": SCHEMA,
            "program": PROGRAM,
            "provenance": self.provenance,
            "complete": complete,
            "startup_s": startup::seconds(),
            "device": self.device,
            "system": self.system,
            "results": self.records.iter().map(result).collect::<Vec<_>>(),
        })
    }
}

fn result(record: &Record) -> Value {
    let pairs = |sums: &[num_complex::Complex64]| -> Vec<[Value; 2]> {
        sums.iter().map(|z| [json!(z.re), json!(z.im)]).collect()
    };
    json!({
        "version": record.version,
        "device": record.device,
        "time_s": record.times,
        "spread": {
            "sigma_s": record.times.sigma(),
            "relative": record.times.relative_spread(),
            "outliers": record.times.outliers(),
        },
        "flops": record.flops,
        "flops_source": record.flops_source,
        "tflops": record.tflops(),
        "registers": record.kernel.registers,
        "local_bytes": record.kernel.local_bytes,
        "warps_per_sm": record.kernel.warps_per_sm,
        "threads_per_block": record.threads_per_block,
        "blocks": record.blocks,
        "shape": record.shape,
        "asx": pairs(&record.sums.asx),
        "ach": pairs(&record.sums.ach),
        "deterministic": record.deterministic,
        "verification": record.verification,
    })
}
