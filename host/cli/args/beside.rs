//! Arguments of the command that shows versions beside what was published.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::format::Format;
use super::measure::{MeasureArgs, OutputArgs};
use super::measuring::{VerifyArgs, VersionArgs};
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
