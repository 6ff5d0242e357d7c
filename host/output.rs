//! Standard output, files, and lines on standard error.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use gpp_core::devices::gpu::first_launch;
use indicatif::{ProgressBar, WeakProgressBar};

use crate::error::{Error, Result, invalid};

pub use gpp_core::os::memory;
pub use gpp_core::os::output as input;
pub use gpp_core::os::output::{check, folder, replace, target};

// What the program writes: files that appear whole or not at all, and standard output.

/// Whether a file's name means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Fails where `path` is standard output and `flag` needs a file or a folder.
pub fn require_name(flag: &str, path: &Path, what: &str) -> Result<()> {
    if !is_stdout(path) {
        return Ok(());
    }
    let other = if what == "file" { "; /dev/stdout is one for a pipe" } else { "" };
    Err(Error::write(path, format!("{flag} needs a {what}{other}")))
}

/// Has `write` fill standard output. A reader that has seen enough is no failure.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut to = io::BufWriter::new(io::stdout().lock());
    match write(&mut to).and_then(|()| to.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::write(Path::new("standard output"), e))
        }
        _ => Ok(()),
    }
}

/// Has `write` fill a file, or standard output for `-`.
pub fn document(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_stdout(path) { print(write) } else { replace(path, |file| write(file)) }
}

/// Writes text and a line's end to a file, or to standard output for `-`.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    document(path, |to| writeln!(to, "{text}"))
}

/// Prints `text`, unless it is to be quiet or standard output is for JSON, and writes the JSON, even if printing fails.
pub fn show(
    json: Option<&Path>,
    quiet: bool,
    document: impl FnOnce() -> String,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let printed = if quiet || json.is_some_and(is_stdout) { Ok(()) } else { print(text) };
    json.map_or(Ok(()), |path| write_text(path, &document()))?;
    printed
}

// Standard error: lines for people, beside the bar that may be there.

/// The bar on the terminal, for what else is written there.
static CURRENT: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

fn current() -> Option<ProgressBar> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
}

/// A bar is on the terminal as long as it lives.
pub fn show_bar(bar: &ProgressBar) {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
}

/// Takes the bar off the terminal.
pub fn clear_bar() {
    if let Some(bar) = current() {
        bar.finish_and_clear();
    }
}

/// A line on standard error, past a progress bar; whether it can be written does not matter. It is written at once, so
/// that another process's lines do not come between its parts.
pub fn note(text: impl Display) {
    let line = format!("{text}\n");
    let write = || drop(io::stderr().write_all(line.as_bytes()));
    match current() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

// How the program was started, and how long it takes from there to the first calculation on a GPU.

static BEGAN: OnceLock<Instant> = OnceLock::new();

/// The process starts: the first thing that `main` does.
pub fn program_began() {
    BEGAN.get_or_init(Instant::now);
}

/// Seconds from the start to the first launch, kernels compiled and data in place.
pub fn startup_seconds() -> Option<f64> {
    Some(first_launch()?.duration_since(*BEGAN.get()?).as_secs_f64())
}

// The files that a command names, looked at before anything runs.

/// The files that a command reads and writes. An output may not take the place of an input.
#[derive(Debug)]
pub struct Files {
    read: Vec<(&'static str, PathBuf)>,
    /// With whether `-` is standard output.
    written: Vec<(&'static str, PathBuf, bool)>,
}

/// The variable that names a file of kernels.
const PTX: &str = "GPP_PTX";

impl Files {
    /// None but the kernels' file, where one is named.
    #[expect(clippy::new_without_default, reason = "it depends on the environment")]
    pub fn new() -> Files {
        Files { read: Vec::new(), written: Vec::new() }.reads(PTX, std::env::var_os(PTX))
    }

    #[must_use]
    pub fn reads<P: AsRef<Path>>(
        mut self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.read.extend(paths.into_iter().map(|path| (flag, path.as_ref().into())));
        self
    }

    #[must_use]
    pub fn writes<P: AsRef<Path>>(
        mut self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.written.extend(paths.into_iter().map(|path| (flag, path.as_ref().into(), false)));
        self
    }

    /// Files that are written, or printed where they are called `-`.
    #[must_use]
    pub fn writes_or_prints<P: AsRef<Path>>(
        mut self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.written.extend(paths.into_iter().map(|path| (flag, path.as_ref().into(), true)));
        self
    }

    /// Fails where one could not be written later, or would take the place of an input, by whatever path or link.
    pub fn check(&self) -> Result<()> {
        for (flag, path, prints) in &self.written {
            if *prints && is_stdout(path) {
                continue;
            }
            require_name(flag, path, "file")?;
            check(path)?;
            let Ok(place) = fs::canonicalize(path) else { continue };
            let is_it =
                |(_, read): &&(_, PathBuf)| fs::canonicalize(read).is_ok_and(|r| r == place);
            if let Some((other, input)) = self.read.iter().find(is_it) {
                let what = format!("it is the input {other} {}", input.display());
                return Err(invalid(format!("{flag} {}", path.display()), what));
            }
        }
        Ok(())
    }
}
