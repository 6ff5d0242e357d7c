//! The classes that calculate, and the arrays that they take.

use std::mem::transmute;

use gpp_core::on_gpu::DeviceMatrix;
use gpp_core::{Bands, Formula, Found, MatrixBands, MatrixRef, Precision, Screening, State};
use num_complex::{Complex32, Complex64};
use numpy::{AsSliceError, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::{Array, Call, detached};

/// An open device and the version to run there.
#[pyclass(frozen, name = "Calculator")]
pub struct PyCalculator(gpp_core::Calculator);

/// A placed screening.
#[pyclass(name = "Placed")]
pub struct PyPlaced {
    placed: gpp_core::Placed<'static>,
    /// The arrays that it refers to, dropped after it.
    _arrays: Py<PyAny>,
}

/// asx and ach; the static CH, CH of each band and the derivative of Σ; the version; seconds of the kernels and of the
/// call, and the error of single precision: its bound, and that of a sample.
type Sums<'py> = ([Array<'py>; 2], [Option<Array<'py>>; 3], &'static str, [f64; 4]);
/// sx and ch, `(bands, bands, nw)` with the first index fastest, the version, seconds of the products and of the call.
type Matrices<'py> = (Array<'py>, Array<'py>, &'static str, f64, f64);

/// gamma, sexcut and, for the time-ordered formula in their place, eta; then its window.
type Limits = (f64, f64, Option<f64>, f64);

fn formula((gamma, sexcut, eta, window): Limits) -> Formula {
    match eta {
        None if window == 0.0 => Formula::BerkeleyGw { gamma, sexcut },
        eta => Formula::TimeOrdered { eta: eta.unwrap_or_default(), window },
    }
}

fn sums_of(py: Python<'_>, found: Found) -> Sums<'_> {
    let array = |sums| PyArray1::from_vec(py, sums);
    let Found { sums, static_ch, ach_of_bands, derivative, version, .. } = found;
    (
        [sums.asx, sums.ach].map(array),
        [static_ch, ach_of_bands, derivative].map(|sums| sums.map(array)),
        version,
        [found.seconds, found.call_seconds, found.error_bound, found.error_found],
    )
}

#[pymethods]
impl PyCalculator {
    #[new]
    fn new(py: Python<'_>, device: &str) -> PyResult<PyCalculator> {
        detached(py, || gpp_core::Calculator::open(device)).map(PyCalculator)
    }

    fn device(&self) -> (&str, &str) {
        let info = self.0.device();
        (&info.id, &info.name)
    }

    fn threads(&self) -> usize {
        self.0.threads()
    }

    /// 0 is the default.
    fn set_threads(&self, py: Python<'_>, threads: usize) -> PyResult<()> {
        detached(py, || self.0.clone().with_threads(threads).map(drop))
    }

    fn with_version(&self, py: Python<'_>, version: &str) -> PyResult<PyCalculator> {
        detached(py, || self.0.clone().with_version(version)).map(PyCalculator)
    }

    fn with_precision(&self, py: Python<'_>, single: bool, share: f64) -> PyResult<PyCalculator> {
        let precision = if single { Precision::Single } else { Precision::Double };
        let set = || self.0.clone().with_precision(precision).with_tolerance(share);
        detached(py, set).map(PyCalculator)
    }

    /// For one call if it is `once`.
    fn place(
        &self,
        py: Python<'_>,
        screening: Py<PyAny>,
        once: bool,
        call: Call,
    ) -> PyResult<PyPlaced> {
        let OfScreening(wtilde, eps, vcoul, inv_igp_index, indinv) = &screening.extract(py)?;
        let view = Screening {
            wtilde: wtilde.view()?,
            eps: eps.view()?,
            vcoul: vcoul.as_slice()?,
            inv_igp_index: inv_igp_index.as_slice()?,
            indinv: indinv.as_slice()?,
        };
        // SAFETY: what is returned holds the arrays.
        let view = unsafe { transmute::<Screening<'_>, Screening<'static>>(view) };
        let placed = call.run(py, &self.0, |calculator| calculator.place(&view))?;
        let placed = if once { placed.once() } else { placed };
        Ok(PyPlaced { placed, _arrays: screening })
    }

    /// Copies as many bytes of an argument that is on a GPU to the host.
    fn fetch<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        address: u64,
        bytes: usize,
        call: Call,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        // SAFETY: the array says that it is there, and is held by the caller.
        let fetch = |calculator: &gpp_core::Calculator| unsafe {
            calculator.fetch_vector(name, address, bytes)
        };
        Ok(PyArray1::from_vec(py, call.run(py, &self.0, fetch)?))
    }
}

#[pymethods]
impl PyPlaced {
    fn sums<'py>(
        &mut self,
        py: Python<'py>,
        calculator: &PyCalculator,
        bands: OfBands<'py>,
        omega: Vector<'py, f64>,
        limits: Limits,
        call: Call,
    ) -> PyResult<Sums<'py>> {
        let (placed, bands, omega) = (&mut self.placed, bands.view()?, omega.as_slice()?);
        let found = call.run(py, &calculator.0, |calculator| {
            calculator.sums_at(placed, &bands, omega, formula(limits))
        })?;
        Ok(sums_of(py, found))
    }

    fn sums_of_states<'py>(
        &mut self,
        py: Python<'py>,
        calculator: &PyCalculator,
        states: Vec<(OfBands<'py>, Vector<'py, f64>)>,
        limits: Limits,
        call: Call,
    ) -> PyResult<Vec<Sums<'py>>> {
        let placed = &mut self.placed;
        let state = states
            .iter()
            .map(|(bands, omega)| Ok(State { bands: bands.view()?, omega: omega.as_slice()? }));
        let states = state.collect::<Result<Vec<_>>>()?;
        let found = call.run(py, &calculator.0, |calculator| {
            calculator.sums_of_states(placed, &states, formula(limits))
        })?;
        Ok(found.into_iter().map(|found| sums_of(py, found)).collect())
    }

    fn matrix<'py>(
        &mut self,
        py: Python<'py>,
        calculator: &PyCalculator,
        bands: OfMatrix<'py>,
        omega: Vector<'py, f64>,
        limits: Limits,
        call: Call,
    ) -> PyResult<Matrices<'py>> {
        let OfMatrix(a, e, occ, at_bands) = &bands;
        let (a, e, occ) = (a.as_slice()?, e.as_slice()?, occ.as_slice()?);
        let bands = MatrixBands { a, e, occ, at_bands: *at_bands };
        let (placed, omega) = (&mut self.placed, omega.as_slice()?);
        let found = call.run(py, &calculator.0, |calculator| {
            calculator.matrix_at(placed, &bands, omega, formula(limits))
        })?;
        let [sx, ch] = [found.sums.sx, found.sums.ch].map(|sums| PyArray1::from_vec(py, sums));
        Ok((sx, ch, found.version, found.seconds, found.call_seconds))
    }
}

// Arguments: column-major slices, or addresses on a GPU, as the core takes them.

/// A vector of NumPy, without gaps.
type Vector<'py, T> = PyReadonlyArray1<'py, T>;

type Result<T> = std::result::Result<T, AsSliceError>;

/// All elements of a matrix in the order of the core, or where they are on a GPU.
#[derive(FromPyObject)]
enum PyMatrix<'py> {
    Host(Vector<'py, Complex64>),
    Spaced(Vector<'py, Complex64>, usize),
    Single(Vector<'py, Complex32>, usize),
    Device { at: u64, ld: usize },
}

impl PyMatrix<'_> {
    fn view(&self) -> Result<MatrixRef<'_>> {
        Ok(match *self {
            PyMatrix::Host(ref vector) => MatrixRef::Host(vector.as_slice()?),
            PyMatrix::Spaced(ref vector, ld) => MatrixRef::Spaced(vector.as_slice()?, ld),
            PyMatrix::Single(ref vector, ld) => MatrixRef::Single(vector.as_slice()?, ld),
            // SAFETY: the array says that it is there, and whoever calls holds it.
            PyMatrix::Device { at, ld } => MatrixRef::Device(unsafe { DeviceMatrix::new(at, ld) }),
        })
    }
}

/// ω̃, eps and vcoul; 1, 2, 3, … for each column; its row, counted from 1, or 0.
#[derive(FromPyObject)]
struct OfScreening<'py>(
    PyMatrix<'py>,
    PyMatrix<'py>,
    Vector<'py, f64>,
    Vector<'py, i32>,
    Vector<'py, i32>,
);

/// aqsn; aqsm, and whether it has the rows of G′ alone; e and occ.
#[derive(FromPyObject)]
struct OfBands<'py>(PyMatrix<'py>, PyMatrix<'py>, bool, Vector<'py, f64>, Vector<'py, f64>);

impl OfBands<'_> {
    fn view(&self) -> Result<Bands<'_>> {
        let OfBands(aqsn, aqsm, aqsm_local, e, occ) = self;
        let (aqsn, aqsm, aqsm_local) = (aqsn.view()?, aqsm.view()?, *aqsm_local);
        Ok(Bands { aqsn, aqsm, aqsm_local, e: e.as_slice()?, occ: occ.as_slice()? })
    }
}

/// a, e, occ, and whether the energies are those of the bands l.
#[derive(FromPyObject)]
struct OfMatrix<'py>(Vector<'py, Complex64>, Vector<'py, f64>, Vector<'py, f64>, bool);
