//! From the arguments to the exit code.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use clap_complete::Shell;
use gpp_cpu::pool::{STACK, start_rayon};

use crate::cli::{Cli, Command};
use crate::error::{self, Error, ProfileError, invalid};
use crate::output::{note, print};
use crate::ranks::{self, Alone, Ranks, require_same};
use crate::{diff, interrupt, list, offdiag, profile, report, run, sigma, table};

/// Runs the command line, on a thread whose stack does not depend on the system's limit.
pub fn main() -> ExitCode {
    match thread::Builder::new().name("main".into()).stack_size(STACK).spawn(run_all) {
        Ok(all) => all.join().unwrap_or(ExitCode::from(101)),
        Err(error) => failed(&Error::threads(error).into(), &Alone),
    }
}

fn run_all() -> ExitCode {
    let (cli, shared, threads) = parsed();
    if let Err(error) = interrupt::watch(ranks::launched_as().is_none()) {
        note(format_args!("note: an interrupt may leave files behind: {error}"));
    }
    let ranks = match ranks::join() {
        Ok(ranks) => ranks,
        // Help, and what is wrong with the arguments, need no other rank.
        Err(_) if cli.is_err() => Box::new(Alone),
        Err(error) => {
            // Most launchers end the others soon after rank 0 has reported it.
            if ranks::launched_as() != Some(0) {
                thread::sleep(4 * HEAD_START);
            }
            return failed(&error.into(), &Alone);
        }
    };
    let ranks = ranks.as_ref();
    let done = || {
        let cli = match cli {
            Err(error) => return Ok(usage(&error, ranks)),
            Ok(cli) => cli,
        };
        start_rayon(threads).map_err(Error::threads)?;
        match cli.command {
            None => run::run(&cli.run, ranks),
            Some(command) => self::command(&command, ranks),
        }
    };
    // Ranks that run different commands would wait for each other for ever.
    let ready = require_same(ranks, "arguments", &shared);
    let done = ready.map_err(Into::into).and_then(|()| done());
    done.unwrap_or_else(|error| failed(&error, ranks))
}

fn command(command: &Command, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    match command {
        Command::Sigma(args) => sigma::sigma(args, ranks),
        Command::Offdiag(args) => offdiag::offdiag(args, ranks),
        _ if ranks.size() > 1 => Err(invalid(
            "the launcher of MPI",
            format!("{} ranks share a run, sigma or offdiag, no other command", ranks.size()),
        )
        .into()),
        Command::List(args) => list::list(args),
        Command::Generate(args) => list::generate(args),
        Command::Info(args) => list::info(args),
        Command::Profile(args) => profile::profile(args),
        Command::Roofline(args) => profile::roofline(args),
        Command::Report(args) => report::report(args),
        Command::Table(args) => table::table(args),
        Command::Explain(args) => diff::explain(args),
        Command::Diff(args) => diff::diff(args),
        Command::Completions { shell } => completions(*shell),
        Command::Ptx(args) => list::ptx(args),
    }
}

/// Time for rank 0 to report what all ranks found wrong, and to end them.
const HEAD_START: Duration = Duration::from_millis(500);

/// Reports an error once. One of several ranks ends the others with it, unless all were stopped.
fn failed(error: &anyhow::Error, ranks: &dyn Ranks) -> ExitCode {
    let known = error.downcast_ref::<Error>();
    // Our errors name their causes themselves.
    let text = known.map_or_else(|| format!("{error:#}"), error::said);
    let of_profiler = u8::from(error.is::<ProfileError>());
    let code = known.map_or(2 + of_profiler, error::exit_code);
    let is_stop = matches!(known, Some(Error::Stopped { .. }));
    if !ranks.is_root() && !is_stop {
        thread::sleep(HEAD_START);
    }
    match ranks.name() {
        Some(_) if is_stop && !ranks.is_root() => {}
        Some(name) if !is_stop => {
            note(format_args!("error: {name}: {text}"));
            ranks.abort(code);
        }
        _ => note(format_args!("error: {text}")),
    }
    // Launchers end those that are left when the first is gone.
    ranks.barrier();
    ExitCode::from(code)
}

/// Prints help, the program's version or what is wrong with the arguments.
fn usage(error: &clap::Error, ranks: &dyn Ranks) -> ExitCode {
    let code = if error.use_stderr() { 2 } else { 0 };
    if !ranks.is_root() {
        return ExitCode::from(code);
    }
    match error.print().err().filter(|e| e.kind() != io::ErrorKind::BrokenPipe) {
        None => ExitCode::from(code),
        Some(e) => {
            note(format_args!("error: standard output: cannot write: {e}"));
            ExitCode::from(2)
        }
    }
}

/// Flags in which MPI ranks may differ: devices, threads and memory, paths to inputs, which are compared by their
/// contents, and what only rank 0 does.
const PER_RANK: [&str; 12] = [
    "device",
    "simd",
    "threads",
    "device_memory",
    "host_memory",
    "input",
    "elements",
    "json",
    "csv",
    "npy",
    "plot",
    "quiet",
];

/// The arguments, or what is wrong with them; those that all ranks have to share; and the threads asked for.
fn parsed() -> (Result<Cli, clap::Error>, String, Option<usize>) {
    let mut command = Cli::command();
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // `--version` names kernel versions, but alone it asks what all programs are asked.
    if arguments.iter().skip(1).eq(["--version"]) {
        arguments[1] = "-V".into();
    }
    let matches = match command.try_get_matches_from_mut(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let text = error.to_string();
            return (Err(error), text, None);
        }
    };
    let (mut shared, mut below, mut of) = (String::new(), &matches, &command);
    loop {
        shared += &given(of, below);
        let Some((name, next)) = below.subcommand() else { break };
        let Some(next_of) = of.find_subcommand(name) else { break };
        shared += name;
        (below, of) = (next, next_of);
    }
    let threads = below.try_get_one("threads").ok().flatten().copied();
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command));
    (cli, shared, threads)
}

/// The flags on the command line with their values, without those of [`PER_RANK`].
fn given(command: &clap::Command, matches: &ArgMatches) -> String {
    let ids = command.get_arguments().map(|argument| argument.get_id().as_str());
    let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let values = |id: &str| matches.get_raw(id).into_iter().flatten().collect::<Vec<_>>();
    ids.filter(is_given)
        .filter(|id| !PER_RANK.contains(id))
        .map(|id| format!("{id} {:?} ", values(id)))
        .collect()
}

fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gpp", &mut script);
    print(|to| to.write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}
