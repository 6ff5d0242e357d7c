//! Arguments of the commands that make and read stored profiles.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::measure::at_least_one;
use super::measuring::VersionArgs;
use super::names::DEVICES;
use super::problem::ProblemArgs;

/// Where `profile` stores its records, a folder for each system, and the others look for them.
pub const DEFAULT_FOLDER: &str = "gpp-profile";

/// Arguments of `profile`.
#[derive(Args)]
#[command(after_help = "Example: gpp profile -s si214 && gpp roofline && gpp report")]
pub struct ProfileArgs {
    #[command(flatten)]
    pub versions: VersionArgs,

    /// Which GPU: gpu or gpu:N
    #[arg(short, long, default_value = "gpu", value_parser = DEVICES, hide_possible_values = true)]
    pub device: String,

    /// Folder for the records, by default gpp-profile/ and the system's name, at others than its own
    /// energies with -nwN or -energiesFROM_TO_COUNT
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,

    /// The profiler
    #[arg(long, value_name = "PROGRAM", default_value = "ncu")]
    pub ncu: PathBuf,

    /// Timed runs of each version, at least
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    /// No tables, no progress and no notes
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub problem: ProblemArgs,
}

/// Arguments of `roofline`.
#[derive(Args)]
pub struct RooflineArgs {
    /// Folder with the records of one system; by default the one in gpp-profile/
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = DEFAULT_FOLDER,
        value_hint = ValueHint::DirPath
    )]
    pub from: PathBuf,

    /// Records of the same system at another number of energies; may be given several times, for a chart
    /// of each version that there are several of
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub with: Vec<PathBuf>,

    /// Also draw the versions of Σ as a matrix: a folder of what `gpp offdiag --json` wrote, with the profiler's
    /// counters.csv of the record with most versions; ceilings are those of --from
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::AnyPath)]
    pub offdiag: Option<PathBuf>,

    /// Folder for the charts; by default the current one
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
}

/// Arguments of `report`.
#[derive(Args)]
pub struct ReportArgs {
    /// Folder with the records of one system; by default the one in gpp-profile/. With --offdiag alone there need be
    /// none
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub from: Option<PathBuf>,

    /// The page; by default report.html in the current folder
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Show Σ as a matrix: a folder of what `gpp offdiag --json` wrote, or one such file; the profiler's
    /// counters.csv in the folder is shown too
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::AnyPath)]
    pub offdiag: Option<PathBuf>,
}

impl ReportArgs {
    /// Whether it names nothing but Σ as a matrix.
    pub fn is_of_matrices(&self) -> bool {
        self.offdiag.is_some() && self.from.is_none()
    }
}
