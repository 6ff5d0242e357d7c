//! Which problem.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::names::BUILT_IN;
use crate::catalogue::BackEnd;
use crate::devices::DeviceInfo;
use crate::error::Result;
use crate::experiments::source::Source;
use crate::problem::grid::{Even, Grid};
use crate::problem::header::MOST_ENERGIES;
use crate::problem::systems::DEFAULT_SEED;
use crate::process::progress::Progress;

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
