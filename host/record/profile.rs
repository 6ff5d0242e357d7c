//! What a profiler measured of each version: one record, aggregated over its launches.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::run::State;
use crate::record::{Kind, Provenance, Record};

/// One version's profile on one system and device, all launches of a calculation together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub schema: u32,
    pub version: String,
    pub system: String,
    /// Terms of the sum: (n, igp, ig, iw).
    pub terms: u64,
    /// Energies.
    pub nw: Option<u32>,
    pub device: String,
    pub source: String,
    /// Where the record comes from.
    pub provenance: Option<Provenance>,
    /// Median time of the calculation by events, without a profiler; `None` where it was not run.
    pub time_s: Option<f64>,
    /// Sum of the launches' durations under the profiler.
    pub duration_s: f64,
    /// Additions in FP64, each on one number, as the hardware counts them.
    pub dadd: f64,
    pub dmul: f64,
    pub dfma: f64,
    pub bytes: Bytes,
    /// Hit rate of L1 in percent, over the launches by time.
    pub l1_hit_percent: Option<f64>,
    /// Hit rate of L2 in percent.
    pub l2_hit_percent: Option<f64>,
    /// Share of the time in which the FP64 pipe was busy, in percent.
    pub fp64_pipe_percent: Option<f64>,
    /// Share of the peak that other pipes and the issue slots were used to, in percent, by name:
    /// `issue slots`, `ALU`, `MUFU`, `load/store`.
    #[serde(default)]
    pub pipes_percent: BTreeMap<String, f64>,
    /// Cycles of a multiprocessor, all launches, under the profiler.
    pub cycles: Option<f64>,
    /// Registers of a thread of the version's kernel.
    pub registers: Option<u32>,
    /// Warps active on a multiprocessor, on average.
    pub warps_per_sm: Option<f64>,
    /// Why warps waited: share of the cycles between two instructions of a warp, by reason.
    pub stalls: BTreeMap<String, f64>,
    pub launches: Vec<String>,
}

/// Bytes moved between two levels and the next; null where they are not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    pub hbm: f64,
    /// L2, what L1 asked for.
    pub l2: Option<f64>,
    /// From one half of L2 to the other.
    pub l2_fabric: Option<f64>,
    /// L1, shared memory left out.
    pub l1: Option<f64>,
    /// Shared memory.
    pub shared: Option<f64>,
}

impl Record for Profile {
    const KIND: Kind = Kind::Profile;
}

impl Profile {
    /// FP64 operations, a fused one counting two.
    pub fn flops(&self) -> f64 {
        self.dadd + self.dmul + 2.0 * self.dfma
    }

    /// [`Profile::flops`] of a term.
    pub fn flops_per_term(&self) -> f64 {
        self.flops() / self.terms as f64
    }

    /// Share of fused operations among FP64 arithmetic instructions.
    pub fn fma_ratio(&self) -> f64 {
        self.dfma / (self.dadd + self.dmul + self.dfma)
    }

    /// The time to rate by: without the profiler where there is one.
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(self.duration_s)
    }

    pub fn rate(&self) -> f64 {
        self.flops() / self.seconds()
    }

    /// The reason that warps waited for most, and its share. A warp not selected waits for nothing:
    /// another issued in its place.
    pub fn main_stall(&self) -> Option<(&str, f64)> {
        self.stalls
            .iter()
            .filter(|(reason, _)| !["selected", "not_selected"].contains(&reason.as_str()))
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map(|(reason, share)| (reason.as_str(), *share))
    }
}

// What a device can do. Measured and theoretical figures are kept apart.

/// Measured ceilings of a device, in operations and bytes a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    pub schema: u32,
    pub device: String,
    /// Where the record comes from.
    pub provenance: Option<Provenance>,
    /// The GPU while `fp64_sustained` was measured; null without NVML, of a CPU.
    pub state: Option<State>,
    /// FP64 operations, all of them fused: the highest rate at which launches in a row were seen; of a CPU
    /// in the widest vectors that were used.
    pub fp64: f64,
    /// FP64 operations sustained for seconds, at the clock that the power limit leaves; null of a CPU.
    pub fp64_sustained: Option<f64>,
    pub hbm: f64,
    /// Reads from L2.
    pub l2: f64,
    /// Reads from L1.
    pub l1: f64,
    pub theoretical: Theoretical,
}

impl Record for Ceilings {
    const KIND: Kind = Kind::Ceilings;
}

/// Ceilings computed from the device's clocks and widths, where these are known: not of a CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theoretical {
    /// FP64 operations at the highest clock, where the capability's lanes are known.
    pub fp64: Option<f64>,
    /// Memory clock × bus width, two transfers a clock.
    pub hbm: Option<f64>,
    /// 128 bytes a clock and multiprocessor.
    pub l1: Option<f64>,
    /// Shared memory: 4 bytes × 32 lanes a clock and multiprocessor.
    pub shared: Option<f64>,
}
