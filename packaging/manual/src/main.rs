//! Writes what is generated from the command line of `gpp`, below the folder that the argument names as below `/usr`:
//! manual pages, and completions for bash, zsh and fish. `scripts/install` runs it.

use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use gpp::cli::Cli;

/// Folders below `/usr/share`, and the names of files that shells look for.
const COMPLETIONS: [(Shell, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "gpp"),
    (Shell::Zsh, "zsh/site-functions", "_gpp"),
    (Shell::Fish, "fish/vendor_completions.d", "gpp.fish"),
];

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).ok_or_else(|| io::Error::other("gpp-manual FOLDER"))?;
    let share = PathBuf::from(folder).join("share");
    for (shell, place, name) in COMPLETIONS {
        let place = share.join(place);
        fs::create_dir_all(&place)?;
        generate(shell, &mut command(), "gpp", &mut fs::File::create(place.join(name))?);
    }
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages)?;
    clap_mangen::generate_to(command().disable_help_subcommand(true), pages)
}

/// The command without the SIMD levels of this machine.
fn command() -> Command {
    let hidden = |command: Command| {
        command.mut_arg("simd", |arg| arg.value_parser(clap::value_parser!(String)))
    };
    ["sigma", "offdiag", "info"]
        .into_iter()
        .fold(hidden(Cli::command()), |all, name| all.mut_subcommand(name, hidden))
}
