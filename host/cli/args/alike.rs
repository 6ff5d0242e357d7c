//! What processes that share a run have to be given alike.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

use super::Cli;
use crate::error::Result;
use crate::ranks::{Ranks, require_same};

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
    fn of(command: &Command, matches: &ArgMatches) -> Given {
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
    ///
    /// # Errors
    /// [`crate::Error::Data`] that names the rank.
    pub fn require_same(&self, ranks: &dyn Ranks) -> Result<()> {
        require_same(ranks, "arguments", &self.0)
    }
}
