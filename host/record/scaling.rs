//! The record of a scaling: a version's time against each extent.

use serde::{Deserialize, Serialize};

use super::state::State;
use super::{Head, Kind, Record};
use crate::reference::Source;
use crate::reference::verify::Outcome;

/// A version on systems of different extents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// The version's id.
    pub version: String,
    /// Whether the systems have complex modes.
    pub complex_modes: bool,
    /// What was measured.
    pub points: Vec<Point>,
}

impl Record for Scaling {
    const KIND: Kind = Kind::Scaling;
}

impl Scaling {
    /// Whether every point passed.
    pub fn passed(&self) -> bool {
        self.points.iter().all(|point| point.outcome == Outcome::Passed)
    }
}

/// The extent that varies along a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// Bands.
    Nbands,
    /// G′ vectors.
    Ngpown,
    /// G vectors.
    Ncouls,
    /// Energies.
    Nw,
    /// All but the energies.
    All,
}

impl Line {
    /// As in records.
    pub fn name(self) -> &'static str {
        match self {
            Line::Nbands => "nbands",
            Line::Ngpown => "ngpown",
            Line::Ncouls => "ncouls",
            Line::Nw => "nw",
            Line::All => "all",
        }
    }
}

/// One point of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The line.
    pub line: Line,
    /// Bands.
    pub nbands: usize,
    /// G′ vectors.
    pub ngpown: usize,
    /// G vectors.
    pub ncouls: usize,
    /// Energies.
    pub nw: usize,
    /// The kernel's symbol and the hash of its code; null on a processor and in older records.
    #[serde(default)]
    pub kernel: Option<String>,
    /// See `kernel`.
    #[serde(default)]
    pub kernel_hash: Option<String>,
    /// What tells the version's source from others'; null in older records.
    pub source_hash: Option<String>,
    /// The GPU during the timed runs; null without NVML, on a processor, and in older records.
    pub state: Option<State>,
    /// Terms of the sum.
    pub terms: u64,
    /// Median time in milliseconds.
    pub time_ms: f64,
    /// Its standard deviation; null in older records.
    pub sigma_ms: Option<f64>,
    /// Terms by the median time, a second.
    pub terms_per_s: f64,
    /// Terms a second over those of the line's fastest point: [`crate::analysis::scaling`] finds it.
    pub efficiency: Option<f64>,
    /// How it came out.
    pub outcome: Outcome,
    /// What it was compared with; null in older records, which took v3 on the same device.
    pub reference: Option<Source>,
}
