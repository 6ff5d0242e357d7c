//! How to measure and where results go.

use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueHint};
use gpp_cpu::level::Level;
use gpp_cpu::pool::{MOST, Team};
use gpp_cpu::topology::Room;

use super::names::{DEVICES, VECTORS};
use crate::catalogue::BackEnd;
use crate::devices::Choice;
use crate::devices::Device;
use crate::devices::host::Host;
use crate::error::Error;
use crate::experiments::measure::timed::settle;
use crate::process::output::{is_stdout, print};
use crate::process::progress::Progress;
use crate::record::times::Repetition;
use crate::record::{self, Record};

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

    /// Seconds of a series of runs, 200 runs at most. A GPU whose clock NVML shows is timed twice: before the power
    /// limit lowers its clock, then sustained, in series until two of them take the same time. By default 1 on such
    /// a GPU; none elsewhere, and none with --warmup 0
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
            ..default
        }
    }
}

/// What a problem is run for that takes long.
const LONG: Repetition = Repetition::exactly(0, 1);

/// Terms beyond which a calculation takes a processor more than a second.
const LARGE: u64 = 1_000_000_000;

impl DeviceArgs {
    /// The device asked for.
    pub fn choice(&self) -> crate::Result<Choice> {
        self.device.parse()
    }

    /// The vectors asked for.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Data`] where this processor has not got them.
    pub fn level(&self) -> crate::Result<Option<Level>> {
        let Some(name) = &self.simd else { return Ok(None) };
        let level: Level = name
            .parse()
            .map_err(|_| Error::unknown("vectors", name, Level::ALL.map(Level::name)))?;
        if level.is_available() {
            return Ok(Some(level));
        }
        let has: Vec<&str> = Level::available().into_iter().map(Level::name).collect();
        let what = format!("this processor has no {level}, it has {}", has.join(", "));
        Err(Error::Data { origin: format!("--simd {name}"), what })
    }

    /// The processor with vectors and threads as asked for, of a process that has this room.
    ///
    /// # Errors
    /// Those of [`DeviceArgs::level`].
    pub fn host(&self, room: Room) -> crate::Result<Host> {
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
