//! Files that appear complete or not at all, and regular files that are read.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn half_written() -> MutexGuard<'static, Vec<PathBuf>> {
    HALF_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes temporary files before the process exits at once. The lock stays taken, so nothing more is written.
pub fn remove_half_written() {
    let files = half_written();
    files.iter().for_each(|path| drop(fs::remove_file(path)));
    std::mem::forget(files);
}

/// Fails if `path` could not be written later.
pub fn check(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(Error::write(path, "it is a folder"));
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => {
            return Err(Error::write(path, error));
        }
        _ => {}
    }
    temporary(&target(path)).map(drop).map_err(|error| Error::write(path, reason(&error)))
}

/// Has `write` fill a temporary file in the folder of `path`, which replaces `path` once it is complete and is removed
/// after an error or an interrupt. A symbolic link stays one. A pipe or a device is written to directly.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let failed = |error: io::Error| Error::write(path, reason(&error));
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
    let fill = || {
        write(file.as_file_mut())?;
        // After a crash of the system a name must not be without its contents.
        file.as_file().sync_all()?;
        let existing = fs::metadata(&target);
        existing.map_or(Ok(()), |old| fs::set_permissions(file.path(), old.permissions()))
    };
    let filled = fill();
    let mut files = half_written();
    files.retain(|path| path != file.path());
    filled.and_then(|()| Ok(file.persist(&target).map(drop)?)).map_err(failed)
}

/// The path that symbolic links lead to, whether it exists or not.
fn target(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // As many as Linux follows.
    for _ in 0..40 {
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    path
}

/// A temporary file in the folder of `path`, with the usual permissions.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
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

/// The system's reason, without the path of a temporary file that tempfile adds.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at path ").next().unwrap_or_default();
    match error.kind() {
        io::ErrorKind::InvalidFilename => {
            format!("{reason}; a file is first written next to it as .gppXXXXXX")
        }
        _ => reason.into(),
    }
}

/// Most bytes of a text: a record of 10⁵ energies by all versions has fewer.
const MOST_TEXT: u64 = 1 << 30;

/// Opens a regular file, and returns its size in bytes. A pipe would block, and a device may have no end.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

pub fn text(path: &Path) -> io::Result<String> {
    let (file, bytes) = open(path)?;
    if bytes > MOST_TEXT {
        let what = format!("it has {bytes} bytes, at most {MOST_TEXT} are read as text");
        return Err(io::Error::other(what));
    }
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(MOST_TEXT).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text"))
}
