//! `gpp sigma`: Σ(ω) of a run, or of an earlier one, as a table, CSV and plots.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice::from_ref;

use super::args::SigmaArgs;
use super::run::{exit_code, measured};
use crate::analysis::sigma::Sigma;
use crate::catalogue::BackEnd;
use crate::catalogue::names::{fastest, single};
use crate::error::{Error, Result};
use crate::process::output::{self, print, replace};
use crate::ranks::Ranks;
use crate::record;
use crate::record::run::Run;
use crate::render::sigma::{self as render, Picture};
use crate::render::table::terminal;

pub fn sigma(args: &SigmaArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    // Rank 0 alone shows and writes.
    let files = if ranks.is_root() { Files::of(args)? } else { Files::default() };
    match &args.from {
        Some(_) if !ranks.is_root() => Ok(ExitCode::SUCCESS),
        Some(path) => stored(path, args, &files),
        None => {
            args.version()
                .map_or(Ok(()), |name| single("--version", name, BackEnd::Gpu).map(drop))?;
            let run = measured(&args.run(), fastest, ranks, move |output, run| {
                let sigma = of(run, None, &run.system.name)?;
                let shown = output.show(run, |to, _| render::text(to, &sigma, terminal()));
                // What cannot be printed does not keep files from being written.
                files.write(&sigma)?;
                shown
            })?;
            Ok(exit_code(&run.results))
        }
    }
}

/// Of a record; nothing runs.
fn stored(path: &Path, args: &SigmaArgs, files: &Files) -> anyhow::Result<ExitCode> {
    let run: Run = record::read(path)?;
    let sigma = of(&run, args.version.as_deref(), &path.display().to_string())?;
    let quiet = args.output.quiet;
    let shown = if quiet { Ok(()) } else { print(|to| render::text(to, &sigma, terminal())) };
    files.write(&sigma)?;
    shown?;
    Ok(exit_code(from_ref(sigma.result)))
}

fn of<'a>(run: &'a Run, version: Option<&str>, origin: &str) -> Result<Sigma<'a>> {
    let wrong = |what: String| Error::Data { origin: origin.into(), what };
    Sigma::of(run, version).map_err(|error| wrong(error.to_string()))
}

/// The files to write besides the record.
#[derive(Default)]
struct Files {
    csv: Option<PathBuf>,
    plots: Vec<(PathBuf, Picture)>,
}

impl Files {
    /// Fails where one could not be written later, or is named twice.
    fn of(args: &SigmaArgs) -> Result<Files> {
        let inputs: Vec<&Path> =
            args.from.iter().chain(&args.problem.input).map(PathBuf::as_path).collect();
        let mut known: Vec<&Path> = args.output.json.iter().map(PathBuf::as_path).collect();
        for (flag, path) in args.files() {
            output::require_name(flag, path, "file")?;
            output::check(path, &inputs)?;
            if known.contains(&path.as_path()) {
                let what = "another output has this name".into();
                return Err(Error::Data { origin: format!("{flag} {}", path.display()), what });
            }
            known.push(path);
        }
        let picture = |path: &PathBuf| Picture::of(path).map(|picture| (path.clone(), picture));
        let plots = args.plot.iter().map(picture).collect::<Result<_>>()?;
        Ok(Files { csv: args.csv.clone(), plots })
    }

    fn write(&self, sigma: &Sigma) -> Result<()> {
        if let Some(path) = &self.csv {
            replace(path, |file| render::csv(file, sigma))?;
        }
        self.plots.iter().try_for_each(|(path, picture)| picture.write(path, sigma))
    }
}
