//! What goes wrong in the program beside the core's errors, and the exit codes of all.

use std::path::PathBuf;

pub use gpp_core::error::*;

/// Of the core's error where no other is named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What goes wrong with the profiler.
#[derive(Debug, thiserror::Error)]
pub enum ProfilerError {
    /// It is missing, may not count, or printed what cannot be read.
    #[error("profiler: {0}")]
    Profiler(ProfileError),

    /// Counters recorded elsewhere that are none, or not of the problem named.
    #[error("{}: {error}", path.display())]
    Counters {
        /// Their file.
        path: PathBuf,
        /// What is wrong with them.
        error: ProfileError,
    },
}

impl From<ProfilerError> for Error {
    fn from(error: ProfilerError) -> Error {
        Error::Caller(error.into())
    }
}

impl From<ProfileError> for Error {
    fn from(error: ProfileError) -> Error {
        ProfilerError::Profiler(error).into()
    }
}

impl From<RecordError> for Error {
    fn from(error: RecordError) -> Error {
        Error::Caller(error.into())
    }
}

/// 2 for bad usage or input, 3 for a device that is missing or failed, and 128 with a signal's number.
pub fn exit_code(error: &Error) -> u8 {
    match error {
        Error::NoGpu { .. }
        | Error::Driver { .. }
        | Error::Compiler { .. }
        | Error::Memory { place: "device", .. } => 3,
        Error::Caller(error) => match error.downcast_ref() {
            Some(ProfilerError::Profiler(_)) => 3,
            _ => 2,
        },
        Error::Device { error, .. } => exit_code(error),
        Error::Stopped { code, .. } => 128u8.saturating_add(*code as u8),
        _ => 2,
    }
}

/// What messages say of an error: a program stops by a signal.
pub fn said(error: &Error) -> String {
    match error {
        Error::Stopped { code, done, all, of } => {
            format!("stopped by {} after {done} of {all} {of}", signal_name(*code))
        }
        error => error.to_string(),
    }
}

fn signal_name(signal: i32) -> String {
    #[cfg(unix)]
    if let Some(name) = signal_hook::low_level::signal_name(signal) {
        return name.into();
    }
    format!("signal {signal}")
}

// What keeps a chart from being drawn.

/// A chart that cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChartError {
    /// The drawing library gave up.
    #[error("{0}")]
    Drawing(String),

    /// A name has no place.
    #[error("no room for the name `{name}`")]
    NoRoom {
        /// The name.
        name: String,
    },

    /// A dot has no place on a chart with logarithmic axes.
    #[error("{version} has no {level} point: {intensity} FLOP/byte, {flops_per_s} FLOP/s")]
    NoPoint {
        /// The version's id.
        version: String,
        /// The level of the memory hierarchy.
        level: &'static str,
        /// Operations for each byte.
        intensity: f64,
        /// Operations a second.
        flops_per_s: f64,
    },

    /// An axis that reaches farther than anything that is measured.
    #[error("an axis from {from:e} to {to:e}, and {MOST_DECADES} powers of ten have room")]
    Axis {
        /// Its begin.
        from: f64,
        /// Its end.
        to: f64,
    },
}

/// Powers of ten that an axis has room for.
pub const MOST_DECADES: f64 = 24.0;

// What goes wrong with profiles: the profiler, and what it printed.

/// A profile that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no profiler.
    #[error(
        "{} cannot be run ({why}): install Nsight Compute or name it with --ncu",
        program.display()
    )]
    NoProfiler {
        /// The one that was named.
        program: PathBuf,
        /// What became of it.
        why: String,
    },

    /// The driver lets nobody else count.
    #[error(
        "the driver does not let this user read the performance counters (ERR_NVGPUCTRPERM): run \
         as root, or load the driver's module with NVreg_RestrictProfilingToAdminUsers=0"
    )]
    NoPermission,

    /// A program cannot be run.
    #[error("{program} cannot be run: {why}")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        why: String,
    },

    /// The profiler printed an error in place of a table.
    #[error("{0}")]
    Said(String),

    /// What was printed is not the table that was asked for.
    #[error("{0}")]
    Table(String),

    /// A launch lacks a metric.
    #[error("metric {metric} is missing for kernel `{kernel}`: record it with --metrics")]
    NoMetric {
        /// The metric.
        metric: String,
        /// The kernel's symbol.
        kernel: String,
    },

    /// A kernel that no version has.
    #[error("kernel `{0}` is of no known version")]
    UnknownKernel(String),

    /// Launches that belong to no version.
    #[error("{0}")]
    Launches(&'static str),
}

// What is wrong with a stored record.

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
