//! Arguments of `sigma`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::measure::{DeviceArgs, MeasureArgs, OutputArgs};
use super::measuring::{RunArgs, VerifyArgs, VersionArgs};
use super::names::VERSIONS;
use super::problem::ProblemArgs;
use super::slabs::SlabArgs;
use crate::process::files::Files;

/// Arguments of `sigma`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp sigma -s demo --energies=-10:10:501 --plot sigma.svg --csv sigma.csv
  gpp sigma -s demo --energies=-10:10:501 --json run.json   the record of the run
  gpp sigma --from run.json --plot sigma.png                a plot of it")]
pub struct SigmaArgs {
    /// Kernel version, one; by default best, of a record the only one that it holds
    #[arg(
        short = 'v',
        long,
        value_name = "V",
        value_parser = VERSIONS,
        hide_possible_values = true
    )]
    pub version: Option<String>,

    /// JSON of an earlier run, or a folder with one, instead of running
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = [
            "system", "input", "seed", "energies", "nw", "device", "simd", "device_memory",
            "host_memory", "slab", "json", "no_verify", "static_ch"
        ]
    )]
    pub from: Option<PathBuf>,

    /// Write all energies and sums as CSV, every number to the last bit, to a file, or to standard output
    /// for -
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath, help_heading = "Output")]
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
    pub verify: VerifyArgs,

    /// Sum the static CH of the same bands too: what BerkeleyGW's static remainder takes with exact_static_ch 1
    #[arg(long)]
    pub static_ch: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl SigmaArgs {
    /// The same as a run: one calculation.
    pub fn run(&self) -> RunArgs {
        RunArgs {
            versions: VersionArgs { version: self.version.clone(), journey: None },
            problem: self.problem.clone(),
            measure: MeasureArgs {
                place: self.place.clone(),
                repeat: Some(1),
                warmup: Some(0),
                settle: None,
            },
            slabs: self.slabs.clone(),
            verify: self.verify,
            static_ch: self.static_ch,
            output: self.output.clone(),
        }
    }

    /// The files that it names; who does not report writes none.
    pub fn files(&self, reports: bool) -> Files {
        let files = self.run().files(reports).reads("--from", &self.from);
        if !reports {
            return files;
        }
        files.writes_or_prints("--csv", &self.csv).writes("--plot", &self.plot)
    }
}
