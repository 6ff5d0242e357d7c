//! How a call ended.

use gpp_core::Error;

/// How a call ended. What went wrong is in `gpp_message`. A handle stays usable after each of them.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All went well.
    Ok = 0,
    /// An argument that cannot be taken; the message names it.
    BadArgument = 1,
    /// The device asked for is not there.
    NoDevice = 2,
    /// The device or its driver refused an operation.
    DeviceFailed = 3,
    /// Too little memory on the host or on the device.
    Memory = 4,
    /// The function of `gpp_set_progress` stopped it.
    Stopped = 5,
    /// A fault of the library.
    Internal = 6,
}

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    pub message: String,
}

impl Failure {
    /// An argument that cannot be taken.
    pub fn argument(message: String) -> Failure {
        Failure { status: Status::BadArgument, message }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { status: status(&error), message: error.to_string() }
    }
}

fn status(error: &Error) -> Status {
    match error {
        Error::UnknownName { .. } | Error::File(_) | Error::Problem { .. } | Error::Data { .. } => {
            Status::BadArgument
        }
        Error::NoGpu { .. } => Status::NoDevice,
        Error::Driver { .. } | Error::Forked { .. } => Status::DeviceFailed,
        Error::Memory { .. } | Error::Threads { .. } => Status::Memory,
        Error::Stopped { .. } => Status::Stopped,
        Error::Device { error, .. } => status(error),
        Error::Compiler { .. } | Error::Checkpoint(_) | Error::Write { .. } | Error::Caller(_) => {
            Status::Internal
        }
    }
}
