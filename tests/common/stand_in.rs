//! Libraries in the way of the driver's.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::repository;

/// A folder with a `libcuda.so.1`.
pub struct Library(TempDir);

impl Library {
    /// One that cannot be opened, in the way of any that can.
    pub fn broken() -> std::io::Result<Library> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("libcuda.so.1"), "no library\n")?;
        Ok(Library(folder))
    }

    /// The stand-in of tests/data/libcuda.c.
    pub fn stand_in() -> std::io::Result<Library> {
        let folder = tempfile::tempdir()?;
        compiled("tests/data/libcuda.c", &folder.path().join("libcuda.so.1"))?;
        Ok(Library(folder))
    }

    /// What `LD_LIBRARY_PATH` has to name.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }
}

/// Compiles a source in C to a library.
pub fn compiled(source: &str, to: &PathBuf) -> std::io::Result<()> {
    let output = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o"])
        .args([to, &repository(source)])
        .arg("-ldl")
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(std::io::Error::other(errors.into_owned())) }
}
