//! `gpp profile`: time the versions, measure the ceilings, and have ncu count.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

use super::ProfileArgs;
use super::run::{self, Measured};
use crate::counting;
use crate::devices::Device as _;
use crate::devices::gpu::{self, Gpu};
use crate::error::Error;
use crate::measure::Repetition;
use crate::output::replace;
use crate::problem::{Problem, synthesis, systems};
use crate::profile::{self, Context, Profile, lines, metrics, ncu, sass};
use crate::progress::Progress;
use crate::report::json;
use crate::roofline::ceilings::Ceilings;
use crate::tuning::Overrides;

pub fn profile(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = run::versions(&args.version)?;
    let system = systems::find(&args.system)?;
    std::fs::create_dir_all(&args.dir)
        .map_err(|e| Error::Write { path: args.dir.clone(), reason: e.to_string() })?;

    let operations = match &args.operations {
        Some(folder) => profile::load(folder)?,
        None => Vec::new(),
    };
    if let Some(missing) = versions.iter().find(|version| {
        !operations.is_empty() && operations.iter().all(|other| other.version != version.id)
    }) {
        let folder = args.operations.as_ref().map(|folder| folder.display().to_string());
        return Err(Error::Data {
            origin: folder.unwrap_or_default(),
            what: format!("holds no profile of {} to take its operations from", missing.id),
        }
        .into());
    }

    let mut architecture = args.architecture.clone();
    let (problem, mut profiles) = match &args.from {
        Some(csv) => {
            let problem = synthesis::synthesise(system, args.seed, progress)?;
            let text = std::fs::read_to_string(csv)
                .with_context(|| format!("{}: cannot read", csv.display()))?;
            let launches = metrics::parse(&text)
                .map_err(|what| Error::Profiler { what: format!("{}: {what}", csv.display()) })?;
            let source = format!("hardware counters, {}", csv.display());
            let profiles = aggregated(&launches, &problem, source, operations)?;
            (problem, profiles)
        }
        None => {
            // What is missing is said before anything long begins.
            let ncu = ncu::Ncu::find(&args.ncu)?;
            let crate::devices::Choice::Gpu(index) = args.device.parse()? else {
                return Err(
                    Error::NoGpu { why: "profiling needs a GPU: --device gpu:N".into() }.into()
                );
            };
            let gpu = Gpu::open(index)?;
            let capability = gpu.info().compute_capability.as_ref();
            architecture =
                architecture.or(capability.map(|c| format!("sm_{}", c.replace('.', ""))));
            let ceilings = gpu.ceilings()?;
            let problem = synthesis::synthesise(system, args.seed, progress)?;
            let measured =
                Measured::of(&gpu, problem, &versions, Overrides::default(), REPETITION, progress)?;
            if measured.exit_code() != ExitCode::SUCCESS {
                // What is not verified is not worth a profile.
                return Ok(ExitCode::FAILURE);
            }
            let Measured { problem, records } = measured;
            let document = json::document(gpu.info(), &problem, &records);
            // The profiled program wants the device to itself.
            drop(gpu);

            let target = ncu::Target {
                versions: args.version.clone(),
                problem: vec![
                    "--system".into(),
                    args.system.clone().into(),
                    "--seed".into(),
                    args.seed.to_string().into(),
                ],
                device: args.device.clone(),
            };
            let bar = progress.bar("profiling (minutes)", 2);
            let (csv, launches) = ncu.counters(&target, operations.is_empty())?;
            bar.inc(1);
            let source = format!("hardware counters, ncu {}", ncu.version);
            let mut profiles = aggregated(&launches, &problem, source, operations)?;
            // The counters are worth keeping without the samples.
            let lines = if args.no_lines {
                Vec::new()
            } else {
                ncu.source_lines(&target).unwrap_or_else(|error| {
                    eprintln!("no samples by source line: {error}");
                    Vec::new()
                })
            };
            bar.finish_and_clear();

            for profile in &mut profiles {
                let record = records.iter().find(|record| record.version == profile.version);
                profile.time_s = record.map(|record| record.times.median);
                profile.device.clone_from(&ceilings.device);
                profile.lines = lines_of(profile, &lines);
            }
            write(&args.dir.join("counters.csv"), &csv)?;
            write(&args.dir.join("run.json"), &serde_json::to_string_pretty(&document)?)?;
            write(&args.dir.join(CEILINGS), &serde_json::to_string_pretty(&ceilings)?)?;
            (problem, profiles)
        }
    };

    if let Some(architecture) = architecture {
        let kernels = profiles.iter().filter_map(|profile| profile.launches.first());
        let ptx = gpu::kernels()?.of(kernels.map(String::as_str));
        match sass::disassemble(&ptx, &architecture) {
            Ok(all) => profiles.iter_mut().for_each(|profile| profile.set_disassembly(&all)),
            Err(why) => eprintln!("no instruction counts from the disassembly: {why}"),
        }
    }
    profiles.retain(|profile| versions.iter().any(|version| version.id == profile.version));
    let bar = progress.bar("counting", profiles.len() as u64);
    for profile in &mut profiles {
        let version = versions.iter().find(|v| v.id == profile.version).expect("retained above");
        profile.counted = Some(counting::count(version, &problem)?);
        profile::store(&args.dir, profile)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !args.quiet {
        println!("{}", crate::report::table::profiles(&profiles));
        if profiles.iter().any(|profile| profile.disassembly.is_some()) {
            println!("{}", crate::report::table::instructions(&profiles));
        }
        println!("{} profiles in {}", profiles.len(), args.dir.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs of each version for its time, beside the profiler's.
const REPETITION: Repetition = Repetition { warmup: 1, repeat: 5 };

/// The ceilings' file in a folder of profiles.
const CEILINGS: &str = "ceilings.json";

/// The ceilings of a folder of profiles, where they were measured.
///
/// # Errors
/// [`Error::Data`] for a file that holds none.
pub fn ceilings(folder: &Path) -> crate::Result<Ceilings> {
    let path = folder.join(CEILINGS);
    let wrong = |what: String| Error::Data { origin: path.display().to_string(), what };
    let text = std::fs::read_to_string(&path).map_err(|e| wrong(format!("cannot read: {e}")))?;
    serde_json::from_str(&text).map_err(|e| wrong(format!("holds no ceilings: {e}")))
}

fn aggregated(
    launches: &[metrics::Launch],
    problem: &Problem,
    source: String,
    operations: Vec<Profile>,
) -> crate::Result<Vec<Profile>> {
    let source = match operations.first() {
        Some(other) => format!("{source}; FP64 operations for each term as of {}", other.system),
        None => source,
    };
    let terms = problem.terms();
    let context = Context { system: problem.name.clone(), terms, source, operations };
    profile::aggregate(launches, &context).map_err(|what| Error::Profiler { what })
}

fn lines_of(profile: &Profile, kernels: &[lines::KernelLines]) -> Vec<lines::SourceLine> {
    let first = profile.launches.first();
    let kernel = kernels.iter().find(|kernel| Some(&kernel.kernel) == first);
    kernel.map(|kernel| kernel.lines.clone()).unwrap_or_default()
}

fn write(path: &Path, text: &str) -> crate::Result<()> {
    replace(path, |file| std::io::Write::write_all(file, text.as_bytes()))
}
