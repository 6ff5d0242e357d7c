//! Arguments of the commands that measure.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::measure::{DeviceArgs, MeasureArgs, OutputArgs, at_least_one};
use super::problem::{ProblemArgs, ProblemsArgs};
use super::slabs::{MemoryArgs, SlabArgs};
use crate::analysis::speed_ups::By;
use crate::catalogue::names::{MAIN, require_journeys};
use crate::catalogue::tuned::Overrides;
use crate::problem::systems::DEFAULT_SEED;

/// Which versions.
#[derive(Args, Clone, Debug)]
pub struct VersionArgs {
    /// Kernel versions: ids, ranges (v0-v8, talk:V1-V9), best or all, with commas; also journeys
    /// (paper, talk) and the best of one (talk:best). By default paper,past, for a run on a CPU best; all
    /// is every version that the device runs: a CPU its own, then the others, emulated
    #[arg(short = 'v', long, value_name = "V[,V…]")]
    pub version: Option<String>,

    /// Journeys, see `gpp list`: all versions of each, as --version NAME has them
    #[arg(long, value_name = "NAME[,NAME…]", conflicts_with = "version")]
    pub journey: Option<String>,
}

impl VersionArgs {
    /// The names given, or the journeys that run without any.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`] for a journey that is none.
    pub fn names(&self) -> crate::Result<&str> {
        Ok(self.given()?.unwrap_or(MAIN))
    }

    /// The names given.
    ///
    /// # Errors
    /// As [`VersionArgs::names`].
    pub fn given(&self) -> crate::Result<Option<&str>> {
        if let Some(journeys) = &self.journey {
            require_journeys(journeys)?;
        }
        Ok(self.version.as_deref().or(self.journey.as_deref()))
    }

    /// Whether nothing less than whole journeys was asked for.
    pub fn is_whole(&self) -> bool {
        self.version.as_deref().is_none_or(|names| names == "all")
    }
}

/// Arguments of a run.
#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub versions: VersionArgs,

    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    #[command(flatten)]
    pub slabs: SlabArgs,

    #[command(flatten)]
    pub overrides: Overrides,

    /// Launch the versions and compare nothing, for a profiler: what it runs is verified beside it
    #[arg(long, hide = true)]
    pub unverified: bool,

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

    #[command(flatten)]
    pub place: DeviceArgs,

    /// Timed runs of each point
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `scale`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp scale -s si510 -d gpu:all          over the GPUs of this host
  mpirun -n 4 gpp scale -s si510         over ranks with a GPU each
  gpp scale -d cpu -s demo               over the cores of the processor
`gpp scaling` times a version on one device against the extents of the problem.")]
pub struct ScaleArgs {
    /// Kernel version, one, made for the devices
    #[arg(short = 'v', long, value_name = "V", default_value = "best")]
    pub version: String,

    /// Built-in system, see `gpp list`; by default si214, on a CPU demo
    #[arg(short, long, value_name = "NAME")]
    pub system: Option<String>,

    /// Seed of the system
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Strong scaling only: the system as it is
    #[arg(long)]
    pub strong: bool,

    /// Weak scaling only: each member with the same part of the system's G′
    #[arg(long, conflicts_with = "strong")]
    pub weak: bool,

    /// One run of each point, of one, two and all members only
    #[arg(long, conflicts_with = "repeat")]
    pub quick: bool,

    #[command(flatten)]
    pub place: DeviceArgs,

    /// Timed runs of each point, by default 5
    #[arg(short, long, value_name = "N", value_parser = at_least_one)]
    pub repeat: Option<usize>,

    #[command(flatten)]
    pub memory: MemoryArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `table`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp table --from old.json,new.json --format markdown
  gpp table --journey talk -s si214   beside the talk's own figures
  gpp table --journey talk --from run.json   what a run has of it")]
pub struct TableArgs {
    #[command(flatten)]
    pub versions: VersionArgs,

    /// JSON of earlier runs, several with commas, instead of running
    #[arg(
        long,
        value_name = "FILE[,FILE…]",
        value_delimiter = ',',
        value_hint = ValueHint::FilePath,
        conflicts_with_all = [
            "version", "system", "input", "seed", "energies", "nw", "device", "simd", "repeat",
            "warmup", "settle",
        ]
    )]
    pub from: Vec<PathBuf>,

    /// What speed-ups are by
    #[arg(long, value_enum, default_value_t = By::Time)]
    pub by: By,

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
#[command(mut_arg("device", |device| {
    device.default_value("gpu").help("Where: gpu or gpu:N against CUDA C++, cpu against Fortran")
}))]
pub struct CompareArgs {
    /// Kernel versions: ids, ranges (v0-v8), best or all, with commas; by default all that the GPU's
    /// yardstick has, and on a CPU best
    #[arg(short = 'v', long, value_name = "V[,V…]")]
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
