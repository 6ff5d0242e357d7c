//! `gpp offdiag`: Σ as a matrix.

pub mod records;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::Instant;

use bytesize::ByteSize;
use comfy_table::Cell;
use gpp_core::offdiag::calculation::Workers;
use gpp_core::offdiag::cpu::OnCpu;
use gpp_core::offdiag::gpu::Needs;
use gpp_core::offdiag::gpu::OnGpu;
use gpp_core::offdiag::versions::{self, Version};
use gpp_core::offdiag::{At, Elements, Summed, Sums, Synthesised, Task, Worker, once_each};
use nalgebra::DMatrix;
use npyz::WriterBuilder;
use num_complex::Complex64;

use crate::catalogue::BackEnd;
use crate::chart::{Picture, Sizes};
use crate::cli::{Bands, OffdiagArgs, OutputArgs, PAPER_SYSTEM, SMALL_SYSTEM};
use crate::devices::gauge::Watch;
use crate::devices::{Device, DeviceInfo};
use crate::error::{Error, Result, invalid};
use crate::interrupt;
use crate::measure::state;
use crate::memory;
use crate::offdiag::records::Stored;
use crate::outcomes::undecided;
use crate::output::{self, is_stdout, replace};
use crate::problem::grid::Grid;
use crate::problem::{Header, Origin, digest};
use crate::progress::Progress;
use crate::ranks::{Ranks, require_same};
use crate::record::offdiag::{Largest, Matrix, OfVersion, Offdiag, Qsgw};
use crate::record::run::{State, SystemInfo, Times, UNIT};
use crate::record::{self, Head, Provenance, Repetition};
use crate::reference::Source;
use crate::reference::matrix::{self, Sample, Verdict, compare, verify};
use crate::run::{self, code};
use crate::setup::{self, Devices, Resources, kind};
use crate::terminal::{Cells, Unit, fit, or_dash, outcome, table, terminal, time};

/// Bands if none are asked for.
const ON_CPU: usize = 16;
const ON_GPU: usize = 128;

pub fn offdiag(args: &OffdiagArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    let own = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = own.progress();
    args.check_files(ranks)?;
    let plots = args.plot.iter().map(|path| Picture::of(path)).collect::<Result<Vec<_>>>()?;
    if let (Some(path), None) = (&args.problem.input, &args.elements) {
        let origin = format!("--input {}", path.display());
        let what = "has matrix elements of one state only: --elements names those of all bands";
        return Err(invalid(origin, what).into());
    }
    let asked = args.version.as_deref().map_or(Ok(Vec::new()), named)?;
    let limits = args.memory.limits();
    let on = Devices::open(&args.devices, limits.device, &[], progress, ranks)?;
    let devices = on.all();
    let resources = Resources { devices: &devices, ranks, limits };
    let places = resources.places().unwrap_or_default();
    run::places(&places).iter().for_each(|line| progress.say(line));
    let (count, system) = match devices[0].back_end() {
        BackEnd::Cpu => (ON_CPU, SMALL_SYSTEM),
        BackEnd::Gpu => (ON_GPU, PAPER_SYSTEM),
    };
    let source = setup::Source::of(&args.problem, system)?;
    let opened = source.open(progress)?;
    let stored =
        args.elements.as_ref().map(|path| Stored::open(path, opened.extents())).transpose()?;
    let bands = bands(args, stored.as_ref(), count)?;
    let (problem, at) = match args.qsgw {
        false => (opened.load()?, None),
        true => {
            let (grid, at) = qsgw_energies(opened.bands()?.header(), bands)?;
            (setup::Source { energies: Some(grid), ..source }.load(progress)?, Some(at))
        }
    };
    let synthesised = match problem.origin() {
        Origin::System(system, seed) => {
            Some(Synthesised::new(system, *seed, bands.first + bands.count))
        }
        Origin::File(_) | Origin::Made => None,
    };
    let all: &dyn Elements = match (&stored, &synthesised) {
        (Some(stored), _) => stored,
        (None, Some(synthesised)) => synthesised,
        (None, None) => unreachable!("a file's problem has a file of elements"),
    };
    resources.require_one_kind()?;
    let elements = SomeBands { all, bands };
    let task = Task {
        at: at.as_deref().map_or(At::Energies, At::Bands),
        stop: &interrupt::STOP,
        ..Task::new(&problem, &elements)
    };
    let (repeat, compares) = (args.repeat as usize, !args.no_verify);
    let calculation = Calculation { on: &on, resources, task, bands, repeat, compares, progress };
    let done = calculation.all(&asked);
    // What is wrong with the file comes before what came of it, on any rank.
    stored.as_ref().map_or(Ok(()), Stored::check)?;
    let (results, sums) = done?;
    ranks.barrier();
    let Some(sums) = sums else { return Ok(ExitCode::SUCCESS) };
    let above = problem.header().above_state();
    let matrices = matrices(&sums, bands.first, |plane| at.is_none().then(|| above[plane]));
    let provenance = Provenance::now(on.info()).of(problem.origin(), calculation.times());
    let record = Offdiag {
        head: Head { complete: true, ..Head::new(on.info(), provenance) },
        system: SystemInfo::of(&problem),
        elements: args.elements.as_ref().map(|path| path.display().to_string()),
        bands: [bands.first + 1, bands.first + bands.count],
        flops: calculation.flops(),
        results,
        parts: task.parts(),
        places,
        matrices,
        qsgw: at.map(|at| qsgw(&sums, at.iter().map(|&iw| above[iw]).collect())),
    };
    write(args, &plots, &record, &sums)?;
    Ok(code(record.passed()))
}

/// Versions by their names; `all` is each.
fn named(text: &str) -> Result<Vec<&'static Version>> {
    if text == "all" {
        return Ok(versions::ALL.to_vec());
    }
    let ids = versions::ALL.map(|version| version.id);
    let of = |id| versions::find(id).ok_or_else(|| Error::unknown("version", id, ids));
    text.split(',').map(of).collect()
}

/// The bands asked for, all of a file, or so many.
fn bands(args: &OffdiagArgs, stored: Option<&Stored>, count: usize) -> Result<Bands> {
    let held = stored.map(Elements::bands);
    let bands = args.bands.unwrap_or(Bands { first: 0, count: held.unwrap_or(count) });
    match held {
        Some(held) if bands.first + bands.count > held => {
            let (from, to) = (bands.first + 1, bands.first + bands.count);
            let what = format!("asks for {from} to {to}, but --elements has bands 1 to {held}");
            Err(invalid("--bands", what))
        }
        _ => Ok(bands),
    }
}

/// Prints and writes all that was asked for; files are written even if printing fails.
fn write(
    args: &OffdiagArgs,
    plots: &[Picture],
    record: &Offdiag,
    sums: &Sums,
) -> anyhow::Result<()> {
    let prints = args.csv.as_deref().is_some_and(is_stdout);
    let output = OutputArgs { quiet: args.output.quiet || prints, ..args.output.clone() };
    let shown = output.show(record, |to, record| text(to, record, terminal()));
    if let Some(path) = &args.csv {
        output::document(path, |to| csv(to, record, sums))?;
    }
    for (part, of) in [("sx", &sums.sx), ("ch", &sums.ch)] {
        if let Some(path) = args.array(part) {
            let elements = (0..sums.nw())
                .flat_map(|iw| pairs(sums.bands).map(move |(l, m)| of[sums.at(l, m, iw)]));
            let shape = [sums.nw(), sums.bands, sums.bands];
            replace(&path, |file| npy(file, &shape, elements))?;
        }
    }
    if let (Some(path), Some(_)) = (&args.array("qsgw"), &record.qsgw) {
        let matrix = hermitian(sums);
        let elements = pairs(sums.bands).map(|(l, m)| matrix[l + sums.bands * m]);
        replace(path, |file| npy(file, &[sums.bands; 2], elements))?;
    }
    for (path, picture) in args.plot.iter().zip(plots) {
        picture.write(path, &Sizes::of(record, sums))?;
    }
    shown
}

/// All l and m, m fastest.
fn pairs(bands: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bands).flat_map(move |l| (0..bands).map(move |m| (l, m)))
}

// The calculation by each version.

/// The part of the time in which a GPU has to sum products for its state to say something about them.
const BUSY: f64 = 0.9;

/// A task, where and how often it is calculated.
struct Calculation<'a> {
    on: &'a Devices,
    resources: Resources<'a>,
    task: Task<'a>,
    bands: Bands,
    repeat: usize,
    compares: bool,
    progress: Progress,
}

impl Calculation<'_> {
    /// Several calculations begin with one that is not timed: it uploads A.
    fn times(&self) -> Repetition {
        Repetition::exactly(usize::from(self.repeat > 1), self.repeat)
    }

    /// The results of these versions, one after the other, and the matrices; none on other ranks than rank 0.
    /// Collective.
    fn all(&self, asked: &[&'static Version]) -> Result<(Vec<OfVersion>, Option<Sums>)> {
        let (mut results, mut found) = (Vec::new(), None::<Sums>);
        for version in self.on.versions(asked, self.task.bands())? {
            let Some((sums, mut result)) = self.of(version)? else { continue };
            result.same_bits &= found.as_ref().is_none_or(|found| same_bits(found, &sums));
            results.push(result);
            found = Some(sums);
        }
        Ok((results, found))
    }

    /// Those of one version.
    fn of(&self, version: Option<&'static Version>) -> Result<Option<(Sums, OfVersion)>> {
        let Calculation { on, task, bands, progress, .. } = self;
        let (ranks, times) = (self.resources.ranks, self.times());
        if ranks.size() > 1 {
            require_same(ranks, DIGEST, &task_digest(on, (task, version), *bands)?)?;
        }
        on.require((task, version), self.resources, *progress)?;
        let _polling = interrupt::polling();
        let gauge = self.resources.devices[0].gauge();
        let watch = gauge.clone().map(Watch::begin);
        let bar = progress.bar("summing", times.runs() as u64);
        let (mut seconds, mut spans, mut is_same) = (Vec::new(), Vec::new(), true);
        let (mut found, mut total_s): (Option<Sums>, _) = (None, None);
        let begun = Instant::now();
        let mut workers = Workers::new(*task, on.workers(*task, version)?, ranks);
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
        drop(bar);
        let looks = watch.map_or(Vec::new(), Watch::end);
        if !ranks.is_root() {
            return Ok(None);
        }
        let sums = found.expect("at least one calculation");
        // The state of a GPU that waits for A says nothing about the products.
        let whole: f64 = spans.iter().map(|span| (span.end - span.start).as_secs_f64()).sum();
        let is_busy = seconds.iter().sum::<f64>() >= BUSY * whole;
        let limit = gauge.and_then(|gauge| gauge.power_limit_w());
        let time_s = Times::of(seconds);
        let result = OfVersion {
            version: version.map(|version| version.id.into()),
            total_s: total_s.unwrap_or_default(),
            tflops: 1e-12 * self.flops() / time_s.median,
            state: if is_busy { state(&looks, &spans, limit) } else { None },
            time_s,
            same_bits: is_same,
            verification: self.compares.then(|| verdict(task, &sums, *bands, *progress)),
        };
        Ok(Some((sums, result)))
    }

    fn flops(&self) -> f64 {
        self.task.operations_of(0..self.task.problem.extents().nbands)
    }
}

/// Compares with stored elements, if there are any, or else a few with the definition.
fn verdict(task: &Task, sums: &Sums, bands: Bands, progress: Progress) -> Verdict {
    match matrix::find_golden(task, bands.first) {
        Some((sample, golden)) => compare(task, sums, &sample, &golden, Source::Golden),
        None => verify(task, sums, &Sample::few(task), progress),
    }
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
            let some = pairs(sums.bands).filter(move |(l, m)| (l == m) == diagonal);
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

impl Devices {
    fn info(&self) -> &DeviceInfo {
        self.all()[0].info()
    }

    /// The versions that GPUs sum with: those asked for, or the fastest; on a CPU there is none.
    pub fn versions(
        &self,
        asked: &[&'static Version],
        bands: usize,
    ) -> Result<Vec<Option<&'static Version>>> {
        match (self, asked) {
            (Devices::Cpu(_), []) => Ok(vec![None]),
            (Devices::Cpu(host), [version, ..]) => {
                let what = format!("needs a GPU, but the device is {}", host.info().id);
                Err(invalid(format!("--version {}", version.id), what))
            }
            // GPUs are of one kind.
            (Devices::Gpus(gpus), []) => Ok(vec![Some(versions::on(&gpus[0], None, bands)?)]),
            (Devices::Gpus(gpus), asked) => {
                let on = |&version| versions::on(&gpus[0], Some(version), bands).map(Some);
                asked.iter().map(on).collect()
            }
        }
    }

    /// Says what memory a task takes beside the problem, and fails where there is less. Collective.
    pub fn require(
        &self,
        (task, version): (&Task, Option<&'static Version>),
        resources: Resources,
        progress: Progress,
    ) -> Result<()> {
        let name = task.problem.name();
        let show = |bytes: u64| ByteSize(bytes).display().iec().to_string();
        let host = match (self, version) {
            (Devices::Cpu(host), _) => OnCpu::new(host, *task)?.needs(),
            (Devices::Gpus(gpus), version) => {
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
        memory::host_memory(resources, taken).require(name, host)
    }

    /// A task where it is summed, all but A in place.
    pub fn workers<'a>(
        &'a self,
        task: Task<'a>,
        version: Option<&'static Version>,
    ) -> Result<Vec<Box<dyn Worker + 'a>>> {
        match self {
            Devices::Cpu(host) => Ok(vec![Box::new(OnCpu::new(host, task)?)]),
            Devices::Gpus(gpus) => {
                let version = version.expect(VERSIONS);
                let on_gpu = |gpu| Ok(Box::new(OnGpu::new(gpu, task, version)?) as Box<dyn Worker>);
                gpus.iter().map(on_gpu).collect()
            }
        }
    }
}

const VERSIONS: &str = "GPUs have versions";

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
        return Err(invalid("--qsgw", what));
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

/// Its eigenvalues; the energies are those of the bands above the state's.
pub fn qsgw(sums: &Sums, bands_above_state_ev: Vec<f64>) -> Qsgw {
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

/// Columns of A in the digest: so many l and n.
const SAMPLED: usize = 4;

const DIGEST: &str = "matrix elements, input, energies, bands, version, SIMD level or program";

/// That of a task of these bands, with some of the matrix elements.
fn task_digest(
    on: &Devices,
    (task, version): (&Task, Option<&'static Version>),
    bands: Bands,
) -> Result<String> {
    let some = |all: usize| (0..SAMPLED).map(move |at| at * (all - 1) / (SAMPLED - 1));
    let mut column = vec![Complex64::ZERO; task.problem.extents().ncouls];
    let mut elements = Vec::new();
    for (l, n) in
        some(task.bands()).flat_map(|l| some(task.problem.extents().nbands).map(move |n| (l, n)))
    {
        task.elements.column(l, n, &mut column);
        elements.push(digest::of(&column));
    }
    let level = match on {
        Devices::Cpu(host) => host.level().to_string(),
        Devices::Gpus(_) => String::new(),
    };
    let own = (bands, matches!(task.at, At::Bands(_)), version.map(|version| version.id), level);
    let (problem, elements) = (digest::of_problem(task.problem)?, digest::of(&elements));
    Ok(format!("{problem} {elements} {own:?} {} {}", kind(on.info()), record::program()))
}

// Σ as a matrix as text, CSV and NumPy arrays.

/// Eigenvalues in a row.
const IN_ROW: usize = 4;

/// What it is of, how it came out, and a row for each energy.
fn text(to: &mut dyn Write, record: &Offdiag, width: Option<u16>) -> io::Result<()> {
    let device = &record.head.device;
    let [from, last] = record.bands;
    writeln!(to, "{}", run::system(&record.system))?;
    let of = if let [one] = &record.results[..] {
        let by = one.version.as_ref().map(|version| format!(", version {version}"));
        by.unwrap_or_default()
    } else {
        String::new()
    };
    writeln!(to, "on {}: {}{of}", device.id, device.name)?;
    match &record.results[..] {
        [one] => {
            let rate = one.tflops * 1e12;
            let rates = Unit::of_rates([rate]);
            writeln!(to, "bands l, m {from} to {last}: {}", verification(one))?;
            writeln!(
                to,
                "{}: the products, {} {} by 8 operations a complex product; {} in all",
                time(one.time_s.median),
                rates.show(rate),
                rates.name,
                time(one.total_s)
            )?;
        }
        all => {
            writeln!(to, "bands l, m {from} to {last}, version by version:")?;
            by_version(all).print(to)?;
            let verdicts = all.iter().filter_map(|of| of.verification.as_ref());
            for of in verdicts.filter_map(|verdict| verdict.undecided).take(1) {
                writeln!(to, "{}", undecided(of))?;
            }
        }
    }
    writeln!(to, "{}", energies(&record.matrices, width))?;
    if let Some(Qsgw { eigenvalues, .. }) = &record.qsgw {
        writeln!(to, "eigenvalues of the Hermitian part of ½[Σ_lm(E_l) + Σ_lm(E_m)], ascending:")?;
        for some in eigenvalues.chunks(IN_ROW) {
            let texts = some.iter().map(|value| format!("  {value:+.6e}"));
            writeln!(to, "{}", texts.collect::<String>())?;
        }
    }
    writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all in {UNIT}")
}

/// A row for each version: 8 operations a complex product.
fn by_version(all: &[OfVersion]) -> Cells {
    let state = |of: &OfVersion| of.state.clone();
    let before = |of: &OfVersion| {
        let at = all.iter().position(|own| own.version == of.version)?;
        Some(all[at.checked_sub(1)?].time_s.median / of.time_s.median)
    };
    let error = |of: &OfVersion| of.verification.as_ref().and_then(|verdict| verdict.max_rel_error);
    let whole = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.0}")));
    Cells::new(
        &[
            ("version", &|of: &&OfVersion| of.version.clone().unwrap_or_default()),
            ("time", &|of: &&OfVersion| time(of.time_s.median)),
            ("TFLOP/s", &|of: &&OfVersion| format!("{:.1}", of.tflops)),
            ("× before", &|of: &&OfVersion| {
                or_dash(before(of).map(|ratio| format!("{ratio:.2}")))
            }),
            ("clock [MHz]", &|of: &&OfVersion| {
                whole(state(of).and_then(|state| state.sm_mhz).map(|mhz| mhz.median))
            }),
            ("power [W]", &|of: &&OfVersion| whole(state(of).as_ref().and_then(State::watts))),
            ("energy [J]", &|of: &&OfVersion| whole(of.joules())),
            ("error", &|of: &&OfVersion| or_dash(error(of).map(|error| format!("{error:.1e}")))),
            ("result", &|of: &&OfVersion| outcome(of.outcome()).into()),
        ],
        all,
    )
}

fn verification(of: &OfVersion) -> String {
    let Some(verdict) = &of.verification else { return outcome(of.outcome()).into() };
    let error = verdict.max_rel_error.map(|error| format!(", error {error:.1e}"));
    let (count, energies) = (verdict.elements, verdict.energies.len());
    let at = if energies == 1 { "energy" } else { "energies" };
    let by = match verdict.reference {
        Some(Source::Golden) => "stored ones",
        _ => "the definition",
    };
    let undecided = verdict.undecided.map(|of| format!("; {}", undecided(of)));
    format!(
        "{}{} of {:.1e}, relative to Σ|terms|{}; {count} elements at {energies} {at}, compared with {by}",
        outcome(of.outcome()),
        error.unwrap_or_default(),
        verdict.tolerance,
        undecided.unwrap_or_default()
    )
}

fn energies(rows: &[Matrix], width: Option<u16>) -> String {
    let headings = [
        "ω − E [eV]",
        "Re tr SX",
        "Im tr SX",
        "Re tr CH",
        "Im tr CH",
        "largest |Σ_ll|",
        "l",
        "largest |Σ_lm|",
        "l, m",
    ];
    let mut table = table(&headings);
    let largest = |largest: Option<Largest>| match largest {
        Some(Largest { bands: [l, m], size }) if l == m => [format!("{size:.6e}"), l.to_string()],
        Some(Largest { bands: [l, m], size }) => [format!("{size:.6e}"), format!("{l}, {m}")],
        None => ["–".into(), "–".into()],
    };
    let cells = |(at, row): (usize, &Matrix)| {
        let parts = row.trace_sx.into_iter().chain(row.trace_ch);
        let parts = parts.map(|part| format!("{part:+.6e}"));
        let both = [largest(Some(row.largest_diagonal)), largest(row.largest_off_diagonal)];
        let all = parts.chain(both.into_iter().flatten());
        let first = row.above_state_ev.map(|above| format!("{above:+.6}"));
        let first = Cell::new(first.unwrap_or_else(|| ["E_l", "E_m"][at].into()));
        [first].into_iter().chain(all.map(Cell::new)).collect::<Vec<_>>()
    };
    for row in rows.iter().enumerate() {
        table.add_row(cells(row));
    }
    fit(table, width)
}

/// A row for each element, every number to the last bit; bands count from 1.
fn csv(to: &mut dyn Write, record: &Offdiag, sums: &Sums) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let first = record.bands[0];
    let parts = |l, m, plane| {
        let at = sums.at(l, m, plane);
        let (sx, ch) = (sums.sx[at], sums.ch[at]);
        [sx.re, sx.im, ch.re, ch.im]
    };
    if record.qsgw.is_some() {
        let of =
            |of: &str| ["re_sx_", "im_sx_", "re_ch_", "im_ch_"].map(|part| format!("{part}{of}"));
        let heads = [["l", "m"].map(String::from).to_vec(), of("at_l").into(), of("at_m").into()];
        let qsgw = ["re_qsgw", "im_qsgw"].map(String::from);
        csv.write_record(heads.into_iter().flatten().chain(qsgw))?;
        let matrix = hermitian(sums);
        for (l, m) in pairs(sums.bands) {
            let qsgw = matrix[l + sums.bands * m];
            let both = (parts(l, m, 0), parts(l, m, 1));
            csv.serialize((first + l, first + m, both, qsgw.re, qsgw.im))?;
        }
        return csv.flush();
    }
    csv.write_record(["iw", "omega_above_ev", "l", "m", "re_sx", "im_sx", "re_ch", "im_ch"])?;
    for (iw, matrix) in record.matrices.iter().enumerate() {
        for (l, m) in pairs(sums.bands) {
            csv.serialize((iw, matrix.above_state_ev, first + l, first + m, parts(l, m, iw)))?;
        }
    }
    csv.flush()
}

/// A NumPy array of this shape in C order.
fn npy(
    to: &mut dyn Write,
    shape: &[usize],
    elements: impl Iterator<Item = Complex64>,
) -> io::Result<()> {
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    let mut to = BufWriter::new(to);
    let mut array =
        npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut to).begin_nd()?;
    array.extend(elements)?;
    array.finish()?;
    to.flush()
}

#[cfg(test)]
mod tests;
