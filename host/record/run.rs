//! The record of a run: versions on one problem and device.

use serde::{Deserialize, Serialize};

use super::parting::{Parting, Work};
use super::provenance::Provenance;
use super::state::State;
use super::static_ch::StaticCh;
use super::system::SystemInfo;
use super::times::{BeforeCap, Repetition, Spread, Times};
use super::{Head, Kind, Record};
use crate::devices::{DeviceInfo, HOST};
use crate::problem::{Frame, Sums};
use crate::process::startup;
use crate::reference::verify::{Outcome, Verification};

/// Versions run on one problem and device: what `--json` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// Seconds from the start of the program to its first launch.
    pub startup_s: Option<f64>,
    /// The problem.
    pub system: SystemInfo,
    /// How it was parted; null where it was one slab on one device, and in older records.
    pub parting: Option<Parting>,
    /// What was measured, in the order in which the versions ran.
    pub results: Vec<Measurement>,
    /// The static CH of the same bands; null where it was not asked for, and in older records.
    pub static_ch: Option<StaticCh>,
}

impl Record for Run {
    const KIND: Kind = Kind::Run;

    /// The highest clock of an older one is the device's.
    fn completed(mut self) -> Run {
        let clock = self.head.device.clock_mhz.map(f64::from);
        for state in self.results.iter_mut().filter_map(|result| result.state.as_mut()) {
            state.highest_mhz = state.highest_mhz.or(clock);
        }
        self
    }
}

impl Run {
    /// A run that begins.
    pub fn new(device: &DeviceInfo, problem: &Frame, repetition: Repetition) -> Run {
        let provenance = Provenance::now(device).of(problem.origin(), repetition);
        Run {
            head: Head::new(device, provenance),
            startup_s: startup::seconds(),
            system: SystemInfo::of(problem),
            parting: None,
            results: Vec::new(),
            static_ch: None,
        }
    }

    /// Takes a version's result in.
    pub fn push(&mut self, result: Measurement) {
        self.results.push(result);
        self.startup_s = startup::seconds();
    }

    /// Whether every version ran and passed.
    pub fn passed(&self) -> bool {
        self.results.iter().all(Measurement::passed)
    }

    /// The result of a version that passed.
    pub fn passed_result(&self, version: &str) -> Option<&Measurement> {
        self.results.iter().find(|result| result.version == version && result.passed())
    }
}

/// What was measured of one version on one problem and device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The version's id.
    pub version: String,
    /// The device's id.
    pub device: String,
    /// Whether a processor emulated kernels for GPUs; null in older records, see
    /// [`Measurement::is_emulated`].
    pub emulated: Option<bool>,
    /// Times of the calculation: of the runs that `provenance.regime` names.
    #[serde(rename = "time_s")]
    pub times: Times,
    /// How far they lie apart; null in older records.
    pub spread: Option<Spread>,
    /// Runs before the limit of power lowered the clock; the same as `time_s` where it lowers none. Null of
    /// a version of which no run ended before that, without NVML, on a processor, and in older records.
    pub before_cap: Option<BeforeCap>,
    /// The GPU during the timed runs; null without NVML, on a processor, and in older records.
    pub state: Option<State>,
    /// Whether something held the clock back during each of the timed runs; null where `state` is.
    pub held_back: Option<Vec<bool>>,
    /// Cycles of a multiprocessor, by the median time and clock; null where the clock is.
    pub cycles: Option<f64>,
    /// Energy of a calculation in joules, of runs in a row; null where it was not measured.
    pub energy_j: Option<f64>,
    /// FP64 operations of the calculation, FMA = 2; null where the version's are not counted.
    pub flops: Option<f64>,
    /// Where the operation count comes from, or that there is none.
    pub flops_source: String,
    /// Operations by the median time, in 10¹² a second.
    pub tflops: Option<f64>,
    /// The symbol of the version's kernel; null in older records.
    pub kernel: Option<String>,
    /// What tells its code from others', by this compiler; null of versions for processors, and in older
    /// records.
    pub kernel_hash: Option<String>,
    /// A digest of all that the sums depend on, but for the program and slabs; null in older records.
    pub task: Option<String>,
    /// What tells its source and what that uses from others', by any compiler; null in older records.
    pub source_hash: Option<String>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Local memory of a thread in bytes.
    pub local_bytes: Option<u32>,
    /// Warps that fit on a multiprocessor.
    pub warps_per_sm: Option<u32>,
    /// Threads of a block, of kernels for GPUs.
    pub threads_per_block: Option<u32>,
    /// Blocks of a launch, of kernels for GPUs.
    pub blocks: Option<u32>,
    /// The tiles, of versions that have them.
    pub shape: Option<TileShape>,
    /// The processor's vectors, of versions made for processors: a name of
    /// [`gpp_cpu::level::Level`].
    pub simd: Option<String>,
    /// The processor's threads, of versions made for processors.
    pub threads: Option<Threads>,
    /// `asx` and `ach` of the last run, starting sums included; parts that are no numbers are null.
    #[serde(flatten)]
    pub sums: Sums,
    /// Whether all runs found the same bits.
    pub deterministic: bool,
    /// What the workers did; null where the problem was one slab on one device, and in older records.
    pub work: Option<Work>,
    /// The comparison with the reference.
    pub verification: Verification,
}

impl Measurement {
    /// Rates it by so many operations of a calculation, counted by `source`.
    pub fn rate(&mut self, flops: f64, source: &str) {
        self.flops = Some(flops);
        self.flops_source = source.into();
        self.tflops = Some(flops / self.times.median / 1e12);
    }

    /// How it came out.
    pub fn outcome(&self) -> Outcome {
        self.verification.outcome
    }

    /// Whether a processor emulated kernels for GPUs: its time then tells nothing of either.
    pub fn is_emulated(&self) -> bool {
        self.emulated.unwrap_or(self.device == HOST)
    }

    /// Whether it ran and was verified.
    pub fn passed(&self) -> bool {
        self.outcome() == Outcome::Passed
    }
}

/// Threads of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    /// How many.
    pub count: u32,
}

/// The shape of a tiled version's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileShape {
    /// `igp` of a thread.
    pub tile: u32,
    /// Warps of a block.
    pub warps: u32,
    /// Most registers of a thread.
    pub max_registers: Option<u32>,
}
