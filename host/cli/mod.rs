//! The command line.

mod args;
mod device;
mod diff;
mod explain;
mod generate;
mod info;
mod keep;
mod offdiag;
mod profile;
mod ptx;
mod report;
mod roofline;
mod run;
mod shell;
mod sigma;
mod table;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use gpp_cpu::pool::{STACK, start_rayon};

use crate::catalogue::names;
use crate::error::Error;
use crate::process::output::require_stdout;
use crate::process::terminal::note;
use crate::process::{allocation, interrupt};
use crate::ranks::{self, Alone, Ranks};
use args::Command;
use device::{device, devices, require_vectors};
pub use run::exit_code;

/// Runs the command line, on a thread whose stack no limit of the system's is for.
pub fn main() -> ExitCode {
    match thread::Builder::new().name("main".into()).stack_size(STACK).spawn(run_all) {
        Ok(all) => all.join().unwrap_or(ExitCode::from(101)),
        Err(error) => failed(&Error::Threads { reason: error.to_string() }.into(), &Alone),
    }
}

/// The one place that turns errors into exit codes.
fn run_all() -> ExitCode {
    let (cli, given, threads) = args::parsed();
    if let Err(error) = interrupt::watch(ranks::launched_as().is_none()) {
        note(format_args!("note: an interrupt may leave files behind: {error}"));
    }
    let ranks = match ranks::join() {
        Ok(ranks) => ranks,
        // Help, and what is wrong with the arguments, need no other rank.
        Err(_) if cli.is_err() => Box::new(Alone),
        Err(error) => {
            // Most launchers end the others soon after rank 0 has said it.
            if ranks::launched_as() != Some(0) {
                thread::sleep(4 * HEAD_START);
            }
            return failed(&error.into(), &Alone);
        }
    };
    let ranks = ranks.as_ref();
    if let Some(name) = ranks.name() {
        allocation::NAME.get_or_init(|| name);
    }
    let done = || {
        let cli = match cli {
            Err(error) => return Ok(usage(&error, ranks)),
            Ok(cli) => cli,
        };
        // What is made and looked at beside the versions' runs is by these.
        start_rayon(threads).map_err(|reason| Error::Threads { reason })?;
        match cli.command {
            None => run::run(&cli.run, ranks),
            Some(command) => self::command(&command, ranks),
        }
    };
    // Processes that do different things would wait for each other.
    let ready = given.require_same(ranks);
    let done = ready.map_err(Into::into).and_then(|()| done());
    done.unwrap_or_else(|error| failed(&error, ranks))
}

fn command(command: &Command, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    match command {
        Command::Sigma(args) => sigma::sigma(args, ranks),
        Command::Offdiag(args) => offdiag::offdiag(args, ranks),
        _ if ranks.size() > 1 => {
            let what =
                format!("{} ranks share a run, sigma or offdiag, no other command", ranks.size());
            Err(Error::Data { origin: "the launcher of MPI".into(), what }.into())
        }
        Command::List(args) => info::list(args),
        Command::Generate(args) => generate::generate(args),
        Command::Info(args) => info::info(args),
        Command::Profile(args) => profile::profile(args),
        Command::Roofline(args) => roofline::roofline(args),
        Command::Report(args) => report::report(args),
        Command::Table(args) => table::table(args),
        Command::Explain(args) => explain::explain(args),
        Command::Diff(args) => diff::diff(args),
        Command::Golden(args) => generate::golden(args),
        Command::Completions(args) => shell::completions(args),
        Command::Ptx(args) => ptx::ptx(args),
    }
}

/// Time for rank 0 to say what all ranks found wrong, and to end them.
const HEAD_START: Duration = Duration::from_millis(500);

/// Says what went wrong, once. A rank of several ends the others with it, but where all were stopped.
fn failed(error: &anyhow::Error, ranks: &dyn Ranks) -> ExitCode {
    let known = error.downcast_ref::<Error>();
    // Our errors name their causes themselves.
    let said = known.map_or_else(|| format!("{error:#}"), crate::error::said);
    let code = known.map_or(2, crate::error::exit_code);
    let is_stop = matches!(known, Some(Error::Stopped { .. }));
    if !ranks.is_root() && !is_stop {
        thread::sleep(HEAD_START);
    }
    match ranks.name() {
        Some(_) if is_stop && !ranks.is_root() => {}
        Some(name) if !is_stop => {
            note(format_args!("error: {name}: {said}"));
            ranks.abort(code);
        }
        _ => note(format_args!("error: {said}")),
    }
    // Launchers end those that are left when the first is gone.
    ranks.barrier();
    ExitCode::from(code)
}

/// Prints help, the program's version or what is wrong with the arguments.
fn usage(error: &clap::Error, ranks: &dyn Ranks) -> ExitCode {
    if !ranks.is_root() {
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    let to_stdout = if error.use_stderr() { Ok(()) } else { require_stdout() };
    let printed = to_stdout.map_err(|error| error.to_string()).and_then(|()| match error.print() {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: cannot write: {e}"))
        }
        _ => Ok(()),
    });
    if let Err(what) = &printed {
        note(format_args!("error: {what}"));
    }
    let argument = error.get(ContextKind::InvalidArg);
    if let (ErrorKind::InvalidValue, Some(ContextValue::String(argument))) =
        (error.kind(), argument)
        && argument.starts_with("--version")
    {
        note(format_args!(
            "--version names kernel versions: {}; alone, or as -V, it prints the program's own",
            names::known().join(", ")
        ));
    }
    ExitCode::from(if printed.is_ok() && !error.use_stderr() { 0 } else { 2 })
}
