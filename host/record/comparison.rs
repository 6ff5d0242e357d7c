//! The record of a comparison: our kernels against the yardstick's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::state::State;
use super::system::Poles;
use super::times::{BeforeCap, Spread, Times, Verdict};
use super::{Head, Kind, Record};
use crate::reference::verify::Outcome;

/// Both sides on some systems: what `gpp compare --json` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// The yardstick's compiler.
    pub yardstick: String,
    /// Timed runs of each side.
    pub repeat: Option<usize>,
    /// Each version by both sides.
    pub parity: Vec<Parity>,
    /// Geometric means of ours over the yardstick's, by system.
    #[serde(default)]
    pub geometric_mean: BTreeMap<String, f64>,
    /// The best version against the yardstick's v8.
    pub best: Vec<Best>,
    /// The yardstick's v8 over the best version, by poles.
    #[serde(default)]
    pub best_over_cuda_v8: ByPoles,
    /// Of the best version on the first system.
    pub fp64_pipe_percent: Option<f64>,
    /// Sums that did not pass; older records do not tell.
    #[serde(default)]
    pub failures: Vec<Failure>,
}

impl Record for Comparison {
    const KIND: Kind = Kind::Comparison;
}

/// Whose kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Ours.
    Rust,
    /// The yardstick's.
    Cuda,
}

/// Sums that did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The version's id.
    pub version: String,
    /// The system's name.
    pub system: String,
    /// Whose kernels.
    pub by: By,
    /// How they came out.
    pub outcome: Outcome,
}

/// A figure for each kind of poles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ByPoles {
    /// Of problems with real poles.
    pub real: Option<f64>,
    /// Of those with complex poles.
    pub complex: Option<f64>,
}

/// One version on one system, by both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parity {
    /// The version's id.
    pub version: String,
    /// The system's name.
    pub system: String,
    /// Median time of our kernels.
    pub rust_ms: f64,
    /// Median time of the yardstick's.
    pub cuda_ms: f64,
    /// Ours over the yardstick's.
    pub ratio: f64,
    /// The same of the runs before the limit of power lowered the clock of either; null in older records.
    pub ratio_before_cap: Option<f64>,
    /// Our kernel's symbol, the hash of its code, 16 hexadecimal digits, and that of its source; null in older
    /// records.
    #[serde(default)]
    pub kernel: Option<String>,
    /// See `kernel`.
    #[serde(default)]
    pub kernel_hash: Option<String>,
    /// See `kernel`.
    pub source_hash: Option<String>,
    /// Largest relative error of ours.
    pub rust_error: Option<f64>,
    /// Largest relative error of the yardstick's.
    pub cuda_error: Option<f64>,
    /// Ours, run by run; null in older records.
    pub rust: Option<Competitor>,
    /// The yardstick's, run by run; null in older records.
    pub cuda: Option<Competitor>,
    /// Whether they differ by more than noise; null of few runs, and in older records.
    pub verdict: Option<Verdict>,
}

/// Timed runs of one side, each after others of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Competitor {
    /// Times of the calculation.
    #[serde(rename = "time_s")]
    pub times: Times,
    /// How far they lie apart.
    pub spread: Spread,
    /// Runs before the limit of power lowered the clock; null where none ended before that, and in older
    /// records.
    pub before_cap: Option<BeforeCap>,
    /// The GPU during these runs; null without NVML.
    pub state: Option<State>,
    /// Runs during which something held the clock back; null without NVML.
    pub held_back: Option<usize>,
}

/// The best version against the yardstick's v8 on one system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The best version's id.
    pub version: String,
    /// The system's name.
    pub system: String,
    /// The poles of the system.
    pub poles: Poles,
    /// The best version's kernel, the hash of its code and that of its source; null in older records.
    #[serde(default)]
    pub kernel: Option<String>,
    /// See `kernel`.
    #[serde(default)]
    pub kernel_hash: Option<String>,
    /// See `kernel`.
    pub source_hash: Option<String>,
    /// Median time of the best version.
    pub best_ms: f64,
    /// Median time of the yardstick's v8.
    pub cuda_v8_ms: f64,
    /// The yardstick's v8 over the best.
    pub cuda_v8_over_best: f64,
    /// The same of the runs before the limit of power lowered the clock of either; null in older records.
    pub over_best_before_cap: Option<f64>,
    /// Largest relative error of the best.
    pub best_error: Option<f64>,
    /// Largest relative error of our v3.
    pub v3_error: Option<f64>,
    /// Share of the time in which the FP64 pipe was busy, by ncu.
    pub fp64_pipe_percent: Option<f64>,
    /// Bytes that memory moved, by ncu.
    pub hbm_bytes: Option<f64>,
    /// The best version, run by run; null in older records.
    pub best: Option<Competitor>,
    /// The yardstick's v8, run by run; null in older records.
    pub cuda_v8: Option<Competitor>,
    /// Whether they differ by more than noise; null of few runs, and in older records.
    pub verdict: Option<Verdict>,
}
