//! The problems named on the command line.

use std::path::{Path, PathBuf};

use super::args::{ProblemArgs, ProblemsArgs};
use crate::devices::DeviceInfo;
use crate::error::Result;
use crate::problem::systems::DEFAULT_SEED;
use crate::problem::{Problem, System, file, synthesis, systems};
use crate::process::progress::Progress;

/// Where a problem is to come from.
#[derive(Clone, Debug)]
pub enum Source {
    System(&'static System, u64),
    File(PathBuf),
}

/// The system that commands for a GPU run without `--system`.
pub const PAPER_SYSTEM: &str = "si214";

/// The system of other commands, and of those on a CPU.
pub const SMALL_SYSTEM: &str = "demo";

impl ProblemArgs {
    /// The problem named, or this system.
    pub fn source_or(&self, system: &str) -> Result<Source> {
        if let Some(path) = &self.input {
            return Ok(Source::File(path.clone()));
        }
        let name = self.system.as_deref().unwrap_or(system);
        Ok(Source::System(systems::find(name)?, self.seed.unwrap_or(DEFAULT_SEED)))
    }

    /// The problem named, or what the device can take.
    pub fn source_for(&self, device: &DeviceInfo, progress: Progress) -> Result<Source> {
        let named = self.system.is_some() || self.input.is_some();
        self.source_or(default_for(device, named, progress))
    }
}

impl ProblemsArgs {
    /// The problems named; those that are not there are said before any device is opened.
    pub fn named(&self) -> Result<Vec<Source>> {
        let seed = self.seed.unwrap_or(DEFAULT_SEED);
        let systems = self.system.iter().map(|name| Ok(Source::System(systems::find(name)?, seed)));
        systems.chain(self.input.iter().map(|path| Ok(Source::File(path.clone())))).collect()
    }

    /// This system, with the seed given.
    pub fn default_system(&self, name: &str) -> Result<Source> {
        Ok(Source::System(systems::find(name)?, self.seed.unwrap_or(DEFAULT_SEED)))
    }
}

/// The system to run where none is named.
pub fn default_for(device: &DeviceInfo, named: bool, progress: Progress) -> &'static str {
    if device.id != "cpu" {
        return PAPER_SYSTEM;
    }
    if !named {
        progress.say(format_args!(
            "note: system {SMALL_SYSTEM}; {PAPER_SYSTEM} takes hours on a CPU (--system \
             {PAPER_SYSTEM} runs it all the same)"
        ));
    }
    SMALL_SYSTEM
}

impl Source {
    /// Name of the system, or of the file without its ending.
    pub fn name(&self) -> String {
        match self {
            Source::System(system, _) => system.name.clone(),
            Source::File(path) => {
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }

    /// The input file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Source::System(..) => None,
            Source::File(path) => Some(path),
        }
    }

    /// The arguments that name it.
    pub fn arguments(&self) -> Vec<std::ffi::OsString> {
        match self {
            Source::System(system, seed) => {
                ["--system", &system.name, "--seed", &seed.to_string()].map(Into::into).to_vec()
            }
            Source::File(path) => vec!["--input".into(), path.into()],
        }
    }

    /// Makes or reads it.
    pub fn load(&self, progress: Progress) -> Result<Problem> {
        match self {
            Source::File(path) => file::read(path, progress),
            Source::System(system, seed) => synthesis::synthesise(system, *seed, progress),
        }
    }
}
