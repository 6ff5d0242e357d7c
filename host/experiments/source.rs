//! Where the problem of an experiment comes from.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::problem::grid::{Grid, OnGrid};
use crate::problem::synthesis::Synthesis;
use crate::problem::{self, Problem, System, file, systems};
use crate::process::progress::Progress;

/// A problem before it is made or read.
#[derive(Clone, Debug)]
pub enum Source {
    /// A built-in system and its seed.
    System(&'static System, u64),
    /// A file in the reference mini-app's format.
    File(PathBuf),
    /// One of these at other energies.
    OnGrid(Box<Source>, Grid),
}

impl Source {
    /// A built-in system by its name.
    ///
    /// # Errors
    /// [`crate::Error::UnknownName`].
    pub fn system(name: &str, seed: u64) -> Result<Source> {
        Ok(Source::System(systems::find(name)?, seed))
    }

    /// This source at other energies, where some are asked for.
    #[must_use]
    pub fn at(self, grid: Option<Grid>) -> Source {
        match grid {
            Some(grid) => Source::OnGrid(self.into(), grid),
            None => self,
        }
    }

    /// Name of the system, or of the file without its ending.
    pub fn name(&self) -> String {
        match self {
            Source::System(system, _) => system.name.clone(),
            Source::OnGrid(source, _) => source.name(),
            Source::File(path) => {
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }

    /// Its energies, where they are known before it is read.
    pub fn nw(&self) -> Option<usize> {
        match self {
            Source::System(system, _) => Some(system.nend + 1 - system.nstart),
            Source::OnGrid(_, grid) => Some(grid.nw()),
            Source::File(_) => None,
        }
    }

    /// The input file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Source::System(..) => None,
            Source::File(path) => Some(path),
            Source::OnGrid(source, _) => source.file(),
        }
    }

    /// The arguments that name it.
    pub fn arguments(&self) -> Vec<OsString> {
        match self {
            Source::System(system, seed) => {
                ["--system", &system.name, "--seed", &seed.to_string()].map(Into::into).to_vec()
            }
            Source::File(path) => vec!["--input".into(), path.into()],
            Source::OnGrid(source, grid) => {
                let grid = grid.argument().into_iter().flatten().map(OsString::from);
                source.arguments().into_iter().chain(grid).collect()
            }
        }
    }

    /// Who makes or reads it, whole or slab by slab.
    ///
    /// # Errors
    /// [`crate::Error::File`] for a file that is none.
    pub fn open(&self, progress: Progress) -> Result<Box<dyn problem::Source + '_>> {
        Ok(match self {
            Source::File(path) => Box::new(file::Input::open(path, progress)?),
            Source::System(system, seed) => Box::new(Synthesis::new(system, *seed, progress)),
            Source::OnGrid(source, grid) => {
                Box::new(OnGrid::new(source.open(progress)?, grid.clone()))
            }
        })
    }

    /// Makes or reads it.
    ///
    /// # Errors
    /// [`crate::Error::Memory`] where it does not fit, [`crate::Error::File`] and
    /// [`crate::Error::Data`] for a file that is none.
    pub fn load(&self, progress: Progress) -> Result<Problem> {
        self.open(progress)?.load()
    }
}
