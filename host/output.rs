//! Files that appear whole or not at all.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};

/// Has `write` fill a file beside `path` that takes its place once it is complete. What is no
/// regular file, a pipe or a device, is written to directly.
///
/// # Errors
/// [`Error::Write`]; nothing is left behind then.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let failed = |e: io::Error| Error::Write { path: path.into(), reason: e.to_string() };
    if path.exists() && !path.is_file() {
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        return write(&mut file).map_err(failed);
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".gpp").tempfile_in(parent).map_err(failed)?;
    write(file.as_file_mut()).map_err(failed)?;
    readable(file.path()).map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Temporary files are private; what replaces a file is as readable as one made the usual way.
fn readable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))?;
    }
    let _ = path;
    Ok(())
}
