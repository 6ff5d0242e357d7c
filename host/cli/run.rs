//! `gpp`: run versions, verify and report.

use std::process::ExitCode;

use super::args::{AUTO, RunArgs, SMALL_SYSTEM};
use super::keep::keep;
use crate::analysis::outcomes::failure;
use crate::catalogue::BackEnd;
use crate::catalogue::names::{MAIN, ON_PROCESSOR, versions};
use crate::experiments::run::{self, Options};
use crate::process::output;
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::record::run::{Measurement, Run};
use crate::render::results;

pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    let place = &args.measure.place;
    let given = args.versions.given()?;
    let options = |back_end: BackEnd| -> crate::Result<Options> {
        let versions = versions(given.unwrap_or(default_names(args, back_end)), back_end)?;
        // How often is known with the problem.
        let repetition = args.measure.repetition(back_end, 0);
        let overrides = args.overrides;
        let options = Options { overrides, ..Options::new(&versions, repetition) };
        options.require_effect()?;
        Ok(options)
    };
    // Whatever can fail at once fails before the problem is made and the device opened.
    let named = options(BackEnd::Gpu)?.versions;
    let named = given.map_or(Vec::new(), |_| named);
    let source = args.problem.source_or(SMALL_SYSTEM)?;
    if let Some(path) = &output.json {
        output::check(path, source.file().as_slice())?;
    }
    let device = super::device(place, &named, progress)?;
    let mut options = options(device.back_end())?;
    super::require_vectors(place, &options.versions)?;
    options.require_effect_on(device.as_ref())?;
    let problem = source.load(progress)?;
    options.repetition = args.measure.repetition(device.back_end(), problem.terms());
    options.emulated = args.measure.emulated(problem.terms());

    let count = options.versions.len();
    let show = move |run: &Run| {
        if !run.head.complete && !output.quiet {
            note(format_args!("{} of {count} versions ran", run.results.len()));
        }
        if run.results.is_empty() { Ok(()) } else { output.show(run, results::run) }
    };
    let run = keep(show, |kept| {
        run::run(device.as_ref(), &problem, &options, progress, |run| {
            kept(run);
            say_last(run, progress);
        })
    })?;
    Ok(exit_code(&run.results))
}

/// What runs where no version is named. Who names nothing at all is shown what there is.
fn default_names(args: &RunArgs, back_end: BackEnd) -> &'static str {
    let names_nothing = args.measure.place.device == AUTO && !args.problem.is_named();
    match back_end {
        BackEnd::Gpu => MAIN,
        BackEnd::Cpu if names_nothing => ON_PROCESSOR,
        BackEnd::Cpu => "best",
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
