//! `gpp offdiag`: Σ as a matrix.

pub mod records;

use std::cell::OnceCell;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::Instant;

use gpp_core::offdiag::cpu::OnCpu;
use gpp_core::offdiag::gpu::{ALL, Needs, OnGpu, Version, find, version_for};
use gpp_core::offdiag::{
    At, Elements, Summed, Sums, Synthesised, Task, Worker, Workers, once_each,
};
use nalgebra::DMatrix;
use npyz::WriterBuilder;
use num_complex::Complex64;

use crate::catalogue::BackEnd;
use crate::cli::{Bands, OffdiagArgs, OutputArgs, PAPER_SYSTEM, SMALL_SYSTEM};
use crate::devices::{Device, DeviceInfo};
use crate::error::{Error, Result, invalid, shown};
use crate::measure::timed;
use crate::memory::{self, Resources};
use crate::offdiag::records::{Calculated, Stored, results};
use crate::output::{self, Progress, is_stdout, replace};
use crate::problem::{self, EnergyGrid, Header, Origin};
use crate::ranks::{Ranks, require_same};
use crate::record::run::{Largest, Matrix, OfVersion, Offdiag, Qsgw, SystemInfo, UNIT};
use crate::record::{self, Head, Provenance, Repetition};
use crate::reference::matrix::{Element, Sample, Verdict, compare, evaluate};
use crate::run::{self, code, undecided};
use crate::setup::{self, Devices, kind};
use crate::terminal::{Cells, or_dash};

pub fn offdiag(args: &OffdiagArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    let own = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = own.progress();
    args.check_files(ranks)?;
    if let (Some(path), None) = (&args.problem.input, &args.elements) {
        let origin = format!("--input {}", path.display());
        let what = "has matrix elements of one state only: pass those of all bands with --elements";
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
        BackEnd::Cpu => (16, SMALL_SYSTEM),
        BackEnd::Gpu => (128, PAPER_SYSTEM),
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
        stop: &output::STOP,
        ..Task::new(&problem, &elements)
    };
    let (repeat, verifies) = (args.repeat as usize, !args.no_verify);
    let calculation = Calculation { on: &on, resources, task, repeat, verifies, progress };
    let done = calculation.all(&asked);
    // What is wrong with the file comes before what came of it, on any rank.
    stored.as_ref().map_or(Ok(()), Stored::check)?;
    let (results, sums) = done?;
    ranks.barrier();
    let Some(sums) = sums else { return Ok(ExitCode::SUCCESS) };
    let above = problem.header().shown();
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
    write(args, &record, &sums)?;
    Ok(code(record.passed()))
}

fn named(text: &str) -> Result<Vec<&'static Version>> {
    if text == "all" {
        return Ok(ALL.to_vec());
    }
    let ids = ALL.map(|version| version.id);
    let of = |id| find(id).ok_or_else(|| Error::unknown("version", id, ids));
    text.split(',').map(of).collect()
}

fn bands(args: &OffdiagArgs, stored: Option<&Stored>, count: usize) -> Result<Bands> {
    let all = stored.map(Elements::bands);
    let bands = args.bands.unwrap_or(Bands { first: 0, count: all.unwrap_or(count) });
    let (from, to) = (bands.first + 1, bands.first + bands.count);
    match all {
        Some(all) if to > all => {
            let what = format!("needs bands {from} to {to}, but --elements has bands 1 to {all}");
            Err(invalid("--bands", what))
        }
        _ => Ok(bands),
    }
}

struct SomeBands<'a> {
    all: &'a dyn Elements,
    bands: Bands,
}

impl Elements for SomeBands<'_> {
    fn bands(&self) -> usize {
        self.bands.count
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.all.column(self.bands.first + l, n, column);
    }
}

/// The part of the time in which a GPU has to sum products for its state to say something about them.
const BUSY: f64 = 0.9;

struct Calculation<'a> {
    on: &'a Devices,
    resources: Resources<'a>,
    task: Task<'a>,
    repeat: usize,
    verifies: bool,
    progress: Progress,
}

impl<'a> Calculation<'a> {
    /// Several calculations begin with one that is not timed: it uploads A.
    fn times(&self) -> Repetition {
        Repetition::exactly(usize::from(self.repeat > 1), self.repeat)
    }

    fn flops(&self) -> f64 {
        self.task.operations_of(0..self.task.problem.extents().nbands)
    }

    /// The results of these versions, one after the other, and the matrices; none on other ranks than rank 0.
    /// Collective.
    fn all(&self, asked: &[&'static Version]) -> Result<(Vec<OfVersion>, Option<Sums>)> {
        let (mut results, mut found) = (Vec::new(), None::<Sums>);
        let (sample, expected) = (Sample::few(&self.task), OnceCell::new());
        for version in self.on.versions(asked, self.task.bands())? {
            let Some((sums, mut result)) = self.of(version)? else { continue };
            result.same_bits &= found.as_ref().is_none_or(|found| same_bits(found, &sums));
            result.verification = self.verifies.then(|| {
                let evaluated = || evaluate(&self.task, &sample, self.progress);
                let expected: &Vec<Element> = expected.get_or_init(evaluated);
                compare(&self.task, &sums, &sample, expected)
            });
            results.push(result);
            found = Some(sums);
        }
        Ok((results, found))
    }

    /// The sums of one version, and its result but for the comparison. Collective.
    fn of(&self, version: Option<&'static Version>) -> Result<Option<(Sums, OfVersion)>> {
        let (ranks, times) = (self.resources.ranks, self.times());
        if ranks.size() > 1 {
            require_same(ranks, DIGEST, &self.digest(version)?)?;
        }
        let _polling = output::polling();
        let begun = Instant::now();
        let mut workers = Workers::new(self.task, self.workers(version)?, ranks);
        if times.runs() > 1 {
            workers = workers.for_several();
        }
        // Clock and power are those of one board.
        let devices = &self.resources.devices;
        let gauge = (devices.len() * ranks.size() == 1).then(|| devices[0].gauge()).flatten();
        let bar = self.progress.bar("summing", times.runs() as u64);
        let (mut found, mut is_same, mut total_s) = (None::<Sums>, true, None);
        let (mut products_s, mut whole_s) = (0.0, 0.0);
        let (time_s, state, _) = timed(gauge, times, &mut |before| {
            let done = |part: f64| bar.set(before as f64 + part);
            let since = Instant::now();
            let Summed { sums, seconds } = workers.sum(&done)?;
            let until = Instant::now();
            total_s.get_or_insert_with(|| begun.elapsed().as_secs_f64());
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
        let result = OfVersion {
            version: version.map(|version| version.id.into()),
            total_s: total_s.unwrap_or_default(),
            tflops: 1e-12 * self.flops() / time_s.median,
            // The state of a GPU that waits for A says nothing about the products.
            state: state.filter(|_| products_s >= BUSY * whole_s),
            time_s,
            same_bits: is_same,
            verification: None,
        };
        Ok(Some((found.expect("at least one calculation"), result)))
    }

    /// The task where it is summed, all but A in place. Says what memory it takes in addition to the problem, and fails
    /// if there is less. Collective.
    fn workers(&self, version: Option<&'static Version>) -> Result<Vec<Box<dyn Worker + 'a>>> {
        let Calculation { on, resources, task, progress, .. } = *self;
        let name = task.problem.name();
        let require = |host: u64| {
            let host_memory = shown(host);
            progress.say(format_args!(
                "{name}: {host_memory} of the host's memory in addition to the problem"
            ));
            memory::host_memory(resources, task.problem.extents().bytes()).require(name, host)
        };
        match on {
            Devices::Cpu(host) => {
                let on_cpu = OnCpu::new(host, task)?;
                require(on_cpu.needs())?;
                Ok(vec![Box::new(on_cpu)])
            }
            Devices::Gpus(gpus) => {
                let version = version.expect("GPUs have versions");
                let needs = Needs::of(&task, version);
                let (least, all) = (shown(needs.least), shown(needs.all));
                progress.say(format_args!(
                    "{name}: {least} of each GPU's memory, with all matrix elements {all}"
                ));
                gpus.iter().try_for_each(|gpu| needs.require_on(gpu, name))?;
                require(needs.host * gpus.len() as u64)?;
                let on_gpu = |gpu| Ok(Box::new(OnGpu::new(gpu, task, version)?) as Box<dyn Worker>);
                gpus.iter().map(on_gpu).collect()
            }
        }
    }

    /// A digest of what the bits depend on, with some of the matrix elements.
    fn digest(&self, version: Option<&'static Version>) -> Result<String> {
        let Calculation { on, task, .. } = *self;
        let some = |all: usize| (0..SAMPLED).map(move |at| at * (all - 1) / (SAMPLED - 1));
        let mut column = vec![Complex64::ZERO; task.problem.extents().ncouls];
        let mut elements = Vec::new();
        for l in some(task.bands()) {
            for n in some(task.problem.extents().nbands) {
                task.elements.column(l, n, &mut column);
                elements.push(problem::hash(&column));
            }
        }
        let level = match on {
            Devices::Cpu(host) => host.level().to_string(),
            Devices::Gpus(_) => String::new(),
        };
        let version = version.map(|version| version.id);
        let own = (task.bands(), matches!(task.at, At::Bands(_)), version, level);
        let (problem, elements) = (problem::digest(task.problem)?, problem::hash(&elements));
        Ok(format!("{problem} {elements} {own:?} {} {}", kind(on.info()), record::program()))
    }
}

/// Columns of A in the digest: so many l and n.
const SAMPLED: usize = 4;

const DIGEST: &str = "matrix elements, input, energies, bands, version, SIMD level or program";

impl Devices {
    fn info(&self) -> &DeviceInfo {
        self.all()[0].info()
    }

    /// The versions that GPUs sum with: those asked for, or the fastest; on a CPU there is none.
    fn versions(
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
            (Devices::Gpus(gpus), []) => Ok(vec![Some(version_for(&gpus[0], None, bands)?)]),
            (Devices::Gpus(gpus), asked) => {
                let on = |&version| version_for(&gpus[0], Some(version), bands).map(Some);
                asked.iter().map(on).collect()
            }
        }
    }
}

fn same_bits(one: &Sums, other: &Sums) -> bool {
    let both = [(&one.sx, &other.sx), (&one.ch, &other.ch)];
    let bits = bytemuck::cast_slice::<Complex64, u64>;
    both.into_iter().all(|(one, other)| bits(one) == bits(other))
}

/// What the matrices are like; bands are counted from the first, which is 0-based.
fn matrices(sums: &Sums, first: usize, above: impl Fn(usize) -> Option<f64>) -> Vec<Matrix> {
    let of_energy = |iw: usize| {
        let trace = |of: &[Complex64]| {
            let trace: Complex64 = (0..sums.bands).map(|l| of[sums.at(l, l, iw)]).sum();
            [trace.re, trace.im]
        };
        let largest = |diagonal: bool| {
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
            largest_diagonal: largest(true).expect("one band at least"),
            largest_off_diagonal: largest(false),
        }
    };
    (0..sums.nw()).map(of_energy).collect()
}

/// All l and m, m fastest.
fn pairs(bands: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bands).flat_map(move |l| (0..bands).map(move |m| (l, m)))
}

/// The energies of bands l, each once, and whose is which: those of the problem's bands n of the same numbers.
fn qsgw_energies(header: &Header, bands: Bands) -> Result<(EnergyGrid, Vec<usize>)> {
    let own = bands.first..bands.first + bands.count;
    if own.end > header.nbands {
        let what = format!(
            "the problem has energies of bands 1 to {}, not of all bands {} to {}",
            header.nbands,
            own.start + 1,
            own.end
        );
        return Err(invalid("--qsgw", what));
    }
    let above: Vec<f64> = own.map(|n| header.e(n) - header.e_lk).collect();
    let (each, numbers) = once_each(&above);
    Ok((EnergyGrid::Listed(each), numbers))
}

/// The Hermitian part `½(M + M†)` of `M_lm = ½[Σ_lm(E_l) + Σ_lm(E_m)]`, element (l, m) at `l + bands · m`.
fn hermitian(sums: &Sums) -> Vec<Complex64> {
    let sigma = |l, m, plane| {
        let at = sums.at(l, m, plane);
        sums.sx[at] + sums.ch[at]
    };
    let mean = |l, m| 0.5 * (sigma(l, m, 0) + sigma(l, m, 1));
    // l is the faster index.
    pairs(sums.bands).map(|(m, l)| 0.5 * (mean(l, m) + mean(m, l).conj())).collect()
}

fn qsgw(sums: &Sums, bands_above_state_ev: Vec<f64>) -> Qsgw {
    let matrix = DMatrix::from_vec(sums.bands, sums.bands, hermitian(sums));
    // What is no number has no eigenvalues, and would be iterated on without end.
    let mut eigenvalues = match matrix.iter().all(|z| z.re.is_finite() && z.im.is_finite()) {
        true => matrix.symmetric_eigenvalues().as_slice().to_vec(),
        false => vec![f64::NAN; sums.bands],
    };
    eigenvalues.sort_by(f64::total_cmp);
    Qsgw { bands_above_state_ev, eigenvalues }
}

/// Prints and writes all that was asked for; files are written even if printing fails.
fn write(args: &OffdiagArgs, record: &Offdiag, sums: &Sums) -> anyhow::Result<()> {
    let prints = args.csv.as_deref().is_some_and(is_stdout);
    let output = OutputArgs { quiet: args.output.quiet || prints, ..args.output.clone() };
    let shown = output.show(record, text);
    if let Some(path) = &args.csv {
        output::document(path, |to| csv(to, record, sums))?;
    }
    let shape = [sums.nw(), sums.bands, sums.bands];
    for (part, of) in [("sx", &sums.sx), ("ch", &sums.ch)] {
        if let Some(path) = args.array(part) {
            replace(&path, |file| npy(file, &shape, of))?;
        }
    }
    if let (Some(path), Some(_)) = (&args.array("qsgw"), &record.qsgw) {
        replace(path, |file| npy(file, &shape[1..], &hermitian(sums)))?;
    }
    shown
}

const IN_ROW: usize = 4;

fn text(to: &mut dyn Write, record: &Offdiag) -> io::Result<()> {
    let device = &record.head.device;
    let [from, last] = record.bands;
    writeln!(to, "{}", run::system(&record.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    writeln!(
        to,
        "bands l, m {from} to {last}; TFLOP/s count 8 operations for a complex multiply-add"
    )?;
    let calculated = record.results.iter().map(|own| (record, own)).collect();
    let version = |(_, own): &Calculated| or_dash(own.version.as_ref());
    results(&[("version", &version)], calculated).filled().print(to)?;
    let mut verdicts = record.results.iter().filter_map(|own| own.verification.as_ref());
    if let Some(verdict) = verdicts.next() {
        writeln!(to, "{}", verification(verdict))?;
    }
    energies(&record.matrices, record.system.energy()).filled().print(to)?;
    if let Some(Qsgw { eigenvalues, .. }) = &record.qsgw {
        writeln!(to, "eigenvalues of the Hermitian part of ½[Σ_lm(E_l) + Σ_lm(E_m)], ascending:")?;
        for some in eigenvalues.chunks(IN_ROW) {
            let texts = some.iter().map(|value| format!("  {value:+.6e}"));
            writeln!(to, "{}", texts.collect::<String>())?;
        }
    }
    writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all in {UNIT}")
}

fn verification(verdict: &Verdict) -> String {
    let Verdict { elements, energies, tolerance, .. } = verdict;
    let at = if energies.len() == 1 { "energy" } else { "energies" };
    let undecided = verdict.undecided.map_or(String::new(), |of| format!("; {}", undecided(of)));
    format!(
        "{elements} values each of SX and CH, at {} {at}, compared with the definition: errors are relative to \
         Σ|terms|, tolerance {tolerance:.1e}{undecided}",
        energies.len()
    )
}

fn energies(rows: &[Matrix], energy: &str) -> Cells {
    let complex = |[re, im]: [f64; 2]| format!("{re:+.6e} {im:+.6e}i");
    let largest = |Largest { bands: [l, m], size }: Largest| format!("{size:.6e} ({l}, {m})");
    Cells::new(
        &[
            (energy, &|(plane, row): &(usize, &Matrix)| {
                let own = || ["E_l", "E_m"][*plane].into();
                row.above_state_ev.map_or_else(own, |above| format!("{above:+.6}"))
            }),
            ("tr SX", &|(_, row)| complex(row.trace_sx)),
            ("tr CH", &|(_, row)| complex(row.trace_ch)),
            ("largest |Σ_ll|", &|(_, row)| largest(row.largest_diagonal)),
            ("largest |Σ_lm|", &|(_, row)| or_dash(row.largest_off_diagonal.map(largest))),
        ],
        rows.iter().enumerate(),
    )
}

/// A row for each element, every number to the last bit; bands count from 1. At the bands' own energies `iw` is 0 for
/// `Σ_lm(E_l)` and 1 for `Σ_lm(E_m)`.
fn csv(to: &mut dyn Write, record: &Offdiag, sums: &Sums) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let first = record.bands[0];
    csv.write_record(["iw", "omega_above_ev", "l", "m", "re_sx", "im_sx", "re_ch", "im_ch"])?;
    for (iw, matrix) in record.matrices.iter().enumerate() {
        for (l, m) in pairs(sums.bands) {
            let at = sums.at(l, m, iw);
            let (sx, ch) = (sums.sx[at], sums.ch[at]);
            let parts = [sx.re, sx.im, ch.re, ch.im];
            csv.serialize((iw, matrix.above_state_ev, first + l, first + m, parts))?;
        }
    }
    csv.flush()
}

/// Matrices, l fastest, as a NumPy array of this shape, the last index fastest: m.
fn npy(to: &mut dyn Write, shape: &[usize], matrices: &[Complex64]) -> io::Result<()> {
    let bands = shape[shape.len() - 1];
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    let mut to = BufWriter::new(to);
    let mut array =
        npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut to).begin_nd()?;
    for matrix in matrices.chunks_exact(bands * bands) {
        array.extend(pairs(bands).map(|(l, m)| matrix[l + bands * m]))?;
    }
    array.finish()?;
    to.flush()
}

#[cfg(test)]
mod tests;
