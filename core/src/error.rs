//! Everything that can go wrong, as one enum.

use std::cmp::Reverse;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

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

/// Data that no kernel can take: what is wrong, where, what was needed and what was found. Indices are 1-based and
/// those of the whole problem; a [`Calculator`](crate::Calculator) says the caller's.
#[derive(Clone, Debug, PartialEq)]
pub struct DataError {
    parts: Vec<Part>,
    /// The array and the bytes of a copy for which there is no memory.
    refused: Option<(&'static str, u64)>,
}

/// A part of an error's text. Callers have other names and indices than files.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Name(&'static str),
    Index(usize),
}

impl DataError {
    pub(crate) fn new(text: impl Into<String>) -> DataError {
        DataError { parts: Vec::new(), refused: None }.text(text)
    }

    /// Of an array or a number; the text follows its name.
    pub(crate) fn of(name: &'static str, text: impl Into<String>) -> DataError {
        DataError { parts: vec![Part::Name(name)], refused: None }.text(text)
    }

    /// Of an array whose numbers are replaced or left out in a copy, for which there is no memory.
    pub(crate) fn refused(name: &'static str, bytes: u64) -> DataError {
        let text = format!("there is no memory for a copy of {name}, {bytes} bytes");
        DataError { refused: Some((name, bytes)), ..DataError::new(text) }
    }

    /// Of an array that has too few elements, or too many.
    pub(crate) fn length(name: &'static str, needed: u64, found: u64) -> DataError {
        DataError::of(name, format!(" needs {needed} elements, has {found}"))
    }

    /// Of a number that another one bounds.
    pub(crate) fn exceeds(name: &'static str, found: usize, limit: &str, most: usize) -> DataError {
        DataError::of(name, format!(" = {found} exceeds {limit} = {most}"))
    }

    /// Of a range of igp that is empty or not within the problem.
    pub(crate) fn igp(igp: &Range<usize>, ngpown: usize) -> DataError {
        DataError::new(format!("igp {}..{} is not a part of 0..{ngpown}", igp.start, igp.end))
    }

    pub(crate) fn text(mut self, text: impl Into<String>) -> DataError {
        self.parts.push(Part::Text(text.into()));
        self
    }

    pub(crate) fn index(mut self, at: usize) -> DataError {
        self.parts.push(Part::Index(at));
        self
    }

    /// Two indices.
    pub(crate) fn indices(self, at: (usize, usize)) -> DataError {
        self.index(at.0).text(",").index(at.1)
    }

    pub(crate) fn parts_mut(&mut self) -> &mut [Part] {
        &mut self.parts
    }

    pub(crate) fn as_refused(&self) -> Option<(&'static str, u64)> {
        self.refused
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Name(name) => f.write_str(name),
            Part::Index(at) => write!(f, "{at}"),
        })
    }
}

impl std::error::Error for DataError {}

/// The reason for [`Error::Driver`](Error::Driver).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The driver returned a code.
    #[error("{0}")]
    Refused(Code),

    /// The driver's compiler or loader refused an image.
    #[error("{code}\n{log}")]
    Image {
        /// What it returned.
        code: Code,
        /// The first lines of its log, and how many more there are.
        log: String,
    },

    /// PTX that holds a zero byte, which ends it for the driver.
    #[error("the PTX holds a zero byte")]
    Zero,

    /// PTX without a kernel of this name.
    #[error("the PTX has none of this name")]
    NoKernel,

    /// A variable of a module that is too small.
    #[error("the variable has {bytes} bytes, {needed} needed")]
    Variable {
        /// Bytes of the variable.
        bytes: usize,
        /// Bytes to be written.
        needed: usize,
    },
}

/// A code of the driver, with its name and meaning where the driver knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// `CUresult`.
    pub code: i32,
    /// `CUDA_ERROR_…` and the driver's text.
    pub meaning: Option<(String, String)>,
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.meaning {
            Some((name, text)) => write!(f, "{name}: {text}"),
            None => write!(f, "code {}", self.code),
        }
    }
}

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
    pub fault: String,
}

fn place(record: usize, name: &str, offset: u64) -> String {
    match record {
        0 => String::new(),
        _ => format!(": record {record} ({name}) at byte {offset}"),
    }
}

#[cfg(test)]
mod tests;
