//! Files that appear whole or not at all.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// The files that are being written. Whoever ends the process keeps the lock.
static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn half_written() -> MutexGuard<'static, Vec<PathBuf>> {
    HALF_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what is half-written, for a process that exits at once: whoever writes more waits for the end.
pub fn remove_half_written() {
    let files = half_written();
    files.iter().for_each(|path| drop(fs::remove_file(path)));
    std::mem::forget(files);
}

/// Fails if `path` could not be written later.
pub fn check(path: &Path) -> Result<()> {
    let failed = |reason: String| Err(Error::write(path, reason));
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
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let failed = |e: io::Error| Error::write(path, reason(&e));
    if path.exists() && !path.is_file() {
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        return write(&mut file).map_err(failed);
    }
    let target = target(path);
    let mut file = {
        let mut files = half_written();
        let file = temporary(&target).map_err(failed)?;
        files.push(file.path().to_path_buf());
        file
    };
    let filled = fill(&mut file, &target, write);
    let mut files = half_written();
    files.retain(|path| path != file.path());
    filled.and_then(|()| Ok(file.persist(&target).map(drop)?)).map_err(failed)
}

fn fill(
    file: &mut NamedTempFile,
    target: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    write(file.as_file_mut())?;
    // A name must not outlive a crash of the system that its contents do not.
    file.as_file().sync_all()?;
    match fs::metadata(target) {
        Ok(existing) => fs::set_permissions(file.path(), existing.permissions()),
        Err(_) => Ok(()),
    }
}

/// Where a path leads, through symbolic links, also to what does not exist yet.
pub fn target(path: &Path) -> PathBuf {
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
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
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

// Files that are read: regular ones only, which are there whole. A pipe would be waited for, and of a device
// there may be no end.

/// Bytes of a text at most: a record of 10⁵ energies by all versions has fewer.
pub const MOST_TEXT: u64 = 1 << 30;

/// Opens a regular file, by whatever links it is reached; nothing else is opened, let alone read. The file and
/// its bytes.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

/// The text of a regular file of at most [`MOST_TEXT`] bytes.
pub fn text(path: &Path) -> io::Result<String> {
    let (file, bytes) = open(path)?;
    if bytes > MOST_TEXT {
        let what = format!("it has {bytes} bytes, at most {MOST_TEXT} are read as text");
        return Err(io::Error::other(what));
    }
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(MOST_TEXT).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|error| {
        let found = named(error.as_bytes()).unwrap_or("of bytes");
        io::Error::other(format!("it is {found}, no text"))
    })
}

// What kind of file somebody named: for errors about files of another format.

/// Bytes from a file's begin that tell its format.
pub const ENOUGH: usize = 16;

/// Formats that begin with a mark of their own.
const MARKS: [(&[u8], &str); 7] = [
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"CDF", "a NetCDF file"),
    (b"\x89PNG\r\n", "a PNG picture"),
    (b"\x1f\x8b", "compressed by gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x7fELF", "a program"),
];

/// Length marker of the first record of the reference mini-app's files: five integers.
pub const FIRST_RECORD: u32 = 20;

/// The format of a file, by its first bytes; `None` of what tells nothing.
pub fn named(first: &[u8]) -> Option<&'static str> {
    let first = &first[..first.len().min(ENOUGH)];
    if let Some((_, name)) = MARKS.iter().find(|(mark, _)| first.starts_with(mark)) {
        return Some(name);
    }
    if first.starts_with(&FIRST_RECORD.to_le_bytes()) {
        return Some("an input file in the reference mini-app's format");
    }
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if first.is_empty() || !first.iter().all(is_text) {
        return None;
    }
    Some(if first.trim_ascii_start().starts_with(b"{") { "JSON" } else { "text" })
}

#[cfg(test)]
mod tests;
