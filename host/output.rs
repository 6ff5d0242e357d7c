//! Standard output, files, and lines on standard error.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use indicatif::MultiProgress;

use crate::error::{Error, Result, invalid};

pub use gpp_core::os::memory;
pub use gpp_core::os::output as input;
pub use gpp_core::os::output::{check, folder, replace, target};

/// Whether a file name stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Has `write` fill standard output. That its reader closed it early is not an error.
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

/// Writes text and a line end to a file, or to standard output for `-`.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    document(path, |to| writeln!(to, "{text}"))
}

/// Prints `text`, unless `quiet` or standard output is for the JSON, and writes the JSON, even if printing fails.
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

/// Fails if an output could not be written later, or would replace an input, by whatever path or link.
pub fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = &'a PathBuf>,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    let inputs: Vec<_> =
        inputs.into_iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    for path in outputs.into_iter().filter(|path| !is_stdout(path)) {
        check(path)?;
        if fs::canonicalize(path).is_ok_and(|path| inputs.contains(&path)) {
            return Err(invalid(path.display(), "is an input, and cannot be an output too"));
        }
    }
    Ok(())
}

/// All progress bars on the terminal.
pub static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// A line on standard error, above the progress bars; whether it can be written does not matter. It is written at once,
/// so that lines of other processes do not mix with it.
pub fn note(text: impl Display) {
    let line = format!("{text}\n");
    BARS.suspend(|| drop(io::stderr().write_all(line.as_bytes())));
}
