//! The files that a command names, held against each other before anything runs.
//!
//! An output takes the place of the file that its name leads to. So no two flags may lead to one file, by whatever path or link, but those that only read.

use std::fs;
use std::path::{Path, PathBuf};

use super::output::{self, folder, is_stdout, target};
use crate::error::{Error, Result};

/// The files of a command.
#[derive(Debug)]
pub struct Files(Vec<Named>);

/// A file and what is done with it.
#[derive(Debug)]
struct Named {
    flag: &'static str,
    path: PathBuf,
    to: Use,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It is read.
    Read,
    /// It is replaced.
    Write,
    /// The same; `-` is standard output.
    WriteOrPrint,
}

/// The variable that names a file of kernels.
const PTX: &str = "GPP_PTX";

impl Files {
    /// None but the kernels' file, where one is named.
    #[expect(clippy::new_without_default, reason = "it depends on the environment")]
    pub fn new() -> Files {
        Files(Vec::new()).reads(PTX, std::env::var_os(PTX))
    }

    /// Files that are read.
    #[must_use]
    pub fn reads<P: AsRef<Path>>(
        self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.with(flag, paths, Use::Read)
    }

    /// Files that are written.
    #[must_use]
    pub fn writes<P: AsRef<Path>>(
        self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.with(flag, paths, Use::Write)
    }

    /// Files that are written, or printed where they are called `-`.
    #[must_use]
    pub fn writes_or_prints<P: AsRef<Path>>(
        self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.with(flag, paths, Use::WriteOrPrint)
    }

    fn with<P: AsRef<Path>>(
        mut self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
        to: Use,
    ) -> Self {
        let named = |path: P| Named { flag, path: path.as_ref().into(), to };
        self.0.extend(paths.into_iter().map(named));
        self
    }

    /// Fails where one could not be written later, or would take the place of another.
    ///
    /// # Errors
    /// [`Error::Data`] that names both flags; [`Error::Write`].
    pub fn check(&self) -> Result<()> {
        for (at, named) in self.0.iter().enumerate() {
            if let Some((this, other)) = self.0[..at].iter().find_map(|other| named.clash(other)) {
                let origin = format!("{} {}", this.flag, this.path.display());
                let kind = if other.to == Use::Read { "the input" } else { "also the file of" };
                let what = format!("it is {kind} {} {}", other.flag, other.path.display());
                return Err(Error::Data { origin, what });
            }
        }
        self.0.iter().try_for_each(Named::check)
    }
}

impl Named {
    /// This file and the other one, in the order to name them, where they cannot serve both purposes.
    fn clash<'a>(&'a self, other: &'a Named) -> Option<(&'a Named, &'a Named)> {
        if self.to == Use::Read && other.to == Use::Read || !self.meets(other) {
            return None;
        }
        Some(if self.to == Use::Read { (other, self) } else { (self, other) })
    }

    /// Whether both lead to one file.
    fn meets(&self, other: &Named) -> bool {
        if self.prints() || other.prints() {
            return self.prints() && other.prints();
        }
        place(&self.path) == place(&other.path)
    }

    fn prints(&self) -> bool {
        self.to == Use::WriteOrPrint && is_stdout(&self.path)
    }

    fn check(&self) -> Result<()> {
        match self.to {
            Use::Read => Ok(()),
            Use::WriteOrPrint if is_stdout(&self.path) => output::require_stdout(),
            _ => {
                output::require_name(self.flag, &self.path, "file")?;
                output::check(&self.path)
            }
        }
    }
}

/// Where a path leads through links, also to a file that does not exist yet.
fn place(path: &Path) -> PathBuf {
    let target = target(path);
    let below = || Some(fs::canonicalize(folder(&target)).ok()?.join(target.file_name()?));
    fs::canonicalize(&target).ok().or_else(below).unwrap_or(target)
}
