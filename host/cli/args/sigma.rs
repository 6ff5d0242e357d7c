//! Arguments of `sigma`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::measure::{DeviceArgs, MeasureArgs, OutputArgs};
use super::measuring::{RunArgs, VersionArgs};
use super::problem::ProblemArgs;
use super::slabs::SlabArgs;
use crate::catalogue::tuned::Overrides;

/// Arguments of `sigma`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp sigma -s demo --energies=-10:10:501 --plot sigma.svg --csv sigma.csv
  gpp sigma -s demo --energies=-10:10:501 --json run.json   the record of the run
  gpp sigma --from run.json --plot sigma.png                a plot of it")]
pub struct SigmaArgs {
    /// Kernel version, one; by default best, of a record the only one that it holds
    #[arg(short = 'v', long, value_name = "V")]
    pub version: Option<String>,

    /// JSON of an earlier run instead of running
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = [
            "system", "input", "seed", "energies", "nw", "device", "simd", "device_memory",
            "host_memory", "slab", "checkpoint", "json"
        ]
    )]
    pub from: Option<PathBuf>,

    /// Write all energies and sums as CSV, every number to the last bit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Plot real and imaginary parts against the energies; may be given several times
    #[arg(
        long,
        value_name = "FILE.svg|FILE.png",
        value_hint = ValueHint::FilePath,
        help_heading = "Output"
    )]
    pub plot: Vec<PathBuf>,

    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub place: DeviceArgs,

    #[command(flatten)]
    pub slabs: SlabArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl SigmaArgs {
    /// The version that is named. A checkpoint is of one that is known before the device is.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref().or(self.slabs.checkpoint.as_ref().map(|_| "best"))
    }

    /// The same as a run: one calculation.
    pub fn run(&self) -> RunArgs {
        RunArgs {
            versions: VersionArgs { version: self.version().map(String::from), journey: None },
            problem: self.problem.clone(),
            measure: MeasureArgs {
                place: self.place.clone(),
                repeat: Some(1),
                warmup: Some(0),
                settle: None,
            },
            slabs: self.slabs.clone(),
            overrides: Overrides::default(),
            unverified: false,
            output: self.output.clone(),
        }
    }

    /// The files to write besides the record, each with the flag that names it.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let csv = self.csv.iter().map(|path| ("--csv", path));
        csv.chain(self.plot.iter().map(|path| ("--plot", path)))
    }
}
