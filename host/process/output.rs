//! What the program writes: files that appear whole or not at all, and standard output.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::process::{interrupt, startup};

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

/// Fails where `path` could not be written later.
///
/// # Errors
/// [`Error::Write`].
pub fn check(path: &Path) -> Result<()> {
    let failed = |reason: String| Err(Error::Write { path: path.into(), reason });
    if path.is_dir() {
        return failed("it is a folder".into());
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    temporary(&target(path)).map(drop).or_else(|e| failed(reason(&e)))
}

/// Has `write` fill a file beside `path` that takes its place once it is complete; nothing of it
/// stays behind on an error or an interrupt. A symbolic link stays one. What is no regular file, a
/// pipe or a device, is written to directly.
///
/// # Errors
/// [`Error::Write`].
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let failed = |e: io::Error| Error::Write { path: path.into(), reason: reason(&e) };
    if path.exists() && !path.is_file() {
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        return write(&mut file).map_err(failed);
    }
    let target = target(path);
    let remove = |file: &tempfile::NamedTempFile| {
        let path = file.path().to_path_buf();
        Box::new(move || drop(fs::remove_file(path))) as Box<dyn FnOnce() + Send>
    };
    let (_guard, mut file) = interrupt::guarded(|| temporary(&target), remove).map_err(failed)?;
    write(file.as_file_mut()).map_err(failed)?;
    // A name must not outlive a crash of the system that its contents do not.
    file.as_file().sync_all().map_err(failed)?;
    if let Ok(existing) = fs::metadata(&target) {
        fs::set_permissions(file.path(), existing.permissions()).map_err(failed)?;
    }
    file.persist(&target).map_err(|e| failed(e.error))?;
    // The name itself; not every file system has this, and what is there is whole either way.
    #[cfg(unix)]
    let _ = File::open(folder(&target)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Where a path leads, through symbolic links, also to what does not exist yet.
pub(super) fn target(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    path
}

/// The folder that a path is in.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file beside `path`, as readable as one made the usual way.
fn temporary(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let parent = folder(path);
    fs::metadata(parent)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".gpp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(parent)
}

/// The system's reason alone: a temporary file's name means nothing to the user.
fn reason(error: &io::Error) -> String {
    if error.get_ref().is_some() { error.kind().to_string() } else { error.to_string() }
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
