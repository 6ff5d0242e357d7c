//! The command line.

mod args;
mod compare;
mod device;
mod figures;
mod generate;
mod info;
mod keep;
mod profile;
mod report;
mod roofline;
mod run;
mod scaling;
mod shell;
mod table;
mod tune;

use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::catalogue::order;
use crate::error::Error;
use crate::process::interrupt;
use crate::process::terminal::note;
use args::{Cli, Command};
use device::{device, require_vectors};
pub use run::exit_code;

/// Runs the command line; the one place that turns errors into exit codes.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if let Err(error) = interrupt::watch() {
        note(format_args!("note: an interrupt may leave files behind: {error}"));
    }
    let done = match cli.command {
        None => run::run(&cli.run),
        Some(Command::List(args)) => info::list(&args),
        Some(Command::Generate(args)) => generate::generate(&args),
        Some(Command::Info(args)) => info::info(&args),
        Some(Command::Profile(args)) => profile::profile(&args),
        Some(Command::Roofline(args)) => roofline::roofline(&args),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::Table(args)) => table::table(&args),
        Some(Command::Compare(args)) => compare::compare(&args),
        Some(Command::Tune(args)) => tune::tune(&args),
        Some(Command::Scaling(args)) => scaling::scaling(&args),
        Some(Command::Golden(args)) => generate::golden(&args),
        Some(Command::Figures(args)) => figures::figures(&args),
        Some(Command::Completions(args)) => shell::completions(&args),
        Some(Command::Man) => shell::man(),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            note(format_args!("error: {error:#}"));
            ExitCode::from(error.downcast_ref::<Error>().map_or(2, Error::exit_code))
        }
    }
}

/// Prints help, the program's version or what is wrong with the arguments.
fn usage(error: &clap::Error) -> ExitCode {
    let printed = match error.print() {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            note(format_args!("error: standard output: cannot write: {e}"));
            false
        }
        _ => true,
    };
    // Whoever asks for the program's version gets here.
    let argument = error.get(ContextKind::InvalidArg);
    if let (ErrorKind::InvalidValue, Some(ContextValue::String(argument))) =
        (error.kind(), argument)
        && argument.starts_with("--version")
    {
        note(format_args!(
            "--version names kernel versions: {}, best or all; -V prints the program's own",
            order::all().join(", ")
        ));
    }
    ExitCode::from(if printed && !error.use_stderr() { 0 } else { 2 })
}
