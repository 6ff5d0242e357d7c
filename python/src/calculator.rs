//! The classes that calculate, and the arrays that they take.

use std::mem::transmute;

use gpp_core::on_gpu::{self, DeviceMatrix};
use gpp_core::{Aqsm, Bands, Formula, Found, MatrixBands, Screening, Sizes};
use num_complex::Complex64;
use numpy::{AsSliceError, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::call::{Call, detached};

/// A device, open, and the version to run there.
#[pyclass(frozen)]
pub struct Calculator(gpp_core::Calculator);

/// A screening in place.
#[pyclass]
pub struct Placed {
    placed: gpp_core::Placed<'static>,
    calculator: gpp_core::Calculator,
    /// What it refers to.
    _held: Py<PyAny>,
}

type Array<'py> = Bound<'py, PyArray1<Complex64>>;
/// asx and ach, the static CH, the version, seconds.
type Sums<'py> = (Array<'py>, Array<'py>, Option<Complex64>, &'static str, f64);
/// sx and ch, `(bands, bands, nw)` with the first index fastest, the version, seconds.
type Matrices<'py> = (Array<'py>, Array<'py>, &'static str, f64);

fn formula((gamma, sexcut): (f64, f64)) -> Formula {
    Formula { gamma, sexcut }
}

fn sums_of(py: Python<'_>, found: Found) -> Sums<'_> {
    let [asx, ach] = [found.sums.asx, found.sums.ach].map(|sums| PyArray1::from_vec(py, sums));
    (asx, ach, found.static_ch, found.version, found.seconds)
}

#[pymethods]
impl Calculator {
    /// Of 0 threads there are as many as there is room for.
    #[new]
    fn new(py: Python<'_>, device: &str, version: &str, threads: usize) -> PyResult<Calculator> {
        let open =
            || gpp_core::Calculator::open(device)?.with_version(version)?.with_threads(threads);
        detached(py, open).map(Calculator)
    }

    fn device(&self) -> (&str, &str) {
        let info = self.0.device();
        (&info.id, &info.name)
    }

    fn threads(&self) -> usize {
        self.0.threads()
    }

    /// Of arrays of the host.
    fn sums<'py>(
        &self,
        py: Python<'py>,
        screening: OfScreening<'py>,
        bands: OfBands<'py>,
        omega: Vector<'py, f64>,
        limits: (f64, f64),
        call: Call,
    ) -> PyResult<Sums<'py>> {
        let (screening, bands, omega) = (screening.host()?, bands.host()?, omega.as_slice()?);
        let formula = formula(limits);
        let sum =
            |calculator: &gpp_core::Calculator| calculator.sums(&screening, &bands, omega, formula);
        Ok(sums_of(py, call.run(py, &self.0, sum)?))
    }

    fn place(&self, py: Python<'_>, screening: Py<PyAny>, call: Call) -> PyResult<Placed> {
        let of: OfScreening<'_> = screening.extract(py)?;
        let placed = match of.on_gpu()? {
            Some(on_gpu) => call.run(py, &self.0, |calculator| {
                // SAFETY: the arrays say that they are there, and what is returned holds them.
                unsafe { calculator.place_on_gpu(&on_gpu) }
            }),
            None => {
                // SAFETY: what is returned holds the arrays.
                let of = unsafe { transmute::<Screening<'_>, Screening<'static>>(of.host()?) };
                call.run(py, &self.0, |calculator| calculator.place(&of))
            }
        }?;
        drop(of);
        Ok(Placed { placed, calculator: self.0.clone(), _held: screening })
    }

    /// Bytes on the host and on each GPU.
    fn workspace(
        &self,
        py: Python<'_>,
        sizes: [usize; 4],
        on_device: bool,
    ) -> PyResult<(u64, u64)> {
        let [ncouls, ngpown, nbands, nw] = sizes;
        let (screening_on_gpu, bands_on_gpu) = (on_device, on_device);
        let sizes = Sizes { ncouls, ngpown, nbands, nw, screening_on_gpu, bands_on_gpu };
        let calculator = self.0.clone().with_static_ch(true);
        let found = detached(py, || calculator.workspace(sizes))?;
        Ok((found.host, found.device))
    }

    /// Brings so many bytes of an argument that is on a GPU to the host.
    fn fetch<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        at: u64,
        bytes: usize,
        call: Call,
    ) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let names = ["vcoul", "igp_to_ig", "a", "e", "occ", "omega"];
        let name = names.into_iter().find(|&known| known == name).unwrap_or("an array");
        // SAFETY: the array says that it is there, and is held by the caller.
        let fetch =
            |calculator: &gpp_core::Calculator| unsafe { calculator.fetch_vector(name, at, bytes) };
        Ok(PyArray1::from_vec(py, call.run(py, &self.0, fetch)?))
    }
}

#[pymethods]
impl Placed {
    fn sums<'py>(
        &mut self,
        py: Python<'py>,
        bands: OfBands<'py>,
        omega: Vector<'py, f64>,
        limits: (f64, f64),
        call: Call,
    ) -> PyResult<Sums<'py>> {
        let (placed, omega, formula) = (&mut self.placed, omega.as_slice()?, formula(limits));
        let found = match bands.on_gpu()? {
            // SAFETY: the arrays say that they are there, and are held by the caller.
            Some(on_gpu) => call.run(py, &self.calculator, |calculator| unsafe {
                calculator.sums_on_gpu(placed, &on_gpu, omega, formula)
            }),
            None => {
                let bands = bands.host()?;
                call.run(py, &self.calculator, |calculator| {
                    calculator.sums_at(placed, &bands, omega, formula)
                })
            }
        };
        Ok(sums_of(py, found?))
    }

    fn matrix<'py>(
        &mut self,
        py: Python<'py>,
        bands: OfMatrix<'py>,
        omega: Vector<'py, f64>,
        limits: (f64, f64),
        call: Call,
    ) -> PyResult<Matrices<'py>> {
        let (placed, bands, omega) = (&mut self.placed, bands.host()?, omega.as_slice()?);
        let found = call.run(py, &self.calculator, |calculator| {
            calculator.matrix_at(placed, &bands, omega, formula(limits))
        })?;
        let [sx, ch] = [found.sums.sx, found.sums.ch].map(|sums| PyArray1::from_vec(py, sums));
        Ok((sx, ch, found.version, found.seconds))
    }
}

// Arguments: column-major slices, or addresses on a GPU, as the core takes them.

/// A vector of NumPy, without gaps.
type Vector<'py, T> = PyReadonlyArray1<'py, T>;

type Result<T> = std::result::Result<T, AsSliceError>;

/// All elements of a matrix in the order of the core, or where they are on a GPU.
#[derive(FromPyObject)]
enum Matrix<'py> {
    Host(Vector<'py, Complex64>),
    Device { at: u64, ld: usize },
}

impl Matrix<'_> {
    fn host(&self) -> Result<&[Complex64]> {
        match self {
            Matrix::Host(vector) => vector.as_slice(),
            Matrix::Device { .. } => Ok(&[]),
        }
    }

    fn device(&self) -> Option<DeviceMatrix> {
        match *self {
            Matrix::Host(_) => None,
            Matrix::Device { at, ld } => Some(DeviceMatrix { at, ld }),
        }
    }
}

/// ω̃, eps and vcoul; 1, 2, 3, … for each column; its row, counted from 1, or 0.
#[derive(FromPyObject)]
struct OfScreening<'py>(
    Matrix<'py>,
    Matrix<'py>,
    Vector<'py, f64>,
    Vector<'py, i32>,
    Vector<'py, i32>,
);

impl OfScreening<'_> {
    /// With the matrices of the host.
    fn host(&self) -> Result<Screening<'_>> {
        let OfScreening(wtilde, eps, vcoul, inv_igp_index, indinv) = self;
        Ok(Screening {
            wtilde: wtilde.host()?,
            eps: eps.host()?,
            vcoul: vcoul.as_slice()?,
            inv_igp_index: inv_igp_index.as_slice()?,
            indinv: indinv.as_slice()?,
        })
    }

    /// With the matrices of a GPU, if they are there.
    fn on_gpu(&self) -> Result<Option<on_gpu::Screening<'_>>> {
        let (Some(wtilde), Some(eps)) = (self.0.device(), self.1.device()) else {
            return Ok(None);
        };
        let Screening { vcoul, inv_igp_index, indinv, .. } = self.host()?;
        Ok(Some(on_gpu::Screening { wtilde, eps, vcoul, inv_igp_index, indinv }))
    }
}

/// aqsn; aqsm, and whether it has a row for each G; e and occ.
#[derive(FromPyObject)]
struct OfBands<'py>(Matrix<'py>, Matrix<'py>, bool, Vector<'py, f64>, Vector<'py, f64>);

impl OfBands<'_> {
    /// With the matrices of the host.
    fn host(&self) -> Result<Bands<'_>> {
        let OfBands(aqsn, aqsm, is_whole, e, occ) = self;
        let aqsm = aqsm.host()?;
        let aqsm = if *is_whole { Aqsm::Whole(aqsm) } else { Aqsm::Local(aqsm) };
        Ok(Bands { aqsn: aqsn.host()?, aqsm, e: e.as_slice()?, occ: occ.as_slice()? })
    }

    /// With the matrices of a GPU, if they are there.
    fn on_gpu(&self) -> Result<Option<on_gpu::Bands<'_>>> {
        let (Some(aqsn), Some(aqsm)) = (self.0.device(), self.1.device()) else {
            return Ok(None);
        };
        let aqsm = if self.2 { on_gpu::Aqsm::Whole(aqsm) } else { on_gpu::Aqsm::Local(aqsm) };
        let Bands { e, occ, .. } = self.host()?;
        Ok(Some(on_gpu::Bands { aqsn, aqsm, e, occ }))
    }
}

/// a, e, occ, and whether the energies are those of the bands l.
#[derive(FromPyObject)]
struct OfMatrix<'py>(Vector<'py, Complex64>, Vector<'py, f64>, Vector<'py, f64>, bool);

impl OfMatrix<'_> {
    /// As the core has them.
    fn host(&self) -> Result<MatrixBands<'_>> {
        let OfMatrix(a, e, occ, at_bands) = self;
        let (a, e, occ) = (a.as_slice()?, e.as_slice()?, occ.as_slice()?);
        Ok(MatrixBands { a, e, occ, at_bands: *at_bands })
    }
}
