//! Libraries in the way of the driver's.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::repository;

pub struct Library(TempDir);

impl Library {
    /// One that cannot be opened, in the way of any that can.
    pub fn broken() -> std::io::Result<Library> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("libcuda.so.1"), "no library\n")?;
        Ok(Library(folder))
    }

    pub fn stand_in() -> std::io::Result<Library> {
        Library::without("no_function")
    }

    pub fn without(function: &str) -> std::io::Result<Library> {
        let folder = tempfile::tempdir()?;
        let other = format!("-D{function}=no_function");
        compiled("tests/data/libcuda.c", &folder.path().join("libcuda.so.1"), &[&other])?;
        Ok(Library(folder))
    }

    /// What `LD_LIBRARY_PATH` has to name.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }
}

pub fn compiled(source: &str, to: &PathBuf, options: &[&str]) -> std::io::Result<()> {
    let output = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread", "-o"])
        .args([to, &repository(source)])
        .arg("-ldl")
        .args(options)
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(std::io::Error::other(errors.into_owned())) }
}
