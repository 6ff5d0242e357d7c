//! `gpp completions` and `gpp man`: what a shell and `man` read.

use std::process::ExitCode;

use clap::CommandFactory as _;

use super::args::{Cli, CompletionsArgs};
use crate::process::output::print;

pub fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gpp", &mut script);
    print(|to| to.write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub fn man() -> anyhow::Result<ExitCode> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    // One page for all: each subcommand is a section of it.
    for subcommand in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = subcommand.get_name().to_uppercase();
        page.extend(format!(".SH \"GPP {name}\"\n").bytes());
        let man = clap_mangen::Man::new(subcommand.clone());
        let mut section = Vec::new();
        man.render_description_section(&mut section)?;
        man.render_synopsis_section(&mut section)?;
        man.render_options_section(&mut section)?;
        page.extend(String::from_utf8(section)?.replace("\n.SH ", "\n.SS ").bytes());
    }
    print(|to| to.write_all(&page))?;
    Ok(ExitCode::SUCCESS)
}
