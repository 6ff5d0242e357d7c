//! `gpp profile`: time the versions, measure the ceilings, and have ncu count.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpp_kernels::registry::{Poles, Version};

use super::args::{DEFAULT_FOLDER, ProfileArgs};
use super::run::{exit_code, measure_all};
use super::source::{PAPER_SYSTEM, Source};
use crate::catalogue::names::versions;
use crate::catalogue::tuned::{Overrides, candidates};
use crate::devices::gpu::{self, Gpu};
use crate::devices::{Choice, Device as _};
use crate::error::Error;
use crate::experiments::counting;
use crate::experiments::measure::{Repetition, body};
use crate::experiments::profile::folder::{CEILINGS, RUN, require_room};
use crate::experiments::profile::{self, Context, Profile, lines, metrics, ncu, sass};
use crate::problem::{Planned, Problem};
use crate::process::output::{self, note, print, write_text};
use crate::process::progress::Progress;
use crate::record::ceilings::Ceilings;
use crate::record::run::Run;
use crate::render::table;

/// Runs of each version for its time, beside the profiler's.
const REPETITION: Repetition = Repetition { warmup: 1, repeat: 5 };

/// Profiles and what else goes into their folder.
struct Profiled {
    problem: Problem,
    profiles: Vec<Profile>,
    /// Of the GPU that they were made on.
    architecture: Option<String>,
    /// Names and texts.
    files: Vec<(&'static str, String)>,
}

pub fn profile(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = versions(&args.version)?;
    if let Some(folder) = &args.dir {
        output::require_name("--dir", folder, "folder")?;
    }
    let source = args.problem.source_or(PAPER_SYSTEM)?;
    let operations = operations(args.operations.as_deref(), &versions)?;
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => PathBuf::from(DEFAULT_FOLDER).join(source.name()),
    };

    let profiled = match &args.from {
        Some(csv) => Some(recorded(args, csv, &versions, &source, operations, progress)?),
        None => run(args, &versions, &source, operations, &folder, progress)?,
    };
    // What is not verified is not worth a profile.
    let Some(mut profiled) = profiled else { return Ok(ExitCode::FAILURE) };
    require_room(&folder, profiled.problem.name())?;
    let profiles = &mut profiled.profiles;

    if let Some(architecture) = args.architecture.as_ref().or(profiled.architecture.as_ref()) {
        let kernels = profiles.iter().filter_map(|profile| profile.launches.first());
        let ptx = gpu::kernels()?.of(kernels.map(String::as_str));
        match sass::disassemble(&ptx, architecture) {
            Ok(all) => profiles.iter_mut().for_each(|profile| profile.set_disassembly(&all)),
            Err(why) => progress
                .say(format_args!("note: no instruction counts from the disassembly: {why}")),
        }
    }
    std::fs::create_dir_all(&folder)
        .map_err(|e| Error::Write { path: folder.clone(), reason: e.to_string() })?;
    for (name, text) in &profiled.files {
        write_text(&folder.join(name), text)?;
    }
    let bar = progress.bar("counting", profiles.len() as u64);
    for profile in profiles.iter_mut() {
        let version = versions.iter().find(|v| v.id == profile.version).expect("only those");
        profile.counted = Some(counting::count(version, &profiled.problem)?);
        profile::store(&folder, profile)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !args.quiet {
        let width = table::terminal();
        print(|to| {
            writeln!(to, "{}", table::profiles(profiles, width))?;
            if profiles.iter().any(|profile| profile.disassembly.is_some()) {
                writeln!(to, "{}", table::instructions(profiles, width))?;
            }
            writeln!(to, "{} profiles in {}", profiles.len(), folder.display())
        })?;
    }
    if !folder.join(CEILINGS).exists() {
        progress.say(format_args!(
            "note: `gpp roofline` and `gpp report` need {CEILINGS} in {}, the report {RUN} as well: \
             `gpp profile` writes both on the GPU",
            folder.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The profiles to take operations from; one for each version.
fn operations(folder: Option<&Path>, versions: &[&Version]) -> crate::Result<Vec<Profile>> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let operations = profile::load(folder)?;
    let has = |version: &&&Version| operations.iter().any(|other| other.version == version.id);
    match versions.iter().find(|version| !has(version)) {
        Some(missing) => Err(Error::Data {
            origin: folder.display().to_string(),
            what: format!("holds no profile of {} to take its operations from", missing.id),
        }),
        None => Ok(operations),
    }
}

/// Profiles from CSV that ncu printed elsewhere.
fn recorded(
    args: &ProfileArgs,
    csv: &Path,
    versions: &[&'static Version],
    source: &Source,
    operations: Vec<Profile>,
    progress: Progress,
) -> crate::Result<Profiled> {
    let origin = csv.display().to_string();
    let wrong = |what: String| Error::Data { origin: origin.clone(), what };
    let text = std::fs::read_to_string(csv).map_err(|e| wrong(format!("cannot read: {e}")))?;
    let launches = metrics::parse(&text).map_err(wrong)?;
    let problem = source.load(progress)?;
    let context = context(&problem, format!("hardware counters, {origin}"), operations);
    let mut profiles = profile::aggregate(&launches, &context).map_err(wrong)?;
    profiles.retain(|profile| versions.iter().any(|version| version.id == profile.version));
    let has = |version: &&&Version| profiles.iter().any(|profile| profile.version == version.id);
    let missing = versions.iter().find(|version| !has(version));
    if let Some(missing) = missing
        && (args.version != "all" || profiles.is_empty())
    {
        return Err(wrong(format!("has no launch of {}", missing.id)));
    }
    let plan = problem.plan();
    for profile in &profiles {
        plausible(profile, versions).map_err(wrong)?;
        of_problem(profile, versions, &problem, &plan).map_err(wrong)?;
    }
    Ok(Profiled { problem, profiles, architecture: None, files: Vec::new() })
}

/// Fails where the operations of a term are far from those of the version's kernels: the counters are
/// of another system then.
fn plausible(profile: &Profile, versions: &[&Version]) -> Result<(), String> {
    const FACTOR: f64 = 3.0;
    let counted = profile.flops() / profile.terms as f64;
    let version = versions.iter().find(|version| version.id == profile.version);
    let known: Vec<f64> = version
        .into_iter()
        .flat_map(|version| [Poles::Any, Poles::Real].map(|poles| version.of(poles).flops_per_term))
        .collect();
    let near = |known: &f64| (1.0 / FACTOR..=FACTOR).contains(&(counted / known));
    if known.iter().any(near) {
        return Ok(());
    }
    Err(format!(
        "{} would take {counted:.3} FLOP a term of {}, its kernels take {:.1}: name the system that \
         the counters are of with --system or --input",
        profile.version,
        profile.system,
        known.first().unwrap_or(&f64::NAN)
    ))
}

/// Fails where the counters are of a kernel that the problem does not run, such as that of other poles.
fn of_problem(
    profile: &Profile,
    versions: &[&'static Version],
    problem: &Problem,
    plan: &Planned,
) -> Result<(), String> {
    let version = versions.iter().find(|version| version.id == profile.version);
    let (Some(version), Some(found)) = (version, profile.launches.first()) else { return Ok(()) };
    let needed = body(version, problem, plan);
    let in_other_shapes = || {
        version.id == Version::best().id
            && candidates(plan.poles())
                .flat_map(|candidate| candidate.bodies)
                .any(|body| body.energies == needed.energies && body.symbol == found)
    };
    if needed.symbol == found || in_other_shapes() {
        return Ok(());
    }
    Err(format!(
        "{} runs kernel `{}` on {}, the counters are of `{found}`: name the system that they are of \
         with --system or --input",
        profile.version,
        needed.symbol,
        problem.name()
    ))
}

/// Profiles by running the versions under ncu; `None` where one was not verified.
fn run(
    args: &ProfileArgs,
    versions: &[&'static Version],
    source: &Source,
    operations: Vec<Profile>,
    folder: &Path,
    progress: Progress,
) -> crate::Result<Option<Profiled>> {
    // What is missing is said before anything long begins.
    let ncu = ncu::Ncu::find(&args.ncu)?;
    let Choice::Gpu(index) = args.device.parse()? else {
        return Err(Error::NoGpu { why: "profiling needs a GPU: --device gpu:N".into() });
    };
    if source.file().is_none() {
        require_room(folder, &source.name())?;
    }
    let gpu = Gpu::open(index)?;
    let capability = gpu.info().compute_capability.as_ref();
    let architecture = capability.map(|c| format!("sm_{}", c.replace('.', "")));
    let ceilings = gpu.ceilings()?;
    let problem = source.load(progress)?;
    let mut run = Run::new(gpu.info(), &problem, REPETITION);
    let each = |_: &_| ();
    run.records =
        measure_all(&gpu, &problem, versions, Overrides::default(), REPETITION, progress, each)?;
    if exit_code(&run.records) != ExitCode::SUCCESS {
        return Ok(None);
    }
    // The profiled program wants the device to itself.
    drop(gpu);

    let target = ncu::Target {
        versions: args.version.clone(),
        problem: source.arguments(),
        device: args.device.clone(),
    };
    let bar = progress.bar("profiling (minutes)", 2);
    let (csv, launches) = ncu.counters(&target, operations.is_empty())?;
    bar.inc(1);
    let counters = format!("hardware counters, ncu {}", ncu.version);
    let mut profiles = profile::aggregate(&launches, &context(&problem, counters, operations))
        .map_err(|what| Error::Profiler { what })?;
    profiles.retain(|profile| versions.iter().any(|version| version.id == profile.version));
    // The counters are worth keeping without the samples.
    let lines = if args.no_lines {
        Vec::new()
    } else {
        ncu.source_lines(&target).unwrap_or_else(|error| {
            note(format_args!("no samples by source line: {error}"));
            Vec::new()
        })
    };
    bar.finish_and_clear();

    for profile in &mut profiles {
        let record = run.records.iter().find(|record| record.version == profile.version);
        profile.time_s = record.map(|record| record.times.median);
        profile.device.clone_from(&ceilings.device);
        profile.kernels_by.clone_from(&ceilings.kernels_by);
        profile.lines = lines_of(profile, &lines);
    }
    let files = vec![
        ("counters.csv", csv),
        (RUN, pretty(&run.document(true))),
        (CEILINGS, pretty::<Ceilings>(&ceilings)),
    ];
    Ok(Some(Profiled { problem, profiles, architecture, files }))
}

fn pretty<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).expect("records of plain values")
}

fn context(problem: &Problem, source: String, operations: Vec<Profile>) -> Context {
    let source = match operations.first() {
        Some(other) => format!("{source}; FP64 operations for each term as of {}", other.system),
        None => source,
    };
    Context { system: problem.name().into(), terms: problem.terms(), source, operations }
}

fn lines_of(profile: &Profile, kernels: &[lines::KernelLines]) -> Vec<lines::SourceLine> {
    let first = profile.launches.first();
    let kernel = kernels.iter().find(|kernel| Some(&kernel.kernel) == first);
    kernel.map(|kernel| kernel.lines.clone()).unwrap_or_default()
}
