//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};

/// Files that are half-written now.
static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn half_written() -> MutexGuard<'static, Vec<PathBuf>> {
    HALF_WRITTEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what is half-written, for a process that is about to end: whoever writes more waits for the end. A
/// file system that does not answer is not waited for.
pub fn remove_half_written() {
    for _ in 0..TRIES {
        let files = match HALF_WRITTEN.try_lock() {
            Ok(files) => files,
            Err(TryLockError::Poisoned(files)) => files.into_inner(),
            Err(TryLockError::WouldBlock) => {
                thread::sleep(Duration::from_millis(5));
                continue;
            }
        };
        files.iter().for_each(|path| drop(fs::remove_file(path)));
        std::mem::forget(files);
        return;
    }
}

/// Five milliseconds each.
const TRIES: u32 = 200;

/// A file beside the one that it is to be, removed with this unless it has taken that one's place.
struct HalfWritten(Option<tempfile::NamedTempFile>);

impl HalfWritten {
    fn new(target: &Path) -> io::Result<HalfWritten> {
        // What is made is known before anyone can remove it.
        let mut files = half_written();
        let file = temporary(target)?;
        files.push(file.path().to_path_buf());
        Ok(HalfWritten(Some(file)))
    }

    fn persist(mut self, target: &Path) -> io::Result<()> {
        let mut files = half_written();
        let Some(file) = self.0.take() else { return Ok(()) };
        files.retain(|path| path != file.path());
        file.persist(target).map(drop).map_err(|e| e.error)
    }

    fn file(&mut self) -> &mut tempfile::NamedTempFile {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for HalfWritten {
    fn drop(&mut self) {
        let mut files = half_written();
        if let Some(file) = self.0.take() {
            files.retain(|path| path != file.path());
        }
    }
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
    let mut half = HalfWritten::new(&target).map_err(failed)?;
    let file = half.file();
    write(file.as_file_mut()).map_err(failed)?;
    // A name must not outlive a crash of the system that its contents do not.
    file.as_file().sync_all().map_err(failed)?;
    if let Ok(existing) = fs::metadata(&target) {
        fs::set_permissions(file.path(), existing.permissions()).map_err(failed)?;
    }
    half.persist(&target).map_err(failed)?;
    // The name itself; not every file system has this, and what is there is whole either way.
    #[cfg(unix)]
    let _ = File::open(folder(&target)).and_then(|folder| folder.sync_all());
    Ok(())
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
