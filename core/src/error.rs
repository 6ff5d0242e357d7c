//! Everything that can go wrong, as one enum.

mod data;
mod driver;
mod file;

use std::cmp::Reverse;
use std::path::PathBuf;

pub use data::{DataError, EnergyAt, PoleAt};
pub use driver::{Code, DriverError};
pub use file::{Fault, FileError};

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that nothing has.
    #[error("unknown {what} `{given}`{}known: {known}", meant(nearest))]
    UnknownName {
        /// What was named: a version, a system, a device.
        what: &'static str,
        /// The name given.
        given: String,
        /// The known name that is like it; empty where none is.
        nearest: String,
        /// All known names.
        known: String,
    },

    /// An input file that is not one.
    #[error(transparent)]
    File(#[from] FileError),

    /// A problem that no kernel can take.
    #[error("{origin}: {what}")]
    Problem {
        /// The file or system.
        origin: String,
        /// What is wrong with it, and where.
        what: DataError,
    },

    /// Anything else that was given and is wrong: a flag, a folder, a record.
    #[error("{origin}: {what}")]
    Data {
        /// What was given.
        origin: String,
        /// What is wrong with it, and where.
        what: String,
    },

    /// Too little memory on the host or on a device.
    #[error(
        "not enough {place} memory for {what}: {} needed, {} free{}",
        mib(*needed),
        if *free == u64::MAX { "nobody knows how much".into() } else { mib(*free) },
        limit.as_ref().map_or(String::new(), |limit| format!("; {limit}"))
    )]
    Memory {
        /// "host" or "device".
        place: &'static str,
        /// What needs it.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes free; `u64::MAX` if the system does not tell.
        free: u64,
        /// Whose limit leaves no more, where it is not the memory itself.
        limit: Option<String>,
    },

    /// The device asked for is not there.
    #[error("no GPU to run on: {why}")]
    NoGpu {
        /// No driver, no device, no kernels.
        why: String,
    },

    /// The driver refused an operation.
    #[error("GPU {operation} failed: {reason}")]
    Driver {
        /// The operation and what it was applied to.
        operation: String,
        /// The driver's code and text, the JIT log where there is one.
        reason: DriverError,
    },

    /// The system gives no threads.
    #[error("cannot start threads: {reason}")]
    Threads {
        /// The system's reason.
        reason: String,
    },

    /// What another process has opened, from which this one was forked.
    #[error(
        "the calculator was opened by process {opened}, and its threads are not in process {here}, which was forked \
         from it; open one here"
    )]
    Forked {
        /// The process that opened it.
        opened: u32,
        /// The one that calls it.
        here: u32,
    },

    /// The compiler of kernels to compare with is missing or failed.
    #[error("{what}")]
    Compiler {
        /// What went wrong and what to do.
        what: String,
    },

    /// What went wrong on one of several devices.
    #[error("{device}: {error}")]
    Device {
        /// Which one.
        device: String,
        /// What.
        error: Box<Error>,
    },

    /// It was asked to stop, see [`Stop`](crate::stop::Stop).
    #[error("stopped, for {code}, after {done} of {all} {of}")]
    Stopped {
        /// What for: a number of the caller's.
        code: i32,
        /// How many are finished.
        done: usize,
        /// All.
        all: usize,
        /// Of what: slabs or parts.
        of: &'static str,
    },

    /// A file that could not be written.
    #[error("{}: cannot write: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },

    /// What a caller adds to these.
    #[error(transparent)]
    Caller(Box<dyn std::error::Error + Send + Sync>),
}

/// Result of the library's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An unknown name, with the known one that is like it, if any is. An empty one is [`Error::Data`].
    pub fn unknown<'a>(
        what: &'static str,
        given: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Error {
        let known: Vec<&str> = known.into_iter().collect();
        if given.trim().is_empty() {
            let needs = format!("the name is empty; known: {}", known.join(", "));
            return Error::Data { origin: what.into(), what: needs };
        }
        let lower = given.to_lowercase();
        // `8` means `v8`, whatever letters are near to it.
        let likeness = |name: &&&str| {
            let name = name.to_lowercase();
            let ends = !lower.is_empty() && name.ends_with(&lower);
            (ends, strsim::jaro_winkler(&lower, &name), Reverse(name.len()))
        };
        let nearest = known
            .iter()
            .max_by(|a, b| {
                let (a, b) = (likeness(a), likeness(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
            })
            .filter(|name| {
                let (ends, like, _) = likeness(name);
                ends || like >= LIKE
            })
            .copied()
            .unwrap_or_default();
        Error::UnknownName {
            what,
            given: given.into(),
            nearest: nearest.into(),
            known: known.join(", "),
        }
    }
}

/// How like a name has to be to what was given, by Jaro and Winkler, to be what was meant.
const LIKE: f64 = 0.75;

fn meant(nearest: &str) -> String {
    if nearest.is_empty() { "; ".into() } else { format!(": did you mean `{nearest}`? ") }
}

/// Bytes as messages have them.
pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_what_was_meant() {
        let nearest = |given, known: &[&str]| match Error::unknown("name", given, known.to_vec()) {
            Error::UnknownName { nearest, .. } => nearest,
            other => panic!("{other}"),
        };
        assert_eq!(nearest("8", &["v0", "v8", "v13", "best", "all"]), "v8");
        assert_eq!(nearest("GPU", &["auto", "gpu", "gpu:N", "cpu"]), "gpu");
        assert_eq!(nearest("V3", &["v0", "v3", "v13", "all"]), "v3");
        assert_eq!(nearest("al", &["v0", "v3", "v13", "all"]), "all");
        assert_eq!(nearest("si215", &["tiny", "si214", "si510"]), "si214");
        let none = Error::unknown("system", "nope", ["tiny-complex", "demo", "si214"]);
        assert_eq!(none.to_string(), "unknown system `nope`; known: tiny-complex, demo, si214");
        let empty = Error::unknown("system", "", ["demo", "si214"]);
        assert_eq!(empty.to_string(), "system: the name is empty; known: demo, si214");
    }
}
