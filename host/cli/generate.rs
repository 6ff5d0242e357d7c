//! `gpp generate` and `gpp golden`: a built-in system as a file, and its sums.

use std::process::ExitCode;

use super::args::{GenerateArgs, GoldenArgs};
use crate::experiments::golden;
use crate::experiments::source::Source;
use crate::problem::file::{self, MINI_APPS_ENERGIES};
use crate::problem::{Grid, systems};
use crate::process::files::Files;
use crate::process::output::print;
use crate::process::progress::Progress;
use crate::record::plain;

pub fn generate(args: &GenerateArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let system = systems::find(&args.system)?;
    Files::new().writes("--output", [&args.output]).check()?;
    let source = Source::System(system, args.seed).at(args.energies.grid().map(Grid::in_file));
    let (problem, sums) = golden::with_sums(&source, progress)?;
    if problem.header().nend > MINI_APPS_ENERGIES {
        progress.say(format_args!(
            "note: gpp reads this file; the mini-app does not, whose arrays hold energies 1 to \
             {MINI_APPS_ENERGIES}, not {} to {}",
            problem.header().nstart,
            problem.header().nend
        ));
    }
    file::write(&args.output, &problem, &sums, progress)?;
    Ok(ExitCode::SUCCESS)
}

pub fn golden(args: &GoldenArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let systems =
        args.system.iter().map(|name| systems::find(name)).collect::<crate::Result<Vec<_>>>()?;
    let grid = args.energies.grid();
    if !args.bands.is_empty() {
        let made = golden::matrices(&systems, args.seed, grid.as_ref(), &args.bands, progress)?;
        print(|to| writeln!(to, "{}", plain(&made)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let sums = golden::golden(&systems, args.seed, grid.as_ref(), progress)?;
    print(|to| writeln!(to, "{}", plain(&sums)))?;
    Ok(ExitCode::SUCCESS)
}
