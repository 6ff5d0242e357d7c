//! Errors of the program in addition to the core's, and the exit codes of all.

use std::fmt::Display;

pub use gpp_core::error::*;

/// Of the core's error where no other is named.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong with something that the user gave, named by `origin`: a file, a flag or a version.
pub fn invalid(origin: impl Display, what: impl Into<String>) -> Error {
    Error::Input { origin: origin.to_string(), what: what.into() }
}

/// The profiler is missing, may not count, or printed what cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("profiler: {0}")]
pub struct ProfileError(pub String);

impl From<ProfileError> for Error {
    fn from(error: ProfileError) -> Error {
        Error::Caller(error.into())
    }
}

/// 2 for bad usage or input, 3 for a device that is missing or failed, and 128 with a signal's number.
pub fn exit_code(error: &Error) -> u8 {
    match error {
        Error::NoGpu { .. } | Error::Driver(_) | Error::Memory { place: "device", .. } => 3,
        Error::Caller(error) if error.is::<ProfileError>() => 3,
        Error::Stopped { code, .. } => 128u8.saturating_add(*code as u8),
        _ => 2,
    }
}

/// The text of an error; a program is stopped by a signal.
pub fn message(error: &Error) -> String {
    match error {
        Error::Stopped { code, done, all, of } => {
            let name = signal_hook::low_level::signal_name(*code).unwrap_or("a signal");
            format!("stopped by {name} after {done} of {all} {of}")
        }
        Error::Unknown { what: "version", known, .. } => {
            error.to_string().replace(&format!("known: {known}"), "`gpp list` shows all")
        }
        _ => error.to_string(),
    }
}
