//! The arguments of every subcommand.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Parser, Subcommand, ValueEnum, ValueHint};
use gpp_core::offdiag::versions as matrices;
use gpp_core::offdiag::versions::{self, Version};
use gpp_cpu::pool::Room;
use gpp_cpu::pool::{MOST, Team};
use gpp_cpu::simd::Level;

use crate::catalogue::names::{self, MAIN, require_journeys};
use crate::catalogue::{BackEnd, JOURNEYS, Listed};
use crate::devices::host::Host;
use crate::devices::{self, Choice};
use crate::devices::{Device, DeviceInfo};
use crate::error::{self, Error, Result};
use crate::explain::matrices::JOURNEY;
use crate::measure::settle;
use crate::memory::Limits;
use crate::offdiag::Bands;
use crate::output::{Files, is_stdout, print};
use crate::problem::grid::{Even, Grid};
use crate::problem::header::MOST_ENERGIES;
use crate::problem::systems::{DEFAULT_SEED, SYSTEMS};
use crate::progress::Progress;
use crate::record::run::Repetition;
use crate::record::{self, Record};
use crate::setup::Source;

const AFTER_HELP: &str = "\
Examples:
  gpp                                 the paper's versions and those past it, demo system; without a
                                      GPU those for a CPU, then the paper's, emulated
  gpp -s si214 -d cpu                 the fastest version for a CPU
  gpp -v v0-v8 -s si214 -j run.json   the paper's versions and system, as JSON
  gpp -v best -i file.dat -d gpu:1    the fastest version on your own file
  gpp -v best -s si510 -d gpu:all     on all GPUs, each with a part of the slabs
  gpp --journey talk -s si214         the versions of another journey, talk:V1 to talk:bgw
  gpp sigma -s demo --energies=-10:10:501 --plot sigma.svg
                                      Σ(ω), plotted
  gpp list                            versions, journeys and systems
  gpp table -s si214                  the paper's Table I, live
  gpp diff old.json new.json          two runs, version by version

Exit codes:
  0    ran and verified, or not verified as --no-verify asks
  1    ran, verification failed
  2    bad usage or bad input, or too little memory on the host
  3    the device asked for is missing or failed
  130  interrupted (143 by SIGTERM, 138 by SIGUSR1); what was done is printed. A calculation in
       several slabs ends after those at hand. Results that are being shown are shown whole;
       then the code is theirs

GPP_PTX=FILE loads the kernels from FILE instead of the PTX in the program.";

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
    /// Print the program's version; so does --version alone
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
    /// Run a version on a grid of energies: Σ(ω) as a table, CSV and a plot
    Sigma(SigmaArgs),
    /// Sum Σ as a matrix: the elements between any two of many bands
    Offdiag(OffdiagArgs),
    /// Print the device, its driver and the kernels
    Info(InfoArgs),
    /// Write a built-in system in the reference mini-app's format, reference sums included
    Generate(GenerateArgs),
    /// Print the paper's Table I, or a journey's own, live, beside the published columns
    Table(TableArgs),
    /// Print the PTX of a version's kernels
    Ptx(PtxArgs),
    /// Profile versions with ncu and store a record for each
    Profile(ProfileArgs),
    /// Draw the rooflines of stored profiles as SVG, PNG and CSV
    Roofline(RooflineArgs),
    /// Make one self-contained HTML page of stored profiles
    Report(ReportArgs),
    /// Say why versions take the time that they take: what changed in source and counters, and a verdict
    Explain(ExplainArgs),
    /// Say what changed from one version to another, in source and counters, or from one run to another
    Diff(DiffArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

// Forms in which tables and cards are printed.

/// For people or for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a page.
    Markdown,
}

// Arguments that take names, one or several with commas: none of them is empty, and completions know them
// all. What is no name of anything is told later, with those like it.

/// Takes names, and knows which there are.
#[derive(Clone, Copy)]
pub struct Names(fn() -> Vec<&'static str>);

/// Names of versions and of what stands for several.
pub const VERSIONS: Names = Names(names::known);

/// Names of journeys.
pub const STORIES: Names = Names(|| JOURNEYS.iter().map(|told| told.id).collect());

/// Names of versions that are explained: also of Σ as a matrix.
pub const EXPLAINED: Names = Names(|| {
    let matrices = versions::ALL.iter().map(|version| version.id);
    names::known().into_iter().chain(matrices).chain([JOURNEY]).collect()
});

/// Names of their journeys.
pub const EXPLAINED_STORIES: Names =
    Names(|| JOURNEYS.iter().map(|told| told.id).chain([JOURNEY]).collect());

/// Names of built-in systems.
pub const BUILT_IN: Names = Names(|| SYSTEMS.iter().map(|system| system.name.as_str()).collect());

/// Names of devices.
pub const DEVICES: Names = Names(|| devices::NAMED.to_vec());

/// Names of a processor's vectors.
pub const VECTORS: Names = Names(|| Level::ALL.map(Level::name).to_vec());

impl Names {
    /// An unknown name is unknown among these.
    pub fn among(self, error: Error) -> Error {
        match error {
            Error::Unknown { what, name, .. } => Error::unknown(what, &name, (self.0)()),
            other => other,
        }
    }
}

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let parser: fn(&str) -> Result<String, String> = none_empty;
        parser.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// The names as they are given.
fn none_empty(text: &str) -> Result<String, String> {
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    match names.iter().position(|name| name.is_empty()) {
        None => Ok(text.into()),
        Some(_) if names.len() == 1 => Err("needs a name, see `gpp list`".into()),
        Some(at) => {
            let (at, count) = (at + 1, names.len());
            Err(format!("name {at} of {count} is empty: commas stand between names"))
        }
    }
}

// Which problem.

/// The system that commands for a GPU run without `--system`.
pub const PAPER_SYSTEM: &str = "si214";

/// The system of other commands, and of those on a CPU.
pub const SMALL_SYSTEM: &str = "demo";

/// Other energies than the problem's own.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Problem")]
pub struct EnergyArgs {
    /// Energies to evaluate at, in eV above the state's: COUNT from FROM to TO, ends included, as
    /// -10:10:501, or one alone
    #[arg(long, value_name = "FROM:TO:COUNT", allow_hyphen_values = true, conflicts_with = "nw")]
    pub energies: Option<Even>,

    /// As many energies with the problem's own spacing, from its first one on
    #[arg(long, value_name = "N", value_parser = energies)]
    pub nw: Option<usize>,
}

impl EnergyArgs {
    /// The energies asked for.
    pub fn grid(&self) -> Option<Grid> {
        self.energies.map(Grid::Even).or(self.nw.map(Grid::Count))
    }
}

/// A number of energies.
fn energies(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=MOST_ENERGIES) => Ok(count),
        _ => Err(format!("needs a whole number from 1 to {MOST_ENERGIES}")),
    }
}

/// One problem.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Problem")]
pub struct ProblemArgs {
    /// Built-in system, see `gpp list`; by default demo, or si214 in commands that need a GPU
    #[arg(
        short,
        long,
        value_name = "NAME",
        value_parser = BUILT_IN,
        hide_possible_values = true,
        conflicts_with = "input"
    )]
    pub system: Option<String>,

    /// Input file in the reference mini-app's format
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Option<PathBuf>,

    /// Seed of a built-in system, by default 214
    #[arg(long, value_name = "N", conflicts_with = "input")]
    pub seed: Option<u64>,

    #[command(flatten)]
    pub energies: EnergyArgs,
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
        value_parser = BUILT_IN,
        hide_possible_values = true,
        conflicts_with = "input"
    )]
    pub system: Vec<String>,

    /// Input file in the reference mini-app's format; may be given several times
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub input: Vec<PathBuf>,

    /// Seed of the built-in systems, by default 214
    #[arg(long, value_name = "N", conflicts_with = "input")]
    pub seed: Option<u64>,

    #[command(flatten)]
    pub energies: EnergyArgs,
}

impl ProblemArgs {
    /// Whether one is named.
    pub fn is_named(&self) -> bool {
        self.system.is_some() || self.input.is_some()
    }

    /// The problem named, or this system.
    pub fn source_or(&self, system: &str) -> Result<Source> {
        let grid = self.energies.grid();
        if let Some(path) = &self.input {
            return Ok(Source::File(path.clone()).at(grid));
        }
        let name = self.system.as_deref().unwrap_or(system);
        Ok(Source::system(name, self.seed.unwrap_or(DEFAULT_SEED))?.at(grid))
    }

    /// The problem named, or what the device can take.
    pub fn source_for(&self, device: &DeviceInfo, progress: Progress) -> Result<Source> {
        self.source_or(default_for(device, self.is_named(), progress))
    }
}

impl ProblemsArgs {
    /// The problems named; those that are not there are said before any device is opened.
    pub fn named(&self) -> Result<Vec<Source>> {
        let systems = self.system.iter().map(|name| self.default_system(name));
        let file = |path: &PathBuf| Ok(Source::File(path.clone()).at(self.energies.grid()));
        systems.chain(self.input.iter().map(file)).collect()
    }

    /// This system, with the seed and at the energies given.
    pub fn default_system(&self, name: &str) -> Result<Source> {
        Ok(Source::system(name, self.seed())?.at(self.energies.grid()))
    }

    /// The seed of built-in systems.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }
}

/// The system to run where none is named.
pub fn default_for(device: &DeviceInfo, named: bool, progress: Progress) -> &'static str {
    if device.back_end() == BackEnd::Gpu {
        return PAPER_SYSTEM;
    }
    if !named {
        progress.say(format_args!(
            "note: system {SMALL_SYSTEM}; {PAPER_SYSTEM} takes hours emulated on a CPU (--system \
             {PAPER_SYSTEM} runs it all the same)"
        ));
    }
    SMALL_SYSTEM
}

// How a problem is parted into slabs.

/// How much memory to take for arrays.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Slabs")]
pub struct MemoryArgs {
    /// Memory to take of each GPU for arrays, as 2GiB; what does not fit streams slab by slab. By default
    /// all that is free
    #[arg(long, value_name = "LIMIT", value_parser = bytes)]
    pub device_memory: Option<ByteSize>,

    /// The same of the host, for all ranks on it
    #[arg(long, value_name = "LIMIT", value_parser = bytes)]
    pub host_memory: Option<ByteSize>,
}

impl MemoryArgs {
    /// What is said of memory.
    pub fn limits(&self) -> Limits {
        Limits {
            device: self.device_memory.map(|limit| limit.as_u64()),
            host: self.host_memory.map(|limit| limit.as_u64()),
            slab: None,
        }
    }
}

/// Slabs: ranges of G′ that several devices share, or that follow each other where memory is short.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Slabs")]
pub struct SlabArgs {
    #[command(flatten)]
    pub memory: MemoryArgs,

    /// G′ vectors of a slab, a multiple of a kernel's groups; by default what memory holds and devices
    /// share evenly
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub slab: Option<usize>,
}

impl SlabArgs {
    /// What is said of memory and slabs.
    pub fn limits(&self) -> Limits {
        Limits { slab: self.slab, ..self.memory.limits() }
    }
}

fn bytes(text: &str) -> Result<ByteSize, String> {
    match text.parse::<ByteSize>() {
        Ok(bytes) if bytes.as_u64() > 0 => Ok(bytes),
        Ok(_) => Err("needs at least one byte".into()),
        Err(reason) => Err(format!("needs a number of bytes, as 2GiB or 500MB: {reason}")),
    }
}

// How to measure and where results go.

/// How to measure.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Measurement")]
pub struct MeasureArgs {
    #[command(flatten)]
    pub place: DeviceArgs,

    /// Timed runs of each version, by default 5; on a CPU 1 of what is emulated and of large problems
    #[arg(short, long, value_name = "N", value_parser = at_least_one)]
    pub repeat: Option<usize>,

    /// Runs before them, by default 1; on a CPU none of what is emulated and of large problems
    #[arg(short, long, value_name = "N", value_parser = runs)]
    pub warmup: Option<usize>,

    /// Seconds of a series of runs, 200 runs at most: there are series until two of them take the same time, and
    /// the last one counts. By default 1 on a GPU that NVML shows; none elsewhere, and none with --warmup 0
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub settle: Option<Duration>,
}

/// The device that is the best there is.
pub const AUTO: &str = "auto";

/// Where to run.
#[derive(Args, Clone, Debug)]
pub struct DeviceArgs {
    /// Where to run: auto, gpu, gpu:N or cpu; a run takes several GPUs, gpu:0,1,3 or gpu:all
    #[arg(
        short,
        long,
        default_value = AUTO,
        value_parser = DEVICES,
        hide_possible_values = true
    )]
    pub device: String,

    /// The CPU's vectors, for versions made for it: scalar, neon, avx2 or avx512; by default the widest
    /// that it has
    #[arg(long, value_name = "LEVEL", value_parser = VECTORS, hide_possible_values = true)]
    pub simd: Option<String>,

    #[command(flatten)]
    pub threads: ThreadsArgs,
}

/// How many threads compute on the CPU.
#[derive(Args, Clone, Copy, Debug)]
pub struct ThreadsArgs {
    /// Threads on the CPU; by default as many as OMP_NUM_THREADS says, else as there are cores or, of some
    /// versions, processors
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
}

/// Where results go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Write the record as JSON to a file, or to standard output for -
    #[arg(short, long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// No tables, no progress and no notes, but of a GPU that is missing or fails
    #[arg(short, long)]
    pub quiet: bool,
}

impl MeasureArgs {
    /// How often and for how long each version runs on a device, for a problem of so many terms.
    pub fn repetition(&self, on: &dyn Device, terms: u64) -> Repetition {
        let large = on.back_end() == BackEnd::Cpu && terms > LARGE;
        let times = self.or(if large { LONG } else { Repetition::exactly(1, 5) });
        Repetition { settle: self.settle.unwrap_or_else(|| settle(on, self.warmup)), ..times }
    }

    /// How often each one runs that is emulated, whose time tells nothing.
    pub fn emulated(&self) -> Repetition {
        self.or(LONG)
    }

    fn or(&self, default: Repetition) -> Repetition {
        Repetition {
            warmup: self.warmup.unwrap_or(default.warmup),
            repeat: self.repeat.unwrap_or(default.repeat),
            settle: self.settle.unwrap_or_default(),
        }
    }
}

/// What a problem is run for that takes long.
const LONG: Repetition = Repetition::exactly(0, 1);

/// Terms beyond which a calculation takes a processor more than a second.
const LARGE: u64 = 1_000_000_000;

impl DeviceArgs {
    /// The device asked for.
    pub fn choice(&self) -> error::Result<Choice> {
        self.device.parse()
    }

    /// The vectors asked for.
    pub fn level(&self) -> error::Result<Option<Level>> {
        let Some(name) = &self.simd else { return Ok(None) };
        let level = Level::by_name(name)
            .ok_or_else(|| Error::unknown("vectors", name, Level::ALL.map(Level::name)))?;
        if level.is_available() {
            return Ok(Some(level));
        }
        let has: Vec<&str> = Level::available().into_iter().map(Level::name).collect();
        let what = format!("this processor has no {level}, it has {}", has.join(", "));
        Err(Error::Input { origin: format!("--simd {name}"), what })
    }

    /// The processor with vectors and threads as asked for, of a process that has this room.
    pub fn host(&self, room: Room) -> error::Result<Host> {
        let level = self.level()?.unwrap_or_else(Level::best);
        let host = Host::with_team(level, Arc::new(Team::new(room)));
        Ok(match self.threads.threads {
            Some(threads) => host.with_threads(threads),
            None => host,
        })
    }
}

impl OutputArgs {
    /// For a process that reports nothing.
    pub fn silent() -> OutputArgs {
        OutputArgs { json: None, quiet: true }
    }

    /// Whether long work shows its progress.
    pub fn progress(&self) -> Progress {
        Progress { shown: !self.quiet }
    }

    /// Prints a record as `text` says, unless nothing or JSON is to be printed, and writes it where
    /// it was asked for. One that fails does not keep the other from being written.
    pub fn show<R: Record>(
        &self,
        record: &R,
        text: impl FnOnce(&mut dyn Write, &R) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let to_stdout = self.json.as_deref().is_some_and(is_stdout);
        let silent = self.quiet || to_stdout;
        let printed = if silent { Ok(()) } else { print(|to| text(to, record)) };
        if let Some(path) = &self.json {
            record::write(path, record)?;
        }
        Ok(printed?)
    }
}

/// More seconds than anyone waits for.
const LONGEST: Duration = Duration::from_secs(3600);

pub fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|time| Duration::try_from_secs_f64(time).ok());
    time.filter(|time| *time <= LONGEST)
        .ok_or_else(|| format!("needs seconds, a number from 0 to {}", LONGEST.as_secs()))
}

/// More runs than anyone waits for.
const MOST_RUNS: usize = 1_000_000;

pub fn runs(text: &str) -> Result<usize, String> {
    count(text, 0..=MOST_RUNS)
}

pub fn at_least_one(text: &str) -> Result<usize, String> {
    count(text, 1..=MOST_RUNS)
}

fn threads(text: &str) -> Result<usize, String> {
    count(text, 1..=MOST)
}

fn count(text: &str, range: RangeInclusive<usize>) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if range.contains(&count) => Ok(count),
        _ => Err(format!("needs a whole number from {} to {}", range.start(), range.end())),
    }
}

// Arguments of the commands that measure.

/// Which versions.
#[derive(Args, Clone, Debug)]
pub struct VersionArgs {
    /// Kernel versions: ids, ranges (v0-v8, talk:V1-V9), best or all, with commas; also journeys
    /// (paper, talk) and the best of one (talk:best). By default paper,past; on a CPU, or with --energies,
    /// best. best is the fastest for the problem. all is every version that the device runs; a CPU runs its
    /// own, then emulates the others
    #[arg(
        short = 'v',
        long,
        value_name = "V[,V…]",
        value_parser = VERSIONS,
        hide_possible_values = true
    )]
    pub version: Option<String>,

    /// Journeys, see `gpp list`: all versions of each, as --version NAME has them
    #[arg(
        long,
        value_name = "NAME[,NAME…]",
        value_parser = STORIES,
        hide_possible_values = true,
        conflicts_with = "version"
    )]
    pub journey: Option<String>,
}

impl VersionArgs {
    /// The names given, or the journeys that run without any.
    pub fn names(&self) -> error::Result<&str> {
        Ok(self.given()?.unwrap_or(MAIN))
    }

    /// The names given.
    pub fn given(&self) -> error::Result<Option<&str>> {
        if let Some(journeys) = &self.journey {
            require_journeys(journeys)?;
        }
        Ok(self.version.as_deref().or(self.journey.as_deref()))
    }
}

/// Whether sums are compared.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct VerifyArgs {
    /// Compare the sums with nothing: results are marked not verified
    #[arg(long, alias = "unverified")]
    pub no_verify: bool,
}

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
    pub verify: VerifyArgs,

    /// Whether the static CH is summed too, which `sigma` has a flag for.
    #[arg(skip)]
    pub static_ch: bool,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl RunArgs {
    /// The files that it names; who does not report writes none.
    pub fn files(&self, reports: bool) -> Files {
        let files = Files::new().reads("--input", &self.problem.input);
        files.writes_or_prints("--json", self.output.json.iter().filter(|_| reports))
    }
}

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

// Arguments of the command that shows versions beside what was published.

#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp table --from old.json,new.json --format markdown
  gpp table -s si214 --csv table.csv
  gpp table --journey talk -s si214   beside the talk's own figures
  gpp table --journey talk --from run.json   what a run has of it")]
pub struct TableArgs {
    #[command(flatten)]
    pub versions: VersionArgs,

    /// JSON of earlier runs or folders with one, several with commas, instead of running
    #[arg(
        long,
        value_name = "FILE[,FILE…]",
        value_delimiter = ',',
        value_hint = ValueHint::FilePath,
        conflicts_with_all = [
            "version", "system", "input", "seed", "energies", "nw", "device", "simd", "repeat",
            "warmup", "settle", "no_verify",
        ]
    )]
    pub from: Vec<PathBuf>,

    #[command(flatten)]
    pub verify: VerifyArgs,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    #[command(flatten)]
    pub problems: ProblemsArgs,

    #[command(flatten)]
    pub measure: MeasureArgs,

    /// Write the rows as CSV to a file, or to standard output for -
    #[arg(
        long,
        value_name = "FILE|-",
        value_hint = ValueHint::FilePath,
        help_heading = "Output"
    )]
    pub csv: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Why versions of Σ as a matrix take neither system nor device.
const NOT_RUN: &str = "has no effect on versions of Σ as a matrix, which do not run for a card: \
    `gpp offdiag --version all --json FILE` runs them, and --from FILE shows what it wrote";

#[derive(Args)]
#[command(after_help = "Examples:\n  gpp explain v4\n  \
    gpp explain --journey paper --from data/runs/h200-2026-11-23/si214\n  \
    gpp explain offdiag --from data/runs/h200-2026-11-23/offdiag")]
pub struct ExplainArgs {
    /// Versions, as --version of a run names them; or those of Σ as a matrix: vector, m8n8k4, m16n8k8, ring,
    /// m16n8k16 and wide, offdiag for all
    #[arg(
        value_name = "VERSION",
        value_parser = EXPLAINED,
        hide_possible_values = true,
        required_unless_present = "journey"
    )]
    pub versions: Vec<String>,

    /// Journeys, all versions of each; offdiag is that of Σ as a matrix
    #[arg(
        long,
        value_name = "NAME[,NAME…]",
        value_parser = EXPLAINED_STORIES,
        hide_possible_values = true,
        conflicts_with = "versions"
    )]
    pub journey: Option<String>,

    #[command(flatten)]
    pub cards: CardArgs,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp diff v3 v4                sources, counters and why
  gpp diff v3 v8                the same, and the steps between
  gpp diff vector wide          of Σ as a matrix; --from FOLDER has its records
  gpp diff old.json new.json    two runs of your own, version by version")]
pub struct DiffArgs {
    /// The version to compare with, or the JSON of a run
    #[arg(value_name = "VERSION|RUN", value_parser = EXPLAINED, hide_possible_values = true)]
    pub before: String,

    /// The version, or the JSON of another run
    #[arg(value_name = "VERSION|RUN", value_parser = EXPLAINED, hide_possible_values = true)]
    pub version: String,

    #[command(flatten)]
    pub cards: CardArgs,
}

/// Where figures come from, and how they are shown.
#[derive(Args)]
pub struct CardArgs {
    /// Folder with the profiles of one system; by default the system's in gpp-profile/, and where there is
    /// none the versions run now, without counters. Of Σ as a matrix a folder of what gpp offdiag --json
    /// wrote, with ncu's counters of the record with most versions in counters.csv; without it versions have no
    /// figures
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub from: Option<PathBuf>,

    /// Built-in system; by default si214, of versions for a CPU demo
    #[arg(
        short,
        long,
        value_name = "NAME",
        value_parser = BUILT_IN,
        hide_possible_values = true,
        conflicts_with = "from"
    )]
    pub system: Option<String>,

    /// Where to run: gpu, gpu:N or cpu; by default what the versions are made for
    #[arg(
        short,
        long,
        default_value = AUTO,
        value_parser = DEVICES,
        hide_possible_values = true,
        conflicts_with = "from"
    )]
    pub device: String,

    #[command(flatten)]
    pub threads: ThreadsArgs,

    /// How to print it
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Write it as JSON to a file, or to standard output for -
    #[arg(short, long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// No progress and no notes
    #[arg(short, long)]
    pub quiet: bool,
}

impl ExplainArgs {
    /// The versions of Σ as a matrix, each once; none where others are named.
    pub fn matrices(&self) -> error::Result<Vec<&'static Version>> {
        let mut found = self.cards.matrices(&self.given(), self.journey.is_some())?;
        let mut ids = BTreeSet::new();
        found.retain(|version| ids.insert(version.id));
        Ok(found)
    }

    /// The versions named.
    pub fn named(&self) -> error::Result<Vec<Listed>> {
        self.cards.others(&self.given(), self.journey.is_some())
    }

    fn given(&self) -> String {
        self.journey.clone().unwrap_or_else(|| self.versions.join(","))
    }
}

impl DiffArgs {
    /// The files of two runs, where that is what is named.
    pub fn files(&self) -> error::Result<Option<[&Path; 2]>> {
        let named = [&self.before, &self.version].map(Path::new);
        let is_run = |path: &Path| path.exists() || path.extension() == Some("json".as_ref());
        match named.map(is_run) {
            [true, true] => Ok(Some(named)),
            [false, false] => Ok(None),
            _ => Err(error::Error::Input {
                origin: format!("diff {} {}", self.before, self.version),
                what: "takes two versions or two runs".into(),
            }),
        }
    }

    /// The two versions, the one to compare with first.
    pub fn named(&self) -> error::Result<[Listed; 2]> {
        let back_end = self.cards.back_end()?;
        let one = |name: &str| {
            names::single("diff", name, back_end).map_err(|error| EXPLAINED.among(error))
        };
        Ok([one(&self.before)?, one(&self.version)?])
    }

    /// The same of Σ as a matrix; `None` where others are named.
    pub fn matrices(&self) -> error::Result<Option<[&'static Version; 2]>> {
        let given = [self.before.as_str(), &self.version];
        match self.cards.matrices(&given.join(","), false)?[..] {
            [] => Ok(None),
            [before, version] => Ok(Some([before, version])),
            ref several => Err(error::Error::Input {
                origin: format!("diff {}", given.join(" ")),
                what: format!("takes two versions, not {}", several.len()),
            }),
        }
    }
}

impl CardArgs {
    /// The versions of Σ as a matrix that these names are of, or these journeys; none where others are named.
    fn matrices(&self, given: &str, are_journeys: bool) -> error::Result<Vec<&'static Version>> {
        let of = |name: &str| match matrices::find(name) {
            _ if name == JOURNEY => matrices::ALL.to_vec(),
            version => version.filter(|_| !are_journeys).into_iter().collect(),
        };
        let (own, others): (Vec<&str>, Vec<&str>) =
            given.split(',').map(str::trim).partition(|name| !of(name).is_empty());
        let wrong = |origin: String, what: String| Err(error::Error::Input { origin, what });
        let device = Some(&self.device).filter(|device| *device != AUTO);
        let without_effect = [("--system", self.system.as_ref()), ("--device", device)];
        match (own.first(), others.first()) {
            (None, _) => Ok(Vec::new()),
            (Some(own), Some(other)) => {
                self.others(&others.join(","), are_journeys)?;
                let what = format!(
                    "{own} is of Σ as a matrix, {other} is not, and cards are of one kind: give \
                     each a command of its own"
                );
                wrong(format!("{own} and {other}"), what)
            }
            _ => match without_effect.into_iter().find_map(|(flag, value)| Some((flag, value?))) {
                Some((flag, value)) => wrong(format!("{flag} {value}"), NOT_RUN.into()),
                None => Ok(own.into_iter().flat_map(of).collect()),
            },
        }
    }

    /// The other versions that names are of.
    fn others(&self, given: &str, are_journeys: bool) -> error::Result<Vec<Listed>> {
        if are_journeys {
            require_journeys(given).map_err(|error| EXPLAINED_STORIES.among(error))?;
        }
        names::versions(given, self.back_end()?).map_err(|error| EXPLAINED.among(error))
    }

    /// Where `best` is meant to be.
    fn back_end(&self) -> error::Result<BackEnd> {
        let is_cpu = self.device.parse::<Choice>()? == Choice::Cpu;
        Ok(if is_cpu { BackEnd::Cpu } else { BackEnd::Gpu })
    }
}

// Arguments of the commands that make and read stored profiles.

/// Where `profile` stores its records, a folder for each system, and the others look for them.
pub const DEFAULT_FOLDER: &str = "gpp-profile";

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

    /// Also draw the versions of Σ as a matrix: a folder of what `gpp offdiag --json` wrote, with the profiler's
    /// counters.csv of the record with most versions; ceilings are those of --from
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::AnyPath)]
    pub offdiag: Option<PathBuf>,

    /// Folder for the charts; by default the current one
    #[arg(short, long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub output: Option<PathBuf>,
}

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

// Arguments of the commands that tell what there is or make a file of it.

#[derive(Args)]
pub struct ListArgs {
    /// Write it as JSON to a file, or to standard output for - and without a name
    #[arg(
        short,
        long,
        value_name = "FILE|-",
        num_args = 0..=1,
        default_missing_value = "-",
        value_hint = ValueHint::FilePath
    )]
    pub json: Option<PathBuf>,
}

#[derive(Args)]
pub struct InfoArgs {
    #[command(flatten)]
    pub place: DeviceArgs,

    #[command(flatten)]
    pub list: ListArgs,
}

#[derive(Args)]
#[command(after_help = "Example: gpp generate -s demo -o demo.dat && gpp -i demo.dat")]
pub struct GenerateArgs {
    /// Built-in system, see `gpp list`
    #[arg(short, long, value_name = "NAME", value_parser = BUILT_IN, hide_possible_values = true)]
    pub system: String,

    /// File to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,

    /// Seed
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,

    #[command(flatten)]
    pub energies: EnergyArgs,

    #[command(flatten)]
    pub threads: ThreadsArgs,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp ptx v4 > v4.ptx       all kernels of v4 in one module
  gpp ptx gpp_v4_nw2        one of them, by its symbol: `gpp info` lists these")]
pub struct PtxArgs {
    /// Versions made for GPUs, as --version names them, or symbols of kernels
    #[arg(
        value_name = "VERSION|KERNEL",
        value_parser = VERSIONS,
        hide_possible_values = true,
        required = true
    )]
    pub kernels: Vec<String>,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  gpp completions bash > ~/.local/share/bash-completion/completions/gpp
  gpp completions zsh > ~/.zfunc/_gpp
  gpp completions fish > ~/.config/fish/completions/gpp.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
