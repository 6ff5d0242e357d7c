//! Arguments of `offdiag`.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::{Args, ValueEnum, ValueHint};
use gpp_core::offdiag::versions::{self, Version};

use super::measure::{DeviceArgs, OutputArgs, at_least_one};
use super::measuring::VerifyArgs;
use super::problem::ProblemArgs;
use super::slabs::bytes;
use crate::experiments::offdiag::bands::Bands;
use crate::experiments::room::Limits;
use crate::process::files::Files;

/// Arguments of `offdiag`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp offdiag -s tiny --bands 8                      8 × 8 elements at two energies
  gpp offdiag -s demo --bands 17:32 --csv elements.csv --plot sizes.svg
  gpp offdiag -i file.dat --elements A.npy --npy S   A of your own; S.sx.npy and S.ch.npy
  gpp offdiag -s demo --bands 32 --at bands --npy S  as QSGW takes it; S.qsgw.npy
  gpp offdiag -s si510 -d gpu:all                    on all GPUs
  mpirun -n 4 gpp offdiag -s si510                   over ranks, built with --features mpi")]
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

    /// Sum at the bands' own energies: Σ_lm(E_l), Σ_lm(E_m), the Hermitian part of their mean, as QSGW takes it,
    /// and its eigenvalues. The energy of band l is that of the problem's band n of the same number: they are the
    /// bands of one k-point
    #[arg(
        long,
        value_name = "bands",
        conflicts_with_all = ["energies", "nw"],
        help_heading = "Problem"
    )]
    pub at: Option<EnergiesOf>,

    /// Memory to take of each GPU for arrays, as 2GiB; matrix elements that do not fit are brought again in each
    /// calculation. By default all that is free
    #[arg(long, value_name = "LIMIT", value_parser = bytes)]
    pub device_memory: Option<ByteSize>,

    /// Memory to take of the host, for all ranks on it
    #[arg(long, value_name = "LIMIT", value_parser = bytes)]
    pub host_memory: Option<ByteSize>,

    /// How a GPU multiplies: vector, m8n8k4, m16n8k8, ring, m16n8k16 or wide, several with commas, or all, one
    /// after the other; by default the fastest there for so many bands. All give the same bits. For GPUs only
    #[arg(short = 'v', long, value_name = "ID[,ID…]", value_parser = named)]
    pub version: Option<Versions>,

    /// Calculations to time, whose median is told. Before several, an untimed one brings the matrix elements
    #[arg(short, long, value_name = "N", value_parser = at_least_one, default_value_t = 1)]
    pub repeat: usize,

    /// Write the matrices as NumPy arrays of shape (energies, bands, bands), [iw, l, m], to PREFIX.sx.npy and
    /// PREFIX.ch.npy; with --at bands [0, l, m] at E_l, [1, l, m] at E_m, and the Hermitian part of their mean,
    /// [l, m], to PREFIX.qsgw.npy
    #[arg(long, value_name = "PREFIX", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub npy: Option<PathBuf>,

    /// Write all elements as CSV, every number to the last bit, to a file, or to standard output for -
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Draw the sizes of the elements at the energy nearest to the state's; may be given several times. A
    /// terminal shows them in shades without it
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

/// Versions by their names.
#[derive(Clone, Debug)]
pub struct Versions(pub Vec<&'static Version>);

fn named(text: &str) -> Result<Versions, String> {
    if text == "all" {
        return Ok(Versions(versions::ALL.to_vec()));
    }
    let all = || versions::ALL.map(|version| version.id).join(", ");
    let of = |id| versions::find(id).ok_or_else(|| format!("there are {} and all", all()));
    text.split(',').map(of).collect::<Result<_, _>>().map(Versions)
}

impl OffdiagArgs {
    /// The files that it names; who does not report writes none.
    pub fn files(&self, reports: bool) -> Files {
        let files =
            Files::new().reads("--input", &self.problem.input).reads("--elements", &self.elements);
        if !reports {
            return files;
        }
        let qsgw = self.array("qsgw").filter(|_| self.at.is_some());
        files
            .writes_or_prints("--json", &self.output.json)
            .writes_or_prints("--csv", &self.csv)
            .writes("--npy", self.arrays().into_iter().flatten().chain(qsgw))
            .writes("--plot", &self.plot)
    }

    /// What is said of memory.
    pub fn limits(&self) -> Limits {
        let bytes = |limit: Option<ByteSize>| limit.map(|limit| limit.as_u64());
        let (device, host) = (bytes(self.device_memory), bytes(self.host_memory));
        Limits { device, host, ..Limits::default() }
    }

    /// The files of SX and CH.
    pub fn arrays(&self) -> Option<[PathBuf; 2]> {
        Some([self.array("sx")?, self.array("ch")?])
    }

    /// The file of an array of this name.
    pub fn array(&self, part: &str) -> Option<PathBuf> {
        self.npy.as_ref().map(|prefix| {
            let mut name = prefix.clone().into_os_string();
            name.push(format!(".{part}.npy"));
            name.into()
        })
    }
}

/// Whose energies elements are summed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EnergiesOf {
    /// Those of the bands l and m.
    Bands,
}
