//! `gpp scale`: time over more and more devices, ranks or cores, and a model of it.

use std::process::ExitCode;

use super::args::{OutputArgs, ScaleArgs, default_for};
use super::keep::keep;
use super::run::code;
use crate::analysis::scale::rated;
use crate::catalogue::BackEnd;
use crate::catalogue::names::single;
use crate::devices::Device;
use crate::experiments::scale::{self, All, Options};
use crate::problem::systems;
use crate::process::files::Files;
use crate::ranks::Ranks;
use crate::record::scale::{Law, Scale};
use crate::record::times::Repetition;
use crate::render::scale as render;

pub fn scale(args: &ScaleArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    let output = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output.progress();
    // Whatever can fail at once fails before the devices are opened.
    let named = single("--version", &args.version, BackEnd::Gpu)?;
    let named = if args.version == "best" { Vec::new() } else { vec![named] };
    let system = args.system.as_deref().map(systems::find).transpose()?;
    Files::new().writes_or_prints("--json", &output.json).check()?;
    let limits = args.memory.limits();
    let devices = super::devices(&args.place, limits.device, &named, progress, ranks)?;
    let devices: Vec<&dyn Device> = devices.iter().map(AsRef::as_ref).collect();
    let back_end = devices[0].back_end();
    limits.require_effect_on(back_end)?;
    let version = single("--version", &args.version, back_end)?;
    super::require_vectors(&args.place, &[version])?;
    let all = All::of(&devices, ranks, version.kernel)?;

    let system = match system {
        Some(system) => system,
        None => systems::find(default_for(devices[0].info(), true, progress))?,
    };
    let laws = match (args.strong, args.weak) {
        (true, _) => vec![Law::Strong],
        (_, true) => vec![Law::Weak],
        _ => vec![Law::Strong, Law::Weak],
    };
    let repeat = args.repeat.unwrap_or(if args.quick { 1 } else { 5 });
    let repetition = Repetition::exactly(0, repeat);
    let (seed, quick) = (args.seed, args.quick);
    let options = Options { version, system, seed, laws, quick, repetition, limits };

    let show = move |scale: &Scale| {
        if scale.measured.is_empty() {
            return Ok(());
        }
        output.show(&rated(scale), render::scale)
    };
    let mut said = 0;
    let scale = keep(show, |kept| {
        scale::scale(all, &options, progress, |scale| {
            kept(scale);
            for point in &scale.measured[said..] {
                progress.say(render::line(point));
            }
            said = scale.measured.len();
        })
    })?;
    Ok(code(scale.passed()))
}
