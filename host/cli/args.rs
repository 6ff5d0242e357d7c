//! The arguments of every subcommand.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};

use crate::catalogue::tuned::Overrides;
use crate::problem::systems::DEFAULT_SEED;

/// Where `profile` stores its records, a folder for each system, and the others look for them.
pub const DEFAULT_FOLDER: &str = "gpp-profile";

const AFTER_HELP: &str = "\
Examples:
  gpp                                 every version, demo system, best device
  gpp -v v0-v8 -s si214 -j run.json   the paper's versions and system, as JSON
  gpp -v best -i file.dat -d gpu:1    the fastest version on your own file
  gpp list                            versions and systems
  gpp table -s si214                  the paper's Table I, live

Exit codes:
  0    ran and verified
  1    ran, verification failed
  2    bad usage or bad input
  3    the device asked for is missing or failed
  130  interrupted (143 by SIGTERM); what was done by then is printed

GPP_PTX=FILE loads the kernels from FILE instead of the PTX in the program.";

const VERSIONS_HELP: &str = "Kernel versions: ids, ranges (v0-v8), best or all, with commas";

/// BerkeleyGW's GPP self-energy kernel in Rust on a GPU, version by version.
#[derive(Parser)]
#[command(
    name = "gpp",
    version,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    max_term_width = 100,
    after_help = AFTER_HELP
)]
pub struct Cli {
    /// Print the program's version
    #[arg(short = 'V', long = "program-version", action = clap::ArgAction::Version)]
    program_version: Option<bool>,

    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Subcommand)]
pub enum Command {
    /// List the versions and the built-in systems
    List(ListArgs),
    /// Print the device, its driver and the kernels
    Info(InfoArgs),
    /// Write a built-in system in the reference mini-app's format, reference sums included
    Generate(GenerateArgs),
    /// Print the paper's Table I, live, beside its own columns
    Table(TableArgs),
    /// Profile versions with ncu and store a record for each
    Profile(ProfileArgs),
    /// Draw the rooflines of stored profiles as SVG, PNG and CSV
    Roofline(RooflineArgs),
    /// Make one self-contained HTML page of stored profiles
    Report(ReportArgs),
    /// Time versions against the yardstick in CUDA C++, alternately on the same arrays
    Compare(CompareArgs),
    /// Time the best version in every shape of tiles that has kernels
    Tune(TuneArgs),
    /// Time a version against each extent, on systems of its own: it takes no --system or --input
    Scaling(ScalingArgs),
    /// Evaluate the golden sums of a built-in system and print them as JSON
    Golden(GoldenArgs),
    /// Fill the figures of README and docs in from the archived runs
    Figures(FiguresArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

/// One problem.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Problem")]
pub struct ProblemArgs {
    /// Built-in system, see `gpp list`; by default demo, where the command is for a GPU si214
    #[arg(short, long, value_name = "NAME", conflicts_with = "input")]
    pub system: Option<String>,

    /// Input file in the reference mini-app's format
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,

    /// Seed of a built-in system, by default 214
    #[arg(long, value_name = "N", conflicts_with = "input")]
    pub seed: Option<u64>,
}

/// Several problems.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Problem")]
pub struct ProblemsArgs {
    /// Built-in systems, several with commas, see `gpp list`; by default si214 or, without a GPU, demo
    #[arg(
        short,
        long,
        value_name = "NAME[,NAME…]",
        value_delimiter = ',',
        conflicts_with = "input"
    )]
    pub system: Vec<String>,

    /// Input file in the reference mini-app's format; may be given several times
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Vec<PathBuf>,

    /// Seed of the built-in systems, by default 214
    #[arg(long, value_name = "N", conflicts_with = "input")]
    pub seed: Option<u64>,
}

/// How to measure.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Measurement")]
pub struct MeasureArgs {
    /// Where to run: auto, gpu, gpu:N or cpu
    #[arg(short, long, default_value = "auto")]
    pub device: String,

    /// Timed runs of each version or shape
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    /// Runs before them
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = runs)]
    pub warmup: usize,
}

/// Where results go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write the record as JSON to a file, or to standard output for -
    #[arg(short, long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// No tables, no progress and no notes
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of a run.
#[derive(Args)]
pub struct RunArgs {
    #[arg(short = 'v', long, value_name = "V[,V…]", default_value = "all", help = VERSIONS_HELP)]
    pub version: String,

    #[command(flatten)]
    pub problem: ProblemArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    #[command(flatten)]
    pub overrides: Overrides,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `list`.
#[derive(Args)]
pub struct ListArgs {
    /// As JSON
    #[arg(short, long)]
    pub json: bool,
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

    /// Where to run: auto, gpu, gpu:N or cpu
    #[arg(short, long, default_value = "auto")]
    pub device: String,

    /// Timed runs of each point
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `generate`.
#[derive(Args)]
#[command(after_help = "Example: gpp generate -s demo -o demo.dat && gpp -i demo.dat")]
pub struct GenerateArgs {
    /// Built-in system, see `gpp list`
    #[arg(short, long, value_name = "NAME")]
    pub system: String,

    /// File to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Seed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `info`.
#[derive(Args)]
pub struct InfoArgs {
    /// Which device: auto, gpu, gpu:N or cpu
    #[arg(short, long, default_value = "auto")]
    pub device: String,

    /// As JSON
    #[arg(short, long)]
    pub json: bool,
}

/// Arguments of `profile`.
#[derive(Args)]
#[command(after_help = "Example: gpp profile -s si214 && gpp roofline && gpp report")]
pub struct ProfileArgs {
    #[arg(short = 'v', long, value_name = "V[,V…]", default_value = "all", help = VERSIONS_HELP)]
    pub version: String,

    /// Which GPU
    #[arg(short, long, default_value = "gpu", conflicts_with = "from")]
    pub device: String,

    /// Folder for the records, by default gpp-profile/ and the system's name
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// The profiler
    #[arg(long, value_name = "PROGRAM", default_value = "ncu", conflicts_with = "from")]
    pub ncu: PathBuf,

    /// Read counters from CSV that ncu printed elsewhere, raw or details page, instead of running it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub from: Option<PathBuf>,

    /// Take the FP64 operations of each term from the profiles in this folder: to count them takes
    /// minutes for each version of a large system
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub operations: Option<PathBuf>,

    /// Architecture to disassemble the kernels for, such as sm_90; by default the GPU's
    #[arg(long, value_name = "SM")]
    pub architecture: Option<String>,

    /// No warp samples by source line, which take another run
    #[arg(long, conflicts_with = "from")]
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
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_FOLDER, value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,

    /// Folder for the charts; by default that of the records
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
}

/// Arguments of `report`.
#[derive(Args)]
pub struct ReportArgs {
    /// Folder with the records of one system; by default the one in gpp-profile/
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_FOLDER, value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,

    /// The page; by default report.html in the folder of the records
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// Arguments of `table`.
#[derive(Args)]
#[command(after_help = "Example: gpp table --from old.json,new.json --format markdown")]
pub struct TableArgs {
    #[arg(short = 'v', long, value_name = "V[,V…]", default_value = "all", help = VERSIONS_HELP)]
    pub version: String,

    /// JSON of earlier runs, several with commas, instead of running
    #[arg(
        long,
        value_name = "FILE[,FILE…]",
        value_delimiter = ',',
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["version", "system", "input", "seed", "device", "repeat", "warmup"]
    )]
    pub from: Vec<PathBuf>,

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
pub struct CompareArgs {
    #[arg(
        short = 'v',
        long,
        value_name = "V[,V…]",
        default_value = "all",
        help = "Kernel versions: ids, ranges (v0-v8), or all that the yardstick has"
    )]
    pub version: String,

    /// Which GPU
    #[arg(short, long, default_value = "gpu")]
    pub device: String,

    /// Timed runs of each side
    #[arg(short, long, value_name = "N", default_value = "5", value_parser = at_least_one)]
    pub repeat: usize,

    /// The compiler of the yardstick
    #[arg(long, value_name = "PROGRAM", default_value = "nvcc")]
    pub nvcc: PathBuf,

    /// The profiler, for the counters of the best version
    #[arg(long, value_name = "PROGRAM", default_value = "ncu")]
    pub ncu: PathBuf,

    #[command(flatten)]
    pub problems: ProblemsArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `golden`.
#[derive(Args)]
pub struct GoldenArgs {
    /// Built-in systems, several with commas
    #[arg(short, long, value_name = "NAME[,NAME…]", value_delimiter = ',', required = true)]
    pub system: Vec<String>,

    /// Seed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Arguments of `completions`.
#[derive(Args)]
#[command(
    after_help = "Example: gpp completions bash > ~/.local/share/bash-completion/completions/gpp"
)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// More runs than anyone waits for.
const MOST_RUNS: usize = 1_000_000;

fn runs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > MOST_RUNS => Err(format!("needs at most {MOST_RUNS}")),
        Ok(n) => Ok(n),
        Err(e) => Err(format!("needs a whole number up to {MOST_RUNS}: {e}")),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match runs(text)? {
        0 => Err("needs at least 1".into()),
        n => Ok(n),
    }
}

/// Arguments of `figures`.
#[derive(Args)]
pub struct FiguresArgs {
    /// Say what differs and change nothing; exit code 1 where something does
    #[arg(long)]
    pub check: bool,

    /// Markdown files, from the repository's root; all that quote the archive, and their pictures,
    /// where none is named
    pub files: Vec<String>,
}
