//! The Python module `gpp._gpp`: [`gpp_core`] called with NumPy arrays of the right types and
//! shapes. Users call `gpp/__init__.py`, which checks their arguments first.

mod calculator;
mod call;
mod problems;

use pyo3::prelude::*;

pyo3::import_exception!(gpp, Error);
pyo3::import_exception!(gpp, Stopped);

#[pymodule]
mod _gpp {
    #[pymodule_export]
    use super::calculator::{Calculator, Placed};
    #[pymodule_export]
    use super::problems::{read, system, versions};
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

include!("../../build/hypot.rs");
