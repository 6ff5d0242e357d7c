//! `gpp`: run versions, verify and report.

use std::process::ExitCode;

use super::args::{AUTO, OutputArgs, RunArgs, SMALL_SYSTEM, VerifyArgs};
use super::device::say_emulated;
use super::keep::keep;
use crate::analysis::outcomes::failure;
use crate::catalogue::names::{BEST, MAIN, ON_PROCESSOR, versions_for};
use crate::catalogue::{self, BackEnd, Kernel, Task};
use crate::devices::Device;
use crate::error::Error;
use crate::experiments::parting::{Crew, Loaded};
use crate::experiments::run::{self, Options};
use crate::experiments::setting::{self, Setting, require_one_kind, require_same_tasks};
use crate::problem::digest;
use crate::problem::file::MINI_APPS_ENERGIES;
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::ranks::Ranks;
use crate::record::run::{Measurement, Run};
use crate::reference::verify::Outcome;
use crate::render::results;

pub fn run(args: &RunArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    args.files(ranks.is_root()).check()?;
    let show =
        |output: &OutputArgs, run: &Run| -> anyhow::Result<()> { output.show(run, results::run) };
    let run = measured(args, |back_end, nw| default_names(args, back_end, nw), ranks, show)?;
    Ok(exit_code_of(&run.results, args.verify))
}

/// Runs what the arguments say; `default` names the versions where they name none, of so many energies. `show`
/// shows the results at the end, on an error and on an interrupt, once there is one.
///
/// # Errors
/// Those of the arguments, the run and `show`.
pub fn measured(
    args: &RunArgs,
    default: impl Fn(BackEnd, Option<usize>) -> &'static str,
    ranks: &dyn Ranks,
    show: impl Fn(&OutputArgs, &Run) -> anyhow::Result<()> + Send + Sync + 'static,
) -> anyhow::Result<Run> {
    let output = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output.progress();
    let place = &args.measure.place;
    let given = args.versions.given()?;
    let options = |back_end: BackEnd, task: Option<&Task>| -> crate::Result<Options> {
        let names = given.unwrap_or_else(|| default(back_end, task.map(|task| task.nw)));
        let versions = versions_for(names, back_end, task)?;
        // How often is known with device and problem.
        let repetition = args.measure.emulated();
        let compares = !args.verify.no_verify;
        let base = Options::new(&versions, repetition);
        let static_ch = args.static_ch;
        let options = Options { compares, static_ch, ..base };
        Ok(options)
    };
    // Whatever can fail at once fails before the problem is made and the device opened.
    let named = options(BackEnd::Gpu, None)?.versions;
    let named = given.map_or(Vec::new(), |_| named);
    let source = args.problem.source_or(SMALL_SYSTEM)?;
    let limits = args.slabs.limits();
    let devices = super::devices(place, limits.device, &named, progress, ranks)?;
    let devices: Vec<&dyn Device> = devices.iter().map(AsRef::as_ref).collect();
    let back_end = devices[0].back_end();
    let of_any = options(back_end, None)?;
    super::require_vectors(place, &of_any.versions)?;
    if given.is_some() && ranks.is_root() {
        say_emulated(place, back_end, &of_any.versions);
    }
    of_any.require_effect_on(devices[0])?;
    limits.require_effect_on(back_end)?;

    let crew = Crew { devices: &devices, ranks };
    require_one_kind(crew)?;
    // Before anything of the problem or of kernels can fail: it may be for a device.
    let places = setting::places(crew).unwrap_or_default();
    results::places(&places).iter().for_each(|line| progress.say(line));
    let loaded = Loaded::of(source.open(progress)?, crew, limits)?;
    let mut options = options(back_end, Some(&loaded.frame().outline().task()))?;
    let kernels = options.kernels();
    let contents = digest::of_problem(loaded.slabs(1))?;
    let task = |&kernel: &Kernel| setting::task(crew, loaded.frame(), contents, kernel);
    require_same_tasks(ranks, &kernels.iter().map(task).collect::<Vec<_>>())?;
    let of_static_ch = args.static_ch.then(|| catalogue::static_ch(back_end));
    let all: Vec<Kernel> = kernels.into_iter().chain(of_static_ch).collect();
    let igp = loaded.igp(&all, crew, limits)?;
    let loaded = loaded.for_slabs(igp, ranks)?;
    let slabs = loaded.slabs(igp);
    let contents = contents.into();
    let setting = Setting { crew, slabs, whole: loaded.whole(), limits, contents };
    if !setting.is_plain() && args.measure.settle.is_some() {
        let what = "has no effect on several devices or slabs".into();
        return Err(Error::Data { origin: "--settle".into(), what }.into());
    }
    let terms = loaded.frame().terms();
    options.repetition = args.measure.repetition(devices[0], terms);
    options.emulated = args.measure.emulated();
    if !loaded.stays() {
        options.once(args.measure.repeat, args.measure.warmup);
    }

    let count = options.versions.len();
    let show = move |run: &Run| {
        if !run.head.complete && !output.quiet {
            note(format_args!("{} of {count} versions ran", run.results.len()));
        }
        if run.results.is_empty() { Ok(()) } else { show(&output, run) }
    };
    keep(show, |kept| {
        run::run(&setting, &options, progress, |run| {
            kept(run);
            say_last(run, progress);
        })
    })
}

/// What runs where no version is named. Who names nothing at all is shown what there is; who asks for energies,
/// or has a problem of more than the mini-app's, wants their sums.
fn default_names(args: &RunArgs, back_end: BackEnd, nw: Option<usize>) -> &'static str {
    let are_many = nw.is_some_and(|nw| nw > MINI_APPS_ENERGIES);
    let names_nothing = args.measure.place.device == AUTO && !args.problem.is_named();
    match back_end {
        _ if are_many || args.problem.energies.grid().is_some() => BEST,
        BackEnd::Gpu => MAIN,
        BackEnd::Cpu if names_nothing => ON_PROCESSOR,
        BackEnd::Cpu => BEST,
    }
}

/// Says the version that was finished last.
pub fn say_last(run: &Run, progress: Progress) {
    if let Some(last) = run.results.last() {
        progress.say(results::line(last));
    }
}

/// [`exit_code`], where results that are not verified are what was asked for.
pub fn exit_code_of(results: &[Measurement], verify: VerifyArgs) -> ExitCode {
    let as_asked = |result: &Measurement| result.outcome() == Outcome::NotVerified;
    match verify.no_verify && results.iter().all(as_asked) {
        true => ExitCode::SUCCESS,
        false => exit_code(results),
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
