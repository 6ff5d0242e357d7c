//! `gpp offdiag`: Σ as a matrix.

pub mod npy;

use std::cell::OnceCell;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use gpp_core::offdiag::gpu::{ALL, MatrixVersion, find};
use gpp_core::offdiag::{
    Elements, MatrixEnergies, MatrixSums, MatrixTask, MatrixWorkers, SummedMatrix, Synthesised,
    once_each, workers,
};
use num_complex::Complex64;

use crate::catalogue::BackEnd;
use crate::cli::{OffdiagArgs, OutputArgs, PAPER_SYSTEM, SMALL_SYSTEM};
use crate::devices::Device;
use crate::error::{Error, Result, invalid, shown};
use crate::measure::timed;
use crate::offdiag::npy::ElementsFile;
use crate::output::{Progress, STOP, check_outputs, polling, replace};
use crate::problem::{self, EnergyGrid, Header, Origin};
use crate::ranks::{Ranks, require_same};
use crate::record::run::{MatrixSummary, Offdiag, OffdiagResult, SystemInfo, UNIT};
use crate::record::{self, ClockAndPower, Head, Provenance, Repetition};
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
    let arrays: Vec<PathBuf> = args.parts().iter().filter_map(|part| args.array(part)).collect();
    let outputs = args.output.json.iter().chain(&arrays);
    let inputs = args.problem.input.iter().chain(&args.elements);
    check_outputs(outputs.filter(|_| ranks.is_root()), inputs)?;
    if let (Some(path), None) = (&args.problem.input, &args.elements) {
        let origin = format!("--input {}", path.display());
        let what = "has matrix elements of one state only: pass those of all bands with --elements";
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
    let opened = source.open(progress)?;
    let stored = args
        .elements
        .as_ref()
        .map(|path| ElementsFile::open(path, opened.extents()))
        .transpose()?;
    let bands = bands(args, stored.as_ref(), count)?;
    let (problem, at) = match args.qsgw {
        false => (opened.load()?, None),
        true => {
            let (grid, at) = qsgw_energies(opened.bands()?.header(), bands.clone())?;
            (setup::ProblemSource { energies: Some(grid), ..source }.load(progress)?, Some(at))
        }
    };
    let synthesised = match problem.origin() {
        Origin::System(system, seed) => Some(Synthesised::new(system, *seed, bands.end)),
        Origin::File(_) | Origin::Made => None,
    };
    let elements_of_all: &dyn Elements = match (&stored, &synthesised) {
        (Some(stored), _) => stored,
        (None, Some(synthesised)) => synthesised,
        (None, None) => unreachable!("a file's problem has a file of elements"),
    };
    session.require_one_kind()?;
    let elements = SomeBands { all: elements_of_all, bands: bands.clone() };
    let task = MatrixTask {
        at: at.as_deref().map_or(MatrixEnergies::Energies, MatrixEnergies::Bands),
        sigma_alone: args.sigma_alone,
        stop: &STOP,
        ..MatrixTask::new(&problem, &elements)
    };
    let (repeat, verifies) = (args.repeat as usize, !args.no_verify);
    let calculation = MatrixRun { session, task, repeat, verifies, progress };
    let done = calculation.run_versions(&asked);
    // What is wrong with the file comes before what came of it, on any rank.
    stored.as_ref().map_or(Ok(()), ElementsFile::check)?;
    let (results, sums) = done?;
    ranks.barrier();
    let Some(sums) = sums else { return Ok(true) };
    let above = problem.header().shown();
    let matrices = matrices(&sums, |plane| at.is_none().then(|| above[plane]));
    let provenance =
        Provenance::now(device.info()).with_origin(problem.origin(), calculation.times());
    let record = Offdiag {
        head: Head { complete: true, ..Head::new(device.info(), provenance) },
        system: SystemInfo::from_problem(&problem),
        elements: args.elements.as_ref().map(|path| path.display().to_string()),
        bands: [bands.start + 1, bands.end],
        sigma_alone: args.sigma_alone,
        flops: calculation.flops(),
        results,
        band_chunks: task.parts(),
        workers,
        matrices,
        bands_above_state_ev: at.map(|at| at.iter().map(|&iw| above[iw]).collect()),
    };
    write(args, &record, &sums)?;
    Ok(record.passed())
}

fn named(text: &str) -> Result<Vec<&'static MatrixVersion>> {
    if text == "all" {
        return Ok(ALL.to_vec());
    }
    let ids = ALL.map(|version| version.id);
    let version = |id| find(id).ok_or_else(|| Error::unknown("version", id, ids));
    text.split(',').map(version).collect()
}

fn bands(args: &OffdiagArgs, stored: Option<&ElementsFile>, count: usize) -> Result<Range<usize>> {
    let stored_bands = stored.map(Elements::bands);
    let bands = args.bands.clone().unwrap_or(0..stored_bands.unwrap_or(count));
    let (from, to) = (bands.start + 1, bands.end);
    match stored_bands {
        Some(stored_bands) if to > stored_bands => {
            let what =
                format!("needs bands {from} to {to}, but --elements has bands 1 to {stored_bands}");
            Err(invalid("--bands", what))
        }
        _ => Ok(bands),
    }
}

struct SomeBands<'a> {
    all: &'a dyn Elements,
    bands: Range<usize>,
}

impl Elements for SomeBands<'_> {
    fn bands(&self) -> usize {
        self.bands.len()
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.all.column(self.bands.start + l, n, column);
    }
}

/// The part of the time in which a GPU has to sum products for its state to say something about them.
const BUSY: f64 = 0.9;

struct MatrixRun<'a> {
    session: &'a Session<'a>,
    task: MatrixTask<'a>,
    repeat: usize,
    verifies: bool,
    progress: Progress,
}

impl<'a> MatrixRun<'a> {
    /// Several calculations begin with one that is not timed: it uploads A.
    fn times(&self) -> Repetition {
        Repetition::exactly(usize::from(self.repeat > 1), self.repeat)
    }

    fn flops(&self) -> f64 {
        self.task.operations_of(0..self.task.problem.extents().nbands)
    }

    /// The results of these versions, one after the other, and the matrices; none on other ranks than rank 0.
    /// Collective.
    fn run_versions(
        &self,
        asked: &[&'static MatrixVersion],
    ) -> Result<(Vec<OffdiagResult>, Option<MatrixSums>)> {
        let (mut results, mut found) = (Vec::new(), None::<MatrixSums>);
        let (sample, expected) = (SampledElements::few(&self.task), OnceCell::new());
        for version in versions(self.session, asked)? {
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
        let times = self.times();
        if ranks.size() > 1 {
            require_same(ranks, DIGEST, &self.digest(version)?)?;
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
            let SummedMatrix { sums, seconds } = workers.sum(&done)?;
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

    /// A digest of what the bits depend on, with some of the matrix elements.
    fn digest(&self, version: Option<&'static MatrixVersion>) -> Result<String> {
        let MatrixRun { session, task, .. } = *self;
        let some = |count: usize| (0..SAMPLED).map(move |at| at * (count - 1) / (SAMPLED - 1));
        let mut column = vec![Complex64::ZERO; task.problem.extents().ncouls];
        let mut elements = Vec::new();
        for l in some(task.bands()) {
            for n in some(task.problem.extents().nbands) {
                task.elements.column(l, n, &mut column);
                elements.push(problem::hash(&column));
            }
        }
        let level = session.cpu().map(|cpu| cpu.level().to_string()).unwrap_or_default();
        let version = version.map(|version| version.id);
        let at_bands = matches!(task.at, MatrixEnergies::Bands(_));
        let settings = (task.bands(), at_bands, task.sigma_alone, version, level);
        let (problem, elements) = (problem::digest(task.problem)?, problem::hash(&elements));
        Ok(format!(
            "{problem} {elements} {settings:?} {} {}",
            kind(session.first().info()),
            record::program()
        ))
    }
}

/// Columns of A in the digest: so many l and n.
const SAMPLED: usize = 4;

const DIGEST: &str =
    "matrix elements, input, energies, bands, --sigma-alone, version, SIMD level or program";

/// The versions to sum with: those asked for, or the fastest; a CPU has none.
fn versions(
    session: &Session,
    asked: &[&'static MatrixVersion],
) -> Result<Vec<Option<&'static MatrixVersion>>> {
    match (session.cpu(), asked) {
        (Some(cpu), [version, ..]) => {
            let what = format!("needs a GPU, but the device is {}", cpu.info().id);
            Err(invalid(format!("--version {}", version.id), what))
        }
        (_, []) => Ok(vec![None]),
        (None, asked) => Ok(asked.iter().copied().map(Some).collect()),
    }
}

fn same_bits(one: &MatrixSums, other: &MatrixSums) -> bool {
    let both = [(&one.sx, &other.sx), (&one.ch, &other.ch)];
    let bits = bytemuck::cast_slice::<Complex64, u64>;
    both.into_iter().all(|(one, other)| bits(one) == bits(other))
}

/// The energies of bands l, each once, and whose is which: those of the problem's bands n of the same numbers.
fn qsgw_energies(header: &Header, bands: Range<usize>) -> Result<(EnergyGrid, Vec<usize>)> {
    if bands.end > header.nbands {
        let what = format!(
            "the problem has energies of bands 1 to {}, not of all bands {} to {}",
            header.nbands,
            bands.start + 1,
            bands.end
        );
        return Err(invalid("--qsgw", what));
    }
    let above: Vec<f64> = bands.map(|n| header.e(n) - header.e_lk).collect();
    let (each, numbers) = once_each(&above);
    Ok((EnergyGrid::Listed(each), numbers))
}

// What is printed and written.

/// The traces of the matrices.
fn matrices(sums: &MatrixSums, above: impl Fn(usize) -> Option<f64>) -> Vec<MatrixSummary> {
    let summary = |iw: usize| {
        let trace = |matrix: &[Complex64]| {
            let trace: Complex64 = (0..sums.bands).map(|l| matrix[sums.at(l, l, iw)]).sum();
            [trace.re, trace.im]
        };
        let [trace_sx, trace_ch] = [&sums.sx, &sums.ch].map(|matrix| trace(matrix));
        MatrixSummary { above_state_ev: above(iw), trace_sx, trace_ch }
    };
    (0..sums.nw()).map(summary).collect()
}

/// All l and m, m fastest.
fn pairs(bands: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bands).flat_map(move |l| (0..bands).map(move |m| (l, m)))
}

fn sigma(sums: &MatrixSums, l: usize, m: usize, iw: usize) -> Complex64 {
    let index = sums.at(l, m, iw);
    sums.sx[index] + sums.ch[index]
}

/// The Hermitian part `½(M + M†)` of `M_lm = ½[Σ_lm(E_l) + Σ_lm(E_m)]`, element (l, m) at `l + bands · m`.
fn hermitian(sums: &MatrixSums) -> Vec<Complex64> {
    let mean = |l, m| 0.5 * (sigma(sums, l, m, 0) + sigma(sums, l, m, 1));
    // l is the faster index.
    pairs(sums.bands).map(|(m, l)| 0.5 * (mean(l, m) + mean(m, l).conj())).collect()
}

/// Prints and writes all that was asked for; files are written even if printing fails.
fn write(args: &OffdiagArgs, record: &Offdiag, sums: &MatrixSums) -> anyhow::Result<()> {
    let shown = args.output.show(record, text);
    let shape = [sums.nw(), sums.bands, sums.bands];
    let qsgw = if args.qsgw { hermitian(sums) } else { Vec::new() };
    let written = [&sums.sx, &sums.ch].into_iter().skip(usize::from(args.sigma_alone));
    let written = args.parts().iter().zip(written).map(|(name, sums)| (*name, &shape[..], sums));
    for (name, shape, matrices) in written.chain([("qsgw", &shape[1..], &qsgw)]) {
        if let Some(path) = args.array(name).filter(|_| !matrices.is_empty()) {
            replace(&path, |file| npy::write(file, shape, matrices))?;
        }
    }
    shown
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
    if let Some(verified) = verified.next() {
        writeln!(to, "{}", verification(verified, record.sigma_alone))?;
    }
    traces(record).print(to)?;
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
    .filled()
}

fn verification(verified: &MatrixVerification, is_alone: bool) -> String {
    let MatrixVerification { elements, energies, tolerance, .. } = verified;
    let noun = if energies.len() == 1 { "energy" } else { "energies" };
    let undecided =
        verified.undecided.map_or(String::new(), |found| format!("; {}", undecided(found)));
    let of = if is_alone { "of Σ" } else { "each of SX and CH" };
    format!(
        "{elements} values {of}, at {} {noun}, compared with the definition: errors are relative to \
         Σ|terms|, tolerance {tolerance:.1e}{undecided}",
        energies.len()
    )
}

fn traces(record: &Offdiag) -> TextTable {
    let complex = |[re, im]: [f64; 2]| format!("{re:+.6e} {im:+.6e}i");
    let is_alone = record.sigma_alone;
    TextTable::new(
        &[
            (record.system.energy(), &|(plane, row): &(usize, &MatrixSummary)| {
                let of_bands = || ["E_l", "E_m"][*plane].into();
                row.above_state_ev.map_or_else(of_bands, |above| format!("{above:+.6}"))
            }),
            ("tr SX", &|(_, row)| or_dash((!is_alone).then(|| complex(row.trace_sx)))),
            (if is_alone { "tr Σ" } else { "tr CH" }, &|(_, row)| complex(row.trace_ch)),
        ],
        record.matrices.iter().enumerate(),
    )
    .filled()
}
