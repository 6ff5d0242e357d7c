//! `gpp completions` and `gpp man`: what a shell and `man` read.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::args::{Cli, CompletionsArgs, ManArgs};
use crate::error::{Error, Result};
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

pub fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let mut command = Cli::command();
    command.build();
    let page = match &args.command {
        Some(name) => {
            let named = of_name(&command, name)?.clone();
            let title = format!("gpp-{}", named.get_name());
            let mut page = Vec::new();
            clap_mangen::Man::new(named).title(title).render(&mut page)?;
            page
        }
        None => whole(&command)?,
    };
    print(|to| to.write_all(&page))?;
    Ok(ExitCode::SUCCESS)
}

/// The command of that name, which pages call `gpp-NAME`.
fn of_name<'c>(command: &'c clap::Command, name: &str) -> Result<&'c clap::Command> {
    let short = name.strip_prefix("gpp-").unwrap_or(name);
    let known = || command.get_subcommands().map(clap::Command::get_name);
    command
        .find_subcommand(short)
        .ok_or_else(|| Error::unknown("command", name, known().filter(|name| *name != "help")))
}

/// One page for all: each command is a section of it.
fn whole(command: &clap::Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
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
    Ok(page)
}
