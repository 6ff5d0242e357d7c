//! Records of measurements: all tables and charts read them, whether just made or from a file. A record is one JSON
//! object; `kind` names its type. Fields that do not apply are null.

pub mod run;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use gpp_core::BUILT_BY;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::devices::{DeviceInfo, gpu};
use crate::error::{Result, invalid};
use crate::output::input;
use crate::problem::Origin;

/// The layout of records, which changes when a reader of an earlier one would misread them.
pub const SCHEMA: u32 = 7;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub program: String,
    pub provenance: Provenance,
    /// False after an interrupt or an error.
    pub complete: bool,
    pub device: DeviceInfo,
}

impl Head {
    /// Of a run that begins.
    pub fn new(device: &DeviceInfo, origin: &Origin, repetition: Repetition) -> Head {
        let (seed, input) = match origin {
            Origin::System(_, seed) => (Some(*seed), None),
            Origin::File(path) => (None, Some(path.display().to_string())),
            Origin::Made => (None, None),
        };
        let (warmup, repeat) = (Some(repetition.warmup), Some(repetition.repeat));
        let provenance = Provenance { seed, input, warmup, repeat, ..Provenance::now(device) };
        Head { program: PROGRAM.into(), provenance, complete: false, device: device.clone() }
    }
}

pub trait JsonRecord: Serialize + DeserializeOwned {
    const KIND: &'static str;
    const WRITTEN_BY: &'static str;
}

pub fn read<R: JsonRecord>(path: &Path) -> Result<R> {
    let text = input::text(path)
        .map_err(|e| invalid(path.display(), format!("cannot read: {e}; {}", R::WRITTEN_BY)))?;
    parse(&text, path)
}

pub fn parse<R: JsonRecord>(text: &str, path: &Path) -> Result<R> {
    let wrong = |what: String| invalid(path.display(), what);
    let marks: serde_json::Value = serde_json::from_str(text)
        .map_err(|e| wrong(format!("is not a JSON record of gpp: {e}; {}", R::WRITTEN_BY)))?;
    let kind = marks["kind"].as_str().unwrap_or("none");
    if kind != R::KIND {
        let what = format!("needs a record of kind {}, has {kind}; {}", R::KIND, R::WRITTEN_BY);
        return Err(wrong(what));
    }
    if marks["schema"] != SCHEMA {
        return Err(wrong(format!("needs schema {SCHEMA}, has {}", marks["schema"])));
    }
    serde_json::from_str(text)
        .map_err(|e| wrong(format!("is not a record of kind {}: {e}", R::KIND)))
}

/// The JSON of a record, without the end of the last line.
pub fn text<R: JsonRecord>(record: &R) -> String {
    #[derive(Serialize)]
    struct Marked<'a, R> {
        kind: &'static str,
        schema: u32,
        #[serde(flatten)]
        record: &'a R,
    }
    let marked = Marked { kind: R::KIND, schema: SCHEMA, record };
    serde_json::to_string_pretty(&marked).expect("plain values under names")
}

/// The program's commit, if the build knew it; it ends in `-dirty` if files had changed.
const COMMIT: Option<&str> = option_env!("GPP_COMMIT");

pub const PROGRAM: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

pub fn program() -> String {
    let [commit, by] = [COMMIT, BUILT_BY].map(|name| name.unwrap_or("unknown"));
    format!("{PROGRAM} at commit {commit} by {by}")
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// When it began, RFC 3339, UTC.
    pub date: String,
    pub host: Option<String>,
    pub commit: Option<String>,
    /// The compiler of the kernels and its LLVM; null of PTX that `GPP_PTX` names.
    pub kernels_by: Option<String>,
    /// The file that `GPP_PTX` names instead of the program's own kernels.
    pub ptx: Option<String>,
    pub program_by: Option<String>,
    pub driver: Option<String>,
    pub seed: Option<u64>,
    pub input: Option<String>,
    /// Runs of each version before the timed ones; null if emulated versions had another number.
    pub warmup: Option<usize>,
    /// Timed runs of each version, as asked for; null if `warmup` is.
    pub repeat: Option<usize>,
}

impl Provenance {
    pub fn now(device: &DeviceInfo) -> Provenance {
        let ptx = std::env::var("GPP_PTX").ok();
        Provenance {
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            host: sysinfo::System::host_name().ok(),
            commit: COMMIT.map(str::to_string),
            kernels_by: gpu::KERNELS_BY.filter(|_| ptx.is_none()).map(str::to_string),
            ptx,
            program_by: BUILT_BY.map(str::to_string),
            driver: device.driver.clone(),
            ..Provenance::default()
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    pub warmup: usize,
    pub repeat: usize,
    /// How long a window of runs is; zero if runs are only counted.
    pub window: Duration,
    /// Whether shorter windows will do where the clock is not in doubt.
    pub quick: bool,
    /// Whether a calculation with a sample in FP64 follows.
    pub has_sample: bool,
}

impl Repetition {
    pub const fn exactly(warmup: usize, repeat: usize) -> Repetition {
        Repetition { warmup, repeat, window: Duration::ZERO, quick: false, has_sample: false }
    }

    pub fn runs(self) -> usize {
        self.warmup + self.repeat
    }
}

/// One version's profile on one system and device, all launches of a calculation together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub version: String,
    pub system: String,
    pub terms: u64,
    pub nw: usize,
    pub device: String,
    pub source: String,
    pub provenance: Option<Provenance>,
    /// Median time of the calculation without a profiler; null if it was not run.
    pub time_s: Option<f64>,
    /// Sum of the launches' durations under the profiler.
    pub duration_s: f64,
    pub dadd: f64,
    pub dmul: f64,
    pub dfma: f64,
    pub bytes: Bytes,
    pub fp64_pipe_percent: Option<f64>,
    /// Use of `issue slots`, `ALU`, `MUFU` and `load/store` in percent of their peaks.
    #[serde(default)]
    pub pipes_percent: BTreeMap<String, f64>,
    /// Cycles of a multiprocessor, all launches, under the profiler.
    pub cycles: Option<f64>,
    pub registers: Option<u32>,
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

impl JsonRecord for Profile {
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

    pub fn fma_ratio(&self) -> f64 {
        self.dfma / (self.dadd + self.dmul + self.dfma)
    }

    pub fn main_stall(&self) -> Option<(&str, f64)> {
        let stalls = self.stalls.iter().map(|(reason, share)| (reason.as_str(), *share));
        let waits = stalls.filter(|(reason, _)| !ELIGIBLE.contains(reason));
        waits.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// Reasons of [`Profile::stalls`] for which a warp does not wait: it issues, or another warp does.
pub const ELIGIBLE: [&str; 2] = ["selected", "not_selected"];

/// A GPU during the timed runs of a version, as NVML reported it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockAndPower {
    pub samples: usize,
    pub sm_mhz: Option<Span>,
    pub memory_mhz: Option<Span>,
    pub power_w: Option<Span>,
    pub power_limit_w: Option<f64>,
    pub temperature_c: Option<Span>,
    /// NVML's reasons for a reduced clock, and the share of the samples that had each.
    pub clock_limited_by: BTreeMap<String, f64>,
    /// Highest clock of this version in MHz, also before the timed runs.
    pub highest_mhz: Option<f64>,
    /// Mean power in watts by the energy counter; null for short runs.
    pub mean_w: Option<f64>,
}

impl ClockAndPower {
    /// Share of the highest clock that the power limit took; 0 if all reasons for a reduced clock were others.
    pub fn clock_lost(&self) -> Option<f64> {
        let lost = 1.0 - self.sm_mhz?.median / self.highest_mhz?;
        // The clock falls some samples before NVML names the reason.
        let by_another = !self.clock_limited_by.is_empty() && !self.is_at_power_limit();
        Some(if by_another { 0.0 } else { lost.max(0.0) })
    }

    /// Power of the whole GPU in watts: the mean or, for short runs, the median of the samples.
    pub fn watts(&self) -> Option<f64> {
        self.mean_w.or(self.power_w.map(|power| power.median))
    }

    /// Whether the clock stayed at its highest with power to spare, so that longer runs would have it too.
    pub fn is_unthrottled(&self) -> bool {
        let is_highest = |(mhz, highest): (Span, f64)| mhz.min >= highest;
        let has_spare = |(watts, limit): (Span, f64)| watts.max < 0.8 * limit;
        self.sm_mhz.zip(self.highest_mhz).is_some_and(is_highest)
            && self.power_w.zip(self.power_limit_w).is_some_and(has_spare)
            && self.clock_limited_by.is_empty()
    }

    pub fn is_at_power_limit(&self) -> bool {
        self.clock_limited_by.keys().any(|reason| reason.to_lowercase().contains("power"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Span {
    pub fn from_values(mut values: Vec<f64>) -> Option<Span> {
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Span { median: f64::midpoint(low, high), min, max })
    }
}

/// Measured ceilings of a device, in operations and bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    pub device: String,
    pub provenance: Option<Provenance>,
    /// FMA in FP64, two operations each, in a burst at the highest clock.
    pub fp64: f64,
    pub hbm: f64,
    pub l2: f64,
    pub l1: f64,
    /// Shared memory by clock and width; null if they are not known.
    pub shared: Option<f64>,
}

impl JsonRecord for Ceilings {
    const KIND: &'static str = "ceilings";
    const WRITTEN_BY: &'static str = "`gpp profile` makes it";
}

// The roofline.

/// A point: AI(level) = FLOPs / bytes(level), FLOP/s = FLOPs / time (paper, equations 1 and 2).
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub version: String,
    pub level: MemoryLevel,
    /// FLOP per byte moved at the level.
    pub intensity: f64,
    pub flops_per_s: f64,
}

/// The point of a profile at a level, if its bytes are known; for shared memory, if a version uses it for more than
/// shuffles and the reduction of a block, which move less than 2 % of L1's bytes.
pub fn point(profile: &Profile, level: MemoryLevel) -> Option<Point> {
    let bytes = level.bytes(profile)?;
    if level == MemoryLevel::Shared && profile.bytes.l1.is_some_and(|l1| bytes <= 0.02 * l1) {
        return None;
    }
    Some(Point {
        version: profile.version.clone(),
        level,
        intensity: profile.flops() / bytes,
        flops_per_s: profile.flops() / profile.time_s.unwrap_or(profile.duration_s),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLevel {
    Hbm,
    L2,
    /// Without shared memory.
    L1,
    Shared,
}

pub const LEVELS: [MemoryLevel; 4] =
    [MemoryLevel::Hbm, MemoryLevel::L2, MemoryLevel::L1, MemoryLevel::Shared];

impl MemoryLevel {
    pub fn name(self) -> &'static str {
        ["HBM", "L2", "L1", "shared"][self as usize]
    }

    pub fn bytes(self, profile: &Profile) -> Option<f64> {
        let Bytes { hbm, l2, l1, shared } = profile.bytes;
        [Some(hbm), l2, l1, shared][self as usize]
    }

    /// Bytes per second that the level can move: measured, for shared memory by clock and width.
    pub fn bandwidth(self, ceilings: &Ceilings) -> Option<f64> {
        let Ceilings { hbm, l2, l1, shared, .. } = *ceilings;
        [Some(hbm), Some(l2), Some(l1), shared][self as usize]
    }
}

/// Share of the FP64 peak that a kernel of this FMA ratio can reach: `(2r + (1 − r)) / 2`
/// (paper, section III: 58 % gives 79 %).
pub fn share_of_peak(fma_ratio: f64) -> f64 {
    f64::midpoint(fma_ratio, 1.0)
}
