//! The records of runs: versions on one problem and device, and Σ as a matrix.

use num_complex::Complex64;
use serde::{Deserialize, Serialize};
use statrs::statistics::Statistics;

use crate::devices::DeviceInfo;
use crate::engine::WorkerStats;
use crate::problem::{Problem, Sums};
use crate::record::{Head, Provenance, Record, Repetition, Span, State};
use crate::reference::{Outcome, Verification, matrix};

/// Versions run on one problem and device: what `--json` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    #[serde(flatten)]
    pub head: Head,
    pub system: SystemInfo,
    /// Null for one slab on one device.
    pub parting: Option<Parting>,
    pub results: Vec<Measurement>,
    pub static_ch: Option<StaticCh>,
}

impl Record for Run {
    const KIND: &'static str = "run";
    const WRITTEN_BY: &'static str = "`gpp --json FILE` writes it";
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
    pub state: Option<State>,
    /// Energy of a calculation in joules; null if it was not measured.
    pub energy_j: Option<f64>,
    /// FP64 operations of the calculation, FMA = 2; null if they are not counted.
    pub flops: Option<f64>,
    pub flops_source: String,
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
    pub threads: Option<Threads>,
    /// `asx` and `ach` of the last run, starting sums included; NaN is null.
    #[serde(flatten)]
    pub sums: Sums,
    pub deterministic: bool,
    pub work: Option<Work>,
    pub verification: Verification,
}

impl Measurement {
    pub fn rate(&mut self, flops: f64, source: &str) {
        self.flops = Some(flops);
        self.flops_source = source.into();
        self.tflops = Some(flops / self.times.median / 1e12);
    }

    pub fn sm_mhz(&self) -> Option<f64> {
        let state = self.state.as_ref().filter(|_| self.work.is_none())?;
        Some(state.sm_mhz?.median)
    }

    pub fn cycles(&self) -> Option<f64> {
        Some(self.sm_mhz()? * 1e6 * self.times.median)
    }

    pub fn outcome(&self) -> Outcome {
        self.verification.outcome
    }

    pub fn passed(&self) -> bool {
        matches!(self.outcome(), Outcome::Passed | Outcome::Sampled)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    pub count: u32,
}

/// The dimensions of a problem: a built-in system or a file.
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
    pub energies_ev: Option<Vec<f64>>,
}

impl SystemInfo {
    pub fn of(problem: &Problem) -> SystemInfo {
        let h = problem.header();
        SystemInfo {
            name: problem.name().into(),
            nbands: h.nbands,
            nvband: h.nvband,
            occupied: Some(problem.occ().iter().sum()),
            ngpown: h.ngpown,
            sample_of: Some(h.whole_ngpown()).filter(|whole| *whole > h.ngpown),
            masked: h.all_ngpown() - h.whole_ngpown(),
            ncouls: h.ncouls,
            nstart: h.nstart,
            nend: h.nend,
            state_ev: h.state(),
            energies_ev: Some(h.shown()),
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
    pub fn of(samples: Vec<f64>) -> Times {
        let Span { median, min, max } = Span::of(samples.clone()).expect("at least one run");
        Times { median, min, max, samples }
    }

    /// Standard deviation of at least two samples.
    pub fn sigma(&self) -> Option<f64> {
        (self.samples.len() > 1).then(|| self.samples.iter().std_dev())
    }

    /// Samples off the median by more than ten times the median deviation, 10 % of the median, and 0.1 ms.
    pub fn outliers(&self) -> usize {
        let off: Vec<f64> = self.samples.iter().map(|t| (t - self.median).abs()).collect();
        let middle = Span::of(off.clone()).map_or(0.0, |off| off.median);
        let limit = (10.0 * middle).max(0.1 * self.median).max(1e-4);
        off.iter().filter(|&&off| off > limit).count()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Differs,
    Noise,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parting {
    /// `igp` of a slab; the last one may have fewer.
    pub igp: usize,
    pub slabs: usize,
    /// Whether each process had all of it in memory; else slabs were made or read one by one.
    pub in_memory: bool,
    /// Limits in bytes, if any.
    pub device_memory: Option<u64>,
    pub host_memory: Option<u64>,
    pub ranks: usize,
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
    /// Longest busy time of a worker over the average, − 1.
    pub imbalance: Option<f64>,
    /// Seconds of the first calculation, with all uploads.
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

/// The static CH of a problem's bands: see docs/usage.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StaticCh {
    /// Real and imaginary part, in the unit of `vcoul`; NaN is null.
    pub sum: [Option<f64>; 2],
    /// Seconds of its calculation, uploads included.
    pub seconds: f64,
    pub verification: Verification,
}

impl StaticCh {
    pub fn of(sum: Complex64, seconds: f64, verification: Verification) -> StaticCh {
        let number = |part: f64| part.is_finite().then_some(part);
        StaticCh { sum: [sum.re, sum.im].map(number), seconds, verification }
    }

    pub fn value(&self) -> Complex64 {
        let [re, im] = self.sum.map(|part| part.unwrap_or(f64::NAN));
        Complex64::new(re, im)
    }
}

/// Σ(ω): the sums of a version of a run, energy by energy.
#[derive(Clone, Debug)]
pub struct Sigma<'a> {
    pub run: &'a Run,
    pub result: &'a Measurement,
    pub rows: Vec<Row>,
}

/// The unit of SX, CH and Σ: that of the problem's `vcoul`, rydbergs in BerkeleyGW.
pub const UNIT: &str = "units of vcoul";

#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// ω in eV above the state's energy if that is known.
    pub shown_ev: f64,
    pub omega_ev: f64,
    pub sx: Complex64,
    pub ch: Complex64,
}

impl Row {
    /// Σ without the bare exchange.
    pub fn total(&self) -> Complex64 {
        self.sx + self.ch
    }

    pub fn parts(&self) -> [f64; 6] {
        let (Row { sx, ch, .. }, total) = (self, self.total());
        [sx.re, sx.im, ch.re, ch.im, total.re, total.im]
    }

    fn is_finite(&self) -> bool {
        self.parts().into_iter().all(f64::is_finite)
    }
}

impl<'a> Sigma<'a> {
    /// Of the fastest version that passed or, if none did, of the first; or why there is none.
    pub fn of(run: &'a Run) -> Result<Sigma<'a>, String> {
        let result = run.fastest().or(run.results.first()).ok_or("has no result")?;
        let energies = run.system.energies_ev.as_ref().ok_or("does not hold its energies")?;
        let state = run.system.state_ev.unwrap_or(0.0);
        let (sx, ch) = (&result.sums.asx, &result.sums.ach);
        if [sx.len(), ch.len()] != [energies.len(); 2] {
            let (nw, sx, ch, version) = (energies.len(), sx.len(), ch.len(), &result.version);
            return Err(format!(
                "has {nw} energies, and of {version} {sx} sums asx and {ch} sums ach"
            ));
        }
        let row = |((&shown_ev, &sx), &ch)| Row { shown_ev, omega_ev: state + shown_ev, sx, ch };
        let rows = energies.iter().zip(sx).zip(ch).map(row).collect();
        Ok(Sigma { run, result, rows })
    }

    /// The energies, as they are shown, at which a part is NaN or infinite.
    pub fn broken(&self) -> Vec<f64> {
        self.rows.iter().filter(|row| !row.is_finite()).map(|row| row.shown_ev).collect()
    }
}

/// A calculation of Σ between many bands, but for the matrices themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offdiag {
    #[serde(flatten)]
    pub head: Head,
    pub system: SystemInfo,
    /// The file of matrix elements; null for a built-in system.
    pub elements: Option<String>,
    /// First and last of the bands l and m, from 1.
    pub bands: [usize; 2],
    /// Operations, 8 for a complex product and its addition, whatever is executed.
    pub flops: f64,
    pub results: Vec<OfVersion>,
    /// Parts of the bands n, which were summed one after the other or at once.
    #[serde(default)]
    pub parts: usize,
    #[serde(default)]
    pub places: Vec<Place>,
    /// What the matrices are like, energy by energy; at the bands' energies that of rows, then that of columns.
    pub matrices: Vec<Matrix>,
    /// The matrix at the bands' own energies; null if other energies were asked for.
    #[serde(default)]
    pub qsgw: Option<Qsgw>,
}

impl Record for Offdiag {
    const KIND: &'static str = "offdiag";
    const WRITTEN_BY: &'static str = "`gpp offdiag --json FILE` writes it";
}

impl Offdiag {
    pub fn count(&self) -> usize {
        self.bands[1] + 1 - self.bands[0]
    }

    pub fn passed(&self) -> bool {
        self.results.iter().all(OfVersion::is_right)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfVersion {
    /// The version that a GPU summed with; null on a CPU.
    pub version: Option<String>,
    /// Time of the products, by the device's clock if it has one.
    pub time_s: Times,
    /// Time in all of the first calculation, with making or reading and moving matrix elements.
    pub total_s: f64,
    pub tflops: f64,
    /// The first GPU during the timed calculations; null without NVML, on a CPU, and if A does not stay, so
    /// that the GPU waits for it.
    pub state: Option<State>,
    /// Whether all its calculations, and the versions before it, gave the same bits.
    pub same_bits: bool,
    pub verification: Option<matrix::Verdict>,
}

impl OfVersion {
    pub fn outcome(&self) -> Outcome {
        match &self.verification {
            _ if !self.same_bits => Outcome::Nondeterministic,
            Some(verdict) => verdict.outcome,
            None => Outcome::NotVerified,
        }
    }

    pub fn is_right(&self) -> bool {
        matches!(self.outcome(), Outcome::Passed | Outcome::NotVerified)
    }

    /// Joules of a calculation, by the mean power of the first GPU.
    pub fn joules(&self) -> Option<f64> {
        Some(self.state.as_ref()?.watts()? * self.time_s.median)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// The energy in eV above the state's; null for that of each element's band l or m.
    pub above_state_ev: Option<f64>,
    /// Σ of `SX_ll`: real and imaginary part.
    pub trace_sx: [f64; 2],
    pub trace_ch: [f64; 2],
    /// Largest `|SX_ll + CH_ll|`.
    pub largest_diagonal: Largest,
    /// Largest `|SX_lm + CH_lm|` of the others; null of one band.
    pub largest_off_diagonal: Option<Largest>,
}

/// What the Hermitian part of `½[Σ_lm(E_l) + Σ_lm(E_m)]` is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Qsgw {
    /// Energies of the bands in eV above the state's, those of the problem's bands n of the same numbers.
    pub bands_above_state_ev: Vec<f64>,
    pub eigenvalues: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Largest {
    /// Its bands l and m, from 1.
    pub bands: [usize; 2],
    pub size: f64,
}
