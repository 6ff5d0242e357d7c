//! Which problem.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::catalogue::BackEnd;
use crate::devices::DeviceInfo;
use crate::error::Result;
use crate::experiments::source::Source;
use crate::problem::systems::DEFAULT_SEED;
use crate::process::progress::Progress;

/// The system that commands for a GPU run without `--system`.
pub const PAPER_SYSTEM: &str = "si214";

/// The system of other commands, and of those on a CPU.
pub const SMALL_SYSTEM: &str = "demo";

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

impl ProblemArgs {
    /// Whether one is named.
    pub fn is_named(&self) -> bool {
        self.system.is_some() || self.input.is_some()
    }

    /// The problem named, or this system.
    pub fn source_or(&self, system: &str) -> Result<Source> {
        if let Some(path) = &self.input {
            return Ok(Source::File(path.clone()));
        }
        let name = self.system.as_deref().unwrap_or(system);
        Source::system(name, self.seed.unwrap_or(DEFAULT_SEED))
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
        systems.chain(self.input.iter().map(|path| Ok(Source::File(path.clone())))).collect()
    }

    /// This system, with the seed given.
    pub fn default_system(&self, name: &str) -> Result<Source> {
        Source::system(name, self.seed())
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
