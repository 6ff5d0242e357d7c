//! `gpp tune`: the best version in every shape that has kernels, measured.

use std::process::ExitCode;

use super::args::TuneArgs;
use super::keep::keep;
use super::run::code;
use crate::analysis::tuning::ranked;
use crate::devices::choice::Choice;
use crate::error::Error;
use crate::experiments::tuning;
use crate::process::files::Files;
use crate::record::tuning::Tuning;
use crate::render::tuning as render;

pub fn tune(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    let files = Files::new().reads("--input", &args.problem.input);
    files.writes_or_prints("--json", &output.json).check()?;
    super::require_vectors(&args.measure.place, &[])?;
    if args.measure.place.choice()? == Choice::Cpu {
        let what = "shapes are of GPU kernels, and a CPU only emulates these: no time that it takes \
                    says which is best";
        return Err(Error::Data { origin: "--device cpu".into(), what: what.into() }.into());
    }
    let device = super::gpu(&args.measure.place)?;
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
