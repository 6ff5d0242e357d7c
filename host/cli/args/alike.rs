//! What processes that share a run have to be given alike.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

use super::Cli;
use crate::error::{Difference, Result};
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

/// Flags and subcommand with what was given, but for those that each process may have its own of.
#[derive(Default)]
pub struct Given(BTreeMap<String, String>);

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
    let given = given.unwrap_or_else(|error| {
        let text = error.to_string();
        Given([(WRONG.into(), text.lines().next().unwrap_or_default().into())].into())
    });
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

/// The name of what is wrong with arguments.
const WRONG: &str = "arguments";

/// The name of a subcommand.
const COMMAND: &str = "command";

impl Given {
    fn of(command: &Command, matches: &ArgMatches) -> Given {
        let mut given = BTreeMap::new();
        let (mut command, mut matches) = (command, matches);
        loop {
            for argument in command.get_arguments() {
                let id = argument.get_id().as_str();
                let is_given = matches.value_source(id) == Some(ValueSource::CommandLine);
                if !is_given || OWN.contains(&id) {
                    continue;
                }
                let values = matches.get_raw(id).into_iter().flatten();
                let value = |value: &std::ffi::OsStr| match id {
                    // On all of them the same file.
                    "checkpoint" => std::path::absolute(value).unwrap_or(value.into()),
                    _ => value.into(),
                };
                let values: Vec<String> =
                    values.map(|given| Path::display(&value(given)).to_string()).collect();
                let flag = format!("--{}", argument.get_long().unwrap_or(id));
                given.insert(flag, values.join(" "));
            }
            let Some((name, below)) = matches.subcommand() else { break };
            let Some(of_name) = command.find_subcommand(name) else { break };
            given.insert(COMMAND.into(), name.into());
            (command, matches) = (of_name, below);
        }
        Given(given)
    }

    /// Fails on all processes where one was given something else than rank 0. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Data`] that names flag, rank and both values.
    pub fn require_same(&self, ranks: &dyn Ranks) -> Result<()> {
        require_same(ranks, &self.0, |own, other| {
            let first = [WRONG, COMMAND].into_iter();
            let mut names = first.chain(own.keys().chain(other.keys()).map(String::as_str));
            let name = names.find(|name| own.get(*name) != other.get(*name))?;
            let of = |given: &BTreeMap<String, String>| match given.get(name) {
                None => "none".into(),
                Some(text) if text.is_empty() => "set".into(),
                Some(text) => text.clone(),
            };
            let (needed, found) = (of(own), of(other));
            Some(Difference { field: name.to_string().into(), needed, found, flag: "" })
        })
    }
}
