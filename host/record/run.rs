//! The record of a run: versions on one problem and device.

use std::collections::BTreeMap;

use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::devices::DeviceInfo;
use crate::engine::WorkerStats;
use crate::problem::{Problem, Sums};
use crate::record::{Head, Kind, Provenance, Record, Repetition};
use crate::reference::verify::{Outcome, Verification};

/// Versions run on one problem and device: what `--json` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    #[serde(flatten)]
    pub head: Head,
    pub system: SystemInfo,
    /// How it was parted; null where it was one slab on one device.
    pub parting: Option<Parting>,
    /// What was measured, in the order in which the versions ran.
    pub results: Vec<Measurement>,
    /// The static CH of the same bands; null where it was not asked for.
    pub static_ch: Option<StaticCh>,
}

impl Record for Run {
    const KIND: Kind = Kind::Run;
}

impl Run {
    pub fn new(device: &DeviceInfo, problem: &Problem, repetition: Repetition) -> Run {
        let provenance = Provenance::now(device).of(problem.origin(), repetition);
        Run {
            head: Head::new(device, provenance),
            system: SystemInfo::of(problem),
            parting: None,
            results: Vec::new(),
            static_ch: None,
        }
    }

    /// The fastest version that passed, emulated ones only if there are no others.
    pub fn fastest(&self) -> Option<&Measurement> {
        let passed = self.results.iter().filter(|result| result.passed());
        passed.min_by(|a, b| {
            a.emulated.cmp(&b.emulated).then(a.times.median.total_cmp(&b.times.median))
        })
    }

    /// Whether every version ran and passed.
    pub fn passed(&self) -> bool {
        self.results.iter().all(Measurement::passed)
    }

    pub fn passed_result(&self, version: &str) -> Option<&Measurement> {
        self.results.iter().find(|result| result.version == version && result.passed())
    }
}

/// What was measured of one version on one problem and device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub version: String,
    pub device: String,
    /// Whether a CPU emulated kernels for GPUs: its time then tells nothing of either.
    pub emulated: bool,
    /// Times of the calculation.
    #[serde(rename = "time_s")]
    pub times: Times,
    /// The GPU during the timed runs; null without NVML, and on a CPU.
    pub state: Option<State>,
    /// Energy of a calculation in joules, of runs in a row; null where it was not measured.
    pub energy_j: Option<f64>,
    /// FP64 operations of the calculation, FMA = 2; null where the version's are not counted.
    pub flops: Option<f64>,
    /// Where the operation count comes from, or that there is none.
    pub flops_source: String,
    /// Operations by the median time, in 10¹² a second.
    pub tflops: Option<f64>,
    /// The symbol of the version's kernel.
    pub kernel: Option<String>,
    /// What tells its code from others', by this compiler; null of versions for CPUs.
    pub kernel_hash: Option<String>,
    pub registers: Option<u32>,
    pub local_bytes: Option<u32>,
    pub warps_per_sm: Option<u32>,
    /// Threads of a block, of kernels for GPUs.
    pub threads_per_block: Option<u32>,
    /// Blocks of a launch, of kernels for GPUs.
    pub blocks: Option<u32>,
    pub shape: Option<TileShape>,
    /// The CPU's vectors, of versions made for CPUs: a name of
    /// [`gpp_cpu::simd::Level`].
    pub simd: Option<String>,
    /// The CPU's threads, of versions made for CPUs.
    pub threads: Option<Threads>,
    /// `asx` and `ach` of the last run, starting sums included; parts that are no numbers are null.
    #[serde(flatten)]
    pub sums: Sums,
    /// Whether all runs found the same bits.
    pub deterministic: bool,
    /// What the workers did; null where the problem was one slab on one device.
    pub work: Option<Work>,
    pub verification: Verification,
}

impl Measurement {
    /// Rates it by so many operations of a calculation, counted by `source`.
    pub fn rate(&mut self, flops: f64, source: &str) {
        self.flops = Some(flops);
        self.flops_source = source.into();
        self.tflops = Some(flops / self.times.median / 1e12);
    }

    /// Median clock of the streaming multiprocessors in MHz; of several devices one clock says nothing.
    pub fn sm_mhz(&self) -> Option<f64> {
        let state = self.state.as_ref().filter(|_| self.work.is_none())?;
        Some(state.sm_mhz?.median)
    }

    /// Cycles of a multiprocessor: median time × clock.
    pub fn cycles(&self) -> Option<f64> {
        Some(self.sm_mhz()? * 1e6 * self.times.median)
    }

    pub fn outcome(&self) -> Outcome {
        self.verification.outcome
    }

    /// Whether it ran and was verified.
    pub fn passed(&self) -> bool {
        self.outcome() == Outcome::Passed
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    pub count: u32,
}

/// The shape of a tiled version's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileShape {
    /// `igp` of a thread.
    pub tile: u32,
    pub warps: u32,
    pub max_registers: Option<u32>,
}

// What a record tells of its problem.

/// Extents of a problem: a built-in system or a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemInfo {
    pub name: String,
    pub nbands: usize,
    pub nvband: i32,
    /// G′ vectors, without the masked ones.
    pub ngpown: usize,
    /// Masked G′ vectors, whose columns are left out.
    #[serde(default)]
    pub masked: usize,
    pub ncouls: usize,
    /// First energy, from 1.
    pub nstart: usize,
    pub nend: usize,
    /// Energy of the state, `e_lk`, in eV.
    pub state_ev: Option<f64>,
    /// Energies in eV above it, those of `nstart..=nend`.
    pub energies_ev: Option<Vec<f64>>,
}

impl SystemInfo {
    pub fn of(problem: &Problem) -> SystemInfo {
        let h = problem.header();
        SystemInfo {
            name: problem.name().into(),
            nbands: h.nbands,
            nvband: h.nvband,
            ngpown: h.ngpown,
            masked: h.all_ngpown() - h.ngpown,
            ncouls: h.ncouls,
            nstart: h.nstart,
            nend: h.nend,
            state_ev: Some(h.e_lk),
            energies_ev: Some(h.above_state()),
        }
    }

    pub fn nw(&self) -> usize {
        (self.nend + 1).saturating_sub(self.nstart)
    }

    /// Terms of the sum: (n, igp, ig, iw).
    pub fn terms(&self) -> u64 {
        [self.nbands, self.ngpown, self.ncouls, self.nw()].map(|n| n as u64).iter().product()
    }
}

/// Times of the whole calculation in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// All, in the order in which they were taken.
    pub samples: Vec<f64>,
}

impl Times {
    pub fn of(samples: Vec<f64>) -> Times {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Times {
            median: f64::midpoint(low, high),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            samples,
        }
    }

    /// Standard deviation of at least two samples.
    pub fn sigma(&self) -> Option<f64> {
        let count = self.samples.len() as f64;
        let mean = self.samples.iter().sum::<f64>() / count;
        let squares: f64 = self.samples.iter().map(|t| (t - mean) * (t - mean)).sum();
        (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
    }

    /// [`Times::sigma`] over the median.
    pub fn relative_sigma(&self) -> Option<f64> {
        self.sigma().map(|sigma| sigma / self.median)
    }

    /// Samples that stand apart: off the median by more than ten times the median deviation, and by
    /// more than a tenth of the median and 0.1 ms.
    pub fn outliers(&self) -> usize {
        let off: Vec<f64> = self.samples.iter().map(|t| (t - self.median).abs()).collect();
        let mut sorted = off.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
        let limit = (10.0 * middle).max(0.1 * self.median).max(1e-4);
        off.iter().filter(|&&off| off > limit).count()
    }
}

/// Whether a difference of two sides is larger than the noise of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Differs,
    Noise,
}

// The state of a GPU while it calculated: clocks, power, temperature, what held the clock back.

/// What was seen of a GPU during the timed runs of a version, by looking at it again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// How often it was looked at during these runs.
    pub looks: usize,
    pub sm_mhz: Option<Span>,
    pub memory_mhz: Option<Span>,
    pub power_w: Option<Span>,
    pub power_limit_w: Option<f64>,
    pub temperature_c: Option<Span>,
    /// What held the clock back, by its name in NVML, and the share of the looks at which it did; empty
    /// where nothing did.
    pub held_back: BTreeMap<String, f64>,
    /// Highest clock at which this version was seen to run, in MHz, before the runs that are timed as well.
    pub highest_mhz: Option<f64>,
    /// Mean power in watts by the counter of energy; null of short runs.
    pub mean_w: Option<f64>,
}

impl State {
    /// What the limit of power took of the clock, as a share of [`State::highest_mhz`]: `None` where either is not
    /// known, 0 where all that held it back was something else.
    pub fn clock_lost(&self) -> Option<f64> {
        let lost = 1.0 - self.sm_mhz?.median / self.highest_mhz?;
        // The clock falls some looks before NVML names the reason.
        let by_another = !self.held_back.is_empty() && !self.is_at_power_limit();
        Some(if by_another { 0.0 } else { lost.max(0.0) })
    }

    /// Power of the board in watts: the mean by the counter of energy or, of short runs, the median of the looks.
    pub fn watts(&self) -> Option<f64> {
        self.mean_w.or(self.power_w.map(|seen| seen.median))
    }

    /// Whether power held the clock back at any of the looks.
    pub fn is_at_power_limit(&self) -> bool {
        self.held_back.keys().any(|reason| reason.to_lowercase().contains("power"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Span {
    /// Of all values; `None` of none.
    pub fn of(mut values: Vec<f64>) -> Option<Span> {
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Span { median: f64::midpoint(low, high), min, max })
    }
}

// How a problem was parted, and who shared it.

/// How a problem was parted into slabs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parting {
    /// `igp` of a slab; the last one may have fewer.
    pub igp: usize,
    pub slabs: usize,
    /// Whether all of it was in the memory of each process; else slabs were made or read when their turn
    /// came.
    pub in_memory: bool,
    /// Bytes that might be taken of each device's memory, where that was limited.
    pub device_memory: Option<u64>,
    /// Bytes that might be taken of the host's, where that was limited.
    pub host_memory: Option<u64>,
    pub ranks: usize,
    /// The workers, in the order of the ranks.
    pub places: Vec<Place>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub rank: usize,
    pub host: Option<String>,
    pub device: DeviceInfo,
}

/// What the workers did in the last calculation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// In the order of [`Parting::places`].
    pub shares: Vec<WorkerStats>,
    /// How much longer than on the average the worker took that took longest, over that average.
    pub imbalance: Option<f64>,
    /// Seconds of the first calculation, when nothing was in place.
    pub first_s: Option<f64>,
}

impl Work {
    pub fn of(shares: Vec<WorkerStats>, first_s: Option<f64>) -> Work {
        let busy = || shares.iter().map(|share| share.busy_s);
        let (longest, all) = (busy().fold(0.0, f64::max), busy().sum::<f64>());
        let over = longest * shares.len() as f64 / all - 1.0;
        Work { imbalance: over.is_finite().then_some(over), shares, first_s }
    }
}

// What is recorded of the static CH.

/// The static CH of a problem's bands: see docs/usage.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StaticCh {
    /// Real and imaginary part, in the unit of `vcoul`; null where they are no numbers.
    pub sum: [Option<f64>; 2],
    /// Seconds of its calculation, with uploads where its data were not in place.
    pub seconds: f64,
    pub verification: Verification,
}

impl StaticCh {
    /// Of a sum that took so many seconds.
    pub fn of(sum: Complex64, seconds: f64, verification: Verification) -> StaticCh {
        let number = |part: f64| part.is_finite().then_some(part);
        StaticCh { sum: [sum.re, sum.im].map(number), seconds, verification }
    }

    pub fn value(&self) -> Complex64 {
        let [re, im] = self.sum.map(|part| part.unwrap_or(f64::NAN));
        Complex64::new(re, im)
    }

    /// Whether it was compared and differs.
    pub fn is_incorrect(&self) -> bool {
        self.verification.outcome == Outcome::Incorrect
    }
}

// Σ(ω): what a version of a run found at each energy.

/// The sums of a version by energy, and the run that they are of.
#[derive(Clone, Debug)]
pub struct Sigma<'a> {
    pub run: &'a Run,
    pub result: &'a Measurement,
    /// A row for each energy, one at least, in the run's order.
    pub rows: Vec<Row>,
}

/// The unit of SX, CH and Σ: that in which the problem has `vcoul`, rydbergs in BerkeleyGW.
pub const UNIT: &str = "units of vcoul";

/// An energy and its sums, as records keep them: starting sums included.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// ω in eV above the state's energy.
    pub above_ev: f64,
    pub omega_ev: f64,
    pub sx: Complex64,
    pub ch: Complex64,
}

impl Row {
    /// Σ: both sums together. Bare exchange is no part of it.
    pub fn total(&self) -> Complex64 {
        self.sx + self.ch
    }

    /// The parts of both sums and of Σ, each with its name.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        let (Row { sx, ch, .. }, total) = (self, self.total());
        [
            ("Re SX", sx.re),
            ("Im SX", sx.im),
            ("Re CH", ch.re),
            ("Im CH", ch.im),
            ("Re Σ", total.re),
            ("Im Σ", total.im),
        ]
    }

    /// Whether every part is a number.
    pub fn is_finite(&self) -> bool {
        self.parts().iter().all(|(_, part)| part.is_finite())
    }
}

impl<'a> Sigma<'a> {
    /// Of the fastest version that passed or, if none did, of the first; or why there is none.
    pub fn of(run: &'a Run) -> Result<Sigma<'a>, String> {
        let result = run.fastest().or(run.results.first()).ok_or("has no result")?;
        let known = run.system.state_ev.zip(run.system.energies_ev.as_ref());
        let (state, energies) = known.ok_or("does not hold its energies")?;
        let (sx, ch) = (&result.sums.asx, &result.sums.ach);
        if [sx.len(), ch.len()] != [energies.len(); 2] {
            let (nw, sx, ch, version) = (energies.len(), sx.len(), ch.len(), &result.version);
            return Err(format!(
                "has {nw} energies, and of {version} {sx} sums asx and {ch} sums ach"
            ));
        }
        let row = |((&above_ev, &sx), &ch)| Row { above_ev, omega_ev: state + above_ev, sx, ch };
        let rows = energies.iter().zip(sx).zip(ch).map(row).collect();
        Ok(Sigma { run, result, rows })
    }

    /// The energies, in eV above the state's, at which a part is no number.
    pub fn broken(&self) -> Vec<f64> {
        self.rows.iter().filter(|row| !row.is_finite()).map(|row| row.above_ev).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imbalance_is_over_the_average() {
        let share = |busy_s: f64| WorkerStats { busy_s, ..WorkerStats::default() };
        let imbalance =
            |busy: &[f64]| Work::of(busy.iter().copied().map(share).collect(), None).imbalance;
        assert_eq!(imbalance(&[2.0, 2.0]), Some(0.0));
        assert_eq!(imbalance(&[3.0, 1.0, 2.0]), Some(0.5));
        assert_eq!(imbalance(&[]), None);
        assert_eq!(imbalance(&[0.0]), None);
    }
}
