//! `gpp list`, `gpp info`, `gpp ptx` and `gpp generate`.

use std::io::{self, Write};
use std::process::ExitCode;

use comfy_table::CellAlignment;
use gpp_core::offdiag::versions::{ALL, Version};
use gpp_cpu::pool::{Threads, VARIABLE, of_environment};
use gpp_cpu::simd::Level;
use gpp_kernels::kernel;
use serde_json::{Value, json};

use crate::catalogue::names::versions;
use crate::catalogue::{self, BackEnd, JOURNEYS, Journey, Listed, best};
use crate::cli::args::{GenerateArgs, InfoArgs, ListArgs, PtxArgs};
use crate::devices::Device;
use crate::devices::gpu::{self, Gpu, NO_KERNELS};
use crate::devices::host::Host;
use crate::error::{Error, Result};
use crate::offdiag;
use crate::output::{Files, print, write_text};
use crate::problem::file::{self, MINI_APPS_ENERGIES};
use crate::problem::systems::{self, DEFAULT_SEED, STATISTICS, SYSTEMS, System};
use crate::problem::{Grid, Problem, Sums};
use crate::progress::Progress;
use crate::record::info::{Info, Kernel, Processor, SCHEMA};
use crate::record::{PROGRAM, Provenance, plain};
use crate::reference;
use crate::setup::Source;
use crate::terminal::{fit, or_dash, table, terminal};

pub fn info(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    // It says itself why there is no GPU.
    let device = crate::setup::device(&args.place, &[], Progress { shown: false })?;
    let info = device_info(device.as_ref())?;
    match &args.list.json {
        Some(path) => write_text(path, &plain(&info))?,
        None => print(|to| info_text(to, &info, terminal()))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    match &args.json {
        Some(path) => write_text(path, &plain(&listing()))?,
        None => print(|to| list_text(to, terminal()))?,
    }
    Ok(ExitCode::SUCCESS)
}

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
    let gpu = version.gpu().ok_or_else(|| Error::Input {
        origin: version.id().into(),
        what: "is made for processors and has no PTX".into(),
    })?;
    let entries = gpu.kernels.iter().flat_map(|kernel| kernel.entries);
    Ok(entries.map(|entry| entry.symbol).collect())
}

// What there is: a device and its kernels, versions and systems.

/// A device and every version's kernels on it.
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

/// All versions, journeys and built-in systems, for a program.
fn listing() -> Value {
    let version = |listed: Listed| {
        json!({
            "id": listed.id(),
            "change": listed.version.change,
            "source": listed.version.source,
            "best": listed.id() == best(BackEnd::Gpu).id(),
        })
    };
    let journey = |journey: &Journey| {
        json!({
            "id": journey.id,
            "title": journey.title,
            "source": journey.source,
            "versions": journey.ids(),
            "baseline": journey.baseline,
            "continues": journey.continues,
            "back_end": journey.back_end(),
            "best": journey.best,
            "condition": journey.condition,
        })
    };
    let matrix = |version: &Version| {
        json!({
            "id": version.id,
            "change": version.change,
            "capability": version.capability,
            "file": offdiag::source(Some(version.id)),
        })
    };
    let system = |system: &System| {
        json!({
            "name": system.name,
            "nbands": system.nbands,
            "nvband": system.nvband,
            "ngpown": system.ngpown,
            "ncouls": system.ncouls,
            "nstart": system.nstart,
            "nend": system.nend,
            "poles": poles(system),
            "bytes": system.bytes(),
            "note": system.note,
        })
    };
    let best_of_all =
        [BackEnd::Gpu, BackEnd::Cpu].map(|on| json!({ "back_end": on, "version": best(on).id() }));
    json!({
        "schema": SCHEMA,
        "versions": catalogue::versions().map(version).collect::<Vec<_>>(),
        "journeys": JOURNEYS.iter().map(journey).collect::<Vec<_>>(),
        "best": best_of_all,
        "matrix": ALL.map(matrix),
        "systems": SYSTEMS.iter().map(system).collect::<Vec<_>>(),
    })
}

fn poles(system: &System) -> &'static str {
    if system.complex_modes { "complex" } else { "real" }
}

/// A problem and its reference sums, stored or evaluated now.
pub fn with_sums(source: &Source, progress: Progress) -> Result<(Problem, Sums)> {
    let problem = source.load(progress)?;
    let sums = reference::whole(&problem, progress)?.ok_or_else(|| Error::Input {
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
    fit(table, width)
}

/// The versions and the built-in systems.
pub fn list_text(to: &mut dyn Write, width: Option<u16>) -> io::Result<()> {
    let mut versions = table(&["version", "what it changes", "where it is described"]);
    for at in 1..3 {
        if let Some(column) = versions.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for listed in catalogue::versions() {
        versions.add_row([listed.id(), listed.version.change, listed.version.source]);
    }
    let mut systems = table(&["system", "bands", "occupied", "G′", "G", "poles", "MiB", "note"]);
    for at in [5, 7] {
        if let Some(column) = systems.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for system in SYSTEMS.iter() {
        systems.add_row([
            system.name.clone(),
            system.nbands.to_string(),
            system.nvband.to_string(),
            system.ngpown.to_string(),
            system.ncouls.to_string(),
            poles(system).into(),
            format!("{:.1}", system.bytes() as f64 / f64::from(1 << 20)),
            system.note.clone(),
        ]);
    }
    writeln!(to, "{}", fit(versions, width))?;
    writeln!(to, "{}", journeys(width))?;
    let on = |back_end| format!("{} on a {}", best(back_end).id(), name(back_end));
    writeln!(to, "--version best is {}, {}", on(BackEnd::Gpu), on(BackEnd::Cpu))?;
    writeln!(to, "{}", matrix(width))?;
    writeln!(to, "{}\n{STATISTICS}", fit(systems, width))
}

fn matrix(width: Option<u16>) -> String {
    let headings = ["gpp offdiag --version", "what it changes", "capability", "file"];
    let mut table = table(&headings);
    for at in [1, 3] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for Version { id, change, capability, .. } in ALL {
        let (capability, file) = (format!("{capability:.1}"), offdiag::source(Some(*id)));
        table.add_row([*id, *change, capability.as_str(), &file]);
    }
    fit(table, width)
}

fn name(back_end: BackEnd) -> &'static str {
    match back_end {
        BackEnd::Gpu => "GPU",
        BackEnd::Cpu => "CPU",
    }
}

/// The fastest version of each journey, one a line.
fn journeys(width: Option<u16>) -> String {
    let headings = ["journey", "where it is told", "baseline", "back end", "best", "measured"];
    let mut table = table(&headings);
    for at in [1, 3, 5] {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    for journey in JOURNEYS {
        let Journey { id, source, baseline, best, condition, .. } = journey;
        table.add_row([id, source, baseline, name(journey.back_end()), best, condition]);
    }
    fit(table, width)
}
