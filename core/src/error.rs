//! The library's errors: one enum. Its texts are written where an error is found.

use std::cmp::Reverse;
use std::fmt::Display;
use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::Path;

use bytesize::ByteSize;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, flag, system or array that is wrong.
    #[error("{}{what}", if origin.is_empty() { String::new() } else { format!("{origin}: ") })]
    Input {
        /// The name of the file, flag, system or array.
        origin: String,
        /// What is wrong with it, and where. Indices of arrays are 1-based and count in the whole problem; those of
        /// a [`Calculator`](crate::Calculator) count in the caller's arrays.
        what: String,
    },

    /// An unknown name.
    #[error("unknown {what} `{name}`{}known: {known}", meant(nearest))]
    Unknown {
        /// What was named: a version, a system, a device.
        what: &'static str,
        /// The unknown name.
        name: String,
        /// A similar known name; empty if there is none.
        nearest: String,
        /// All known names.
        known: String,
    },

    /// Too little memory, or no more threads of the host.
    #[error("{what}")]
    Memory {
        /// "host" or "device".
        place: &'static str,
        /// What needs how much, and what is free.
        what: String,
    },

    /// There is no GPU to run on.
    #[error("no GPU to run on: {why}")]
    NoGpu {
        /// No driver, no device, no kernels.
        why: String,
    },

    /// A device or its driver failed: the operation, the driver's code and text, and the compiler's log if there is one.
    #[error("{0}")]
    Driver(String),

    /// The calculation was stopped, see [`Stop`](crate::Stop).
    #[error("stopped with code {code} after {done} of {all} {of}")]
    Stopped {
        /// The number that the caller gave as the reason.
        code: i32,
        /// Slabs or parts that are finished.
        done: usize,
        /// Slabs or parts in all.
        all: usize,
        /// The unit: "slabs" or "parts".
        of: &'static str,
    },

    /// A file that could not be written, or a program that could not be run.
    #[error("{0}")]
    Io(String),

    /// An error of the caller's own.
    #[error(transparent)]
    Caller(Box<dyn std::error::Error + Send + Sync>),
}

// Nobody sees an error half changed, a caller's own neither.
impl UnwindSafe for Error {}
impl RefUnwindSafe for Error {}

/// Result of the library's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An unknown name, with a similar known one, if there is one. An empty name is [`Error::Input`].
    pub fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Error {
        let known: Vec<&str> = known.into_iter().collect();
        if name.trim().is_empty() {
            let needs = format!("the name is empty; known: {}", known.join(", "));
            return Error::Input { origin: what.into(), what: needs };
        }
        let lower = name.to_lowercase();
        // An ending comes first: `8` means `v8`.
        let likeness = |known: &str| {
            let known = known.to_lowercase();
            let ends = known.ends_with(&lower);
            (ends, strsim::jaro_winkler(&lower, &known), Reverse(known.len()))
        };
        let likeness = known.iter().map(|known| (likeness(known), *known));
        let nearest = likeness
            .max_by(|(a, _), (b, _)| a.partial_cmp(b).expect("likeness is a number"))
            .filter(|((ends, like, _), _)| *ends || *like >= 0.75)
            .map_or("", |(_, known)| known);
        let (name, nearest, known) = (name.into(), nearest.into(), known.join(", "));
        Error::Unknown { what, name, nearest, known }
    }

    /// Too little memory; `limit` names the limit that leaves no more, and `free` is `u64::MAX` if unknown.
    pub fn memory(
        place: &'static str,
        what: &str,
        needed: u64,
        free: u64,
        limit: Option<&str>,
    ) -> Error {
        let needed = shown(needed);
        let free = if free == u64::MAX { "an unknown amount".into() } else { shown(free) };
        let has = match limit {
            // It says what is free as long as nothing is taken.
            Some(limit) if limit.ends_with(&format!("allows {free}")) => limit.to_string(),
            Some(limit) => format!("{free} available; {limit}"),
            None => format!("{free} free"),
        };
        let what = format!("not enough {place} memory for {what}: {needed} needed, {has}");
        Error::Memory { place, what }
    }

    /// The system starts no more threads.
    pub fn threads(reason: impl Display) -> Error {
        Error::Memory { place: "host", what: format!("cannot start threads: {reason}") }
    }

    /// The driver refused an operation.
    pub fn driver(operation: impl Display, reason: impl Display) -> Error {
        Error::Driver(format!("GPU {operation} failed: {reason}"))
    }

    /// A file that cannot be written.
    pub fn write(path: &Path, reason: impl Display) -> Error {
        Error::Io(format!("{}: cannot write: {reason}", path.display()))
    }

    pub(crate) fn on(self, device: &str) -> Error {
        let of = |text: String| format!("{device}: {text}");
        match self {
            Error::Input { origin, what } => Error::Input { origin: of(origin), what },
            Error::Memory { place, what } => Error::Memory { place, what: of(what) },
            Error::Driver(what) => Error::Driver(of(what)),
            other => other,
        }
    }

    /// Whether a device has too little memory.
    pub fn is_of_device_memory(&self) -> bool {
        matches!(self, Error::Memory { place: "device", .. })
    }

    // Errors of data: a problem's name is put before these when it is known.

    pub(crate) fn new(what: impl Into<String>) -> Error {
        Error::Input { origin: String::new(), what: what.into() }
    }

    /// An error of an array or a number; the text follows its name.
    pub(crate) fn of(name: &str, text: impl Display) -> Error {
        Error::new(format!("{name}{text}"))
    }

    pub(crate) fn length(name: &str, needed: u64, found: u64) -> Error {
        Error::of(name, format!(" needs {needed} elements, has {found}"))
    }

    pub(crate) fn exceeds(name: &str, found: usize, limit: &str, most: usize) -> Error {
        Error::of(name, format!(" = {found} exceeds {limit} = {most}"))
    }

    pub(crate) fn igp(igp: &Range<usize>, ngpown: usize) -> Error {
        Error::new(format!("igp {}..{} is not within 0..{ngpown}", igp.start, igp.end))
    }
}

fn meant(nearest: &str) -> String {
    if nearest.is_empty() { "; ".into() } else { format!(": did you mean `{nearest}`? ") }
}

/// Bytes as messages show them.
pub fn shown(bytes: u64) -> String {
    ByteSize(bytes).display().iec().to_string()
}

#[cfg(test)]
mod tests;
