//! `gpp sigma`: Σ(ω) of a run, or of an earlier one, as a table, CSV and plots.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::slice::from_ref;

use super::args::{OutputArgs, SigmaArgs};
use super::run::{code, exit_code, exit_code_of, measured};
use crate::analysis::sigma::Sigma;
use crate::catalogue::BackEnd;
use crate::catalogue::names::{BEST, single};
use crate::error::{Error, Result};
use crate::experiments::profile::folder::run_file;
use crate::process::output::{document, is_stdout, print};
use crate::process::terminal::note;
use crate::ranks::Ranks;
use crate::record;
use crate::record::run::Run;
use crate::render::sigma::{self as render, Picture};
use crate::render::table::terminal;

pub fn sigma(args: &SigmaArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    args.files(ranks.is_root()).check()?;
    // Rank 0 alone shows and writes.
    let files = if ranks.is_root() { Written::of(args)? } else { Written::default() };
    match &args.from {
        Some(_) if !ranks.is_root() => Ok(ExitCode::SUCCESS),
        Some(path) => stored(path, args, &files),
        None => {
            if let Some(name) = &args.version {
                single("--version", name, BackEnd::Gpu)?;
            }
            let run = measured(
                &args.run(),
                |_, _| BEST,
                ranks,
                move |output, run| {
                    let sigma = of(run, None, &run.system.name)?;
                    let output =
                        OutputArgs { quiet: output.quiet || files.prints(), ..output.clone() };
                    let shown = output.show(run, |to, _| render::text(to, &sigma, terminal()));
                    // What cannot be printed does not keep files from being written.
                    files.write(&sigma)?;
                    shown
                },
            )?;
            let ended = exit_code_of(&run.results, args.verify);
            Ok(if is_incorrect(&run) { code(false) } else { ended })
        }
    }
}

/// Of a record; nothing runs.
fn stored(path: &Path, args: &SigmaArgs, files: &Written) -> anyhow::Result<ExitCode> {
    let path = &run_file(path)?;
    let run: Run = record::read(path)?;
    let sigma = of(&run, args.version.as_deref(), &path.display().to_string())?;
    let quiet = args.output.quiet || files.prints();
    let shown = if quiet { Ok(()) } else { print(|to| render::text(to, &sigma, terminal())) };
    files.write(&sigma)?;
    shown?;
    let ended = exit_code(from_ref(sigma.result));
    Ok(if is_incorrect(&run) { code(false) } else { ended })
}

/// Whether a run's static CH differs from its reference, which standard error is told.
fn is_incorrect(run: &Run) -> bool {
    let wrong = run.static_ch.as_ref().filter(|found| found.is_incorrect());
    if let Some(found) = wrong {
        let error = found.verification.max_rel_error.unwrap_or(f64::NAN);
        note(format_args!("static CH: incorrect, error {error:.1e}"));
    }
    wrong.is_some()
}

fn of<'a>(run: &'a Run, version: Option<&str>, origin: &str) -> Result<Sigma<'a>> {
    let wrong = |what: String| Error::Data { origin: origin.into(), what };
    Sigma::of(run, version).map_err(|error| wrong(error.to_string()))
}

/// The files to write besides the record.
#[derive(Default)]
struct Written {
    csv: Option<PathBuf>,
    plots: Vec<(PathBuf, Picture)>,
}

impl Written {
    /// Fails where a plot is of no known kind.
    fn of(args: &SigmaArgs) -> Result<Written> {
        let picture = |path: &PathBuf| Picture::of(path).map(|picture| (path.clone(), picture));
        let plots = args.plot.iter().map(picture).collect::<Result<_>>()?;
        Ok(Written { csv: args.csv.clone(), plots })
    }

    /// Whether CSV goes to standard output, and nothing else there.
    fn prints(&self) -> bool {
        self.csv.as_deref().is_some_and(is_stdout)
    }

    fn write(&self, sigma: &Sigma) -> Result<()> {
        if let Some(path) = &self.csv {
            document(path, |to| render::csv(to, sigma))?;
        }
        self.plots.iter().try_for_each(|(path, picture)| picture.write(path, sigma))
    }
}
