//! The module `gpp` of Python: [`gpp_core`] called with NumPy arrays. `gpp.pyi` beside says what it has.

mod arguments;
mod array;
mod calculator;
mod device;
mod found;
mod matrix;
mod placed;
mod problems;
mod small;

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

create_exception!(
    gpp,
    Error,
    PyRuntimeError,
    "What went wrong in a calculation: arrays that do not fit each other, a number that no kernel takes, a \
     name that nothing has, no GPU, too little memory."
);

/// The core's error as Python's.
fn raised(error: gpp_core::Error) -> PyErr {
    Error::new_err(error.to_string())
}

/// BerkeleyGW's GPP self-energy kernel, on GPUs and processors.
///
/// >>> import gpp
/// >>> calculator = gpp.Calculator("cpu")
/// >>> found = calculator.sums(**gpp.system("tiny"))
/// >>> sigma = found.asx + found.ach
#[pymodule]
mod gpp {
    #[pymodule_export]
    use super::Error;
    #[pymodule_export]
    use super::calculator::Calculator;
    #[pymodule_export]
    use super::found::{Matrices, Sums};
    #[pymodule_export]
    use super::placed::Placed;
    #[pymodule_export]
    use super::problems::{read, system, versions};
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
