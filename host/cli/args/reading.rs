//! Arguments of the commands that tell what there is or make a file of it.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::measure::DeviceArgs;
use super::problem::EnergyArgs;
use crate::problem::systems::DEFAULT_SEED;

/// Arguments of `list`.
#[derive(Args)]
pub struct ListArgs {
    /// As JSON
    #[arg(short, long)]
    pub json: bool,
}

/// Arguments of `info`.
#[derive(Args)]
pub struct InfoArgs {
    #[command(flatten)]
    pub place: DeviceArgs,

    /// As JSON
    #[arg(short, long)]
    pub json: bool,
}

/// Arguments of `generate`.
#[derive(Args)]
#[command(after_help = "Example: gpp generate -s demo -o demo.dat && gpp -i demo.dat")]
pub struct GenerateArgs {
    /// Built-in system, see `gpp list`
    #[arg(short, long, value_name = "NAME")]
    pub system: String,

    /// File to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Seed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    #[command(flatten)]
    pub energies: EnergyArgs,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `golden`.
#[derive(Args)]
pub struct GoldenArgs {
    /// Built-in systems, several with commas
    #[arg(short, long, value_name = "NAME[,NAME…]", value_delimiter = ',', required = true)]
    pub system: Vec<String>,

    /// Seed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    #[command(flatten)]
    pub energies: EnergyArgs,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `completions`.
#[derive(Args)]
#[command(
    after_help = "Example: gpp completions bash > ~/.local/share/bash-completion/completions/gpp"
)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
