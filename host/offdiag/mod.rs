//! `gpp offdiag`: Σ as a matrix.

pub mod records;
pub mod show;

use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use bytesize::ByteSize;
use gpp_core::offdiag::calculation::{Worker, Workers};
use gpp_core::offdiag::gpu::{Needs, OnGpu};
use gpp_core::offdiag::versions::{self, Version};
use gpp_core::offdiag::{
    At, Elements, MOST_BANDS as MOST, OnCpu, Summed, Sums, Synthesised, Task, once_each,
};
use gpp_cpu::simd::Level;
use gpp_kernels::offdiag::{self, COMMON};
use nalgebra::DMatrix;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::catalogue::{BackEnd, sources};
use crate::chart::{Picture, Sizes};
use crate::cli::args::{EnergiesOf, OffdiagArgs, OutputArgs};
use crate::devices::gauge::{Gauge, Watch};
use crate::devices::gpu;
use crate::devices::{Device, DeviceInfo};
use crate::error::{Error, Result};
use crate::interrupt::{self, Deferred};
use crate::measure::seen;
use crate::memory::{self, Crew, Limits};
use crate::offdiag::records::Stored;
use crate::output::{self, is_stdout, replace};
use crate::problem::grid::Grid;
use crate::problem::{Header, Origin, Problem, digest};
use crate::progress::Progress;
use crate::ranks::{Ranks, require_same};
use crate::record::offdiag::{Largest, Map, Matrix, OfVersion, Offdiag, Qsgw, pictured};
use crate::record::run::{Repetition, SystemInfo, Times};
use crate::record::{self, Head, Provenance};
use crate::reference::Source;
use crate::reference::matrix::{self, Sample, Verdict, compare, verify};
use crate::run::{self, code};
use crate::setup::{self, Opened, back_end, opened, require_vectors, shared};
use crate::terminal::terminal;

/// Bands where none are asked for.
const ON_PROCESSOR: usize = 16;
const ON_GPU: usize = 128;

pub fn offdiag(args: &OffdiagArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    let own = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = own.progress();
    args.files(ranks.is_root()).check()?;
    let plots = args.plot.iter().map(|path| Picture::of(path)).collect::<Result<Vec<_>>>()?;
    if let (Some(path), None) = (&args.problem.input, &args.elements) {
        let origin = format!("--input {}", path.display());
        let what = "holds matrix elements of one state: --elements has those of all bands".into();
        return Err(Error::Input { origin, what }.into());
    }
    let versions = args.version.as_ref().map_or(&[][..], |named| &named.0);
    let limits = args.limits();
    let on = match opened(&args.place, limits.device, &[], progress, ranks)? {
        Opened::Gpus(gpus) => {
            require_vectors(&args.place, &[])?;
            Opened::Gpus(shared(gpus, ranks)?)
        }
        host => {
            ranks.having(&[]);
            host
        }
    };
    let places = setup::places(Crew { devices: &on.devices(), ranks }).unwrap_or_default();
    run::places(&places).iter().for_each(|line| progress.say(line));
    let is_processor = on.info().back_end() == BackEnd::Cpu;
    let count = if is_processor { ON_PROCESSOR } else { ON_GPU };
    let source = args.problem.source_for(on.info(), progress)?;
    let opened = source.open(progress)?;
    let stored =
        args.elements.as_ref().map(|path| Stored::open(path, opened.extents())).transpose()?;
    let bands = bands(args, stored.as_ref(), count)?;
    let (problem, at) = match args.at {
        None => (opened.load()?, None),
        Some(EnergiesOf::Bands) => {
            let (grid, at) = qsgw_energies(opened.bands()?.header(), bands)?;
            (source.clone().at(Some(grid)).load(progress)?, Some(at))
        }
    };
    let synthesised = synthesised(&problem, bands);
    let all: &dyn Elements = match (&stored, &synthesised) {
        (Some(stored), _) => stored,
        (None, Some(synthesised)) => synthesised,
        (None, None) => unreachable!("a file's problem has a file of elements"),
    };
    let compares = !args.verify.no_verify;
    let at = at.as_deref();
    let options = Options { versions, repeat: args.repeat, compares, limits, at };
    let done = run((&on, ranks), &problem, &SomeBands { all, bands }, bands, options, progress);
    // What is wrong with the file comes before what came of it, on any rank.
    stored.as_ref().map_or(Ok(()), Stored::check)?;
    let done = done?;
    ranks.barrier();
    let Some((mut record, sums)) = done else { return Ok(ExitCode::SUCCESS) };
    record.elements = args.elements.as_ref().map(|path| path.display().to_string());
    record.places = places;
    show(args, &plots, &record, &sums)?;
    Ok(code(record.passed()))
}

/// The bands asked for, all of a file, or so many.
fn bands(args: &OffdiagArgs, stored: Option<&Stored>, count: usize) -> Result<Bands> {
    let held = stored.map(Elements::bands);
    let bands = args.bands.unwrap_or(Bands { first: 0, count: held.unwrap_or(count) });
    match held {
        Some(held) if bands.first + bands.count > held => {
            let (from, to) = (bands.first + 1, bands.first + bands.count);
            let what = format!("bands {from} to {to}, and --elements has those from 1 to {held}");
            Err(Error::Input { origin: "--bands".into(), what })
        }
        _ => Ok(bands),
    }
}

fn synthesised(problem: &Problem, bands: Bands) -> Option<Synthesised<'_>> {
    match problem.origin() {
        Origin::System(system, seed) => {
            Some(Synthesised::new(system, *seed, bands.first + bands.count))
        }
        Origin::File(_) | Origin::Made => None,
    }
}

/// Prints and writes all that was asked for.
fn show(
    args: &OffdiagArgs,
    plots: &[Picture],
    record: &Offdiag,
    sums: &Sums,
) -> anyhow::Result<()> {
    let prints = args.csv.as_deref().is_some_and(is_stdout);
    let output = OutputArgs { quiet: args.output.quiet || prints, ..args.output.clone() };
    let shown = output.show(record, |to, record| show::text(to, record, terminal()));
    // What cannot be printed does not keep files from being written.
    if let Some(path) = &args.csv {
        output::document(path, |to| show::csv(to, record, sums))?;
    }
    if let Some([sx, ch]) = &args.arrays() {
        replace(sx, |file| show::npy(file, sums, &sums.sx))?;
        replace(ch, |file| show::npy(file, sums, &sums.ch))?;
    }
    if let (Some(path), Some(_)) = (&args.array("qsgw"), &record.qsgw) {
        let matrix = hermitian(sums);
        replace(path, |file| show::npy_of_one(file, sums.bands, &matrix))?;
    }
    for (path, picture) in args.plot.iter().zip(plots) {
        picture.write(path, &Sizes::of(record, sums))?;
    }
    shown
}

// Σ as a matrix: the calculation, its record, and the matrices.

#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How a GPU multiplies, one after the other; none is as is fastest.
    pub versions: &'a [&'static Version],
    pub repeat: usize,
    /// Whether elements are compared with the definition.
    pub compares: bool,
    pub limits: Limits,
    /// Which of the problem's energies are those of the bands, where these are asked for.
    pub at: Option<&'a [usize]>,
}

/// Sums the matrices of bands l and m by each version; what is shown of them comes first, then they themselves. None on
/// other ranks than rank 0. Collective.
pub fn run(
    (on, ranks): (&Opened, &dyn Ranks),
    problem: &Problem,
    elements: &dyn Elements,
    bands: Bands,
    options: Options,
    progress: Progress,
) -> Result<Option<(Offdiag, Sums)>> {
    let at = options.at.map_or(At::Energies, At::Bands);
    let task = Task { at, stop: &interrupt::ASKED, ..Task::new(problem, elements) };
    let devices = on.devices();
    let team = memory::Crew { devices: &devices, ranks };
    setup::require_one_kind(team)?;
    let times = Repetition::exactly(usize::from(options.repeat > 1), options.repeat);
    let provenance = Provenance::now(on.info()).of(problem.origin(), times);
    let (mut results, mut found) = (Vec::new(), None::<Sums>);
    let by = Calculations { on, ranks, team, task, bands, options, times, progress };
    for version in on.versions(options.versions, task.bands())? {
        let Some((sums, mut result)) = by.of(version)? else { continue };
        result.same_bits &= found.as_ref().is_none_or(|found| same_bits(found, &sums));
        results.push(result);
        found = Some(sums);
    }
    let Some(sums) = found else { return Ok(None) };
    let above = problem.header().above_state();
    let matrices = matrices(&sums, bands.first, |plane| options.at.is_none().then(|| above[plane]));
    let record = Offdiag {
        head: Head { complete: true, ..Head::new(on.info(), provenance) },
        system: SystemInfo::of(problem),
        elements: None,
        bands: [bands.first + 1, bands.first + bands.count],
        flops: by.flops(),
        results,
        parts: task.parts(),
        places: Vec::new(),
        map: Some(Map::of(&sums, pictured(&matrices))),
        matrices,
        qsgw: options.at.map(|at| qsgw_told(&sums, at.iter().map(|&iw| above[iw]).collect())),
    };
    Ok(Some((record, sums)))
}

/// The part of the time in which a GPU whose state is told has products to sum.
const BUSY: f64 = 0.9;

/// A task, where and how often it is calculated.
struct Calculations<'a> {
    on: &'a Opened,
    ranks: &'a dyn Ranks,
    team: memory::Crew<'a>,
    task: Task<'a>,
    bands: Bands,
    options: Options<'a>,
    times: Repetition,
    progress: Progress,
}

impl Calculations<'_> {
    /// Those of one version. Of several the first is not timed: it brings A. None on other ranks than rank 0.
    fn of(&self, version: Option<&'static Version>) -> Result<Option<(Sums, OfVersion)>> {
        let Calculations { on, ranks, task, bands, options, times, progress, .. } = self;
        if ranks.size() > 1 {
            let own = task_digest(on, (task, version), *bands)?;
            require_same(*ranks, DIGEST, &own)?;
        }
        on.require((task, version), self.team, options.limits, *progress)?;
        // What others wait for ends by itself.
        let _deferred = (ranks.size() > 1).then(|| Deferred::new("the parts at hand"));
        let gauge = on.gauge();
        let watch = gauge.clone().map(Watch::begin);
        let bar = progress.fine_bar("summing", times.runs() as u64);
        let (mut seconds, mut spans, mut is_same) = (Vec::new(), Vec::new(), true);
        let (mut found, mut total_s): (Option<Sums>, _) = (None, None);
        let begun = Instant::now();
        let mut workers = Workers::new(*task, on.workers(*task, version)?, *ranks);
        if times.runs() > 1 {
            workers = workers.for_several();
        }
        for at in 0..times.runs() {
            let done = |part: f64| bar.set(at as f64 + part);
            let since = Instant::now();
            let Summed { sums, seconds: products, .. } = workers.sum(&done)?;
            total_s.get_or_insert_with(|| begun.elapsed().as_secs_f64());
            if at >= times.warmup {
                seconds.push(products);
                spans.push(since..Instant::now());
            }
            is_same &= found.as_ref().is_none_or(|found| same_bits(found, &sums));
            found = Some(sums);
        }
        bar.finish_and_clear();
        let looks = watch.map_or(Vec::new(), Watch::end);
        if !ranks.is_root() {
            return Ok(None);
        }
        let sums = found.expect("at least one calculation");
        // Of a GPU that waits for A the looks are of no calculation.
        let whole: f64 = spans.iter().map(|span| (span.end - span.start).as_secs_f64()).sum();
        let spans = if seconds.iter().sum::<f64>() < BUSY * whole { Vec::new() } else { spans };
        let time_s = Times::of(seconds);
        let result = OfVersion {
            version: version.map(|version| version.id.into()),
            kernel_hashes: version.map(|version| {
                let symbols = version.kernels().chain(offdiag::COMMON).map(|(symbol, _)| symbol);
                symbols.filter_map(|symbol| Some((symbol.into(), gpu::hash(symbol)?))).collect()
            }),
            source_hash: sources::hash_at(&source(version.map(|version| version.id))),
            total_s: total_s.unwrap_or_default(),
            tflops: 1e-12 * self.flops() / time_s.median,
            state: seen(&looks, &spans, gauge.and_then(|gauge| gauge.power_limit_w())).state,
            time_s,
            same_bits: is_same,
            verification: options.compares.then(|| verdict(task, &sums, *bands, *progress)),
        };
        Ok(Some((sums, result)))
    }

    fn flops(&self) -> f64 {
        self.task.operations_of(0..self.task.problem.extents().nbands)
    }
}

/// Compares the golden elements that there are, or else a few by the definition.
fn verdict(task: &Task, sums: &Sums, bands: Bands, progress: Progress) -> Verdict {
    match matrix::find_golden(task, bands.first) {
        Some((sample, golden)) => compare(task, sums, &sample, &golden, Source::Golden),
        None => verify(task, sums, &Sample::few(task), progress),
    }
}

/// The file of a version; on a processor that of what makes P.
pub fn source(version: Option<&str>) -> String {
    let of_gpu = |version| format!("kernels/src/offdiag/versions.rs#{version}");
    version.map_or_else(|| "cpu/src/poles.rs".into(), of_gpu)
}

fn same_bits(one: &Sums, other: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        let all = sums.sx.iter().chain(&sums.ch);
        all.map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(one) == bits(other)
}

/// What the matrices are like; bands are counted from the first, which is 0-based.
fn matrices(sums: &Sums, first: usize, above: impl Fn(usize) -> Option<f64>) -> Vec<Matrix> {
    let of_energy = |iw: usize| {
        let trace = |of: &[Complex64]| {
            let trace: Complex64 = (0..sums.bands).map(|l| of[sums.at(l, l, iw)]).sum();
            [trace.re, trace.im]
        };
        let sizes = |diagonal: bool| {
            let pairs = (0..sums.bands).flat_map(|l| (0..sums.bands).map(move |m| (l, m)));
            let some = pairs.filter(move |(l, m)| (l == m) == diagonal);
            let sized = some.map(|(l, m)| {
                let at = sums.at(l, m, iw);
                let bands = [first + l + 1, first + m + 1];
                Largest { bands, size: (sums.sx[at] + sums.ch[at]).norm() }
            });
            sized.max_by(|a, b| a.size.total_cmp(&b.size))
        };
        Matrix {
            above_state_ev: above(iw),
            trace_sx: trace(&sums.sx),
            trace_ch: trace(&sums.ch),
            largest_diagonal: sizes(true).expect("one band at least"),
            largest_off_diagonal: sizes(false),
        }
    };
    (0..sums.nw()).map(of_energy).collect()
}

// The devices that sum, and what they need.

impl Opened {
    pub fn devices(&self) -> Vec<&dyn Device> {
        match self {
            Opened::Host(host) => vec![host.as_ref()],
            Opened::Gpus(gpus) => gpus.iter().map(|gpu| gpu as &dyn Device).collect(),
        }
    }

    pub fn info(&self) -> &DeviceInfo {
        match self {
            Opened::Host(host) => host.info(),
            Opened::Gpus(gpus) => gpus[0].info(),
        }
    }

    /// What shows the state of the first GPU.
    pub fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        match self {
            Opened::Host(_) => None,
            Opened::Gpus(gpus) => gpus[0].gauge(),
        }
    }

    /// The versions that GPUs sum with: those asked for, or the fastest; on a processor there is none.
    pub fn versions(
        &self,
        asked: &[&'static Version],
        bands: usize,
    ) -> Result<Vec<Option<&'static Version>>> {
        match (self, asked) {
            (Opened::Host(_), []) => Ok(vec![None]),
            (Opened::Host(host), [version, ..]) => {
                let what = format!("is of GPUs, and {} is a processor", host.info().id);
                Err(Error::Input { origin: format!("--version {}", version.id), what })
            }
            // GPUs are of one kind.
            (Opened::Gpus(gpus), []) => Ok(vec![Some(versions::on(&gpus[0], None, bands)?)]),
            (Opened::Gpus(gpus), asked) => {
                let on = |&version| versions::on(&gpus[0], Some(version), bands).map(Some);
                asked.iter().map(on).collect()
            }
        }
    }

    /// Says what memory a task takes beside the problem, and fails where there is less. Collective.
    pub fn require(
        &self,
        (task, version): (&Task, Option<&'static Version>),
        team: memory::Crew,
        limits: Limits,
        progress: Progress,
    ) -> Result<()> {
        let name = task.problem.name();
        let show = |bytes: u64| ByteSize(bytes).display().iec().to_string();
        let host = match (self, version) {
            (Opened::Host(host), _) => {
                limits.require_effect_on(BackEnd::Cpu)?;
                OnCpu::new(host, *task)?.needs()
            }
            (Opened::Gpus(gpus), version) => {
                let needs = Needs::of(task, version.expect(VERSIONS));
                let all = needs.device + needs.a * needs.parts as u64;
                progress.say(format_args!(
                    "{name}: {} of each GPU's memory, with all matrix elements {}",
                    show(needs.least()),
                    show(all)
                ));
                gpus.iter().try_for_each(|gpu| needs.require_on(gpu, name))?;
                needs.host * gpus.len() as u64
            }
        };
        let taken = task.problem.extents().bytes();
        progress
            .say(format_args!("{name}: {} of the host's memory beside the problem", show(host)));
        memory::of_host(team, limits, taken).require(name, host)
    }

    /// A task where it is summed, all but A in place.
    pub fn workers<'a>(
        &'a self,
        task: Task<'a>,
        version: Option<&'static Version>,
    ) -> Result<Vec<Box<dyn Worker + 'a>>> {
        match self {
            Opened::Host(host) => Ok(vec![Box::new(OnCpu::new(host, task)?)]),
            Opened::Gpus(gpus) => {
                let version = version.expect(VERSIONS);
                let on_gpu = |gpu| Ok(Box::new(OnGpu::new(gpu, task, version)?) as Box<dyn Worker>);
                gpus.iter().map(on_gpu).collect()
            }
        }
    }
}

const VERSIONS: &str = "GPUs have versions";

// Which bands l and m.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bands {
    /// The first, from 0.
    pub first: usize,
    pub count: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs a number of bands or FROM:TO, from 1 to {MOST}, ends included")]
pub struct NoBands;

impl FromStr for Bands {
    type Err = NoBands;

    fn from_str(text: &str) -> Result<Bands, NoBands> {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST).contains(n));
        let (from, to) = match text.split_once(':') {
            Some((from, to)) => (number(from), number(to)),
            None => (Some(1), number(text)),
        };
        match (from, to) {
            (Some(from), Some(to)) if from <= to => {
                Ok(Bands { first: from - 1, count: to + 1 - from })
            }
            _ => Err(NoBands),
        }
    }
}

/// The matrix elements of some bands of more.
pub struct SomeBands<'a> {
    pub all: &'a dyn Elements,
    pub bands: Bands,
}

impl Elements for SomeBands<'_> {
    fn bands(&self) -> usize {
        self.bands.count
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.all.column(self.bands.first + l, n, column);
    }
}

// The matrix at the bands' own energies, as QSGW takes it.

/// The energies of bands l, each once, and whose is which: those of the problem's bands n of the same numbers.
pub fn qsgw_energies(header: &Header, bands: Bands) -> Result<(Grid, Vec<usize>)> {
    let own = bands.first..bands.first + bands.count;
    if own.end > header.nbands {
        let what = format!(
            "needs bands n of the same numbers, of which the problem has 1 to {}; found bands {} to {}",
            header.nbands,
            own.start + 1,
            own.end
        );
        return Err(Error::Input { origin: "--at bands".into(), what });
    }
    let above: Vec<f64> = own.map(|n| header.e(n) - header.e_lk).collect();
    let (each, numbers) = once_each(&above);
    Ok((Grid::Listed(each), numbers))
}

/// The Hermitian part `½(M + M†)` of `M_lm = ½[Σ_lm(E_l) + Σ_lm(E_m)]`, element (l, m) at `l + bands · m`.
pub fn hermitian(sums: &Sums) -> Vec<Complex64> {
    let bands = sums.bands;
    let sigma = |l, m, plane| {
        let at = sums.at(l, m, plane);
        sums.sx[at] + sums.ch[at]
    };
    let both = |l, m| 0.5 * (sigma(l, m, 0) + sigma(l, m, 1));
    let part = |at: usize| {
        let (l, m) = (at % bands, at / bands);
        0.5 * (both(l, m) + both(m, l).conj())
    };
    (0..bands * bands).map(part).collect()
}

/// What it is like; `qsgw_energies` are those of the bands above the state's.
pub fn qsgw_told(sums: &Sums, bands_above_state_ev: Vec<f64>) -> Qsgw {
    let matrix = DMatrix::from_vec(sums.bands, sums.bands, hermitian(sums));
    // What is no number has no eigenvalues, and would be iterated on without end.
    let mut eigenvalues = match matrix.iter().all(|z| z.re.is_finite() && z.im.is_finite()) {
        true => matrix.symmetric_eigenvalues().as_slice().to_vec(),
        false => vec![f64::NAN; sums.bands],
    };
    eigenvalues.sort_by(f64::total_cmp);
    Qsgw { bands_above_state_ev, eigenvalues }
}

// A digest of what the bits of a task depend on.

/// Columns of A in the digest of some: so many l and n.
const SAMPLED: usize = 4;

pub const DIGEST: &str = "matrix elements, input, energies, bands, version, vectors or program";

/// That of a task of these bands, with some of the matrix elements.
pub fn task_digest(
    on: &Opened,
    (task, version): (&Task, Option<&'static gpp_kernels::offdiag::versions::Version>),
    bands: Bands,
) -> Result<String> {
    let of_some = |all: usize| -> Vec<usize> {
        let mut some: Vec<usize> = (0..SAMPLED).map(|at| at * (all - 1) / (SAMPLED - 1)).collect();
        some.dedup();
        some
    };
    let problem = task.problem;
    let (nbands, ncouls) = (problem.extents().nbands, problem.extents().ncouls);
    let [of_l, of_n] = [of_some(task.bands()), of_some(nbands)];
    let of_band = |l: usize| -> Vec<u64> {
        let mut column = vec![Complex64::ZERO; ncouls];
        let of_column = |&n: &usize| {
            task.elements.column(l, n, &mut column);
            digest::of(&column)
        };
        of_n.iter().map(of_column).collect()
    };
    let elements: Vec<u64> = of_l.into_par_iter().flat_map_iter(of_band).collect();
    let at = match task.at {
        At::Energies => "all elements",
        At::Bands(_) => "elements of bands at their own",
    };
    let kernels = version.into_iter().flat_map(|version| version.kernels().chain(COMMON));
    let kernels = kernels.map(|(symbol, _)| gpu::hash(symbol).unwrap_or("unknown".into()));
    let widest = Level::available().last().map_or("none", |level| level.name());
    let by = match on {
        // The crate of the products takes the widest vectors that there are.
        Opened::Host(host) => format!("CPU, {}, {widest} in its products", host.level()),
        Opened::Gpus(_) => [vec![back_end(on.info())], kernels.collect()].concat().join(" "),
    };
    let (first, count, version) = (bands.first, bands.count, version.map(|version| version.id));
    let (problem, elements) = (digest::of_problem(problem)?, digest::of(&elements));
    let program = record::program();
    Ok(format!("{problem} {elements} {at} {first} {count} {version:?} {by} {program}"))
}

#[cfg(test)]
mod tests;
