//! Arguments of `offdiag`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use gpp_core::offdiag::versions::{self, Version};

use super::measure::{DeviceArgs, OutputArgs, at_least_one};
use super::measuring::VerifyArgs;
use super::problem::ProblemArgs;
use crate::experiments::offdiag::bands::Bands;
use crate::process::files::Files;

/// Arguments of `offdiag`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp offdiag -s tiny --bands 8                      8 × 8 elements at two energies
  gpp offdiag -s demo --bands 17:32 --csv elements.csv --plot sizes.svg
  gpp offdiag -i file.dat --elements A.npy --npy S   A of your own; S.sx.npy and S.ch.npy")]
pub struct OffdiagArgs {
    /// Bands l and m: so many, or FROM:TO, counted from 1, ends included; by default 16, on a GPU 128, or
    /// all that --elements has
    #[arg(long, value_name = "N|FROM:TO")]
    pub bands: Option<Bands>,

    /// Matrix elements of all bands to go with --input: a NumPy array of complex128 with shape (bands,
    /// nbands, ncouls) in C order
    #[arg(
        long,
        value_name = "FILE.npy",
        value_hint = ValueHint::FilePath,
        requires = "input",
        conflicts_with = "system",
        help_heading = "Problem"
    )]
    pub elements: Option<PathBuf>,

    /// How a GPU multiplies: vector, m8n8k4, m16n8k8, ring or wide; by default the fastest there for so many
    /// bands. All give the same bits
    #[arg(long = "version", value_name = "ID", value_parser = version)]
    pub version: Option<&'static Version>,

    /// Calculations, whose median time is told
    #[arg(short, long, value_name = "N", value_parser = at_least_one, default_value_t = 1)]
    pub repeat: usize,

    /// Write the matrices as NumPy arrays of shape (energies, bands, bands), [iw, l, m], to PREFIX.sx.npy and
    /// PREFIX.ch.npy
    #[arg(long, value_name = "PREFIX", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub npy: Option<PathBuf>,

    /// Write all elements as CSV, every number to the last bit, to a file, or to standard output for -
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Draw the sizes of the elements at the energy nearest to the state's; may be given several times
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
    pub verify: VerifyArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// A version by its name.
fn version(id: &str) -> Result<&'static Version, String> {
    let all = || versions::ALL.map(|version| version.id).join(", ");
    versions::find(id).ok_or_else(|| format!("there are {}", all()))
}

impl OffdiagArgs {
    /// The files that it names.
    pub fn files(&self) -> Files {
        Files::new()
            .reads("--input", &self.problem.input)
            .reads("--elements", &self.elements)
            .writes_or_prints("--json", &self.output.json)
            .writes_or_prints("--csv", &self.csv)
            .writes("--npy", self.arrays().into_iter().flatten())
            .writes("--plot", &self.plot)
    }

    /// The files of SX and CH.
    pub fn arrays(&self) -> Option<[PathBuf; 2]> {
        self.npy.as_ref().map(|prefix| {
            ["sx", "ch"].map(|part| {
                let mut name = prefix.clone().into_os_string();
                name.push(format!(".{part}.npy"));
                name.into()
            })
        })
    }
}
