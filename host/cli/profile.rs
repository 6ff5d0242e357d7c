//! `gpp profile`: time the versions, measure the ceilings, and have ncu count.

use std::path::PathBuf;
use std::process::ExitCode;

use super::args::{DEFAULT_FOLDER, PAPER_SYSTEM, ProfileArgs};
use super::run::{exit_code, say_last};
use crate::catalogue::BackEnd;
use crate::catalogue::names::versions;
use crate::experiments::profile::folder::CEILINGS;
use crate::experiments::profile::{self, Options, Profiled};
use crate::experiments::source::Source;
use crate::process::output::{self, print};
use crate::process::progress::Progress;
use crate::record;
use crate::render::profiles::stored;

pub fn profile(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = versions(args.versions.names()?, BackEnd::Gpu)?;
    if let Some(folder) = &args.output {
        output::require_name("--output", folder, "folder")?;
    }
    let source = args.problem.source_or(PAPER_SYSTEM)?;
    let folder = folder(args, &source);
    let options = Options {
        versions,
        ncu: args.ncu.clone(),
        device: args.device.clone(),
        repeat: args.repeat,
    };
    let say = |run: &_| say_last(run, progress);
    let profiles = match profile::profile(&source, &options, &folder, progress, say)? {
        Profiled::Profiles(profiles) => profiles,
        Profiled::NotVerified(run) => return Ok(exit_code(&run.results)),
    };
    if !args.quiet {
        let ceilings = record::read(&folder.join(CEILINGS))?;
        print(|to| stored(to, &profiles, Some(&ceilings), &folder))?;
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
