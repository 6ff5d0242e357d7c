//! What comes of a calculation.

use gpp_core::{Found, FoundMatrix};
use num_complex::Complex64;
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyComplex;

/// What came of a calculation.
#[pyclass(frozen, get_all, module = "gpp")]
pub struct Sums {
    /// Screened exchange at each energy, (nw,) complex128, in the unit of vcoul.
    asx: Py<PyArray1<Complex64>>,
    /// Coulomb hole at each energy, (nw,) complex128, in the unit of vcoul.
    ach: Py<PyArray1<Complex64>>,
    /// The static CH of the same bands, complex, in the unit of vcoul; None unless it was asked for.
    static_ch: Option<Py<PyComplex>>,
    /// The version that calculated them.
    version: &'static str,
    /// Seconds that its kernels took.
    seconds: f64,
}

impl Sums {
    /// The arrays of Python's.
    pub fn of(py: Python<'_>, found: Found) -> Sums {
        let array = |sums: Vec<Complex64>| PyArray1::from_vec(py, sums).unbind();
        let complex = |z: Complex64| PyComplex::from_doubles(py, z.re, z.im).unbind();
        Sums {
            asx: array(found.sums.asx),
            ach: array(found.sums.ach),
            static_ch: found.static_ch.map(complex),
            version: found.version,
            seconds: found.seconds,
        }
    }
}

#[pymethods]
impl Sums {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let repr =
            |array: &Py<PyArray1<Complex64>>| Ok::<_, PyErr>(array.bind(py).repr()?.to_string());
        let (asx, ach) = (repr(&self.asx)?, repr(&self.ach)?);
        let (version, seconds) = (self.version, self.seconds);
        let static_ch =
            self.static_ch.as_ref().map_or(String::new(), |found| format!(" static_ch={found},"));
        Ok(format!(
            "gpp.Sums(asx={asx}, ach={ach},{static_ch} version='{version}', seconds={seconds:.3e})"
        ))
    }
}

/// What came of the calculation of a matrix.
#[pyclass(frozen, get_all, module = "gpp")]
pub struct Matrices {
    /// Screened exchange, sx[iw, l, m], (nw, bands, bands) complex128, in the unit of vcoul; with at_bands
    /// (2, bands, bands).
    sx: Py<PyArray3<Complex64>>,
    /// Coulomb hole, ch[iw, l, m], as sx.
    ch: Py<PyArray3<Complex64>>,
    /// The version that calculated them: "ring", "m16n8k16", "wide" and others on a GPU, "cpu" on a processor.
    version: &'static str,
    /// Seconds that its kernels took.
    seconds: f64,
}

impl Matrices {
    /// The arrays of Python's: l is the fastest in memory.
    pub fn of(py: Python<'_>, found: FoundMatrix) -> PyResult<Matrices> {
        let FoundMatrix { sums, version, seconds, .. } = found;
        let shape = [sums.nw(), sums.bands, sums.bands];
        let array = |all: Vec<Complex64>| -> PyResult<Py<PyArray3<Complex64>>> {
            let by_m = PyArray1::from_vec(py, all).reshape(shape)?;
            Ok(by_m.permute(Some([0, 2, 1]))?.unbind())
        };
        Ok(Matrices { sx: array(sums.sx)?, ch: array(sums.ch)?, version, seconds })
    }
}

#[pymethods]
impl Matrices {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.sx.bind(py).getattr("shape")?;
        let (version, seconds) = (self.version, self.seconds);
        Ok(format!("gpp.Matrices(shape={shape}, version='{version}', seconds={seconds:.3e})"))
    }
}
