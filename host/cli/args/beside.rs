//! Arguments of the commands that show versions beside others: what was published, and the yardstick.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::format::Format;
use super::measure::{DeviceArgs, MeasureArgs, OutputArgs, at_least_one};
use super::measuring::{VerifyArgs, VersionArgs};
use super::names::VERSIONS;
use super::problem::ProblemsArgs;
use crate::analysis::speed_ups::By;

/// Arguments of `table`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp table --from old.json,new.json --format markdown
  gpp table -s si214 --csv table.csv
  gpp table --journey talk -s si214   beside the talk's own figures
  gpp table --journey talk --from run.json   what a run has of it")]
pub struct TableArgs {
    #[command(flatten)]
    pub versions: VersionArgs,

    /// JSON of earlier runs or folders with one, several with commas, instead of running
    #[arg(
        long,
        value_name = "FILE[,FILE…]",
        value_delimiter = ',',
        value_hint = ValueHint::FilePath,
        conflicts_with_all = [
            "version", "system", "input", "seed", "energies", "nw", "device", "simd", "repeat",
            "warmup", "settle", "no_verify",
        ]
    )]
    pub from: Vec<PathBuf>,

    #[command(flatten)]
    pub verify: VerifyArgs,

    /// What speed-ups are by
    #[arg(long, value_enum, default_value_t = By::Time)]
    pub by: By,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    #[command(flatten)]
    pub problems: ProblemsArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    /// Write the rows as CSV to a file, or to standard output for -
    #[arg(
        long,
        value_name = "FILE|-",
        value_hint = ValueHint::FilePath,
        help_heading = "Output"
    )]
    pub csv: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `compare`.
#[derive(Args)]
#[command(mut_arg("device", |device| {
    device.default_value("gpu").help("Where: gpu or gpu:N against CUDA C++, cpu against Fortran")
}))]
pub struct CompareArgs {
    /// Kernel versions: ids, ranges (v0-v8), best or all, with commas; by default all that the GPU's
    /// yardstick has, and on a CPU best
    #[arg(
        short = 'v',
        long,
        value_name = "V[,V…]",
        value_parser = VERSIONS,
        hide_possible_values = true
    )]
    pub version: Option<String>,

    #[command(flatten)]
    pub place: DeviceArgs,

    /// Timed runs of each side
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    /// The compiler of the GPU's yardstick, by default nvcc
    #[arg(long, value_name = "PROGRAM")]
    pub nvcc: Option<PathBuf>,

    /// The profiler, for the counters of the GPU's best version, by default ncu
    #[arg(long, value_name = "PROGRAM")]
    pub ncu: Option<PathBuf>,

    /// The compiler of the CPU's yardstick, by default gfortran
    #[arg(long, value_name = "PROGRAM")]
    pub gfortran: Option<PathBuf>,

    #[command(flatten)]
    pub problems: ProblemsArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}
