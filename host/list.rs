//! `gpp list`, `gpp info`, `gpp ptx` and `gpp generate`.

use std::io::{self, Write};

use gpp_core::offdiag::gpu::{ALL, MatrixVersion};
use gpp_cpu::pool::{CpuTeam, DefaultThreads, VARIABLE, of_environment};
use gpp_cpu::simd::Level;
use serde::Serialize;

use crate::catalogue::{self, BackEnd, SERIES, Series, Version, best, named, series_of};
use crate::cli::{GenerateArgs, InfoArgs, PtxArgs};
use crate::devices::gpu::{self, Gpu, NO_KERNELS};
use crate::devices::{ComputeCapability, Device, DeviceInfo, KernelInfo};
use crate::error::{Error, Result, invalid};
use crate::output::{Progress, check, print, write_text};
use crate::problem::input_file::{self, MINI_APPS_ENERGIES};
use crate::problem::synthesis::{DEFAULT_SEED, STATISTICS, SYSTEMS};
use crate::problem::{EnergyGrid, System};
use crate::ranks::Alone;
use crate::record::{PROGRAM, Provenance, plain};
use crate::reference;
use crate::session::MemoryLimits;
use crate::setup::{self, ProblemInput, ProblemSource};
use crate::terminal::{TextTable, or_dash};

pub fn info(args: &InfoArgs) -> anyhow::Result<bool> {
    let (limits, silent) = (MemoryLimits::default(), Progress { shown: false });
    let session = setup::open(&args.devices, limits, &[], silent, &Alone)?;
    let device = session.first();
    if session.devices().len() > 1 {
        let (origin, what) = (format!("--device {}", args.devices.device), "must name one device");
        return Err(invalid(origin, what).into());
    }
    let info = device_info(device)?;
    match &args.json {
        Some(path) => write_text(path, &plain(&info))?,
        None => print(|to| info_text(to, &info))?,
    }
    Ok(true)
}

pub fn list() -> anyhow::Result<bool> {
    print(list_text)?;
    Ok(true)
}

pub fn generate(args: &GenerateArgs) -> anyhow::Result<bool> {
    let progress = Progress { shown: !args.quiet };
    let system = System::find(&args.system)?;
    check(&args.output)?;
    let energies = args.energies.map(EnergyGrid::Spaced);
    let source = ProblemSource {
        input: ProblemInput::System(system, args.seed),
        energies,
        time_ordered: None,
    };
    let problem = source.load(progress)?;
    let sums = reference::whole(&problem, progress)?.ok_or_else(|| {
        let what = format!(
            "has too many terms to evaluate reference values now; they are stored for seed \
             {DEFAULT_SEED} and the system's own energies"
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
    Ok(true)
}

pub fn ptx(args: &PtxArgs) -> anyhow::Result<bool> {
    let ptx = gpu::kernels()?;
    let mut symbols: Vec<&str> = Vec::new();
    for version in named(&args.versions.join(","), BackEnd::Gpu)? {
        let missing = || invalid(version.id(), "is a version for CPUs and has no PTX");
        let kernels = version.gpu().ok_or_else(missing)?.kernels;
        symbols.extend(kernels.iter().flat_map(|kernel| kernel.entries).map(|entry| entry.symbol));
    }
    print(|to| write!(to, "{}", ptx.module_of(symbols.into_iter())))?;
    Ok(true)
}

/// What `gpp info --json` writes.
#[derive(Serialize)]
struct Info {
    schema: u32,
    program: String,
    provenance: Provenance,
    device: DeviceInfo,
    no_gpu: Option<String>,
    no_kernels: Option<String>,
    cpu: Option<CpuInfo>,
    kernels: Vec<KernelLine>,
}

#[derive(Serialize)]
struct CpuInfo {
    /// Threads of versions that run one per core.
    cores: usize,
    threads: usize,
    /// The flag or variable that set their number, if any.
    threads_by: Option<&'static str>,
    /// SIMD levels, the widest last, and the one in use.
    levels: Vec<String>,
    level: String,
}

#[derive(Serialize)]
struct KernelLine {
    version: String,
    #[serde(skip)]
    change: String,
    /// Null in a build without kernels.
    hash: Option<String>,
    energies: u32,
    threads_per_block: u32,
    #[serde(flatten)]
    info: KernelInfo,
}

const SCHEMA: u32 = 1;

fn device_info(device: &dyn Device) -> Result<Info> {
    let mut kernels = Vec::new();
    for gpu in catalogue::for_gpus() {
        for kernel in gpu.kernels {
            for entry in kernel.entries {
                let info = device.kernel(kernel, entry)?;
                kernels.push(KernelLine {
                    version: gpu.id().into(),
                    change: gpu.version.change.into(),
                    hash: gpu::hash(&info.symbol),
                    energies: entry.energies,
                    threads_per_block: kernel.threads,
                    info,
                });
            }
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
        cpu: device.cpu().map(|(level, team)| cpu(level, team)),
        kernels,
    })
}

fn cpu(level: Level, team: &CpuTeam) -> CpuInfo {
    let by_flag = team.is_set().then_some("--threads");
    CpuInfo {
        cores: team.count(DefaultThreads::Cores),
        threads: team.count(DefaultThreads::All),
        threads_by: by_flag.or_else(|| of_environment().map(|_| VARIABLE)),
        levels: Level::available().into_iter().map(|level| level.to_string()).collect(),
        level: level.to_string(),
    }
}

fn poles(system: &System) -> &'static str {
    if system.complex_modes { "complex" } else { "real" }
}

fn info_text(to: &mut dyn Write, info: &Info) -> io::Result<()> {
    let unknown = |text: &Option<String>| text.as_deref().unwrap_or("unknown").to_string();
    let (device, provenance) = (&info.device, &info.provenance);
    let is_gpu = device.back_end() == BackEnd::Gpu;
    let threads = |cpu: &CpuInfo| match cpu.threads_by {
        Some(by) => format!("{} threads, by {by}", cpu.threads),
        None => format!("{}, {} threads", cpu.cores, cpu.threads),
    };
    let vectors = |cpu: &CpuInfo| format!("{} of {}", cpu.level, cpu.levels.join(", "));
    let kernels = info.no_kernels.as_ref().map(|why| format!("none: {why}"));
    let (by, commit) = (unknown(&provenance.program_by), unknown(&provenance.commit));
    let lines = [
        ("device", Some(format!("{}: {}", device.id, device.name))),
        ("driver", device.driver.clone()),
        ("compute capability", device.compute_capability.map(String::from)),
        ("FP64 : FP32", device.single_over_double.map(|ratio| format!("1/{ratio}"))),
        ("multiprocessors", is_gpu.then(|| device.multiprocessors.to_string())),
        ("cores", info.cpu.as_ref().map(threads)),
        ("vectors", info.cpu.as_ref().map(vectors)),
        ("highest clock", device.clock_mhz.map(|clock| format!("{clock} MHz"))),
        ("memory", Some(format!("{:.1} GiB", device.memory_bytes as f64 / f64::from(1 << 30)))),
        ("no GPU", info.no_gpu.clone()),
        (
            "GPU kernels",
            kernels.or(Some(format!("{}, PTX for sm_70 and later", info.kernels.len()))),
        ),
        ("kernels by", Some(unknown(&provenance.kernels_by))),
        ("program", Some(format!("{}, {by}, commit {commit}", info.program))),
    ];
    for (what, text) in &lines {
        if let Some(text) = text {
            writeln!(to, "{what:<20}{text}")?;
        }
    }
    TextTable::new(
        &[
            ("kernel", &|line: &&KernelLine| line.info.symbol.clone()),
            ("energies", &|line: &&KernelLine| line.energies.to_string()),
            ("threads", &|line: &&KernelLine| line.threads_per_block.to_string()),
            ("registers", &|line: &&KernelLine| or_dash(line.info.registers)),
            ("local [B]", &|line: &&KernelLine| or_dash(line.info.local_bytes)),
            ("shared [B]", &|line: &&KernelLine| or_dash(line.info.shared_bytes)),
            ("warps/SM", &|line: &&KernelLine| or_dash(line.info.warps_per_sm)),
            ("what it changes", &|line: &&KernelLine| line.change.clone()),
        ],
        // Without a GPU nothing is known of them but their names, which `--json` has.
        info.kernels.iter().filter(|_| is_gpu),
    )
    .print(to)
}

fn list_text(to: &mut dyn Write) -> io::Result<()> {
    let series = |listed: &Version| series_of(listed.id()).map_or("", |series| series.id).into();
    TextTable::new(
        &[
            ("version", &|listed: &Version| listed.id().into()),
            ("series", &series),
            ("what it changes", &|listed: &Version| listed.label().change.into()),
        ],
        catalogue::versions(),
    )
    .print(to)?;
    TextTable::new(
        &[
            ("series", &|series: &&Series| series.id.into()),
            ("source", &|series: &&Series| series.source.into()),
            ("baseline", &|series: &&Series| series.baseline.into()),
            ("on a", &|series: &&Series| match series.back_end() {
                BackEnd::Gpu => "GPU".into(),
                BackEnd::Cpu => "CPU".into(),
            }),
            ("best", &|series: &&Series| series.best.into()),
            ("measured", &|series: &&Series| series.condition.into()),
        ],
        SERIES,
    )
    .print(to)?;
    let [gpu, cpu] = [BackEnd::Gpu, BackEnd::Cpu].map(|on| best(on).id());
    writeln!(
        to,
        "--version best is {gpu} on a GPU and {cpu} on a CPU for si214; it depends on bands, poles and energies"
    )?;
    TextTable::new(
        &[
            ("gpp offdiag --version", &|version: &&MatrixVersion| version.id.into()),
            ("what it changes", &|version: &&MatrixVersion| version.change.into()),
            ("capability", &|version: &&MatrixVersion| {
                ComputeCapability::from(version.capability).to_string()
            }),
        ],
        ALL,
    )
    .print(to)?;
    TextTable::new(
        &[
            ("system", &|system: &&System| system.name.clone()),
            ("bands", &|system: &&System| system.nbands.to_string()),
            ("occupied", &|system: &&System| system.nvband.to_string()),
            ("G′", &|system: &&System| system.ngpown.to_string()),
            ("G", &|system: &&System| system.ncouls.to_string()),
            ("poles", &|system: &&System| poles(system).into()),
            ("MiB", &|system: &&System| {
                format!("{:.1}", system.extents().bytes() as f64 / f64::from(1 << 20))
            }),
            ("note", &|system: &&System| system.note.clone()),
        ],
        SYSTEMS.iter(),
    )
    .print(to)?;
    writeln!(to, "{STATISTICS}")
}
