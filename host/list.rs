//! `gpp list`, `gpp info`, `gpp ptx` and `gpp generate`.

use std::io::{self, Write};
use std::process::ExitCode;

use gpp_core::offdiag::versions::{ALL, Version};
use gpp_cpu::pool::{Threads, VARIABLE, of_environment};
use gpp_cpu::simd::Level;
use gpp_kernels::kernel;
use serde::Serialize;
use serde_json::{Value, json};

use crate::catalogue::names::versions;
use crate::catalogue::{self, BackEnd, JOURNEYS, Journey, Listed, best, journey_of};
use crate::cli::{GenerateArgs, InfoArgs, ListArgs, PtxArgs};
use crate::devices::gpu::{self, Gpu, NO_KERNELS};
use crate::devices::host::Host;
use crate::devices::{Device, DeviceInfo};
use crate::error::{Error, Result, invalid};
use crate::output::{Files, print, write_text};
use crate::problem::EnergyGrid;
use crate::problem::input_file::{self, MINI_APPS_ENERGIES};
use crate::problem::systems::{self, DEFAULT_SEED, STATISTICS, SYSTEMS, System};
use crate::progress::Progress;
use crate::record::{PROGRAM, Provenance, plain};
use crate::reference;
use crate::setup::Source;
use crate::terminal::{Cells, or_dash};

pub fn info(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    // The text reports why there is no GPU.
    let device = crate::setup::device(&args.place, Progress { shown: false })?;
    let info = device_info(device.as_ref())?;
    match &args.list.json {
        Some(path) => write_text(path, &plain(&info))?,
        None => print(|to| info_text(to, &info))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    match &args.json {
        Some(path) => write_text(path, &plain(&listing()))?,
        None => print(list_text)?,
    }
    Ok(ExitCode::SUCCESS)
}

pub fn generate(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let system = systems::find(&args.system)?;
    Files::new().writes("--output", [&args.output]).check()?;
    let grid = args.energies.map(EnergyGrid::Spaced);
    let source = Source::System(system, args.seed).at(grid);
    let problem = source.load(progress)?;
    let sums = reference::whole(&problem, progress)?.ok_or_else(|| {
        let what = format!(
            "has no reference values for this seed and these energies, and too many terms to evaluate them now; they \
             exist for seed {DEFAULT_SEED} and a system's own energies"
        );
        invalid(source.name(), what)
    })?;
    if problem.header().nend > MINI_APPS_ENERGIES {
        progress.say(format_args!(
            "note: gpp reads this file; the mini-app does not, whose arrays hold energies 1 to \
             {MINI_APPS_ENERGIES}, not {} to {}",
            problem.header().nstart,
            problem.header().nend
        ));
    }
    input_file::write(&args.output, &problem, &sums, progress)?;
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
            let gpu = version
                .gpu()
                .ok_or_else(|| invalid(version.id(), "is a version for CPUs and has no PTX"))?;
            let entries = gpu.kernels.iter().flat_map(|kernel| kernel.entries);
            symbols.extend(entries.map(|entry| entry.symbol.to_string()));
        }
    }
    symbols.dedup();
    print(|to| write!(to, "{}", ptx.of(symbols.iter().map(String::as_str))))?;
    Ok(ExitCode::SUCCESS)
}

// What there is: a device and its kernels, versions and systems.

/// What `gpp info --json` writes.
#[derive(Serialize)]
struct Info {
    schema: u32,
    program: String,
    provenance: Provenance,
    device: DeviceInfo,
    /// Why no GPU can be used.
    no_gpu: Option<String>,
    /// Why this build has no kernels for GPUs.
    no_kernels: Option<String>,
    /// What versions for CPUs use, if the device is a CPU.
    processor: Option<Processor>,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Processor {
    /// Threads of versions that run one per core.
    cores: usize,
    threads: usize,
    /// `--threads` or `OMP_NUM_THREADS`, if that set their number.
    threads_by: Option<String>,
    /// SIMD levels that it has, the widest last, and the one in use.
    levels: Vec<String>,
    level: String,
}

#[derive(Serialize)]
struct Kernel {
    version: String,
    #[serde(skip)]
    change: String,
    symbol: String,
    /// Differs if the code does; null in a build without kernels.
    hash: Option<String>,
    energies: u32,
    threads_per_block: u32,
    registers: Option<u32>,
    local_bytes: Option<u32>,
    shared_bytes: Option<u32>,
    warps_per_sm: Option<u32>,
}

const SCHEMA: u32 = 1;

/// A device and every version's kernels on it.
fn device_info(device: &dyn Device) -> Result<Info> {
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

/// All versions, series and built-in systems as JSON.
fn listing() -> Value {
    let version = |listed: Listed| json!({ "id": listed.id(), "change": listed.version.change, "source": listed.version.source });
    let series = |series: &Journey| {
        json!({
            "id": series.id,
            "title": series.title,
            "source": series.source,
            "versions": series.ids(),
            "baseline": series.baseline,
            "continues": series.continues,
            "back_end": series.back_end(),
            "best": series.best,
            "condition": series.condition,
        })
    };
    let matrix =
        |own: &Version| json!({ "id": own.id, "change": own.change, "capability": own.capability });
    let system = |own: &System| {
        json!({
            "name": own.name,
            "nbands": own.nbands,
            "nvband": own.nvband,
            "ngpown": own.ngpown,
            "ncouls": own.ncouls,
            "nstart": own.nstart,
            "nend": own.nend,
            "poles": poles(own),
            "bytes": own.extents().bytes(),
            "note": own.note,
        })
    };
    let best_of_all =
        [BackEnd::Gpu, BackEnd::Cpu].map(|on| json!({ "back_end": on, "version": best(on).id() }));
    json!({
        "schema": SCHEMA,
        "versions": catalogue::versions().map(version).collect::<Vec<_>>(),
        "series": JOURNEYS.iter().map(series).collect::<Vec<_>>(),
        "best": best_of_all,
        "matrix": ALL.map(matrix),
        "systems": SYSTEMS.iter().map(system).collect::<Vec<_>>(),
    })
}

fn poles(system: &System) -> &'static str {
    if system.complex_modes { "complex" } else { "real" }
}

// Devices, kernels, versions and systems for the terminal.

/// The device, the program and the kernels.
fn info_text(to: &mut dyn Write, info: &Info) -> io::Result<()> {
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
    kernels(&info.kernels).print(to)
}

fn kernels(kernels: &[Kernel]) -> Cells {
    Cells::new(
        &[
            ("kernel", &|own: &&Kernel| own.symbol.clone()),
            ("energies", &|own: &&Kernel| own.energies.to_string()),
            ("threads", &|own: &&Kernel| own.threads_per_block.to_string()),
            ("registers", &|own: &&Kernel| or_dash(own.registers)),
            ("local [B]", &|own: &&Kernel| or_dash(own.local_bytes)),
            ("shared [B]", &|own: &&Kernel| or_dash(own.shared_bytes)),
            ("warps/SM", &|own: &&Kernel| or_dash(own.warps_per_sm)),
            ("what it changes", &|own: &&Kernel| own.change.clone()),
        ],
        kernels,
    )
}

/// The versions and the built-in systems.
fn list_text(to: &mut dyn Write) -> io::Result<()> {
    let series = |listed: &Listed| journey_of(listed.id()).map_or("", |series| series.id).into();
    Cells::new(
        &[
            ("version", &|listed: &Listed| listed.id().into()),
            ("series", &series),
            ("what it changes", &|listed: &Listed| listed.version.change.into()),
        ],
        catalogue::versions(),
    )
    .print(to)?;
    Cells::new(
        &[
            ("series", &|series: &&Journey| series.id.into()),
            ("source", &|series: &&Journey| series.source.into()),
            ("baseline", &|series: &&Journey| series.baseline.into()),
            ("on a", &|series: &&Journey| name(series.back_end()).into()),
            ("fastest", &|series: &&Journey| series.best.into()),
            ("measured", &|series: &&Journey| series.condition.into()),
        ],
        JOURNEYS,
    )
    .print(to)?;
    let on = |back_end| format!("{} on a {}", best(back_end).id(), name(back_end));
    writeln!(to, "--version best is {}, {}", on(BackEnd::Gpu), on(BackEnd::Cpu))?;
    Cells::new(
        &[
            ("gpp offdiag --version", &|own: &&Version| own.id.into()),
            ("what it changes", &|own: &&Version| own.change.into()),
            ("capability", &|own: &&Version| format!("{:.1}", own.capability)),
        ],
        ALL,
    )
    .print(to)?;
    Cells::new(
        &[
            ("system", &|own: &&System| own.name.clone()),
            ("bands", &|own: &&System| own.nbands.to_string()),
            ("occupied", &|own: &&System| own.nvband.to_string()),
            ("G′", &|own: &&System| own.ngpown.to_string()),
            ("G", &|own: &&System| own.ncouls.to_string()),
            ("poles", &|own: &&System| poles(own).into()),
            ("MiB", &|own: &&System| {
                format!("{:.1}", own.extents().bytes() as f64 / f64::from(1 << 20))
            }),
            ("note", &|own: &&System| own.note.clone()),
        ],
        SYSTEMS.iter(),
    )
    .print(to)?;
    writeln!(to, "{STATISTICS}")
}

fn name(back_end: BackEnd) -> &'static str {
    match back_end {
        BackEnd::Gpu => "GPU",
        BackEnd::Cpu => "CPU",
    }
}
