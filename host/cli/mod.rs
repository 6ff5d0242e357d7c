//! The command line.

mod compare;
mod figures;
mod generate;
mod golden;
mod info;
mod profile;
mod report;
mod roofline;
mod run;
mod scaling;
mod table;
mod tune;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::devices::Choice;
use crate::error::Error;
use crate::problem::systems::DEFAULT_SEED;
use crate::tuning::Overrides;

/// Where `profile` stores its records and the others look for them.
const DEFAULT_FOLDER: &str = "gpp-profile";

const AFTER_HELP: &str = "\
Exit codes: 0 ran and verified; 1 ran, verification failed; 2 bad usage or bad input;
3 the device asked for is missing or failed.

GPP_PTX=FILE loads the kernels from FILE instead of the PTX in the program.";

/// BerkeleyGW's GPP self-energy kernel in Rust on a GPU, version by version.
#[derive(Parser)]
#[command(
    name = "gpp",
    version,
    disable_version_flag = true,
    args_conflicts_with_subcommands = true
)]
#[command(after_help = AFTER_HELP)]
struct Cli {
    /// Print the program's version
    #[arg(short = 'V', long = "program-version", action = clap::ArgAction::Version)]
    program_version: Option<bool>,

    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    run: RunArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Write a built-in system in the reference mini-app's format, reference sums included
    Generate(GenerateArgs),
    /// Print the device, its driver and the kernels
    Info(InfoArgs),
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
    /// Time a version against each extent
    Scaling(ScalingArgs),
    /// Print the paper's Table I, live, beside its own columns
    Table(TableArgs),
    /// Evaluate the golden sums of a built-in system and print them as JSON
    Golden(GoldenArgs),
    /// Fill the figures of README and docs in from the archived runs
    Figures(FiguresArgs),
}

/// Arguments of a run.
#[derive(Args)]
pub struct RunArgs {
    /// Kernel versions: one, several with commas, or all
    #[arg(long, value_name = "V[,V…]", default_value = "all")]
    pub version: String,

    /// Built-in system
    #[arg(long, value_name = "NAME", default_value = "demo", conflicts_with = "input")]
    pub system: String,

    /// Input file in the reference mini-app's format
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,

    /// Where to run: auto, gpu, gpu:N or cpu
    #[arg(long, default_value = "auto")]
    pub device: String,

    /// Timed runs of each version
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    pub repeat: usize,

    /// Runs before them
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub warmup: usize,

    /// Seed of a built-in system
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Another shape of the best version's tiles
    #[command(flatten)]
    pub overrides: Overrides,

    /// Write the record as JSON to a file, or to standard output for -
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// No table and no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `tune`.
#[derive(Args)]
pub struct TuneArgs {
    /// Built-in system
    #[arg(long, value_name = "NAME", default_value = "si214")]
    pub system: String,

    /// Seed of the system
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Where to run: auto, gpu, gpu:N or cpu
    #[arg(long, default_value = "auto")]
    pub device: String,

    /// Timed runs of each shape
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    pub repeat: usize,

    /// No progress
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `scaling`.
#[derive(Args)]
pub struct ScalingArgs {
    /// Kernel version
    #[arg(long, value_name = "V", default_value = "best")]
    pub version: String,

    /// Complex modes instead of real ones
    #[arg(long)]
    pub complex: bool,

    /// The smallest points only
    #[arg(long)]
    pub quick: bool,

    /// Seed of the systems
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Where to run: auto, gpu, gpu:N or cpu
    #[arg(long, default_value = "auto")]
    pub device: String,

    /// Timed runs of each point
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    pub repeat: usize,

    /// Write the record as JSON to a file, or to standard output for -
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// No table and no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `generate`.
#[derive(Args)]
pub struct GenerateArgs {
    /// Built-in system
    #[arg(long, value_name = "NAME")]
    pub system: String,

    /// File to write
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,

    /// Seed
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// No progress
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `info`.
#[derive(Args)]
pub struct InfoArgs {
    /// Which device: auto, gpu, gpu:N or cpu
    #[arg(long, default_value = "auto")]
    pub device: String,
}

/// Arguments of `profile`.
#[derive(Args)]
pub struct ProfileArgs {
    /// Kernel versions: one, several with commas, or all
    #[arg(long, value_name = "V[,V…]", default_value = "all")]
    pub version: String,

    /// Built-in system
    #[arg(long, value_name = "NAME", default_value = "si214")]
    pub system: String,

    /// Seed of the system
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Which GPU
    #[arg(long, default_value = "gpu")]
    pub device: String,

    /// Folder for the records
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_FOLDER)]
    pub dir: PathBuf,

    /// The profiler
    #[arg(long, value_name = "PROGRAM", default_value = "ncu")]
    pub ncu: PathBuf,

    /// Read counters from CSV that ncu printed elsewhere, raw or details page, instead of running it
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,

    /// Take the FP64 operations of each term from the profiles in this folder: to count them takes
    /// minutes for each version of a large system
    #[arg(long, value_name = "FOLDER")]
    pub operations: Option<PathBuf>,

    /// Architecture to disassemble the kernels for, such as sm_90; by default the GPU's
    #[arg(long, value_name = "SM")]
    pub architecture: Option<String>,

    /// No warp samples by source line, which take another run
    #[arg(long)]
    pub no_lines: bool,

    /// No table and no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `roofline`.
#[derive(Args)]
pub struct RooflineArgs {
    /// Folder with the records of `gpp profile`
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_FOLDER)]
    pub dir: PathBuf,

    /// Folder for the charts; by default that of the records
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// Arguments of `report`.
#[derive(Args)]
pub struct ReportArgs {
    /// Folder with the records of `gpp profile`
    #[arg(long, value_name = "FOLDER", default_value = DEFAULT_FOLDER)]
    pub dir: PathBuf,

    /// The page; by default report.html in the folder of the records
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `table`.
#[derive(Args)]
pub struct TableArgs {
    /// Kernel versions: one, several with commas, or all
    #[arg(long, value_name = "V[,V…]", default_value = "all")]
    pub version: String,

    /// Built-in systems, several with commas
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',', default_value = "si214")]
    pub system: Vec<String>,

    /// JSON of earlier runs, several with commas, instead of running
    #[arg(long, value_name = "FILE[,FILE…]", value_delimiter = ',')]
    pub from: Vec<PathBuf>,

    /// Where to run: auto, gpu, gpu:N or cpu
    #[arg(long, default_value = "auto")]
    pub device: String,

    /// Timed runs of each version
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    pub repeat: usize,

    /// Seed of the systems
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    pub format: Format,

    /// No progress
    #[arg(long)]
    pub quiet: bool,
}

/// Forms of a table.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
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
    /// Kernel versions: one, several with commas, or all that the yardstick has
    #[arg(long, value_name = "V[,V…]", default_value = "all")]
    pub version: String,

    /// Built-in systems, several with commas
    #[arg(
        long,
        value_name = "NAME[,NAME…]",
        value_delimiter = ',',
        default_value = "si214,si214-complex"
    )]
    pub system: Vec<String>,

    /// Seed of the systems
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// Which GPU
    #[arg(long, default_value = "gpu")]
    pub device: String,

    /// Timed runs of each side
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    pub repeat: usize,

    /// The compiler of the yardstick
    #[arg(long, value_name = "PROGRAM", default_value = "nvcc")]
    pub nvcc: PathBuf,

    /// The profiler, for the counters of the best version
    #[arg(long, value_name = "PROGRAM", default_value = "ncu")]
    pub ncu: PathBuf,

    /// Write the record as JSON to a file, or to standard output for -
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,

    /// No table and no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `golden`.
#[derive(Args)]
pub struct GoldenArgs {
    /// Built-in systems, several with commas
    #[arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',', required = true)]
    pub system: Vec<String>,

    /// Seed
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    /// No progress
    #[arg(long)]
    pub quiet: bool,
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

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("needs at least 1".into()),
        Ok(n) => Ok(n),
        Err(e) => Err(format!("needs a whole number: {e}")),
    }
}

/// The device named on the command line.
fn device(name: &str) -> crate::Result<Box<dyn crate::devices::Device>> {
    let choice: Choice = name.parse()?;
    let device = crate::devices::open(choice)?;
    // Whoever built without kernels may wonder why a GPU stays idle.
    if let (Choice::Auto, Some(why)) = (choice, crate::devices::gpu::NO_KERNELS) {
        eprintln!("note: running on {}: {why}", device.info().id);
    }
    Ok(device)
}

/// Runs the command line; the one place that turns errors into exit codes.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        None => run::run(&cli.run),
        Some(Command::Generate(args)) => generate::generate(&args),
        Some(Command::Info(args)) => info::info(&args),
        Some(Command::Profile(args)) => profile::profile(&args),
        Some(Command::Roofline(args)) => roofline::roofline(&args),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::Table(args)) => table::table(&args),
        Some(Command::Compare(args)) => compare::compare(&args),
        Some(Command::Tune(args)) => tune::tune(&args),
        Some(Command::Scaling(args)) => scaling::scaling(&args),
        Some(Command::Golden(args)) => golden::golden(&args),
        Some(Command::Figures(args)) => figures::figures(&args),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            // A reader that has seen enough is no failure to report.
            let closed = error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe);
            if !closed {
                eprintln!("error: {error:#}");
            }
            ExitCode::from(error.downcast_ref::<Error>().map_or(2, Error::exit_code))
        }
    }
}
