//! The class of a screening in place.

use std::sync::{Mutex, PoisonError};

use gpp_core::Formula;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;

use crate::arguments::{GivenBands, OfBands};
use crate::device::on_stream;
use crate::found::{Matrices, Sums};
use crate::matrix::{GivenMatrix, OfMatrix};

/// A screening in place.
#[pyclass(frozen, module = "gpp")]
pub struct Placed {
    /// What the core has placed.
    pub placed: Mutex<gpp_core::Placed<'static>>,
    /// G and G′.
    pub extents: [usize; 2],
    /// What placed it.
    pub calculator: gpp_core::Calculator,
    /// What is on a GPU stays there as long as this holds it.
    pub _held: [Py<PyAny>; 2],
}

#[pymethods]
impl Placed {
    /// `Calculator.sums` of the screening in place. Threads take turns.
    #[pyo3(signature = (
        aqsn, aqsm, e, occ, omega, gamma = 0.5, sexcut = 4.0, stream = None, *, static_ch = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn sums(
        &self,
        py: Python<'_>,
        aqsn: &Bound<'_, PyAny>,
        aqsm: &Bound<'_, PyAny>,
        e: &Bound<'_, PyAny>,
        occ: &Bound<'_, PyAny>,
        omega: &Bound<'_, PyAny>,
        gamma: f64,
        sexcut: f64,
        stream: Option<usize>,
        static_ch: bool,
    ) -> PyResult<Sums> {
        let bands = GivenBands { aqsn, aqsm, e, occ, omega };
        let calculator = on_stream(&self.calculator, stream, &bands.named())?;
        let calculator = calculator.with_static_ch(static_ch);
        let bands = OfBands::of(&bands, self.extents, &calculator)?;
        let formula = Formula { gamma, sexcut };
        // Who waits for his turn lets others of Python run.
        let mut placed = self.placed.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let found = bands.sums_at(py, &calculator, &mut placed, formula)?;
        Ok(Sums::of(py, found))
    }

    /// `Calculator.matrix` of the screening in place. Threads take turns.
    #[pyo3(signature = (a, e, occ, omega, gamma = 0.5, sexcut = 4.0, stream = None, *, at_bands = false))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn matrix(
        &self,
        py: Python<'_>,
        a: &Bound<'_, PyAny>,
        e: &Bound<'_, PyAny>,
        occ: &Bound<'_, PyAny>,
        omega: &Bound<'_, PyAny>,
        gamma: f64,
        sexcut: f64,
        stream: Option<usize>,
        at_bands: bool,
    ) -> PyResult<Matrices> {
        let bands = GivenMatrix { a, e, occ, omega, at_bands };
        let calculator = on_stream(&self.calculator, stream, &bands.named())?;
        let bands = OfMatrix::of(&bands, self.extents, &calculator)?;
        let formula = Formula { gamma, sexcut };
        let mut placed = self.placed.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let found = bands.matrix_at(py, &calculator, &mut placed, formula)?;
        Matrices::of(py, found)
    }

    fn __repr__(&self) -> String {
        let [ncouls, ngpown] = self.extents;
        format!("gpp.Placed(ncouls={ncouls}, ngpown={ngpown})")
    }
}
