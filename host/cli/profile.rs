//! `gpp profile`: time the versions, measure the ceilings, and have ncu count; on a processor their
//! sources count.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpp_cpu::topology::Room;

use super::args::{DEFAULT_FOLDER, DeviceArgs, PAPER_SYSTEM, ProfileArgs, SMALL_SYSTEM};
use super::run::{exit_code, say_last};
use crate::catalogue::BackEnd;
use crate::catalogue::names::versions;
use crate::devices::choice::Choice;
use crate::error::Error;
use crate::experiments::profile::folder::{CEILINGS, RUN};
use crate::experiments::profile::{self, Counters, Options, Profiled, processor};
use crate::experiments::source::Source;
use crate::process::output::{self, print};
use crate::process::progress::Progress;
use crate::record;
use crate::record::ceilings::Ceilings;
use crate::render::profiles::stored;

pub fn profile(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    if args.counters.is_none() && args.device.parse::<Choice>()? == Choice::Cpu {
        return on_processor(args);
    }
    if let Some(level) = &args.simd {
        let what = "has no effect without --device cpu".into();
        return Err(Error::Data { origin: format!("--simd {level}"), what }.into());
    }
    let progress = Progress { shown: !args.quiet };
    let versions = versions(args.versions.names()?, BackEnd::Gpu)?;
    if let Some(folder) = &args.output {
        output::require_name("--output", folder, "folder")?;
    }
    let source = args.problem.source_or(PAPER_SYSTEM)?;
    let folder = folder(args, &source);
    let options = Options {
        versions,
        all: args.versions.is_whole(),
        counters: match &args.counters {
            Some(csv) => Counters::Recorded(csv.clone()),
            None => Counters::Live {
                ncu: args.ncu.clone(),
                device: args.device.clone(),
                lines: !args.no_lines,
            },
        },
        operations: args.operations.clone(),
        architecture: args.architecture.clone(),
        repeat: args.repeat,
    };
    let say = |run: &_| say_last(run, progress);
    let profiles = match profile::profile(&source, &options, &folder, progress, say)? {
        Profiled::Profiles(profiles) => profiles,
        Profiled::NotVerified(run) => return Ok(exit_code(&run.results)),
    };
    let ceilings = ceilings(&folder);
    if !args.quiet {
        print(|to| stored(to, &profiles, ceilings.as_ref(), &folder))?;
    }
    if ceilings.is_none() {
        progress.say(format_args!(
            "note: `gpp roofline` and `gpp report` need {CEILINGS} in {}, the report {RUN} as well: \
             `gpp profile` writes both on the GPU",
            folder.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the records go.
fn folder(args: &ProfileArgs, source: &Source) -> PathBuf {
    match &args.output {
        Some(folder) => folder.clone(),
        None => {
            let at = match source {
                Source::OnGrid(_, grid) => grid.argument(),
                _ => None,
            };
            // `-nw6`, `-energies-10_10_501`: a colon is no part of a file's name everywhere.
            let at = at.map_or(String::new(), |[flag, value]| {
                format!("-{}{}", flag.trim_start_matches('-'), value.replace(':', "_"))
            });
            PathBuf::from(DEFAULT_FOLDER).join(source.name() + &at)
        }
    }
}

/// The ceilings of a folder of profiles, where it has them.
fn ceilings(folder: &Path) -> Option<Ceilings> {
    record::read(&folder.join(CEILINGS)).ok()
}

/// The processor's journey, or the versions named.
fn on_processor(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let of_gpu = [
        ("--operations", args.operations.is_some()),
        ("--architecture", args.architecture.is_some()),
        ("--no-lines", args.no_lines),
    ];
    if let Some((flag, _)) = of_gpu.iter().find(|(_, given)| *given) {
        let what = "has no effect on a CPU".into();
        return Err(Error::Data { origin: (*flag).into(), what }.into());
    }
    let progress = Progress { shown: !args.quiet };
    let versions = versions(args.versions.given()?.unwrap_or("cpu"), BackEnd::Cpu)?;
    if let Some(folder) = &args.output {
        output::require_name("--output", folder, "folder")?;
    }
    let source = args.problem.source_or(SMALL_SYSTEM)?;
    let folder = folder(args, &source);
    let say = |run: &_| say_last(run, progress);
    let place =
        DeviceArgs { device: args.device.clone(), simd: args.simd.clone(), threads: args.threads };
    let host = place.host(Room::here())?;
    match processor::profile(&host, &source, &versions, &folder, args.repeat, progress, say)? {
        Profiled::Profiles(profiles) if !args.quiet => {
            print(|to| stored(to, &profiles, ceilings(&folder).as_ref(), &folder))?;
        }
        Profiled::Profiles(_) => {}
        Profiled::NotVerified(run) => return Ok(exit_code(&run.results)),
    }
    Ok(ExitCode::SUCCESS)
}
