//! `gpp`: run versions, verify and report.

use std::process::ExitCode;

use super::args::{RunArgs, SMALL_SYSTEM};
use super::keep::keep;
use crate::analysis::outcomes::failure;
use crate::catalogue::BackEnd;
use crate::catalogue::names::versions;
use crate::experiments::run::{self, Options};
use crate::process::output;
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::record::run::{Measurement, Run};
use crate::render::results;

pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    let options = |back_end: BackEnd| -> crate::Result<Options> {
        let versions = versions(args.versions.names()?, back_end)?;
        let overrides = args.overrides;
        let options = Options { overrides, ..Options::new(&versions, args.measure.repetition()) };
        options.require_effect()?;
        Ok(options)
    };
    // Whatever can fail at once fails before the problem is made and the device opened.
    options(BackEnd::Gpu)?;
    let source = args.problem.source_or(SMALL_SYSTEM)?;
    if let Some(path) = &output.json {
        output::check(path, source.file().as_slice())?;
    }
    let device = super::device(&args.measure.device, progress)?;
    let options = options(device.back_end())?;
    options.require_effect_on(device.as_ref())?;
    let problem = source.load(progress)?;

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
