//! `gpp list`, `gpp info`, `gpp ptx` and `gpp generate`.

use std::io::{self, Write};

use gpp_core::offdiag::gpu::{ALL, MatrixVersion};
use gpp_cpu::pool::{CpuTeam, DefaultThreads, VARIABLE, of_environment};
use gpp_cpu::simd::Level;
use gpp_kernels::kernel::Entry;

use crate::catalogue::{self, BackEnd, SERIES, Series, Version, best, named, series_of};
use crate::cli::{DeviceArgs, GenerateArgs, PtxArgs};
use crate::devices::gpu::{self, Gpu, NO_KERNELS};
use crate::devices::{ComputeCapability, Device, KernelInfo};
use crate::error::{Error, Result, invalid};
use crate::output::{Progress, check, print};
use crate::problem::synthesis::{DEFAULT_SEED, STATISTICS, SYSTEMS, Synthesis};
use crate::problem::{Source as _, System, input_file};
use crate::ranks::Alone;
use crate::record::{PROGRAM, Provenance};
use crate::reference;
use crate::session::MemoryLimits;
use crate::setup;
use crate::terminal::{TextTable, or_dash};

pub fn info(args: &DeviceArgs) -> anyhow::Result<bool> {
    let (limits, silent) = (MemoryLimits::default(), Progress { shown: false });
    let session = setup::open(args, limits, &[], silent, &Alone)?;
    let device = session.first();
    if session.devices().len() > 1 {
        let (origin, what) = (format!("--device {}", args.device), "must name one device");
        return Err(invalid(origin, what).into());
    }
    let kernels = if device.back_end() == BackEnd::Gpu { Some(kernels(device)?) } else { None };
    print(|to| {
        info_text(to, device)?;
        kernels.map_or(Ok(()), |kernels| kernels.print(to))
    })?;
    Ok(true)
}

fn kernels(gpu: &dyn Device) -> Result<TextTable> {
    let mut rows = Vec::new();
    for listed in catalogue::versions().filter_map(catalogue::Version::gpu) {
        for kernel in listed.kernels {
            for entry in kernel.entries {
                let (change, known) = (listed.version.change, gpu.kernel(kernel, entry)?);
                rows.push((known, entry, kernel.threads, change));
            }
        }
    }
    Ok(TextTable::new(
        &[
            ("kernel", &|(_, entry, ..): &(KernelInfo, &Entry, u32, _)| entry.symbol.to_string()),
            ("energies", &|(_, entry, ..)| entry.energies.to_string()),
            ("threads", &|(_, _, threads, _)| threads.to_string()),
            ("registers", &|(known, ..)| or_dash(known.registers)),
            ("local [B]", &|(known, ..)| or_dash(known.local_bytes)),
            ("shared [B]", &|(known, ..)| or_dash(known.shared_bytes)),
            ("warps/SM", &|(known, ..)| or_dash(known.warps_per_sm)),
            ("what it changes", &|&(.., change)| str::to_string(change)),
        ],
        rows,
    ))
}

pub fn generate(args: &GenerateArgs) -> anyhow::Result<bool> {
    let progress = Progress { shown: !args.quiet };
    let system = System::find(&args.system)?;
    check(&args.output)?;
    let problem = Synthesis::new(system, args.seed, progress).load()?;
    let reference = reference::for_problem(&problem, progress)?.ok_or_else(|| {
        let what = format!(
            "has too many terms to evaluate reference values now; they are stored for seed {DEFAULT_SEED}"
        );
        invalid(problem.name(), what)
    })?;
    input_file::write(&args.output, &problem, &reference.sums, progress)?;
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

fn info_text(to: &mut dyn Write, device: &dyn Device) -> io::Result<()> {
    let unknown = |text: &Option<String>| text.as_deref().unwrap_or("unknown").to_string();
    let (info, provenance) = (device.info(), Provenance::now(device.info()));
    let is_gpu = info.back_end() == BackEnd::Gpu;
    let threads = |team: &CpuTeam| {
        let by = team.is_set().then_some("--threads");
        let count = team.count(DefaultThreads::All);
        match by.or_else(|| of_environment().map(|_| VARIABLE)) {
            Some(by) => format!("{count} threads, by {by}"),
            None => format!("{}, {count} threads", team.count(DefaultThreads::Cores)),
        }
    };
    let vectors = |level| {
        let levels: Vec<&str> = Level::available().into_iter().map(Level::name).collect();
        format!("{level} of {}", levels.join(", "))
    };
    let no_gpu = match Gpu::count() {
        Err(Error::NoGpu { why }) => Some(why),
        _ => None,
    };
    let in_program = NO_KERNELS
        .map_or_else(|| "PTX for sm_70 and later".to_string(), |why| format!("none: {why}"));
    let (by, commit) = (unknown(&provenance.program_by), unknown(&provenance.commit));
    let lines = [
        ("device", Some(format!("{}: {}", info.id, info.name))),
        ("driver", info.driver.clone()),
        ("compute capability", info.compute_capability.map(String::from)),
        ("FP64 : FP32", info.single_over_double.map(|ratio| format!("1/{ratio}"))),
        ("multiprocessors", is_gpu.then(|| info.multiprocessors.to_string())),
        ("cores", device.cpu().map(|(_, team)| threads(team))),
        ("vectors", device.cpu().map(|(level, _)| vectors(level))),
        ("highest clock", info.clock_mhz.map(|clock| format!("{clock} MHz"))),
        ("memory", Some(format!("{:.1} GiB", info.memory_bytes as f64 / f64::from(1 << 30)))),
        ("no GPU", no_gpu),
        ("GPU kernels", Some(in_program)),
        ("kernels by", Some(unknown(&provenance.kernels_by))),
        ("program", Some(format!("{PROGRAM}, {by}, commit {commit}"))),
    ];
    for (what, text) in &lines {
        if let Some(text) = text {
            writeln!(to, "{what:<20}{text}")?;
        }
    }
    Ok(())
}

pub fn list(to: &mut dyn Write) -> io::Result<()> {
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
            ("baseline", &|series: &&Series| series.baseline().into()),
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
            ("poles", &|system: &&System| {
                if system.complex_modes { "complex".into() } else { "real".into() }
            }),
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
