//! What goes wrong in the program beside the core's errors, and the exit codes of all.

mod chart;
mod profile;
mod record;

use std::path::PathBuf;

pub use chart::{ChartError, MOST_DECADES};
pub use gpp_core::error::*;
pub use profile::ProfileError;
pub use record::RecordError;

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
