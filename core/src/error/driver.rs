//! Why the driver did not do something.

/// The reason for [`Error::Driver`](super::Error::Driver).
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
