//! Arguments of the commands that tell what there is or make a file of it.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::measure::{DeviceArgs, ThreadsArgs, at_least_one};
use super::names::{BUILT_IN, VERSIONS};
use super::problem::EnergyArgs;
use crate::problem::systems::DEFAULT_SEED;

/// Arguments of `list`.
#[derive(Args)]
pub struct ListArgs {
    /// Write it as JSON to a file, or to standard output for - and without a name
    #[arg(
        short,
        long,
        value_name = "FILE|-",
        num_args = 0..=1,
        default_missing_value = "-",
        value_hint = ValueHint::FilePath
    )]
    pub json: Option<PathBuf>,
}

/// Arguments of `info`.
#[derive(Args)]
pub struct InfoArgs {
    #[command(flatten)]
    pub place: DeviceArgs,

    /// Write it as JSON to a file, or to standard output for - and without a name
    #[arg(
        short,
        long,
        value_name = "FILE|-",
        num_args = 0..=1,
        default_missing_value = "-",
        value_hint = ValueHint::FilePath
    )]
    pub json: Option<PathBuf>,
}

/// Arguments of `generate`.
#[derive(Args)]
#[command(after_help = "Example: gpp generate -s demo -o demo.dat && gpp -i demo.dat")]
pub struct GenerateArgs {
    /// Built-in system, see `gpp list`
    #[arg(short, long, value_name = "NAME", value_parser = BUILT_IN, hide_possible_values = true)]
    pub system: String,

    /// File to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Seed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    #[command(flatten)]
    pub energies: EnergyArgs,

    #[command(flatten)]
    pub threads: ThreadsArgs,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `golden`.
#[derive(Args)]
pub struct GoldenArgs {
    /// Built-in systems, several with commas
    #[arg(
        short,
        long,
        value_name = "NAME[,NAME…]",
        value_delimiter = ',',
        value_parser = BUILT_IN,
        hide_possible_values = true,
        required = true
    )]
    pub system: Vec<String>,

    /// Seed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    #[command(flatten)]
    pub energies: EnergyArgs,

    #[command(flatten)]
    pub threads: ThreadsArgs,

    /// Elements of the matrix between these bands, counted from 1, in place of sums
    #[arg(long, value_name = "N[,N…]", value_delimiter = ',', value_parser = at_least_one)]
    pub bands: Vec<usize>,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `ptx`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp ptx v4 > v4.ptx       all kernels of v4 in one module
  gpp ptx gpp_v4_nw2        one of them, by its symbol: `gpp info` lists these")]
pub struct PtxArgs {
    /// Versions made for GPUs, as --version names them, or symbols of kernels
    #[arg(
        value_name = "VERSION|KERNEL",
        value_parser = VERSIONS,
        hide_possible_values = true,
        required = true
    )]
    pub kernels: Vec<String>,
}

/// Arguments of `completions`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp completions bash > ~/.local/share/bash-completion/completions/gpp
  gpp completions zsh > ~/.zfunc/_gpp
  gpp completions fish > ~/.config/fish/completions/gpp.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
