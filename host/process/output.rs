//! What the program writes: files that appear whole or not at all, and standard output.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

pub use gpp_core::system::output::{check, folder, target};

use crate::error::{Error, Result};
use crate::process::{interrupt, startup};

/// Has `write` fill a file that takes the place of `path` once it is complete: see
/// [`gpp_core::system::output::replace`]. Where the program is stopping it does not come back.
///
/// # Errors
/// [`Error::Write`].
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let _waits = interrupt::showing(Box::new(|| ()));
    gpp_core::system::output::replace(path, write)
}

/// Whether a file's name means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Fails where `path` is standard output and `flag` needs a file or a folder.
///
/// # Errors
/// [`Error::Write`].
pub fn require_name(flag: &str, path: &Path, what: &str) -> Result<()> {
    if !is_stdout(path) {
        return Ok(());
    }
    let other = if what == "file" { "; /dev/stdout is one for a pipe" } else { "" };
    Err(Error::Write { path: path.into(), reason: format!("{flag} needs a {what}{other}") })
}

/// Fails where the program was started without standard output.
///
/// # Errors
/// [`Error::Write`].
pub fn require_stdout() -> Result<()> {
    if startup::is_without_stdout() {
        let reason = "it was closed when the program was started".into();
        return Err(Error::Write { path: STDOUT.into(), reason });
    }
    Ok(())
}

/// How messages call it.
const STDOUT: &str = "standard output";

/// Has `write` fill standard output. A reader that has seen enough is no failure.
///
/// # Errors
/// [`Error::Write`].
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    require_stdout()?;
    let mut to = io::BufWriter::new(io::stdout().lock());
    match write(&mut to).and_then(|()| to.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Write { path: STDOUT.into(), reason: e.to_string() })
        }
        _ => Ok(()),
    }
}

/// Has `write` fill a file, or standard output for `-`.
///
/// # Errors
/// [`Error::Write`].
pub fn document(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_stdout(path) { print(write) } else { replace(path, |file| write(file)) }
}

/// Writes text and a line's end to a file, or to standard output for `-`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    document(path, |to| writeln!(to, "{text}"))
}
