//! `gpp profile`: time the versions, measure the ceilings, and have ncu count.

use std::path::PathBuf;
use std::process::ExitCode;

use super::args::{DEFAULT_FOLDER, PAPER_SYSTEM, ProfileArgs};
use super::run::{exit_code, say_last};
use crate::catalogue::BackEnd;
use crate::catalogue::names::versions;
use crate::experiments::profile::folder::{CEILINGS, RUN};
use crate::experiments::profile::{self, Counters, Options, Profiled};
use crate::process::output::{self, print};
use crate::process::progress::Progress;
use crate::render::profiles::stored;

pub fn profile(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = versions(args.versions.names()?, BackEnd::Gpu)?;
    if let Some(folder) = &args.dir {
        output::require_name("--dir", folder, "folder")?;
    }
    let source = args.problem.source_or(PAPER_SYSTEM)?;
    let folder = match &args.dir {
        Some(folder) => folder.clone(),
        None => PathBuf::from(DEFAULT_FOLDER).join(source.name()),
    };
    let options = Options {
        versions,
        all: args.versions.is_whole(),
        counters: match &args.from {
            Some(csv) => Counters::Recorded(csv.clone()),
            None => Counters::Live {
                ncu: args.ncu.clone(),
                device: args.device.clone(),
                lines: !args.no_lines,
            },
        },
        operations: args.operations.clone(),
        architecture: args.architecture.clone(),
    };
    let say = |run: &_| say_last(run, progress);
    let profiles = match profile::profile(&source, &options, &folder, progress, say)? {
        Profiled::Profiles(profiles) => profiles,
        Profiled::NotVerified(run) => return Ok(exit_code(&run.results)),
    };
    if !args.quiet {
        print(|to| stored(to, &profiles, &folder))?;
    }
    if !folder.join(CEILINGS).exists() {
        progress.say(format_args!(
            "note: `gpp roofline` and `gpp report` need {CEILINGS} in {}, the report {RUN} as well: \
             `gpp profile` writes both on the GPU",
            folder.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}
