//! The files of a checkpoint: one for each rank that has kept a slab.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::contents::{self, Contents};
use crate::error::{CheckpointError, Error, Refusal, Result};
use crate::system::output::folder;

/// All files of a checkpoint that are there, with what they hold: that of rank 0 first.
pub(super) fn all(path: &Path) -> Result<Vec<(PathBuf, Contents)>> {
    // What was named may be no file that has others beside it.
    let first = load(path)?.map(|contents| (path.to_path_buf(), contents));
    let others = others(path)?.into_iter().filter_map(|file| {
        let contents = load(&file).transpose()?;
        Some(contents.map(|contents| (file, contents)))
    });
    first.map(Ok).into_iter().chain(others).collect()
}

/// The files of ranks beside that of rank 0, in the order of ranks.
pub(super) fn others(path: &Path) -> Result<Vec<PathBuf>> {
    let ranks = numbers(path).map_err(|error| refused(path, Refusal::Folder(error)))?;
    Ok(ranks.into_iter().map(|rank| numbered(path, rank)).collect())
}

/// What a file holds, if it is there.
fn load(path: &Path) -> Result<Option<Contents>> {
    let Some((mut file, mut bytes)) = opened(path, contents::MARK)? else { return Ok(None) };
    file.read_to_end(&mut bytes).map_err(|error| refused(path, Refusal::Unreadable(error)))?;
    contents::parse(&bytes).map(Some).map_err(|refusal| refused(path, refusal))
}

/// A file that begins with what checkpoints of a kind begin with, and that beginning; none that is not there.
///
/// # Errors
/// [`Error::Checkpoint`] for anything else.
pub(crate) fn opened(path: &Path, mark: &'static str) -> Result<Option<(File, Vec<u8>)>> {
    let refuse = |refusal| refused(path, refusal);
    let unreadable = |error| refuse(Refusal::Unreadable(error));
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
        // A pipe would be waited for, and is nothing that can be replaced.
        Ok(found) if !found.is_file() => return Err(refuse(Refusal::Irregular)),
        Ok(_) => (),
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    // Whatever else was named may be large.
    (&file).take(mark.len() as u64).read_to_end(&mut bytes).map_err(unreadable)?;
    contents::marked(&bytes, mark).map_err(refuse)?;
    Ok(Some((file, bytes)))
}

/// Removes a file that may be gone already; a symbolic link stays and leads nowhere.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::canonicalize(path).and_then(fs::remove_file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(refused(path, Refusal::Remove(error)))
        }
        _ => Ok(()),
    }
}

pub(crate) fn refused(path: &Path, refusal: Refusal) -> Error {
    CheckpointError { path: path.into(), refusal: Box::new(refusal) }.into()
}

/// `FILE.3` beside `FILE`; the file itself for 0.
pub fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = OsString::from(path);
    if number > 0 {
        name.push(format!(".{number}"));
    }
    name.into()
}

/// The number of a file of this name beside `path`. `FILE.03` and `FILE.+3` have none.
pub fn number(path: &Path, name: &OsStr) -> Option<usize> {
    let digits = name.as_encoded_bytes().strip_prefix(path.file_name()?.as_encoded_bytes())?;
    let number = str::from_utf8(digits.strip_prefix(b".")?).ok()?.parse().ok()?;
    (number > 0 && numbered(path, number).ends_with(name)).then_some(number)
}

/// The numbers from 1 of the files that are there beside `path`, ascending.
///
/// # Errors
/// The system's, for a folder that cannot be read.
pub fn numbers(path: &Path) -> io::Result<Vec<usize>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(path))? {
        found.extend(number(path, &entry?.file_name()));
    }
    found.sort_unstable();
    Ok(found)
}
