//! The arguments of every subcommand, a file for each group of commands.

mod alike;
mod beside;
mod explain;
mod format;
mod measure;
mod measuring;
mod names;
mod offdiag;
mod problem;
mod reading;
mod sigma;
mod slabs;
mod stored;

use clap::{Parser, Subcommand};

pub use alike::parsed;
pub use beside::TableArgs;
pub use explain::{CardArgs, DiffArgs, ExplainArgs};
pub use format::Format;
pub use measure::{AUTO, DeviceArgs, OutputArgs};
pub use measuring::{RunArgs, VerifyArgs};
pub use offdiag::{EnergiesOf, OffdiagArgs};
pub use problem::{PAPER_SYSTEM, SMALL_SYSTEM, default_for};
pub use reading::{CompletionsArgs, GenerateArgs, GoldenArgs, InfoArgs, ListArgs, PtxArgs};
pub use sigma::SigmaArgs;
pub use stored::{DEFAULT_FOLDER, ProfileArgs, ReportArgs, RooflineArgs};

const AFTER_HELP: &str = "\
Examples:
  gpp                                 the paper's versions and those past it, demo system; without a
                                      GPU those for a CPU, then the paper's, emulated
  gpp -s si214 -d cpu                 the fastest version for a CPU
  gpp -v v0-v8 -s si214 -j run.json   the paper's versions and system, as JSON
  gpp -v best -i file.dat -d gpu:1    the fastest version on your own file
  gpp -v best -s si510 -d gpu:all     on all GPUs, each with a part of the slabs
  gpp --journey talk -s si214         the versions of another journey, talk:V1 to talk:bgw
  gpp sigma -s demo --energies=-10:10:501 --plot sigma.svg
                                      Σ(ω), plotted
  gpp list                            versions, journeys and systems
  gpp table -s si214                  the paper's Table I, live
  gpp diff old.json new.json          two runs, version by version

Exit codes:
  0    ran and verified, or not verified as --no-verify asks
  1    ran, verification failed
  2    bad usage or bad input, or too little memory on the host
  3    the device asked for is missing or failed
  130  interrupted (143 by SIGTERM, 138 by SIGUSR1); what was done is printed. A calculation in
       several slabs ends after those at hand. Results that are being shown are shown whole;
       then the code is theirs

GPP_PTX=FILE loads the kernels from FILE instead of the PTX in the program.";

/// BerkeleyGW's GPP self-energy kernel in Rust on a GPU, version by version.
#[derive(Parser)]
#[command(
    name = "gpp",
    version,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = AFTER_HELP
)]
pub struct Cli {
    /// Print the program's version; so does --version alone
    #[arg(short = 'V', long = "program-version", action = clap::ArgAction::Version)]
    program_version: Option<bool>,

    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Subcommand)]
pub enum Command {
    /// List the versions and the built-in systems
    List(ListArgs),
    /// Run a version on a grid of energies: Σ(ω) as a table, CSV and a plot
    Sigma(SigmaArgs),
    /// Sum Σ as a matrix: the elements between any two of many bands
    Offdiag(OffdiagArgs),
    /// Print the device, its driver and the kernels
    Info(InfoArgs),
    /// Write a built-in system in the reference mini-app's format, reference sums included
    Generate(GenerateArgs),
    /// Print the paper's Table I, or a journey's own, live, beside the published columns
    Table(TableArgs),
    /// Print the PTX of a version's kernels
    Ptx(PtxArgs),
    /// Profile versions with ncu and store a record for each
    Profile(ProfileArgs),
    /// Draw the rooflines of stored profiles as SVG, PNG and CSV
    Roofline(RooflineArgs),
    /// Make one self-contained HTML page of stored profiles
    Report(ReportArgs),
    /// Say why versions take the time that they take: what changed in source and counters, and a verdict
    Explain(ExplainArgs),
    /// Say what changed from one version to another, in source and counters, or from one run to another
    Diff(DiffArgs),
    /// Evaluate the golden sums of a built-in system and print them as JSON
    Golden(GoldenArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
}
