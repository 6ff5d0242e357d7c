//! Clock, power and energy of sustained runs, as the device's own tools tell them.

use serde::{Deserialize, Serialize};

use super::{Kind, Record};

/// Versions that ran long enough for the device to settle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Layout of the record.
    pub schema: u32,
    /// The device's name.
    pub device: String,
    /// The GPU's driver.
    pub driver: String,
    /// The device's limit in watts.
    pub power_limit_w: f64,
    /// The kernels' commit and compiler.
    pub kernels: String,
    /// The system's name.
    pub system: String,
    /// How it was measured.
    pub how: String,
    /// One line for each version.
    pub versions: Vec<Sustained>,
    /// What L2 moved, of versions where it was counted.
    pub l2_bytes: Vec<L2Bytes>,
}

impl Record for Clock {
    const KIND: Kind = Kind::Clock;
}

/// A version that runs again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sustained {
    /// The version's id.
    pub version: String,
    /// Time of a calculation.
    pub time_ms: f64,
    /// Clock of the multiprocessors.
    pub sm_mhz: f64,
    /// Power.
    pub power_w: f64,
    /// Energy of a calculation.
    pub energy_j: f64,
    /// What held the clock back.
    pub throttle: String,
}

/// Bytes that L2 moved for a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct L2Bytes {
    /// The version's id.
    pub version: String,
    /// All.
    pub all: f64,
    /// Those that L1 asked for.
    pub from_l1: f64,
    /// Those from one of its halves to the other.
    pub between_halves: f64,
}
