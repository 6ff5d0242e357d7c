//! Arguments of the commands that make and read stored profiles.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::measure::{ThreadsArgs, at_least_one};
use super::measuring::VersionArgs;
use super::names::{DEVICES, VECTORS};
use super::problem::ProblemArgs;

/// Where `profile` stores its records, a folder for each system, and the others look for them.
pub const DEFAULT_FOLDER: &str = "gpp-profile";

/// Arguments of `profile`.
#[derive(Args)]
#[command(after_help = "Example: gpp profile -s si214 && gpp roofline && gpp report")]
pub struct ProfileArgs {
    #[command(flatten)]
    pub versions: VersionArgs,

    /// Which GPU, or cpu, where the versions' sources count instead of a profiler
    #[arg(
        short,
        long,
        default_value = "gpu",
        value_parser = DEVICES,
        hide_possible_values = true,
        conflicts_with = "counters"
    )]
    pub device: String,

    /// With --device cpu the vectors, as for a run
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = VECTORS,
        hide_possible_values = true,
        conflicts_with = "counters"
    )]
    pub simd: Option<String>,

    #[command(flatten)]
    pub threads: ThreadsArgs,

    /// Folder for the records, by default gpp-profile/ and the system's name, at others than its own
    /// energies with -nwN or -energiesFROM_TO_COUNT
    #[arg(short, long, alias = "dir", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,

    /// The profiler
    #[arg(long, value_name = "PROGRAM", default_value = "ncu", conflicts_with = "counters")]
    pub ncu: PathBuf,

    /// Read counters from CSV that ncu printed elsewhere, raw or details page, instead of running it
    #[arg(long, alias = "from", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub counters: Option<PathBuf>,

    /// Take the FP64 operations of each term from the profiles in this folder: to count them takes
    /// minutes for each version of a large system
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub operations: Option<PathBuf>,

    /// Timed runs of each version, at least
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one, conflicts_with = "counters")]
    pub repeat: usize,

    /// Architecture to disassemble the kernels for, such as sm_90; by default the GPU's
    #[arg(long, value_name = "SM")]
    pub architecture: Option<String>,

    /// No warp samples by source line, which take another run
    #[arg(long, conflicts_with = "counters")]
    pub no_lines: bool,

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
        alias = "dir",
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
    #[arg(long, alias = "dir", value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub from: Option<PathBuf>,

    /// The page; by default report.html in the current folder
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Show the versions for CPUs: the folder of their profiles, or the one above it
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub processor: Option<PathBuf>,

    /// Show Σ as a matrix: a folder of what `gpp offdiag --json` wrote, or one such file; the profiler's
    /// counters.csv in the folder is shown too
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::AnyPath)]
    pub offdiag: Option<PathBuf>,
}

impl ReportArgs {
    /// Whether it names nothing but Σ as a matrix.
    pub fn is_of_matrices(&self) -> bool {
        let others = [&self.from, &self.processor];
        self.offdiag.is_some() && others.into_iter().all(Option::is_none)
    }
}
