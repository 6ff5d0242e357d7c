//! `gpp offdiag`: Σ as a matrix of a built-in system.

use std::cell::OnceCell;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use gpp_core::offdiag::gpu::{ALL, MatrixVersion, find};
use gpp_core::offdiag::{MatrixSums, MatrixTask, MatrixWorkers, Synthesised, workers};
use npyz::WriterBuilder;
use num_complex::Complex64;

use crate::catalogue::BackEnd;
use crate::cli::{OffdiagArgs, OutputArgs, PAPER_SYSTEM, SMALL_SYSTEM};
use crate::devices::Device;
use crate::error::{Error, Result, invalid, shown};
use crate::measure::timed;
use crate::output::{Progress, STOP, check_outputs, polling, replace};
use crate::problem;
use crate::ranks::{Ranks, require_same};
use crate::record::run::{MatrixSummary, Offdiag, OffdiagResult, SystemInfo, UNIT};
use crate::record::{self, ClockAndPower, Head, Repetition};
use crate::reference::matrix::{
    ExpectedElement, MatrixVerification, SampledElements, compare, evaluate,
};
use crate::session::{Session, kind};
use crate::setup;
use crate::summary::{device_lines, system, undecided};
use crate::terminal::{TextTable, digits, fixed, ms, or_dash, outcome, rough};

pub fn offdiag(args: &OffdiagArgs, ranks: &dyn Ranks) -> anyhow::Result<bool> {
    let output_args = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output_args.progress();
    // In the order of the sums.
    let parts = if args.sigma_alone { &["sigma.npy"][..] } else { &["sx.npy", "ch.npy"] };
    let array = |part| Some(args.npy.as_ref()?.with_added_extension(part));
    let arrays: Vec<PathBuf> = parts.iter().filter_map(array).collect();
    let outputs = args.output.json.iter().chain(&arrays);
    check_outputs(outputs.filter(|_| ranks.is_root()), None)?;
    if let Some(path) = &args.problem.input {
        let origin = format!("--input {}", path.display());
        let what = "has matrix elements of one state only: the library takes those of all bands";
        return Err(invalid(origin, what).into());
    }
    let asked = args.version.as_deref().map_or(Ok(Vec::new()), named)?;
    let limits = args.memory.limits();
    let session = &setup::open(&args.devices, limits, &[], progress, ranks)?;
    let device = session.first();
    let workers = setup::places(session).unwrap_or_default();
    device_lines(&workers).iter().for_each(|line| progress.say(line));
    let (count, system) = match device.back_end() {
        BackEnd::Cpu => (16, SMALL_SYSTEM),
        BackEnd::Gpu => (128, PAPER_SYSTEM),
    };
    let source = setup::ProblemSource::from_args(&args.problem, system)?;
    let bands = args.bands.clone().unwrap_or(0..count);
    let problem = source.open(progress)?.load()?;
    let setup::ProblemInput::System(system, seed) = source.input else {
        unreachable!("a file is refused")
    };
    session.require_one_kind()?;
    let elements = Synthesised::new(system, seed, bands.clone());
    let task = MatrixTask {
        sigma_alone: args.sigma_alone,
        stop: &STOP,
        ..MatrixTask::new(&problem, &elements)
    };
    let (repeat, verifies) = (args.repeat as usize, !args.no_verify);
    // Several calculations begin with one that is not timed: it uploads A.
    let times = Repetition::exactly(usize::from(repeat > 1), repeat);
    let calculation = MatrixRun { session, task, bands: bands.clone(), times, verifies, progress };
    let (results, sums) = calculation.run_versions(&asked)?;
    ranks.barrier();
    let Some(sums) = sums else { return Ok(true) };
    let matrices = matrices(&sums, &problem.header().shown());
    let head = Head::new(device.info(), problem.origin(), times);
    let record = Offdiag {
        head: Head { complete: true, ..head },
        system: SystemInfo::from_problem(&problem),
        bands: [bands.start + 1, bands.end],
        sigma_alone: args.sigma_alone,
        flops: calculation.flops(),
        results,
        band_chunks: task.parts(),
        workers,
        matrices,
    };
    let shown = args.output.show(&record, text);
    // The files are written even if printing fails.
    let written = [&sums.sx, &sums.ch].into_iter().skip(usize::from(args.sigma_alone));
    for (path, matrices) in arrays.iter().zip(written) {
        replace(path, |file| write_array(file, sums.bands, matrices))?;
    }
    shown.map(|()| record.passed())
}

fn named(text: &str) -> Result<Vec<&'static MatrixVersion>> {
    if text == "all" {
        return Ok(ALL.to_vec());
    }
    let ids = ALL.map(|version| version.id);
    let version = |id| find(id).ok_or_else(|| Error::unknown("version", id, ids));
    text.split(',').map(version).collect()
}

/// The part of the time in which a GPU has to sum products for its state to say something about them.
const BUSY: f64 = 0.9;

struct MatrixRun<'a> {
    session: &'a Session<'a>,
    task: MatrixTask<'a>,
    bands: Range<usize>,
    times: Repetition,
    verifies: bool,
    progress: Progress,
}

impl<'a> MatrixRun<'a> {
    fn flops(&self) -> f64 {
        self.task.operations_of(0..self.task.problem.extents().nbands)
    }

    /// Collective. The results of these versions, in turn, and the matrices; none on other ranks than rank 0.
    fn run_versions(
        &self,
        asked: &[&'static MatrixVersion],
    ) -> Result<(Vec<OffdiagResult>, Option<MatrixSums>)> {
        let (mut results, mut found) = (Vec::new(), None::<MatrixSums>);
        let (sample, expected) = (SampledElements::few(&self.task), OnceCell::new());
        if let (Some(cpu), [version, ..]) = (self.session.cpu(), asked) {
            let what = format!("needs a GPU, but the device is {}", cpu.info().id);
            return Err(invalid(format!("--version {}", version.id), what));
        }
        // The fastest if none is asked for; a CPU has none.
        let fastest = asked.is_empty().then_some(None);
        for version in asked.iter().copied().map(Some).chain(fastest) {
            let Some((sums, mut result)) = self.summed_by(version)? else { continue };
            result.deterministic &= found.as_ref().is_none_or(|found| same_bits(found, &sums));
            result.verification = self.verifies.then(|| {
                let evaluated = || evaluate(&self.task, &sample, self.progress);
                let expected: &Vec<ExpectedElement> = expected.get_or_init(evaluated);
                compare(&self.task, &sums, &sample, expected)
            });
            results.push(result);
            found = Some(sums);
        }
        Ok((results, found))
    }

    /// The sums of one version, and its result but for the comparison. Collective.
    fn summed_by(
        &self,
        version: Option<&'static MatrixVersion>,
    ) -> Result<Option<(MatrixSums, OffdiagResult)>> {
        let (session, task, ranks) = (self.session, self.task, self.session.ranks);
        let times = self.times;
        if ranks.size() > 1 {
            let what = "matrix elements, input, energies, bands, --sigma-alone, version, SIMD level or program";
            require_same(ranks, what, &self.digest(version)?)?;
        }
        let _polling = polling();
        let begun = Instant::now();
        let told = |bytes| {
            let (name, bytes) = (task.problem.name(), shown(bytes));
            self.progress.say(format_args!(
                "{name}: {bytes} of the host's memory in addition to the problem"
            ));
        };
        let (workers, id) = workers(session, task, version, &told)?;
        let mut workers = MatrixWorkers::new(task, workers, ranks);
        if times.runs() > 1 {
            workers = workers.for_several();
        }
        // Clock and power are those of one board.
        let gauge = (session.workers() == 1).then(|| session.first().gauge()).flatten();
        let bar = self.progress.bar("summing", times.runs() as u64);
        let (mut found, mut is_same, mut first_s) = (None::<MatrixSums>, true, None);
        let (mut products_s, mut whole_s) = (0.0, 0.0);
        let (time_s, state, _) = timed(gauge, times, &mut |before| {
            let done = |part: f64| bar.set(before as f64 + part);
            let since = Instant::now();
            let (sums, seconds) = workers.sum(&done)?;
            let until = Instant::now();
            first_s.get_or_insert_with(|| begun.elapsed().as_secs_f64());
            if before >= times.warmup {
                products_s += seconds;
                whole_s += (until - since).as_secs_f64();
            }
            is_same &= found.as_ref().is_none_or(|found| same_bits(found, &sums));
            found = Some(sums);
            Ok((seconds, since..until))
        })?;
        drop(bar);
        if !ranks.is_root() {
            return Ok(None);
        }
        let result = OffdiagResult {
            version: session.cpu().is_none().then(|| id.into()),
            first_s: first_s.unwrap_or_default(),
            tflops: 1e-12 * self.flops() / time_s.median,
            // The state of a GPU that waits for A says nothing about the products.
            clock_and_power: state.filter(|_| products_s >= BUSY * whole_s),
            time_s,
            deterministic: is_same,
            verification: None,
        };
        Ok(Some((found.expect("at least one calculation"), result)))
    }

    /// A digest of what the bits depend on. Matrix elements are those of the problem's seed.
    fn digest(&self, version: Option<&'static MatrixVersion>) -> Result<String> {
        let MatrixRun { session, task, bands, .. } = self;
        let level = session.cpu().map(|cpu| cpu.level().to_string()).unwrap_or_default();
        let version = version.map(|version| version.id);
        let settings = (bands, task.sigma_alone, version, level);
        let (problem, device) = (problem::digest(task.problem)?, kind(session.first().info()));
        Ok(format!("{problem} {settings:?} {device} {}", record::program()))
    }
}

fn same_bits(one: &MatrixSums, other: &MatrixSums) -> bool {
    let bits = bytemuck::cast_slice::<Complex64, u64>;
    bits(&one.sx) == bits(&other.sx) && bits(&one.ch) == bits(&other.ch)
}

// What is printed and written.

fn matrices(sums: &MatrixSums, above: &[f64]) -> Vec<MatrixSummary> {
    let summary = |(iw, &above_state_ev): (usize, &f64)| {
        let [trace_sx, trace_ch] = [&sums.sx, &sums.ch].map(|matrix| {
            let trace: Complex64 = (0..sums.bands).map(|l| matrix[sums.at(l, l, iw)]).sum();
            [trace.re, trace.im]
        });
        MatrixSummary { above_state_ev, trace_sx, trace_ch }
    };
    above.iter().enumerate().map(summary).collect()
}

/// Matrices, l fastest, as a NumPy array [iw, l, m], the last index fastest: m.
fn write_array(to: &mut dyn Write, bands: usize, matrices: &[Complex64]) -> io::Result<()> {
    let shape = [matrices.len() / (bands * bands), bands, bands].map(|n| n as u64);
    let mut to = BufWriter::new(to);
    let mut array =
        npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut to).begin_nd()?;
    for matrix in matrices.chunks_exact(bands * bands) {
        array.extend((0..bands * bands).map(|i| matrix[i / bands + bands * (i % bands)]))?;
    }
    array.finish()?;
    to.flush()
}

fn text(to: &mut dyn Write, record: &Offdiag) -> io::Result<()> {
    let device = &record.head.device;
    let [from, last] = record.bands;
    writeln!(to, "{}", system(&record.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    writeln!(
        to,
        "bands l, m {from} to {last}; TFLOP/s count 8 operations for a complex multiply-add"
    )?;
    results(record).print(to)?;
    let mut verified = record.results.iter().filter_map(|result| result.verification.as_ref());
    if let Some(MatrixVerification { elements, energies, tolerance, undecided, .. }) =
        verified.next()
    {
        let noun = if energies.len() == 1 { "energy" } else { "energies" };
        let of = if record.sigma_alone { "of Σ" } else { "each of SX and CH" };
        let undecided =
            undecided.map_or(String::new(), |found| format!("; {}", self::undecided(found)));
        writeln!(
            to,
            "{elements} values {of}, at {} {noun}, compared with the definition: errors are relative to \
             Σ|terms|, tolerance {tolerance:.1e}{undecided}",
            energies.len()
        )?;
    }
    let complex = |[re, im]: [f64; 2]| format!("{re:+.6e} {im:+.6e}i");
    let of_sx = |row: &MatrixSummary| (!record.sigma_alone).then(|| complex(row.trace_sx));
    TextTable::new(
        &[
            (record.system.energy(), &|row: &&MatrixSummary| format!("{:+.6}", row.above_state_ev)),
            ("tr SX", &|row| or_dash(of_sx(row))),
            (if record.sigma_alone { "tr Σ" } else { "tr CH" }, &|row| complex(row.trace_ch)),
        ],
        &record.matrices,
    )
    .print(to)?;
    if record.sigma_alone {
        return writeln!(to, "Σ is without bare exchange (SX−X + CH); all in {UNIT}");
    }
    writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all in {UNIT}")
}

pub fn results(record: &Offdiag) -> TextTable {
    // How much faster than the version before it.
    let before = |result: &OffdiagResult| {
        let from = find(result.version.as_ref()?)?.from;
        let before = record.results.iter().find(|other| other.version.as_deref() == from)?;
        Some(format!("{:.2}", before.time_s.median / result.time_s.median))
    };
    let gpu = |result: &OffdiagResult| result.clock_and_power.clone();
    let clock = |result: &OffdiagResult| Some(gpu(result)?.sm_mhz?.median);
    let error = |result: &OffdiagResult| result.verification.as_ref()?.max_rel_error;
    TextTable::new(
        &[
            ("version", &|result: &&OffdiagResult| or_dash(result.version.as_ref())),
            ("time [ms]", &|result| ms(result.time_s.median)),
            ("with input [ms]", &|result| ms(result.first_s)),
            ("TFLOP/s", &|result| digits(result.tflops)),
            ("× before", &|result| or_dash(before(result))),
            ("clock [MHz]", &|result| fixed(clock(result), 0)),
            ("power [W]", &|result| fixed(gpu(result).as_ref().and_then(ClockAndPower::watts), 0)),
            ("energy [J]", &|result| fixed(result.joules(), 0)),
            ("error", &|result| rough(error(result))),
            ("result", &|result| outcome(result.outcome()).into()),
        ],
        &record.results,
    )
}
