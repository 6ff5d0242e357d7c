//! Files that are read: regular ones only, which are there whole. A pipe would be waited for, and of a device
//! there may be no end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::format;

/// Bytes of a text at most: a record of 10⁵ energies by all versions has fewer.
pub const MOST_TEXT: u64 = 1 << 30;

/// Opens a regular file, by whatever links it is reached; nothing else is opened, let alone read. The file and
/// its bytes.
///
/// # Errors
/// The system's; "not a regular file".
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

/// The text of a regular file of at most [`MOST_TEXT`] bytes.
///
/// # Errors
/// Those of [`open`]; a text that is longer, which is not read, and bytes that are no text.
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
        let found = format::named(error.as_bytes()).unwrap_or("of bytes");
        io::Error::other(format!("it is {found}, no text"))
    })
}
