//! `gpp completions`.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::args::{Cli, CompletionsArgs};
use crate::process::output::print;

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
