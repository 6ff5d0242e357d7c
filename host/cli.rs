//! The command line: all arguments of all commands.

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use bytesize::ByteSize;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, value_parser};
use gpp_core::offdiag::MOST_BANDS;
use gpp_cpu::pool::{Room, VARIABLE, of_environment};
use gpp_cpu::simd::Level;

use crate::catalogue::BEST;
use crate::error::{Result, invalid};
use crate::output::{Progress, is_stdout, print, write_text};
use crate::problem::Even;
use crate::problem::header::LARGEST_WINDOW;
use crate::problem::heavy::TOLERANCE;
use crate::problem::range::LARGEST_POLE;
use crate::problem::synthesis::DEFAULT_SEED;
use crate::record::{self, JsonRecord};
use crate::session::MemoryLimits;

const EXAMPLES: &str = "\
Examples:
  gpp                                  v0 to v15 on the demo system; on a CPU, the CPU versions
  gpp -v best -s si214                 v13 on a GPU, cpu:static on a CPU
  gpp -v v0-v8 -s si214 -j run.json    the paper's versions and system, as JSON
  gpp -v best -i file.dat -d gpu:all   your own file, on all GPUs
  gpp sigma -s demo --energies=-10:10:501 --plot sigma.svg
  gpp explain v4";

const ALL_FLAGS: &str =
    "`gpp --help` prints every option, `gpp COMMAND --help` the options of a command.";

const MORE: &str =
    "  mpirun -n 4 gpp -v best -s si510     over MPI ranks, built with --features mpi

Exit codes:
  0    all versions ran and were verified (or not, because of --no-verify)
  1    a result is wrong or could not be verified
  2    bad usage, bad input or too little host memory
  3    the GPU is missing or failed, or its memory is too small
  130  interrupted by Ctrl-C (143 by SIGTERM); finished results are printed first

GPP_PTX=FILE loads the GPU kernels from FILE instead of those in the program.";

/// Compute the GPP self-energy of BerkeleyGW on GPUs and CPUs, and time, verify and explain the kernels
#[derive(Parser)]
#[command(
    name = "gpp",
    version,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = format!("{EXAMPLES}\n\n{ALL_FLAGS}"),
    after_long_help = format!("{EXAMPLES}\n{MORE}")
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub run: RunArgs,

    /// Print the version of the program
    #[arg(short = 'V', action = clap::ArgAction::Version)]
    program_version: Option<bool>,
}

impl Cli {
    pub fn parsed() -> Result<Cli, clap::Error> {
        let mut arguments: Vec<OsString> = std::env::args_os().collect();
        // `--version` names kernel versions, but alone it asks what it asks of all programs.
        if arguments.iter().skip(1).eq(["--version"]) {
            arguments[1] = "-V".into();
        }
        Cli::try_parse_from(arguments)
    }

    /// Fails if so many threads would stop the machine.
    pub fn threads(&self) -> Result<Option<usize>> {
        let set = match self.command.as_ref() {
            None => self.run.devices.threads,
            Some(Command::Sigma(args)) => args.run.devices.threads,
            Some(Command::Offdiag(args)) => args.devices.threads,
            Some(Command::Info(devices)) => devices.threads,
            Some(_) => None,
        };
        let set = set.map(usize::from);
        let name = if set.is_some() { "--threads" } else { VARIABLE };
        let (found, cpus) = (set.or_else(of_environment).unwrap_or(0), Room::here().all);
        if found > 64 * cpus {
            let what =
                format!("needs at most {}, 64 for each CPU that the process may use", 64 * cpus);
            return Err(invalid(format!("{name} {found}"), what));
        }
        Ok(set)
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Σ(ω) on an energy grid: table, CSV, plot
    Sigma(SigmaArgs),
    /// All elements of Σ between many bands
    #[command(mut_arg("input", |input| input.hide(true)))]
    Offdiag(OffdiagArgs),
    /// Write a built-in system to an input file
    Generate(GenerateArgs),
    /// Versions and built-in systems
    List,
    /// Device, driver, and registers and occupancy of each kernel
    Info(DeviceArgs),
    /// Times next to the published V100 figures
    Table(TableArgs),
    /// Why a version is faster or slower than the one before it
    Explain(ExplainArgs),
    /// Hardware counters with Nsight Compute
    Profile(ProfileArgs),
    /// Roofline charts of the profiles
    Roofline(RooflineArgs),
    /// Write the profiles as one HTML page
    Report(ReportArgs),
    /// PTX of a version's kernels
    Ptx(PtxArgs),
}

#[derive(Args, Clone)]
pub struct RunArgs {
    /// Versions: v0-v15, v0,v8, cpu:paired, best, all, or a series of `gpp list`
    ///
    /// Ids, ranges (v0-v8, talk:V1-V9), series (paper, talk) and the best of one (talk:best), separated by commas.
    /// By default paper,new, on a CPU the CPU versions; `best` in `gpp sigma`, for many energies, or for large problems
    /// on a CPU. `all` is every version that the device can run; a CPU emulates GPU versions.
    #[arg(short, long, value_name = "ID[,ID…]")]
    pub version: Option<String>,

    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub devices: DeviceArgs,

    /// Timed runs of each version [default: 5; in `gpp sigma` and if a run is long 1]
    #[arg(short, long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,

    /// Runs before the timed ones [default: 1]; 0 also skips the wait for a steady clock
    #[arg(short, long, value_name = "N", hide_short_help = true)]
    pub warmup: Option<u32>,

    #[command(flatten)]
    memory: MemoryArgs,

    /// G′ vectors per slab [default: what fits in memory and divides evenly among devices]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), hide_short_help = true)]
    slab: Option<u32>,

    /// Do not compare the results with reference values
    #[arg(long)]
    pub no_verify: bool,

    /// On a CPU, emulate versions for GPUs on all G′, not on a sample that takes 10 s; `gpp sigma` always does
    #[arg(long)]
    pub emulate: bool,

    /// Sum only SX − X + CH: `best` is then the fastest version for that
    #[arg(long)]
    pub sigma_alone: bool,

    /// Also sum dΣ/dω at each energy, by v15 or cpu:alone; this implies --sigma-alone
    #[arg(long, hide_short_help = true, conflicts_with = "precision")]
    pub derivative: bool,

    /// Precision of terms: single sums Σ alone, with a bound on the error, by the version that `best` then names
    #[arg(long, value_name = "NAME", default_value = "double", value_parser = ["double", "single"], hide_short_help = true)]
    pub precision: String,

    /// Share of Σ|terms| that --precision single may lose: the heaviest pairs, at most 1 %, are summed in double
    #[arg(long, value_name = "SHARE", default_value_t = TOLERANCE, value_parser = tolerance, hide_short_help = true)]
    pub tolerance: f64,

    #[command(flatten)]
    pub output: OutputArgs,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "needs a number from 0 to 1, as 1e-7".into())
}

impl RunArgs {
    pub fn is_single(&self) -> bool {
        self.precision == "single"
    }

    pub fn limits(&self) -> MemoryLimits {
        MemoryLimits { slab: self.slab.map(|igp| igp as usize), ..self.memory.limits() }
    }
}

/// The default system of commands for GPUs.
pub const PAPER_SYSTEM: &str = "si214";

/// The default system of other commands, and on a CPU.
pub const SMALL_SYSTEM: &str = "demo";

#[derive(Args, Clone, Debug)]
pub struct ProblemArgs {
    /// Built-in system, see `gpp list` [default: demo; si214 for profile and, on a GPU, for offdiag]
    #[arg(short, long, value_name = "NAME", conflicts_with = "input")]
    pub system: Option<String>,

    /// Input file in the format of BerkeleyGW's mini-app
    #[arg(short, long, value_name = "FILE")]
    pub input: Option<PathBuf>,

    /// Seed of a built-in system [default: 214]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..=SEEDS), conflicts_with = "input", hide_short_help = true)]
    pub seed: Option<u64>,

    /// Energies in eV relative to the state's energy: -10:10:501, or a single one
    #[arg(long, value_name = "FROM:TO:COUNT", allow_hyphen_values = true)]
    pub energies: Option<Even>,

    /// What a term is: BerkeleyGW's, or time-ordered (needs --eta), that of other codes, without near form and cutoff
    #[arg(long, value_name = "NAME", default_value = "berkeleygw", value_parser = ["berkeleygw", "time-ordered"])]
    #[arg(hide_short_help = true)]
    formula: String,

    /// Broadening η in eV of --formula time-ordered, 0 for none
    #[arg(long, value_name = "EV", value_parser = |text: &str| within(text, LARGEST_POLE), allow_negative_numbers = true)]
    #[arg(hide_short_help = true, required_if_eq("formula", "time-ordered"))]
    eta: Option<f64>,

    /// Distance in eV from a real pole within which --formula time-ordered --eta 0 has this broadening
    #[arg(long, value_name = "EV", value_parser = |text: &str| within(text, LARGEST_WINDOW), allow_negative_numbers = true)]
    #[arg(hide_short_help = true, default_value_t, requires = "eta")]
    window: f64,
}

impl ProblemArgs {
    /// Broadening and window of the time-ordered formula, none for BerkeleyGW's.
    pub fn time_ordered(&self) -> Result<Option<[f64; 2]>> {
        if self.formula == "berkeleygw" && self.eta.is_some() {
            return Err(invalid(
                "--eta",
                "is the broadening of --formula time-ordered, which is not given",
            ));
        }
        Ok(self.eta.map(|eta| [eta, self.window]))
    }
}

fn within(text: &str, most: f64) -> Result<f64, String> {
    let ev = text.parse().ok().filter(|ev| (0.0..=most).contains(ev));
    ev.ok_or_else(|| "needs a number of eV that is not negative".into())
}

#[derive(Args, Clone, Debug)]
pub struct DeviceArgs {
    /// auto, cpu, gpu, gpu:N, gpu:0,1 or gpu:all
    #[arg(short, long, default_value = "auto")]
    pub device: String,

    /// SIMD level of versions for CPUs [default: the widest]
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = PossibleValuesParser::from(Level::available().into_iter().map(Level::name)),
        hide_short_help = true
    )]
    simd: Option<String>,

    /// CPU threads [default: OMP_NUM_THREADS, else one per CPU; cpu:threads, cpu:simd, cpu:blocked: per core]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..), hide_short_help = true)]
    pub threads: Option<u16>,
}

/// The largest seed: every reader of JSON keeps it.
const SEEDS: u64 = 1 << 53;

/// A file or a folder to write, not standard output.
fn name(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("standard output is not possible here; name a file or folder, or /dev/stdout for a pipe".into()),
        _ => Ok(text.into()),
    }
}

fn svg(text: &str) -> Result<PathBuf, String> {
    let path = name(text)?;
    let is_svg = path.extension().is_some_and(|extension| extension == "svg");
    is_svg.then_some(path).ok_or_else(|| "a plot's name must end in .svg".into())
}

fn bytes(text: &str) -> Result<u64, String> {
    let size = text.parse().map(|size: ByteSize| size.as_u64());
    size.map_err(|_| "needs a size such as 2GiB or 500MB".into())
}

impl DeviceArgs {
    pub fn level(&self) -> Level {
        self.simd.as_deref().and_then(Level::by_name).unwrap_or_else(Level::best)
    }
}

#[derive(Args, Clone, Debug)]
pub struct MemoryArgs {
    /// GPU memory to use for arrays, e.g. 2GiB; what does not fit is streamed [default: all that is free]
    #[arg(long, value_name = "BYTES", value_parser = bytes, hide_short_help = true)]
    pub device_memory: Option<u64>,

    /// Host memory to use, for all ranks of a host [default: all that is free]
    #[arg(long, value_name = "BYTES", value_parser = bytes, hide_short_help = true)]
    pub host_memory: Option<u64>,
}

impl MemoryArgs {
    pub fn limits(&self) -> MemoryLimits {
        MemoryLimits { device: self.device_memory, host: self.host_memory, slab: None }
    }
}

#[derive(Args, Clone, Debug)]
pub struct OutputArgs {
    /// Write the results as JSON (- for standard output)
    #[arg(short, long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No tables, progress or notes
    #[arg(short, long)]
    pub quiet: bool,
}

impl OutputArgs {
    pub fn silent() -> OutputArgs {
        OutputArgs { json: None, quiet: true }
    }

    pub fn progress(&self) -> Progress {
        Progress { shown: !self.quiet }
    }

    /// Prints `text`, unless none is wanted or standard output is for the JSON, and writes that, even if printing fails.
    pub fn show<R: JsonRecord>(
        &self,
        record: &R,
        text: impl FnOnce(&mut dyn Write, &R) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let is_silent = self.quiet || self.json.as_deref().is_some_and(is_stdout);
        let printed = if is_silent { Ok(()) } else { print(|to| text(to, record)) };
        if let Some(path) = &self.json {
            write_text(path, &record::text(record))?;
        }
        Ok(printed?)
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp sigma -s demo --energies=-10:10:501 --plot sigma.svg --csv sigma.csv
  gpp sigma -i file.dat -v cpu:paired --json run.json")]
pub struct SigmaArgs {
    /// Write all energies and sums as CSV in full precision (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Plot real and imaginary parts; may be repeated
    #[arg(long, value_name = "FILE.svg", value_parser = svg)]
    pub plot: Vec<PathBuf>,

    #[command(flatten)]
    run: RunArgs,
}

impl SigmaArgs {
    /// A run of one version, `best` by default, and of one calculation.
    pub fn run(&self) -> RunArgs {
        let run = self.run.clone();
        RunArgs {
            version: run.version.or(Some(BEST.into())),
            repeat: run.repeat.or(Some(1)),
            warmup: run.warmup.or(Some(0)),
            // Σ of a sample is none.
            emulate: true,
            ..run
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp offdiag -s tiny --bands 8                      8 × 8 elements at two energies
  gpp offdiag -s demo --bands 17:32 --npy S          bands 17 to 32
  gpp offdiag -s si510 -d gpu:all                    on all GPUs")]
pub struct OffdiagArgs {
    /// Bands of the matrix Σ_lm: the first N, or FROM:TO [default: 16, on a GPU 128]
    #[arg(long, value_name = "N|FROM:TO", value_parser = bands, allow_hyphen_values = true)]
    pub bands: Option<Range<usize>>,

    /// Sum Σ only, not SX and CH: up to a third fewer products
    #[arg(long)]
    pub sigma_alone: bool,

    /// Versions for GPUs: vector, m8n8k4, ring, … of `gpp list`, or all [default: the fastest]. All give the same
    /// bits
    #[arg(short, long, value_name = "ID[,ID…]")]
    pub version: Option<String>,

    /// Calculations to time; the median is reported
    #[arg(short, long, value_name = "N", value_parser = value_parser!(u32).range(1..), default_value_t = 1)]
    pub repeat: u32,

    /// Write the matrices as NumPy arrays [iw, l, m] to PREFIX.sx.npy and PREFIX.ch.npy
    ///
    /// With --sigma-alone, Σ is written to PREFIX.sigma.npy.
    #[arg(long, value_name = "PREFIX")]
    pub npy: Option<PathBuf>,

    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub devices: DeviceArgs,

    #[command(flatten)]
    pub memory: MemoryArgs,

    /// Do not compare the results with reference values
    #[arg(long)]
    pub no_verify: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Bands l and m from 0, of the text of `--bands`.
pub fn bands(text: &str) -> Result<Range<usize>, String> {
    let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST_BANDS).contains(n));
    let (from, to) = match text.split_once(':') {
        Some((from, to)) => (number(from), number(to)),
        None => (Some(1), number(text)),
    };
    match (from, to) {
        (Some(from), Some(to)) if from <= to => Ok(from - 1..to),
        _ => Err(format!("needs a number of bands or FROM:TO, from 1 to {MOST_BANDS}")),
    }
}

#[derive(Args)]
#[command(after_help = "Example: gpp generate -s demo -o demo.dat && gpp -i demo.dat")]
pub struct GenerateArgs {
    /// Built-in system, see `gpp list`
    #[arg(short, long, value_name = "NAME")]
    pub system: String,

    /// File to write, with reference values
    #[arg(short, long, value_name = "FILE", value_parser = name)]
    pub output: PathBuf,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..=SEEDS), default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
#[command(after_help = "Example: gpp ptx v4 > v4.ptx")]
pub struct PtxArgs {
    /// Versions for GPUs, as for `gpp --version`
    #[arg(value_name = "VERSION", required = true)]
    pub versions: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "Example: gpp -s si214 --json run.json && gpp table --from run.json")]
pub struct TableArgs {
    /// A run of `gpp` or `gpp offdiag`: its JSON, or a folder of `gpp profile`
    #[arg(long, value_name = "FOLDER|FILE", default_value = DEFAULT_FOLDER)]
    pub from: PathBuf,

    /// Draws the times as bars, each series in its colour
    #[arg(long, value_name = "FILE.svg", value_parser = svg)]
    pub plot: Option<PathBuf>,
}

/// Where `profile` stores its records, and the others look for them.
pub const DEFAULT_FOLDER: &str = "gpp-profile";

#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp explain v4
  gpp explain v8 --before v3
  gpp explain paper --from run.json")]
pub struct ExplainArgs {
    /// Versions as for `gpp --version`
    #[arg(value_name = "VERSION", required = true)]
    pub versions: Vec<String>,

    /// Compare with this version, with the whole change of the source [default: the version before]
    #[arg(long, value_name = "VERSION")]
    pub before: Option<String>,

    /// Measurements: a folder of `gpp profile` or the JSON of a run [default: gpp-profile/ if it exists, or else the archived profiles in this program]
    #[arg(long, value_name = "FOLDER|FILE")]
    pub from: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Example: gpp profile -s si214 && gpp roofline && gpp report")]
pub struct ProfileArgs {
    /// Versions, named as for `gpp --version`
    #[arg(short, long, value_name = "ID[,ID…]")]
    pub version: Option<String>,

    /// GPU to profile on: gpu or gpu:N
    #[arg(short, long, default_value = "gpu")]
    pub device: String,

    /// Folder for the records of one system
    #[arg(short, long, value_name = "FOLDER", value_parser = name, default_value = DEFAULT_FOLDER)]
    pub output: PathBuf,

    /// The program of Nsight Compute
    #[arg(long, value_name = "PROGRAM", default_value = "ncu")]
    pub ncu: PathBuf,

    /// No tables, progress or notes
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub problem: ProblemArgs,
}

#[derive(Args)]
pub struct RooflineArgs {
    /// Folder of `gpp profile`
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_FOLDER)]
    pub from: PathBuf,

    /// Folder for the charts [default: the current one]
    #[arg(short, long, value_name = "FOLDER", value_parser = name)]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct ReportArgs {
    /// Folder of `gpp profile`
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_FOLDER)]
    pub from: PathBuf,

    /// HTML file to write
    #[arg(short, long, value_name = "FILE", default_value = "report.html", value_parser = name)]
    pub output: PathBuf,
}
