//! The record of a tuning: a version in every shape of tiles that has kernels.

use serde::{Deserialize, Serialize};

use super::run::{Measurement, TileShape};
use super::state::State;
use super::system::Poles;
use super::times::Times;
use super::{Head, Kind, Record};
use crate::catalogue::tuned::Tuned;
use crate::reference::verify::Outcome;

/// Shapes of one version on one problem and device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// The system's name.
    pub system: String,
    /// The version's id.
    pub version: String,
    /// The poles of the problem.
    pub poles: Poles,
    /// Shapes to try; null in older records.
    pub shapes: Option<usize>,
    /// Shapes tried, those that cannot run included; null in older records.
    pub tried: Option<usize>,
    /// What was measured.
    pub results: Vec<Trial>,
    /// The fastest shape that passed, where all were tried: [`crate::analysis::tuning`] names it.
    pub best: Option<Tuned>,
}

impl Record for Tuning {
    const KIND: Kind = Kind::Tuning;
}

impl Tuning {
    /// Whether every shape passed.
    pub fn passed(&self) -> bool {
        self.results.iter().all(|trial| trial.outcome == Outcome::Passed)
    }
}

/// One shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Tile, warps and the cap of registers.
    #[serde(flatten)]
    pub shape: TileShape,
    /// The kernel's symbol and the hash of its code; null on a processor and in older records.
    #[serde(default)]
    pub kernel: Option<String>,
    /// See `kernel`.
    #[serde(default)]
    pub kernel_hash: Option<String>,
    /// What tells the version's source from others'; null in older records.
    pub source_hash: Option<String>,
    /// Times of the calculation.
    #[serde(rename = "time_s")]
    pub times: Times,
    /// The GPU during these runs; null without NVML, on a processor, and in older records.
    pub state: Option<State>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Local memory of a thread in bytes.
    pub local_bytes: Option<u32>,
    /// Warps that fit on a multiprocessor.
    pub warps_per_sm: Option<u32>,
    /// How it came out.
    pub outcome: Outcome,
}

impl Trial {
    /// What a measurement says of a shape.
    pub fn of(shape: TileShape, measured: &Measurement) -> Trial {
        Trial {
            shape,
            kernel: measured.kernel.clone(),
            kernel_hash: measured.kernel_hash.clone(),
            source_hash: measured.source_hash.clone(),
            times: measured.times.clone(),
            state: measured.state.clone(),
            registers: measured.registers,
            local_bytes: measured.local_bytes,
            warps_per_sm: measured.warps_per_sm,
            outcome: measured.outcome(),
        }
    }
}
