//! The command line.

pub(crate) mod args;

use std::ffi::OsString;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use clap_complete::Shell;
use gpp_cpu::pool::{STACK, start_rayon};

use crate::catalogue::names;
use crate::cli::args::{Cli, Command, CompletionsArgs};
use crate::error::{Error, Result};
use crate::output::{note, print};
use crate::ranks::{self, Alone, Ranks, require_same};
use crate::{
    diff, explain, interrupt, list, offdiag, profile, report, roofline, run, sigma, table,
};

pub use crate::run::exit_code;

/// Runs the command line, on a thread whose stack no limit of the system's is for.
pub fn main() -> ExitCode {
    match thread::Builder::new().name("main".into()).stack_size(STACK).spawn(run_all) {
        Ok(all) => all.join().unwrap_or(ExitCode::from(101)),
        Err(error) => failed(&Error::threads(error).into(), &Alone),
    }
}

/// The one place that turns errors into exit codes.
fn run_all() -> ExitCode {
    let (cli, given, threads) = parsed();
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
    let done = || {
        let cli = match cli {
            Err(error) => return Ok(usage(&error, ranks)),
            Ok(cli) => cli,
        };
        // What is made and looked at beside the versions' runs is by these.
        start_rayon(threads).map_err(Error::threads)?;
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
            Err(Error::Input { origin: "the launcher of MPI".into(), what }.into())
        }
        Command::List(args) => list::list(args),
        Command::Generate(args) => list::generate(args),
        Command::Info(args) => list::info(args),
        Command::Profile(args) => profile::profile(args),
        Command::Roofline(args) => roofline::roofline(args),
        Command::Report(args) => report::report(args),
        Command::Table(args) => table::table(args),
        Command::Explain(args) => explain::explain(args),
        Command::Diff(args) => diff::diff(args),
        Command::Completions(args) => completions(args),
        Command::Ptx(args) => list::ptx(args),
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
    let failed = error.print().err().filter(|e| e.kind() != std::io::ErrorKind::BrokenPipe);
    if let Some(e) = &failed {
        note(format_args!("error: standard output: cannot write: {e}"));
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
    ExitCode::from(if failed.is_none() && !error.use_stderr() { 0 } else { 2 })
}

// What processes that share a run have to be given alike.

/// What each process may have its own of: devices, threads and memory, which are compared for what they are, another
/// path to the same input, which is compared by its contents, and what only rank 0 does.
const OWN: [&str; 13] = [
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
    "settle",
];

/// Flags and subcommands with what was given, but for those that each process may have its own of; or what is wrong
/// with them.
#[derive(Default)]
pub struct Given(String);

/// The arguments of this process, or what is wrong with them; what all processes have to be given alike; and
/// the threads asked for, whatever the command.
pub fn parsed() -> (std::result::Result<Cli, clap::Error>, Given, Option<usize>) {
    let mut command = Cli::command();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Whoever asks for the program's version as of other programs.
    let is_asked = arguments.iter().skip(1).eq(["--version"]);
    let arguments =
        if is_asked { vec!["gpp".into(), "--program-version".into()] } else { arguments };
    let matches = command.try_get_matches_from_mut(arguments);
    let threads = matches.as_ref().ok().and_then(threads);
    let given = matches.as_ref().map(|matches| Given::of(&command, matches));
    let given = given.unwrap_or_else(|error| Given(error.to_string()));
    let cli = matches.and_then(|matches| {
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    });
    (cli, given, threads)
}

/// `--threads` of the innermost command.
fn threads(matches: &ArgMatches) -> Option<usize> {
    match matches.subcommand() {
        Some((_, below)) => threads(below),
        None => matches.try_get_one("threads").ok().flatten().copied(),
    }
}

impl Given {
    fn of(command: &clap::Command, matches: &ArgMatches) -> Given {
        let mut given = String::new();
        let (mut command, mut matches) = (command, matches);
        loop {
            for argument in command.get_arguments() {
                let id = argument.get_id().as_str();
                let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
                if is_given && !OWN.contains(&id) {
                    let values: Vec<_> = matches.get_raw(id).into_iter().flatten().collect();
                    given += &format!("{id} {values:?} ");
                }
            }
            let Some((name, below)) = matches.subcommand() else { break };
            let Some(of_name) = command.find_subcommand(name) else { break };
            given += name;
            (command, matches) = (of_name, below);
        }
        Given(given)
    }

    /// Fails on all processes where one was given something else than rank 0. Collective.
    pub fn require_same(&self, ranks: &dyn Ranks) -> Result<()> {
        require_same(ranks, "arguments", &self.0)
    }
}

// `gpp completions`.

/// Bash takes a colon for the end of a word; ids have one.
const NO_BREAK: &str = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n";

pub fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gpp", &mut script);
    if args.shell == Shell::Bash {
        script.extend(NO_BREAK.bytes());
    }
    print(|to| to.write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}
