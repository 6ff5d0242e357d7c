//! Counters of a version by the profiler, and the ceilings of a device.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::run::State;
use crate::record::{Provenance, Record};

/// One version's profile on one system and device, all launches of a calculation together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub schema: u32,
    pub version: String,
    pub system: String,
    /// Terms of the sum: (n, igp, ig, iw).
    pub terms: u64,
    pub nw: Option<u32>,
    pub device: String,
    pub source: String,
    pub provenance: Option<Provenance>,
    /// Median time of the calculation without a profiler; null if it was not run.
    pub time_s: Option<f64>,
    /// Sum of the launches' durations under the profiler.
    pub duration_s: f64,
    /// FP64 additions of all threads.
    pub dadd: f64,
    pub dmul: f64,
    pub dfma: f64,
    pub bytes: Bytes,
    pub l1_hit_percent: Option<f64>,
    pub l2_hit_percent: Option<f64>,
    /// Share of the time in which the FP64 pipe was busy.
    pub fp64_pipe_percent: Option<f64>,
    /// Use of `issue slots`, `ALU`, `MUFU` and `load/store` in percent of their peaks.
    #[serde(default)]
    pub pipes_percent: BTreeMap<String, f64>,
    /// Cycles of a multiprocessor, all launches, under the profiler.
    pub cycles: Option<f64>,
    pub registers: Option<u32>,
    /// Warps active on a multiprocessor, on average.
    pub warps_per_sm: Option<f64>,
    /// Shares of the cycles between two instructions of a warp, by the reason for its stall.
    pub stalls: BTreeMap<String, f64>,
    pub launches: Vec<String>,
}

/// Bytes moved at each level of the memory; null if they are not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    pub hbm: f64,
    /// Between L1 and L2.
    pub l2: Option<f64>,
    /// Global and local memory, without shared memory.
    pub l1: Option<f64>,
    pub shared: Option<f64>,
}

impl Record for Profile {
    const KIND: &'static str = "profile";
    const WRITTEN_BY: &'static str = "`gpp profile` makes it";
}

impl Profile {
    /// FP64 operations, a fused one counting two.
    pub fn flops(&self) -> f64 {
        self.dadd + self.dmul + 2.0 * self.dfma
    }

    pub fn flops_per_term(&self) -> f64 {
        self.flops() / self.terms as f64
    }

    /// Share of fused operations among FP64 arithmetic instructions.
    pub fn fma_ratio(&self) -> f64 {
        self.dfma / (self.dadd + self.dmul + self.dfma)
    }

    /// Time without the profiler, if it was measured.
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(self.duration_s)
    }

    pub fn rate(&self) -> f64 {
        self.flops() / self.seconds()
    }

    /// The leading stall and its share.
    pub fn main_stall(&self) -> Option<(&str, f64)> {
        let stalls = self.stalls.iter().map(|(reason, share)| (reason.as_str(), *share));
        let waits = stalls.filter(|(reason, _)| !ELIGIBLE.contains(reason));
        waits.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Reasons of [`Profile::stalls`] for which a warp does not wait: it issues, or another warp does.
pub const ELIGIBLE: [&str; 2] = ["selected", "not_selected"];

/// Measured ceilings of a device, in operations and bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    pub schema: u32,
    pub device: String,
    pub provenance: Option<Provenance>,
    /// The GPU while `fp64_sustained` was measured; null without NVML.
    pub state: Option<State>,
    /// FMA in FP64, two operations each, in a burst at the highest clock.
    pub fp64: f64,
    /// The same for seconds, at the clock that the power limit leaves; null of a CPU.
    pub fp64_sustained: Option<f64>,
    pub hbm: f64,
    pub l2: f64,
    pub l1: f64,
    pub theoretical: Theoretical,
}

impl Record for Ceilings {
    const KIND: &'static str = "ceilings";
    const WRITTEN_BY: &'static str = "`gpp profile` makes it";
}

/// Ceilings by the device's highest clocks and widths, if these are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theoretical {
    pub fp64: Option<f64>,
    /// Memory clock × bus width, two transfers a clock.
    pub hbm: Option<f64>,
    /// 128 bytes a clock and multiprocessor.
    pub l1: Option<f64>,
    /// Shared memory: 4 bytes × 32 lanes a clock and multiprocessor.
    pub shared: Option<f64>,
}
