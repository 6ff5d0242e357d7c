//! Why a checkpoint is refused.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

/// A checkpoint that a run cannot continue, or one that cannot be removed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {refusal}", path.display())]
#[non_exhaustive]
pub struct CheckpointError {
    /// The file.
    pub path: PathBuf,
    /// What was needed and what was found.
    pub refusal: Box<Refusal>,
}

/// Why a checkpoint is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It cannot be read.
    #[error("cannot read: {0}")]
    Unreadable(io::Error),

    /// The folder cannot be searched for the files of other ranks.
    #[error("cannot look for checkpoints of other ranks beside it: {0}")]
    Folder(io::Error),

    /// It is a folder, a pipe, a device.
    #[error("a checkpoint needs to be a regular file, this is none")]
    Irregular,

    /// It is something else.
    #[error("is no checkpoint: needs to begin with {needed}, {found}")]
    Other {
        /// What checkpoints begin with.
        needed: &'static str,
        /// What it begins with, as a sentence's end.
        found: String,
    },

    /// Its format is of another version of the program.
    #[error("needs checkpoint format {needed}, has {found}")]
    Format {
        /// The format that is read.
        needed: u64,
        /// Its own.
        found: u64,
    },

    /// It is not what was written.
    #[error("is damaged: {0}")]
    Damaged(String),

    /// It is of something else than the run.
    #[error("cannot be continued by this run: {0}")]
    Foreign(Difference),

    /// A slab's sums differ from those in the file of another rank.
    #[error("has other sums of slab {slab} than {}", other.display())]
    Contradicts {
        /// The slab's number, from 0.
        slab: usize,
        /// The file with the others; the same one where it has the slab twice.
        other: PathBuf,
    },

    /// It cannot be removed.
    #[error("cannot remove: {0}")]
    Remove(io::Error),
}

/// What is different in another task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("needs {field} {needed}, has {found}{}", remedy(.flag, .found))]
pub struct Difference {
    /// What it is called.
    pub field: Cow<'static, str>,
    /// That of the run.
    pub needed: String,
    /// That of the other.
    pub found: String,
    /// The flags that say it; empty where none does.
    pub flag: &'static str,
}

fn remedy(flag: &str, found: &str) -> String {
    match flag {
        "" => String::new(),
        "--slab" | "--simd" | "--version" => format!("; {flag} {found} continues it"),
        _ => format!("; see {flag}"),
    }
}
