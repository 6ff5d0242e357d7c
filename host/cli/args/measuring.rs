//! Arguments of the commands that measure.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::measure::{MeasureArgs, OutputArgs, at_least_one};
use super::problem::{ProblemArgs, ProblemsArgs};
use crate::catalogue::tuned::Overrides;
use crate::problem::systems::DEFAULT_SEED;

pub const VERSIONS_HELP: &str = "Kernel versions: ids, ranges (v0-v8), best or all, with commas";

/// Arguments of a run.
#[derive(Args)]
pub struct RunArgs {
    #[arg(short = 'v', long, value_name = "V[,V…]", default_value = "all", help = VERSIONS_HELP)]
    pub version: String,

    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    #[command(flatten)]
    pub overrides: Overrides,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `tune`.
#[derive(Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `scaling`.
#[derive(Args)]
pub struct ScalingArgs {
    /// Kernel version, one
    #[arg(short = 'v', long, value_name = "V", default_value = "best")]
    pub version: String,

    /// Complex modes instead of real ones
    #[arg(long)]
    pub complex: bool,

    /// The smallest points only
    #[arg(long)]
    pub quick: bool,

    /// Seed of the systems
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Where to run: auto, gpu, gpu:N or cpu
    #[arg(short, long, default_value = "auto")]
    pub device: String,

    /// Timed runs of each point
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `table`.
#[derive(Args)]
#[command(after_help = "Example: gpp table --from old.json,new.json --format markdown")]
pub struct TableArgs {
    #[arg(short = 'v', long, value_name = "V[,V…]", default_value = "all", help = VERSIONS_HELP)]
    pub version: String,

    /// JSON of earlier runs, several with commas, instead of running
    #[arg(
        long,
        value_name = "FILE[,FILE…]",
        value_delimiter = ',',
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["version", "system", "input", "seed", "device", "repeat", "warmup"]
    )]
    pub from: Vec<PathBuf>,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Terminal)]
    pub format: Format,

    /// No progress, no notes and no table for the terminal
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub problems: ProblemsArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,
}

/// Forms of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Terminal,
    /// For a page.
    Markdown,
    /// For a spreadsheet.
    Csv,
    /// For a program.
    Json,
}

/// Arguments of `compare`.
#[derive(Args)]
pub struct CompareArgs {
    #[arg(
        short = 'v',
        long,
        value_name = "V[,V…]",
        default_value = "all",
        help = "Kernel versions: ids, ranges (v0-v8), or all that the yardstick has"
    )]
    pub version: String,

    /// Which GPU
    #[arg(short, long, default_value = "gpu")]
    pub device: String,

    /// Timed runs of each side
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    /// The compiler of the yardstick
    #[arg(long, value_name = "PROGRAM", default_value = "nvcc")]
    pub nvcc: PathBuf,

    /// The profiler, for the counters of the best version
    #[arg(long, value_name = "PROGRAM", default_value = "ncu")]
    pub ncu: PathBuf,

    #[command(flatten)]
    pub problems: ProblemsArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}
