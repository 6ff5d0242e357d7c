//! Our kernels against the yardstick's: the record of `gpp compare` and its tables.

use serde::Serialize;

use super::table::{fit, or_dash, table};

/// One version on one system, by both sides.
#[derive(Clone, Debug, Serialize)]
pub struct Parity {
    /// The version's id.
    pub version: &'static str,
    /// The system's name.
    pub system: String,
    /// Median time of our kernels.
    pub rust_ms: f64,
    /// Median time of the yardstick's.
    pub cuda_ms: f64,
    /// Ours over the yardstick's.
    pub ratio: f64,
    /// Largest relative error of ours.
    pub rust_error: Option<f64>,
    /// Largest relative error of the yardstick's.
    pub cuda_error: Option<f64>,
}

/// The best version against the yardstick's v8 on one system.
#[derive(Clone, Debug, Serialize)]
pub struct Best {
    /// The best version's id.
    pub version: &'static str,
    /// The system's name.
    pub system: String,
    /// `real` or `complex`.
    pub poles: &'static str,
    /// Median time of the best version.
    pub best_ms: f64,
    /// Median time of the yardstick's v8.
    pub cuda_v8_ms: f64,
    /// The yardstick's v8 over the best.
    pub cuda_v8_over_best: f64,
    /// Largest relative error of the best.
    pub best_error: Option<f64>,
    /// Largest relative error of our v3.
    pub v3_error: Option<f64>,
    /// Share of the time in which the FP64 pipe was busy, by ncu.
    pub fp64_pipe_percent: Option<f64>,
    /// Bytes that memory moved, by ncu.
    pub hbm_bytes: Option<f64>,
}

/// Our times against the yardstick's.
pub fn sides(rows: &[Parity], width: Option<u16>) -> String {
    let mut table = table(&[
        "system",
        "version",
        "Rust [ms]",
        "CUDA [ms]",
        "Rust/CUDA",
        "Rust rel. error",
        "CUDA rel. error",
    ]);
    let error = |error: Option<f64>| or_dash(error.map(|error| format!("{error:.1e}")));
    for row in rows {
        table.add_row([
            row.system.clone(),
            row.version.into(),
            format!("{:.2}", row.rust_ms),
            format!("{:.2}", row.cuda_ms),
            format!("{:.3}", row.ratio),
            error(row.rust_error),
            error(row.cuda_error),
        ]);
    }
    fit(table, &[6, 5], width)
}

/// The best version against the yardstick's v8.
pub fn best(rows: &[Best], width: Option<u16>) -> String {
    let mut table = table(&[
        "system",
        "version",
        "poles",
        "time [ms]",
        "CUDA v8 [ms]",
        "CUDA v8/best",
        "rel. error",
        "v3 rel. error",
        "FP64 busy",
        "HBM [GB]",
    ]);
    let error = |error: Option<f64>| or_dash(error.map(|error| format!("{error:.1e}")));
    for row in rows {
        table.add_row([
            row.system.clone(),
            row.version.into(),
            row.poles.into(),
            format!("{:.2}", row.best_ms),
            format!("{:.2}", row.cuda_v8_ms),
            format!("{:.2}×", row.cuda_v8_over_best),
            error(row.best_error),
            error(row.v3_error),
            or_dash(row.fp64_pipe_percent.map(|busy| format!("{busy:.0} %"))),
            or_dash(row.hbm_bytes.map(|bytes| format!("{:.2}", bytes / 1e9))),
        ]);
    }
    fit(table, &[7, 9, 6], width)
}
