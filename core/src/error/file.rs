//! What may be wrong with an input file.

use std::io;
use std::path::PathBuf;

use super::DataError;

/// What is wrong with an input file, and where.
#[derive(Debug, thiserror::Error)]
#[error("{}{}: {fault}", path.display(), place(*record, name, *offset))]
#[non_exhaustive]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The record, 1-based; 0 for the file as a whole.
    pub record: usize,
    /// What the record holds; empty for the file as a whole.
    pub name: &'static str,
    /// Byte offset of the record's first marker.
    pub offset: u64,
    /// What was needed and what was found.
    pub fault: Box<Fault>,
}

fn place(record: usize, name: &str, offset: u64) -> String {
    match record {
        0 => String::new(),
        _ => format!(": record {record} ({name}) at byte {offset}"),
    }
}

/// What is wrong with an input file or one of its records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file cannot be opened.
    #[error("cannot read: {0}")]
    Open(io::Error),

    /// It cannot be read any further.
    #[error("cannot read at byte {at}: {reason}")]
    Read {
        /// Byte offset.
        at: u64,
        /// The system's reason.
        reason: io::Error,
    },

    /// It has another size than when it was opened.
    #[error("had {then} bytes when it was opened, has {found}")]
    Changed {
        /// Its size when it was opened.
        then: u64,
        /// Its size.
        found: u64,
    },

    /// It ends within the record.
    #[error("needs {needed} bytes with its markers, the file ends after {left}")]
    Truncated {
        /// Bytes of the record and its markers.
        needed: u128,
        /// Bytes from the record's begin to the file's end.
        left: u64,
    },

    /// It ends within a part of the record.
    #[error("needs {needed} bytes at byte {at}, the file ends after {left}")]
    Short {
        /// Bytes needed.
        needed: u64,
        /// Byte offset of the first.
        at: u64,
        /// Bytes that are there.
        left: u64,
    },

    /// It goes on behind the last record.
    #[error("{left} bytes follow the last record, at byte {at}")]
    Follows {
        /// Bytes behind the last record.
        left: u64,
        /// Byte offset of the first.
        at: u64,
    },

    /// The last subrecord ends before the record does.
    #[error("the record ends early")]
    Early,

    /// It is a file of another format.
    #[error(
        "is {0}, and no input file: that begins with a Fortran record, little-endian with length \
         markers of 4 bytes; docs/file-format.md describes it"
    )]
    Format(&'static str),

    /// A length marker that is not the record's.
    #[error(
        "needs a length marker of {needed}, found {found}{}",
        if *big_endian { ": the file is big-endian" } else { "" }
    )]
    Marker {
        /// Bytes left of the record.
        needed: u64,
        /// The marker.
        found: i32,
        /// Whether it is right when its bytes are swapped.
        big_endian: bool,
    },

    /// A closing marker that does not repeat the first.
    #[error("needs {needed} as its closing marker at byte {at}, found {found}")]
    Closing {
        /// The marker needed.
        needed: i64,
        /// Byte offset of the marker.
        at: u64,
        /// The marker found.
        found: i32,
    },

    /// An extent that two records give differently.
    #[error("{name} is {first} in record 1, {found} here")]
    Again {
        /// The extent.
        name: &'static str,
        /// In record 1.
        first: usize,
        /// In this record.
        found: i32,
    },

    /// Extents for whose modes the file is too small.
    #[error(
        "ncouls = {ncouls} and ngpown = {ngpown} need {needed} bytes of wtilde_array, more than the \
         whole file has: {size}"
    )]
    Modes {
        /// G vectors.
        ncouls: usize,
        /// G′ vectors.
        ngpown: usize,
        /// Bytes of one of the matrices.
        needed: u128,
        /// Bytes of the file.
        size: u64,
    },

    /// An array that host memory does not hold.
    #[error(transparent)]
    Memory(Box<super::Error>),

    /// Contents that no kernel can take.
    #[error(transparent)]
    Data(#[from] DataError),
}
