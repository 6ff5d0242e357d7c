//! `gpp scaling`: time against each extent, and where efficiency falls off.

use std::process::ExitCode;

use super::args::ScalingArgs;
use super::keep::keep;
use super::run::code;
use crate::analysis::scaling::rated;
use crate::catalogue::BackEnd;
use crate::catalogue::names::single;
use crate::experiments::scaling::{self, Options};
use crate::process::files::Files;
use crate::record::scaling::Scaling;
use crate::render::scaling as render;

pub fn scaling(args: &ScalingArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.clone();
    let progress = output.progress();
    // Whatever can fail at once fails before the device is opened.
    let named = single("--version", &args.version, BackEnd::Gpu)?;
    Files::new().writes_or_prints("--json", &output.json).check()?;
    let device = super::device(&args.place, &[named], progress)?;
    if device.back_end() == BackEnd::Cpu && !args.quick {
        let emulated = named.kernel.back_end() != BackEnd::Cpu && args.version != "best";
        let long = if emulated { "hours emulated on a CPU" } else { "many minutes on a CPU" };
        progress.say(format_args!("note: all points take {long}; --quick runs the smallest"));
    }
    let version = single("--version", &args.version, device.back_end())?;
    super::require_vectors(&args.place, &[version])?;
    version.kernel.require_on(device.back_end())?;
    let ScalingArgs { complex, quick, seed, repeat, .. } = *args;
    let options = Options { version, complex, quick, seed, repeat };

    let show = move |scaling: &Scaling| output.show(&rated(scaling), render::scaling);
    let scaling = keep(show, |kept| {
        scaling::scale(device.as_ref(), &options, progress, |scaling| {
            kept(scaling);
            if let Some(point) = scaling.points.last() {
                progress.say(render::line(point));
            }
        })
    })?;
    Ok(code(scaling.passed()))
}
