//! `gpp`: run versions, verify and report.

use std::path::Path;
use std::process::ExitCode;

use gpp_kernels::plan::Poles;

use super::args::{AUTO, OutputArgs, RunArgs, SMALL_SYSTEM};
use super::keep::keep;
use crate::analysis::outcomes::failure;
use crate::catalogue::BackEnd;
use crate::catalogue::names::{MAIN, ON_PROCESSOR, fastest, versions};
use crate::devices::Device;
use crate::engine::checkpoint;
use crate::error::Error;
use crate::experiments::parting::{Crew, Loaded};
use crate::experiments::run::{self, Options};
use crate::experiments::setting::{self, Setting, require_one_kind, slab_of};
use crate::problem::Frame;
use crate::problem::file::MINI_APPS_ENERGIES;
use crate::process::output;
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::ranks::Ranks;
use crate::record::run::{Measurement, Run};
use crate::reference::verify::Outcome;
use crate::render::results;

pub fn run(args: &RunArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    let show =
        |output: &OutputArgs, run: &Run| -> anyhow::Result<()> { output.show(run, results::run) };
    let default = |back_end, many| default_names(args, back_end, many);
    let run = measured(args, default, ranks, show)?;
    let as_asked = |result: &Measurement| result.verification.outcome == Outcome::NotVerified;
    let succeeded = args.unverified && run.results.iter().all(as_asked);
    Ok(if succeeded { ExitCode::SUCCESS } else { exit_code(&run.results) })
}

/// Runs what the arguments say, where they name no version `default`, for few energies or for many, and has
/// `show` show what there is of it at the end, on an error and on an interrupt, one version at least.
///
/// # Errors
/// Those of the arguments, the run and `show`.
pub fn measured(
    args: &RunArgs,
    default: impl Fn(BackEnd, bool) -> &'static str,
    ranks: &dyn Ranks,
    show: impl Fn(&OutputArgs, &Run) -> anyhow::Result<()> + Send + Sync + 'static,
) -> anyhow::Result<Run> {
    let output = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output.progress();
    let place = &args.measure.place;
    let given = args.versions.given()?;
    let options = |back_end: BackEnd, many: bool| -> crate::Result<Options> {
        let versions = versions(given.unwrap_or(default(back_end, many)), back_end)?;
        // How often is known with device and problem.
        let repetition = args.measure.emulated(0);
        let overrides = args.overrides;
        let compares = !args.unverified;
        let options = Options { overrides, compares, ..Options::new(&versions, repetition) };
        options.require_effect()?;
        Ok(options)
    };
    // Whatever can fail at once fails before the problem is made and the device opened.
    let named = options(BackEnd::Gpu, false)?.versions;
    let named = given.map_or(Vec::new(), |_| named);
    let source = args.problem.source_or(SMALL_SYSTEM)?;
    if let Some(path) = &output.json {
        output::check(path, source.file().as_slice())?;
    }
    let checkpoint = args.slabs.checkpoint.as_deref();
    if let Some(path) = checkpoint {
        require_one_calculation(args, path)?;
        output::require_name("--checkpoint", path, "file")?;
        output::check(path, source.file().as_slice())?;
    }
    let mut limits = args.slabs.limits();
    limits.keeps = checkpoint.is_some();
    let devices = super::devices(place, limits.device, &named, progress, ranks)?;
    let devices: Vec<&dyn Device> = devices.iter().map(AsRef::as_ref).collect();
    let back_end = devices[0].back_end();
    let of_few = options(back_end, false)?;
    super::require_vectors(place, &of_few.versions)?;
    of_few.require_effect_on(devices[0])?;
    limits.require_effect_on(back_end)?;

    let crew = Crew { devices: &devices, ranks };
    require_one_kind(crew)?;
    // Before anything of the problem or of kernels can fail: it may be for a device.
    let places = setting::places(crew).unwrap_or_default();
    results::places(&places).iter().for_each(|line| progress.say(line));
    let loaded = Loaded::of(source.open(progress)?, crew, limits)?;
    let mut options = options(back_end, are_many(loaded.frame()))?;
    let kernels = options.kernels(devices[0], loaded.frame())?;
    if let (Some(path), None) = (checkpoint, limits.slab) {
        limits.slab = slab_of(path, ranks)?;
    }
    let igp = loaded.igp(&kernels, crew, limits)?;
    let loaded = loaded.for_slabs(igp);
    let slabs = loaded.slabs(igp);
    let setting = Setting { crew, slabs, whole: loaded.whole(), limits, checkpoint };
    if !setting.is_plain() && args.measure.settle.is_some() {
        let what = "has no effect on several devices or slabs".into();
        return Err(Error::Data { origin: "--settle".into(), what }.into());
    }
    let terms = loaded.frame().terms();
    options.repetition = args.measure.repetition(devices[0], terms);
    options.emulated = args.measure.emulated(terms);
    if checkpoint.is_some() || !loaded.stays() {
        options.once(args.measure.repeat, args.measure.warmup);
    }

    let count = options.versions.len();
    let show = move |run: &Run| {
        if !run.head.complete && !output.quiet {
            note(format_args!("{} of {count} versions ran", run.results.len()));
        }
        if run.results.is_empty() { Ok(()) } else { show(&output, run) }
    };
    let run = keep(show, |kept| {
        run::run(&setting, &options, progress, |run| {
            kept(run);
            say_last(run, progress);
        })
    });
    match (&run, checkpoint) {
        // Nobody writes there any more: rank 0 has all sums.
        (Ok(_), Some(path)) if ranks.is_root() => checkpoint::remove(path)?,
        (Err(error), Some(path)) if is_stop(error) && ranks.is_root() => {
            let path = path.display();
            note(format_args!("{path} keeps the slabs: the same command goes on from them"));
        }
        _ => {}
    }
    run
}

/// Whether a problem is one for the versions of many energies.
fn are_many(problem: &Frame) -> bool {
    problem.nw() > MINI_APPS_ENERGIES && problem.poles() == Poles::Real
}

/// Whether the program was asked to stop, and did.
fn is_stop(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<Error>(), Some(Error::Stopped { .. }))
}

/// Fails where a checkpoint is to be kept of anything but one calculation.
fn require_one_calculation(args: &RunArgs, path: &Path) -> crate::Result<()> {
    let origin = || format!("--checkpoint {}", path.display());
    let needs = |what: String| Err(Error::Data { origin: origin(), what });
    let named = args.versions.given()?;
    let count = named.map_or(Ok(None), |names| {
        versions(names, BackEnd::Gpu).map(|versions| Some(versions.len()))
    })?;
    match (count, args.measure.repeat, args.measure.warmup) {
        (Some(1), None | Some(1), None | Some(0)) => Ok(()),
        (Some(1), ..) => needs("needs one calculation: no --repeat and no --warmup".into()),
        (Some(count), ..) => needs(format!("needs one version, has {count}")),
        (None, ..) => needs("needs one version: --version best".into()),
    }
}

/// What runs where no version is named. Who names nothing at all is shown what there is.
fn default_names(args: &RunArgs, back_end: BackEnd, many: bool) -> &'static str {
    let names_nothing = args.measure.place.device == AUTO && !args.problem.is_named();
    match back_end {
        BackEnd::Gpu => MAIN,
        BackEnd::Cpu if names_nothing => ON_PROCESSOR,
        BackEnd::Cpu => fastest(back_end, many),
    }
}

/// Says the version that was finished last.
pub fn say_last(run: &Run, progress: Progress) {
    if let Some(last) = run.results.last() {
        progress.say(results::line(last));
    }
}

/// Says on standard error what did not pass; 0 where everything did, else 1.
pub fn exit_code(results: &[Measurement]) -> ExitCode {
    for failure in results.iter().filter_map(failure) {
        note(failure);
    }
    code(results.iter().all(Measurement::passed))
}

/// 0 where everything passed, else 1.
pub fn code(passed: bool) -> ExitCode {
    ExitCode::from(u8::from(!passed))
}
