//! The records of runs: versions on one problem and device, and Σ as a matrix.

use num_complex::Complex64;
use serde::{Deserialize, Serialize};
use statrs::statistics::Statistics;
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

use crate::catalogue::{self, Version};
use crate::devices::DeviceInfo;
use crate::engine::{Sample, WorkerStats};
use crate::problem::{Problem, Sums, from_pairs};
use crate::record::{ClockAndPower, Head, JsonRecord, Span};
use crate::reference::{Evaluation, Outcome, Verification, matrix, verify_derivative};

/// Versions run on one problem and device: what `--json` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    #[serde(flatten)]
    pub head: Head,
    pub system: SystemInfo,
    /// Null for one slab on one device.
    pub partition: Option<Partition>,
    pub results: Vec<Measurement>,
}

impl JsonRecord for RunRecord {
    const KIND: &'static str = "run";
    const WRITTEN_BY: &'static str = "`gpp --json FILE` writes it";
}

impl RunRecord {
    /// The fastest version that passed, emulated ones only if there are no others.
    pub fn fastest(&self) -> Option<&Measurement> {
        self.fastest_of(|_| true)
    }

    fn fastest_of(&self, is_one: impl Fn(&Measurement) -> bool) -> Option<&Measurement> {
        let passed = self.results.iter().filter(|result| result.passed() && is_one(result));
        passed.min_by(|a, b| {
            a.emulated.cmp(&b.emulated).then(a.times.median.total_cmp(&b.times.median))
        })
    }

    pub fn passed(&self) -> bool {
        self.results.iter().all(Measurement::passed)
    }

    pub fn passed_result(&self, version: &str) -> Option<&Measurement> {
        self.results.iter().find(|result| result.version == version && result.passed())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    pub version: String,
    pub device: String,
    /// Whether a CPU emulated a kernel for GPUs: its time then means nothing.
    pub emulated: bool,
    #[serde(rename = "time_s")]
    pub times: Times,
    /// The GPU during the timed runs; null without NVML.
    pub clock_and_power: Option<ClockAndPower>,
    /// Energy of a calculation in joules; null if it was not measured.
    pub energy_j: Option<f64>,
    /// FP64 operations of the calculation, FMA = 2, by the hardware's counters; null if they are not counted.
    pub flops: Option<f64>,
    pub tflops: Option<f64>,
    /// Its symbol.
    pub kernel: Option<String>,
    /// Hash of its PTX; null for versions for CPUs.
    pub kernel_hash: Option<String>,
    pub registers: Option<u32>,
    pub local_bytes: Option<u32>,
    pub warps_per_sm: Option<u32>,
    pub threads_per_block: Option<u32>,
    pub blocks: Option<u32>,
    pub simd: Option<String>,
    pub threads: Option<u32>,
    /// `asx` and `ach` of the last run, starting sums included; NaN is null.
    #[serde(flatten)]
    pub sums: Sums,
    /// The derivative of Σ with respect to ω, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derivative: Option<DerivativeResult>,
    /// What single precision may have lost of Σ at any energy, in the unit of `vcoul`; not in double precision, or without a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_bound: Option<f64>,
    /// How far Σ is from the reference at most, if there is one at all energies and a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_found: Option<f64>,
    /// What single precision has lost of the sums of some igp, which were summed in FP64 too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    pub deterministic: bool,
    pub load_balance: Option<LoadBalance>,
    pub verification: Verification,
}

impl Measurement {
    pub fn sm_mhz(&self) -> Option<f64> {
        let state = self.clock_and_power.as_ref().filter(|_| self.load_balance.is_none())?;
        Some(state.sm_mhz?.median)
    }

    pub fn cycles(&self) -> Option<f64> {
        Some(self.sm_mhz()? * 1e6 * self.times.median)
    }

    /// Whether `ach` is Σ, and `asx` zero.
    pub fn is_sigma_alone(&self) -> bool {
        catalogue::find(&self.version).is_some_and(Version::is_sigma_alone)
    }

    /// Compares the derivative, if there is one, with the definition's. The result passes if both do.
    pub fn verify_derivative(&mut self, problem: &Problem, expected: Option<&Evaluation>) {
        let Some(derivative) = &mut self.derivative else { return };
        let verification = verify_derivative(problem, &derivative.values, expected);
        derivative.max_rel_error = verification.max_rel_error;
        if verification.outcome != Outcome::Passed && self.passed() {
            self.verification = verification;
        }
    }

    pub fn outcome(&self) -> Outcome {
        self.verification.outcome
    }

    pub fn passed(&self) -> bool {
        self.outcome() == Outcome::Passed
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DerivativeResult {
    /// In the unit of `vcoul` per eV; NaN is null.
    #[serde(deserialize_with = "from_pairs")]
    pub values: Vec<Complex64>,
    /// Largest error relative to Σ|terms| of the derivative; null if it was not compared.
    pub max_rel_error: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemInfo {
    pub name: String,
    pub nbands: usize,
    pub nvband: i32,
    /// Sum of the occupations.
    #[serde(default)]
    pub occupied: Option<f64>,
    /// G′ vectors that were summed, without the masked ones.
    pub ngpown: usize,
    /// If these are a sample, how many there are without the masked ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_of: Option<usize>,
    #[serde(default)]
    pub masked: usize,
    pub ncouls: usize,
    /// First energy, from 1.
    pub nstart: usize,
    pub nend: usize,
    /// Energy of the state, `e_lk`, in eV; null if the file does not hold it.
    pub state_ev: Option<f64>,
    /// Energies in eV above it, or ω if that is null: those of `nstart..=nend`.
    pub energies_ev: Vec<f64>,
    /// Broadening in eV of the time-ordered formula; absent for BerkeleyGW's formula.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ordered_eta_ev: Option<f64>,
    /// Its window in eV; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ordered_window_ev: Option<f64>,
}

impl SystemInfo {
    pub fn from_problem(problem: &Problem) -> SystemInfo {
        let h = problem.header();
        SystemInfo {
            name: problem.name().into(),
            nbands: h.nbands,
            nvband: h.nvband,
            occupied: Some(problem.occ().iter().sum()),
            ngpown: h.ngpown,
            sample_of: Some(h.whole_ngpown()).filter(|count| *count > h.ngpown),
            masked: h.all_ngpown() - h.whole_ngpown(),
            ncouls: h.ncouls,
            nstart: h.nstart,
            nend: h.nend,
            state_ev: h.state(),
            energies_ev: h.shown(),
            time_ordered_eta_ev: h.eta,
            time_ordered_window_ev: Some(h.window).filter(|window| *window != 0.0),
        }
    }

    pub fn nw(&self) -> usize {
        (self.nend + 1).saturating_sub(self.nstart)
    }

    /// What the energies are, for headings.
    pub fn energy(&self) -> &'static str {
        if self.state_ev.is_some() { "ω − E [eV]" } else { "ω [eV]" }
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
    pub samples: Vec<f64>,
}

impl Times {
    pub fn from_samples(samples: Vec<f64>) -> Times {
        let Span { median, min, max } =
            Span::from_values(samples.clone()).expect("at least one run");
        Times { median, min, max, samples }
    }

    /// Standard deviation of at least two samples.
    pub fn sigma(&self) -> Option<f64> {
        (self.samples.len() > 1).then(|| self.samples.iter().std_dev())
    }
}

// What times say: speed-ups by series, and whether two versions differ.

/// The results by the series of their versions, with what continues it, in the order in which these begin.
pub fn by_series(results: &[Measurement]) -> Vec<(&'static str, Vec<Measurement>)> {
    let mut groups: Vec<(&'static str, Vec<Measurement>)> = Vec::new();
    for result in results {
        let id = catalogue::first_series_of(&result.version).unwrap_or(&catalogue::SERIES[0]).id;
        match groups.iter_mut().find(|(series, _)| *series == id) {
            Some((_, group)) => group.push(result.clone()),
            None => groups.push((id, vec![result.clone()])),
        }
    }
    groups
}

/// The baseline of the first result's series, and its time over each result's, if it passed and is not alone.
pub fn over_baseline(results: &[Measurement]) -> (&'static str, Vec<Option<f64>>) {
    let first = results.first().and_then(|result| catalogue::series_of(&result.version));
    let id = first.unwrap_or(&catalogue::SERIES[0]).baseline();
    let is_alone = results.iter().all(|result| result.version == id);
    let ran = results.iter().find(|result| result.version == id && result.passed() && !is_alone);
    let over = |result: &Measurement| Some(ran?.times.median / result.times.median);
    (id, results.iter().map(over).collect())
}

const LEVEL: f64 = 0.05;

/// Whether two sets of times differ significantly: the two-sided Mann-Whitney test at 5 %, by its normal approximation
/// with corrections for ties and continuity, which assumes no distribution. `None` if there are so few samples that
/// even disjoint sets would not differ.
pub fn differ(a: &Times, b: &Times) -> Option<bool> {
    let (a, b) = (&a.samples, &b.samples);
    let disjoint: Vec<f64> = (0..a.len() + b.len()).map(|rank| rank as f64).collect();
    let (below, above) = disjoint.split_at(a.len());
    if probability(below, above)? > LEVEL {
        return None;
    }
    Some(probability(a, b)? <= LEVEL)
}

/// The probability of ranks as uneven as these or more if both are samples of the same times.
fn probability(a: &[f64], b: &[f64]) -> Option<f64> {
    let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    let (_, probability) = mannwhitneyu(a, b, method, Alternative::TwoSided).ok()?;
    (probability >= 0.0).then_some(probability)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    /// `igp` of a slab; the last one may have fewer.
    pub igp: usize,
    pub slabs: usize,
    /// Whether each process had all of it in memory; else slabs were made or read one by one.
    pub in_memory: bool,
    /// Limits in bytes, if any.
    pub device_memory: Option<u64>,
    pub host_memory: Option<u64>,
    pub ranks: usize,
    pub workers: Vec<WorkerPlace>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerPlace {
    pub rank: usize,
    pub host: Option<String>,
    pub device: DeviceInfo,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadBalance {
    /// In the order of [`Partition::workers`].
    pub workers: Vec<WorkerStats>,
}

/// Σ(ω): the sums of a version of a run, energy by energy.
#[derive(Clone, Debug)]
pub struct Sigma<'a> {
    pub run: &'a RunRecord,
    pub result: &'a Measurement,
    pub rows: Vec<SigmaRow>,
}

/// The unit of SX, CH and Σ: that of the problem's `vcoul`, rydbergs in BerkeleyGW.
pub const UNIT: &str = "units of vcoul";

#[derive(Clone, Copy, Debug)]
pub struct SigmaRow {
    /// ω in eV above the state's energy if that is known.
    pub shown_ev: f64,
    pub omega_ev: f64,
    pub sx: Complex64,
    pub ch: Complex64,
    /// Of Σ with respect to ω, per eV, if it was asked for.
    pub derivative: Option<Complex64>,
}

impl SigmaRow {
    /// Σ without the bare exchange.
    pub fn total(&self) -> Complex64 {
        self.sx + self.ch
    }
}

impl<'a> Sigma<'a> {
    /// Of the fastest version that passed, of one for Σ alone only if there are no others, or else of the first.
    pub fn from_run(run: &'a RunRecord) -> Option<Sigma<'a>> {
        let fastest = run.fastest_of(|result| !result.is_sigma_alone()).or(run.fastest());
        let result = fastest.or(run.results.first())?;
        let state = run.system.state_ev.unwrap_or(0.0);
        let rates = result.derivative.as_ref().map(|derivative| &derivative.values);
        let row = |(iw, &shown_ev): (usize, &f64)| SigmaRow {
            shown_ev,
            omega_ev: state + shown_ev,
            sx: result.sums.asx[iw],
            ch: result.sums.ach[iw],
            derivative: rates.map(|rates| rates[iw]),
        };
        let rows = run.system.energies_ev.iter().enumerate().map(row).collect();
        Some(Sigma { run, result, rows })
    }
}

/// A calculation of Σ between many bands, but for the matrices themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offdiag {
    #[serde(flatten)]
    pub head: Head,
    pub system: SystemInfo,
    /// First and last of the bands l and m, from 1.
    pub bands: [usize; 2],
    /// Operations, 8 for a complex product and its addition, whatever is executed.
    pub flops: f64,
    pub results: Vec<OffdiagResult>,
    /// Chunks of the bands n, which were summed one after the other or at once.
    #[serde(default)]
    pub band_chunks: usize,
    #[serde(default)]
    pub workers: Vec<WorkerPlace>,
    /// Whether `trace_ch` is that of Σ, and `trace_sx` zero.
    #[serde(default)]
    pub sigma_alone: bool,
    pub matrices: Vec<MatrixSummary>,
}

impl JsonRecord for Offdiag {
    const KIND: &'static str = "offdiag";
    const WRITTEN_BY: &'static str = "`gpp offdiag --json FILE` writes it";
}

impl Offdiag {
    pub fn passed(&self) -> bool {
        let is_right = |of| matches!(of, Outcome::Passed | Outcome::NotVerified);
        self.results.iter().map(OffdiagResult::outcome).all(is_right)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OffdiagResult {
    /// The version that a GPU summed with; null on a CPU.
    pub version: Option<String>,
    /// Time of the products, by the device's clock if it has one.
    pub time_s: Times,
    /// Time in all of the first calculation, with making or reading and moving matrix elements.
    pub first_s: f64,
    pub tflops: f64,
    /// The first GPU during the timed calculations; null without NVML, on a CPU, and if A does not stay, so
    /// that the GPU waits for it.
    pub clock_and_power: Option<ClockAndPower>,
    /// Whether all its calculations, and the versions before it, gave the same bits.
    pub deterministic: bool,
    pub verification: Option<matrix::MatrixVerification>,
}

impl OffdiagResult {
    pub fn outcome(&self) -> Outcome {
        match &self.verification {
            _ if !self.deterministic => Outcome::Nondeterministic,
            Some(verdict) => verdict.outcome,
            None => Outcome::NotVerified,
        }
    }

    /// Joules of a calculation, by the mean power of the first GPU.
    pub fn joules(&self) -> Option<f64> {
        Some(self.clock_and_power.as_ref()?.watts()? * self.time_s.median)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixSummary {
    pub above_state_ev: f64,
    /// Σ of `SX_ll`: real and imaginary part.
    pub trace_sx: [f64; 2],
    pub trace_ch: [f64; 2],
}
