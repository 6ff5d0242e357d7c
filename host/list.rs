//! `gpp list`, `gpp info`, `gpp ptx` and `gpp generate`.

use std::io::{self, Write};
use std::process::ExitCode;

use comfy_table::CellAlignment;
use gpp_core::offdiag::{Synthesised, Task};
use gpp_cpu::level::Level;
use gpp_cpu::pool::{Threads, VARIABLE, of_environment};
use gpp_kernels::kernel;

use crate::catalogue::names::versions;
use crate::catalogue::{self, BackEnd, Best, JOURNEYS, Journey, Listed, best, best_of_all};
use crate::cli::args::{GenerateArgs, GoldenArgs, InfoArgs, ListArgs, PtxArgs};
use crate::devices::Device;
use crate::devices::gpu::{self, Gpu, NO_KERNELS};
use crate::devices::host::Host;
use crate::error::{self, Error, Result};
use crate::offdiag;
use crate::output::{Files, print, write_text};
use crate::problem::file::{self, MINI_APPS_ENERGIES};
use crate::problem::systems::{self, DEFAULT_SEED, STATISTICS, SYSTEMS, System};
use crate::problem::{Grid, Problem, Sums};
use crate::progress::Progress;
use crate::record::info::{
    Info, Kernel, ListedBest, ListedJourney, ListedMatrix, ListedSystem, Listing, Processor, SCHEMA,
};
use crate::record::run::Poles;
use crate::record::{PROGRAM, Provenance, plain};
use crate::reference::matrix::{self, GoldenMatrix, Sample};
use crate::reference::{self, At, Golden};
use crate::setup::Source;
use crate::terminal::{fit, or_dash, table, terminal};

pub fn info(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    // It says itself why there is no GPU.
    let device = crate::setup::device(&args.place, &[], Progress { shown: false })?;
    let info = device_info(device.as_ref())?;
    match &args.json {
        Some(path) => write_text(path, &plain(&info))?,
        None => print(|to| info_text(to, &info, terminal()))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let listing = listing();
    match &args.json {
        Some(path) => write_text(path, &plain(&listing))?,
        None => print(|to| list_text(to, &listing, terminal()))?,
    }
    Ok(ExitCode::SUCCESS)
}

// `gpp generate` and `gpp golden`: a built-in system as a file, and its sums.

pub fn generate(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let system = systems::find(&args.system)?;
    Files::new().writes("--output", [&args.output]).check()?;
    let source = Source::System(system, args.seed).at(args.energies.grid().map(Grid::in_file));
    let (problem, sums) = with_sums(&source, progress)?;
    if problem.header().nend > MINI_APPS_ENERGIES {
        progress.say(format_args!(
            "note: gpp reads this file; the mini-app does not, whose arrays hold energies 1 to \
             {MINI_APPS_ENERGIES}, not {} to {}",
            problem.header().nstart,
            problem.header().nend
        ));
    }
    file::write(&args.output, &problem, &sums, progress)?;
    Ok(ExitCode::SUCCESS)
}

pub fn golden(args: &GoldenArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let systems =
        args.system.iter().map(|name| systems::find(name)).collect::<error::Result<Vec<_>>>()?;
    let grid = args.energies.grid();
    if !args.bands.is_empty() {
        let made = golden_matrices(&systems, args.seed, grid.as_ref(), &args.bands, progress)?;
        print(|to| writeln!(to, "{}", plain(&made)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let sums = golden_sums(&systems, args.seed, grid.as_ref(), progress)?;
    print(|to| writeln!(to, "{}", plain(&sums)))?;
    Ok(ExitCode::SUCCESS)
}

// `gpp ptx`: the PTX of kernels, as it is in the program.

pub fn ptx(args: &PtxArgs) -> anyhow::Result<ExitCode> {
    let ptx = gpu::kernels()?;
    let mut symbols: Vec<String> = Vec::new();
    for name in &args.kernels {
        if ptx.symbols().any(|symbol| symbol == name) {
            symbols.push(name.clone());
            continue;
        }
        for version in versions(name, BackEnd::Gpu)? {
            symbols.extend(of_version(&version)?.into_iter().map(str::to_string));
        }
    }
    symbols.dedup();
    print(|to| write!(to, "{}", ptx.of(symbols.iter().map(String::as_str))))?;
    Ok(ExitCode::SUCCESS)
}

/// The symbols of a version's kernels.
fn of_version(version: &Listed) -> Result<Vec<&'static str>> {
    let gpu = version.gpu().ok_or_else(|| Error::Data {
        origin: version.id().into(),
        what: "is made for processors and has no PTX".into(),
    })?;
    let entries = gpu.kernels.iter().flat_map(|kernel| kernel.entries);
    Ok(entries.map(|entry| entry.symbol).collect())
}

// What there is: a device and its kernels, versions and systems.

/// A device and every version's kernels on it.
///
/// # Errors
/// [`crate::error::Error::Driver`].
pub fn device_info(device: &dyn Device) -> Result<Info> {
    let mut kernels = Vec::new();
    for gpu in catalogue::for_gpus() {
        let entries = |kernel: &'static kernel::Kernel| {
            kernel.entries.iter().map(move |entry| (kernel, entry))
        };
        for (launch, entry) in gpu.kernels.iter().flat_map(entries) {
            let kernel = device.kernel(launch, entry)?;
            kernels.push(Kernel {
                version: gpu.id().into(),
                change: gpu.version.change.into(),
                hash: gpu::hash(&kernel.symbol),
                symbol: kernel.symbol,
                energies: entry.energies,
                threads_per_block: launch.threads,
                registers: kernel.registers,
                local_bytes: kernel.local_bytes,
                shared_bytes: kernel.shared_bytes,
                warps_per_sm: kernel.warps_per_sm,
            });
        }
    }
    Ok(Info {
        schema: SCHEMA,
        program: PROGRAM.into(),
        provenance: Provenance::now(device.info()),
        device: device.info().clone(),
        no_gpu: match Gpu::count() {
            Err(Error::NoGpu { why }) => Some(why),
            _ => None,
        },
        no_kernels: NO_KERNELS.map(str::to_string),
        processor: device.host().map(processor),
        kernels,
    })
}

fn processor(host: &Host) -> Processor {
    Processor {
        cores: host.team().count(Threads::Cores),
        threads: host.team().count(Threads::All),
        threads_by: threads_by(host).map(str::to_string),
        levels: Level::available().into_iter().map(|level| level.to_string()).collect(),
        level: host.level().to_string(),
    }
}

/// What says how many threads there are, where it is not the machine.
fn threads_by(host: &Host) -> Option<&'static str> {
    match host.team().is_set() {
        true => Some("--threads"),
        false => of_environment().map(|_| VARIABLE),
    }
}

/// All versions, journeys and built-in systems.
pub fn listing() -> Listing {
    let versions = catalogue::versions().map(|listed| crate::record::info::Listed {
        id: listed.id().into(),
        change: listed.version.change.into(),
        source: listed.version.source.into(),
        best: listed.id() == best(BackEnd::Gpu).id(),
    });
    let systems = SYSTEMS.iter().map(|system| ListedSystem {
        name: system.name.clone(),
        nbands: system.nbands,
        nvband: system.nvband,
        ngpown: system.ngpown,
        ncouls: system.ncouls,
        nstart: system.nstart,
        nend: system.nend,
        poles: if system.complex_modes { Poles::Complex } else { Poles::Real },
        bytes: system.bytes(),
        note: system.note.clone(),
    });
    let matrix = gpp_core::offdiag::versions::ALL.into_iter().map(|version| ListedMatrix {
        id: version.id.into(),
        change: version.change.into(),
        capability: version.capability,
        file: offdiag::source(Some(version.id)),
    });
    Listing {
        schema: SCHEMA,
        versions: versions.collect(),
        journeys: JOURNEYS.iter().map(journey).collect(),
        best: [BackEnd::Gpu, BackEnd::Cpu].map(|on| listed_best(best_of_all(on))).into(),
        matrix: matrix.collect(),
        systems: systems.collect(),
    }
}

fn journey(journey: &Journey) -> ListedJourney {
    ListedJourney {
        id: journey.id.into(),
        title: journey.title.into(),
        source: journey.source.into(),
        versions: journey.ids().into_iter().map(str::to_string).collect(),
        baseline: journey.baseline.into(),
        continues: journey.continues.map(str::to_string),
        best: journey.best.iter().map(listed_best).collect(),
    }
}

fn listed_best(best: &Best) -> ListedBest {
    ListedBest {
        back_end: best.back_end,
        version: best.version.into(),
        condition: best.condition.into(),
    }
}

// Sums of built-in systems: those that `data/golden.json` holds, and those that a file is written with.

/// Evaluates the sums of these systems, at other energies than their own where some are given.
///
/// # Errors
/// Those of [`Source::load`].
pub fn golden_sums(
    systems: &[&'static System],
    seed: u64,
    grid: Option<&crate::problem::grid::Grid>,
    progress: Progress,
) -> Result<Vec<Golden>> {
    let of = |&system: &&'static System| {
        let problem = Source::System(system, seed).at(grid.cloned()).load(progress)?;
        let sums = reference::evaluate(&problem, progress)?.sums;
        let at = grid.map(|_| At::of(problem.header()));
        Ok(Golden { system: system.name.clone(), seed, at, sums })
    };
    systems.iter().map(of).collect()
}

/// Evaluates the elements of these systems' matrices between some bands, counted from 1.
///
/// # Errors
/// As [`golden_sums`].
pub fn golden_matrices(
    systems: &[&'static System],
    seed: u64,
    grid: Option<&crate::problem::grid::Grid>,
    bands: &[usize],
    progress: Progress,
) -> Result<Vec<GoldenMatrix>> {
    let mut bands = bands.to_vec();
    bands.sort_unstable();
    bands.dedup();
    let of = |&system: &&'static System| {
        let problem = Source::System(system, seed).at(grid.cloned()).load(progress)?;
        let synthesised = Synthesised::new(system, seed, bands.iter().copied().fold(0, usize::max));
        let task = Task::new(&problem, &synthesised);
        let own = bands.iter().map(|band| band - 1).collect();
        let sample = Sample { bands: own, energies: (0..problem.nw()).collect() };
        let elements = matrix::evaluate(&task, &sample, progress);
        let (system, at) = (system.name.clone(), At::of(problem.header()));
        Ok(GoldenMatrix { system, seed, at, bands: bands.clone(), elements })
    };
    systems.iter().map(of).collect()
}

/// A problem and its reference sums, stored or evaluated now.
///
/// # Errors
/// Those of [`Source::load`]; [`Error::Data`] where it has too many terms to evaluate its sums.
pub fn with_sums(source: &Source, progress: Progress) -> Result<(Problem, Sums)> {
    let problem = source.load(progress)?;
    let sums = reference::whole(&problem, progress)?.ok_or_else(|| Error::Data {
        origin: source.name(),
        what: format!(
            "no golden sums for this seed and these energies, and too many terms to evaluate them now; \
             golden sums exist for seed {DEFAULT_SEED} and a system's own energies"
        ),
    })?;
    Ok((problem, sums))
}

// Devices, kernels, versions and systems for the terminal.

/// The device, the program and the kernels.
///
/// # Errors
/// Those of `to`.
pub fn info_text(to: &mut dyn Write, info: &Info, width: Option<u16>) -> io::Result<()> {
    let unknown = |text: &Option<String>| text.as_deref().unwrap_or("unknown").to_string();
    let (device, provenance) = (&info.device, &info.provenance);
    let multiprocessors = match device.back_end() {
        BackEnd::Cpu => None,
        BackEnd::Gpu => Some(device.multiprocessors.to_string()),
    };
    let processor = info.processor.as_ref();
    let threads = processor.map(|Processor { cores, threads, threads_by, .. }| match threads_by {
        Some(by) => format!("{threads} threads, by {by}"),
        None => format!("{cores}, {threads} threads"),
    });
    let vectors = processor
        .map(|Processor { level, levels, .. }| format!("{level} of {}", levels.join(", ")));
    let (by, commit) = (unknown(&provenance.program_by), unknown(&provenance.commit));
    let lines = [
        ("device", Some(format!("{}: {}", device.id, device.name))),
        ("driver", device.driver.clone()),
        ("compute capability", device.compute_capability.clone()),
        ("multiprocessors", multiprocessors),
        ("cores", threads),
        ("vectors", vectors),
        ("highest clock", device.clock_mhz.map(|clock| format!("{clock} MHz"))),
        ("memory", Some(format!("{:.1} GiB", device.memory_bytes as f64 / (1u64 << 30) as f64))),
        ("no GPU", info.no_gpu.clone()),
        (
            "GPU kernels",
            Some(match &info.no_kernels {
                Some(why) => format!("none: {why}"),
                None => "PTX for sm_70 and later".into(),
            }),
        ),
        ("kernels by", Some(unknown(&provenance.kernels_by))),
        ("program", Some(format!("{}, {by}, commit {commit}", info.program))),
    ];
    for (what, text) in &lines {
        if let Some(text) = text {
            writeln!(to, "{what:<20}{text}")?;
        }
    }
    writeln!(to, "{}", kernels(&info.kernels, width))
}

/// One line for each kernel.
fn kernels(kernels: &[Kernel], width: Option<u16>) -> String {
    let mut table = table(&[
        "kernel",
        "energies",
        "threads",
        "registers",
        "local [B]",
        "shared [B]",
        "warps/SM",
        "what it changes",
    ]);
    if let Some(column) = table.column_mut(7) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for kernel in kernels {
        table.add_row(vec![
            kernel.symbol.clone(),
            kernel.energies.to_string(),
            kernel.threads_per_block.to_string(),
            or_dash(kernel.registers),
            or_dash(kernel.local_bytes),
            or_dash(kernel.shared_bytes),
            or_dash(kernel.warps_per_sm),
            kernel.change.clone(),
        ]);
    }
    fit(table, &[5, 1, 4], width)
}

/// The versions and the built-in systems.
///
/// # Errors
/// Those of `to`.
pub fn list_text(to: &mut dyn Write, listing: &Listing, width: Option<u16>) -> io::Result<()> {
    let mut versions = table(&["version", "what it changes", "where it is described"]);
    for at in 1..3 {
        if let Some(column) = versions.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for version in &listing.versions {
        versions.add_row([&version.id, &version.change, &version.source]);
    }
    let mut systems = table(&["system", "bands", "occupied", "G′", "G", "poles", "MiB", "note"]);
    for at in [5, 7] {
        if let Some(column) = systems.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for system in &listing.systems {
        systems.add_row([
            system.name.clone(),
            system.nbands.to_string(),
            system.nvband.to_string(),
            system.ngpown.to_string(),
            system.ncouls.to_string(),
            system.poles.name().into(),
            format!("{:.1}", system.bytes as f64 / f64::from(1 << 20)),
            system.note.clone(),
        ]);
    }
    writeln!(to, "{}", fit(versions, &[2], width))?;
    writeln!(to, "{}", journeys(&listing.journeys, width))?;
    let on = |best: &ListedBest| format!("{} on a {}", best.version, name(best.back_end));
    let best: Vec<String> = listing.best.iter().map(on).collect();
    writeln!(to, "--version best is {}", best.join(", "))?;
    writeln!(to, "{}", matrix(&listing.matrix, width))?;
    writeln!(to, "{}\n{STATISTICS}", fit(systems, &[2, 6], width))
}

/// The versions of Σ as a matrix.
fn matrix(versions: &[ListedMatrix], width: Option<u16>) -> String {
    let headings = ["gpp offdiag --version", "what it changes", "capability", "file"];
    let mut table = table(&headings);
    for at in [1, 3] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for ListedMatrix { id, change, capability, file } in versions {
        table.add_row([id, change, &format!("{capability:.1}"), file]);
    }
    fit(table, &[3], width)
}

/// A back end as in texts.
fn name(back_end: BackEnd) -> &'static str {
    match back_end {
        BackEnd::Gpu => "GPU",
        BackEnd::Cpu => "CPU",
    }
}

/// The fastest version of each journey on each back end, one a line.
fn journeys(journeys: &[ListedJourney], width: Option<u16>) -> String {
    let headings = ["journey", "where it is told", "baseline", "back end", "best", "measured"];
    let mut table = table(&headings);
    for at in [1, 3, 5] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for journey in journeys {
        for best in &journey.best {
            let back_end = name(best.back_end);
            let ListedJourney { id, source, baseline, .. } = journey;
            table.add_row([id, source, baseline, back_end, &best.version, &best.condition]);
        }
    }
    fit(table, &[1], width)
}
