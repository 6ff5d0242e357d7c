//! What is wrong with a stored record.

use std::path::PathBuf;

/// A file that is not the record asked for.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read; `remedy` is empty or says what writes it.
    #[error("{}: cannot read: {reason}{remedy}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
        /// What to do, after a semicolon.
        remedy: String,
    },

    /// It holds no JSON.
    #[error("{}: is no JSON: {reason}", path.display())]
    NoJson {
        /// The file.
        path: PathBuf,
        /// The parser's reason.
        reason: String,
    },

    /// It holds something else.
    #[error("{}: is no record of {needed}, it holds {found}", path.display())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        needed: &'static str,
        /// What it holds.
        found: &'static str,
    },

    /// Its layout is of another version of the program.
    #[error("{}: needs schema {needed}, has {found}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// The schemas that are read.
        needed: String,
        /// The one that it has.
        found: String,
    },

    /// A number that its field cannot have.
    #[error("{}: {field} needs {needed}, has {found:e}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The field, with those around it.
        field: String,
        /// The limits.
        needed: String,
        /// The number.
        found: f64,
    },

    /// A field is missing or is of another type.
    #[error("{}: is no record of {needed}: {reason}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        needed: &'static str,
        /// The parser's reason.
        reason: String,
    },
}
