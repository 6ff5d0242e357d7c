//! `gpp scale`: time over more and more devices, ranks or cores, and a model of it; or over the extents of a
//! problem, on one device.

use std::process::ExitCode;

use super::args::{OutputArgs, ScaleArgs, default_for};
use super::keep::keep;
use super::run::code;
use crate::analysis::scale::rated;
use crate::catalogue::BackEnd;
use crate::catalogue::names::single;
use crate::devices::Device;
use crate::experiments::scale::{self, All, Options, extents};
use crate::problem::systems;
use crate::process::files::Files;
use crate::ranks::Ranks;
use crate::record::scale::{Line, Scale};
use crate::record::times::Repetition;
use crate::render::scale as render;

pub fn scale(args: &ScaleArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    let output = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output.progress();
    let over_extents = !args.over.is_empty();
    // Whatever can fail at once fails before the devices are opened.
    let named = single("--version", &args.version, BackEnd::Gpu)?;
    let named = if args.version == "best" { Vec::new() } else { vec![named] };
    let system = args.system.as_deref().map(systems::find).transpose()?;
    Files::new().writes_or_prints("--json", &output.json).check()?;
    let limits = args.memory.limits();
    if over_extents {
        super::device::require_one(&args.place)?;
    }
    let devices = super::devices(&args.place, limits.device, &named, progress, ranks)?;
    let devices: Vec<&dyn Device> = devices.iter().map(AsRef::as_ref).collect();
    let back_end = devices[0].back_end();
    limits.require_effect_on(back_end)?;
    let version = single("--version", &args.version, back_end)?;
    super::require_vectors(&args.place, &[version])?;
    version.kernel.require_on(back_end)?;

    let repeat = args.repeat.unwrap_or(if args.quick { 1 } else { 5 });
    let (all, system, lines, repetition) = if over_extents {
        if back_end == BackEnd::Cpu && !args.quick {
            let emulated = version.kernel.back_end() != BackEnd::Cpu;
            let long = if emulated { "hours emulated on a CPU" } else { "many minutes on a CPU" };
            progress.say(format_args!("note: all points take {long}; --quick runs the smallest"));
        }
        let all = All::alone(&devices, ranks)?;
        let repetition = extents::repetition(devices[0], repeat);
        (all, extents::middle(args.complex), args.over.clone(), repetition)
    } else {
        let all = All::of(&devices, ranks, version.kernel)?;
        let system = match system {
            Some(system) => system,
            None => systems::find(default_for(devices[0].info(), true, progress))?,
        };
        let lines = match (args.strong, args.weak) {
            (true, _) => vec![Line::Strong],
            (_, true) => vec![Line::Weak],
            _ => vec![Line::Strong, Line::Weak],
        };
        (all, system.clone(), lines, Repetition::exactly(0, repeat))
    };
    let (seed, quick) = (args.seed, args.quick);
    let options = Options { version, system, seed, lines, quick, repetition, limits };

    let show = move |scale: &Scale| {
        if scale.points.is_empty() {
            return Ok(());
        }
        output.show(&rated(scale), render::scale)
    };
    let mut said = 0;
    let scale = keep(show, |kept| {
        scale::scale(all, &options, progress, |scale| {
            kept(scale);
            for point in &scale.points[said..] {
                progress.say(render::line(point));
            }
            said = scale.points.len();
        })
    })?;
    Ok(code(scale.passed()))
}
