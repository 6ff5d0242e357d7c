//! `gpp tune`: the best version in every shape that has kernels, measured.

use std::process::ExitCode;

use super::args::TuneArgs;
use super::keep::keep;
use super::run::code;
use crate::analysis::tuning::ranked;
use crate::experiments::tuning;
use crate::process::output;
use crate::record::tuning::Tuning;
use crate::render::tuning as render;

pub fn tune(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    if let Some(path) = &output.json {
        output::check(path, args.problem.input.as_deref().as_slice())?;
    }
    super::require_vectors(&args.measure.place, &[])?;
    let device = super::device(&args.measure.place, &[], progress)?;
    let source = args.problem.source_for(device.info(), progress)?;
    let problem = source.load(progress)?;

    let show = move |tuning: &Tuning| {
        if tuning.results.is_empty() {
            return Ok(());
        }
        output.show(&ranked(tuning), render::tuning)
    };
    let mut said = 0;
    let tuning = keep(show, |kept| {
        let repetition = args.measure.repetition(device.as_ref(), problem.terms());
        tuning::tune(device.as_ref(), &problem, repetition, progress, |tuning| {
            kept(tuning);
            // Shapes that cannot run add nothing.
            for trial in &tuning.results[said..] {
                progress.say(render::line(trial));
            }
            said = tuning.results.len();
        })
    })?;
    Ok(code(tuning.passed()))
}
