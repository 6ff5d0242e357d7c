//! From the arguments to the exit code; the library does the rest.

use std::io::ErrorKind;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use gpp::cli::{Cli, Command};
use gpp::error::{Error, invalid};
use gpp::output::{exit_code, listen, message, note, print};
use gpp::profile::ncu::ProfileError;
use gpp::ranks::{self, Alone, Ranks};
use gpp::{explain, list, offdiag, profile, report, run, table};
use gpp_cpu::pool::{STACK, start_rayon};

/// On a thread whose stack does not depend on the system's limit.
fn main() -> ExitCode {
    match thread::Builder::new().name("main".into()).stack_size(STACK).spawn(command) {
        Ok(thread) => thread.join().unwrap_or(ExitCode::from(101)),
        Err(error) => failed(&Error::threads(error).into(), &Alone),
    }
}

fn command() -> ExitCode {
    let cli = Cli::parsed();
    if let Err(error) = listen() {
        note(format_args!("note: an interrupt may leave files behind: {error}"));
    }
    let ranks = match ranks::join() {
        Ok(ranks) => ranks,
        // Help, and errors of the arguments, need no other rank.
        Err(_) if cli.is_err() => Box::new(Alone),
        Err(error) => {
            // Most launchers end the others soon after rank 0 has reported it.
            if ranks::launched().is_none_or(|(_, rank)| rank > 0) {
                thread::sleep(4 * HEAD_START);
            }
            return failed(&error.into(), &Alone);
        }
    };
    let (cli, ranks) = match cli {
        Ok(cli) => (cli, ranks.as_ref()),
        Err(error) => return usage(&error, ranks.as_ref()),
    };
    // Whether all results are right.
    let run = || -> anyhow::Result<bool> {
        start_rayon(cli.threads()?).map_err(Error::threads)?;
        let Some(command) = &cli.command else { return run::run(&cli.run, ranks) };
        match command {
            Command::Sigma(args) => run::sigma(args, ranks),
            Command::Offdiag(args) => offdiag::offdiag(args, ranks),
            _ if ranks.size() > 1 => Err(invalid(
                "the launcher of MPI",
                format!("only a run, sigma and offdiag use several ranks; found {}", ranks.size()),
            )
            .into()),
            Command::List => Ok(print(list::list).map(|()| true)?),
            Command::Generate(args) => list::generate(args),
            Command::Info(args) => list::info(args),
            Command::Profile(args) => profile::profile(args),
            Command::Roofline(args) => profile::roofline(args),
            Command::Report(args) => report::report(args),
            Command::Table(args) => table::table(args),
            Command::Explain(args) => explain::explain(args),
            Command::Ptx(args) => list::ptx(args),
        }
    };
    match run() {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(error) => failed(&error, ranks),
    }
}

fn usage(error: &clap::Error, ranks: &dyn Ranks) -> ExitCode {
    let mut code = if error.use_stderr() { 2 } else { 0 };
    if !ranks.is_root() {
        if code == 0 {
            return ExitCode::SUCCESS;
        }
        thread::sleep(HEAD_START);
    }
    if let Err(e) = error.print()
        && e.kind() != ErrorKind::BrokenPipe
    {
        note(format_args!("error: standard output: cannot write: {e}"));
        code = 2;
    }
    if code != 0 {
        ranks.abort(code);
    }
    ExitCode::from(code)
}

/// Time for rank 0 to report an error that all ranks have, and to end them.
const HEAD_START: Duration = Duration::from_millis(500);

/// Reports an error. One of several ranks ends the others with it, unless all were stopped.
fn failed(error: &anyhow::Error, ranks: &dyn Ranks) -> ExitCode {
    let known = error.downcast_ref::<Error>();
    // Our errors name their causes themselves.
    let text = known.map_or_else(|| format!("{error:#}"), message);
    let code = match known {
        Some(known) => exit_code(known),
        None if error.is::<ProfileError>() => 3,
        None => 2,
    };
    match ranks.name() {
        Some(name) if !matches!(known, Some(Error::Stopped { .. })) => {
            if !ranks.is_root() {
                thread::sleep(HEAD_START);
            }
            note(format_args!("error: {name}: {text}"));
            ranks.abort(code);
        }
        _ if ranks.is_root() => note(format_args!("error: {text}")),
        _ => {}
    }
    // Launchers end those that are left when the first is gone.
    ranks.barrier();
    ExitCode::from(code)
}
