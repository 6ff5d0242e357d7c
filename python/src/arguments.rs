//! What `Calculator.sums` and `Calculator.place` are given, taken apart and checked.

use std::borrow::Cow;

use gpp_core::lent::{self, DeviceMatrix};
use gpp_core::{Aqsm, Bands, Calculator, Formula, Found, Placed, Screening};
use num_complex::Complex64;
use numpy::{PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::array::{Argument, Table, tuple};
use crate::device::OnDevice;
use crate::small::{numbers, require_bands};
use crate::{Error, raised};

/// A matrix, on the host or on a GPU.
pub enum Matrix<'py> {
    Host(Table<'py, Complex64>),
    Device(OnDevice, DeviceMatrix),
}

impl<'py> Matrix<'py> {
    fn of(name: &'static str, given: &Bound<'py, PyAny>) -> PyResult<Matrix<'py>> {
        match OnDevice::of(name, given)? {
            Some(array) => {
                let matrix = array.matrix()?;
                Ok(Matrix::Device(array, matrix))
            }
            None => Ok(Matrix::Host(Argument { name, given }.array()?)),
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Matrix::Host(table) => table.shape(),
            Matrix::Device(array, _) => array.shape(),
        }
    }

    fn require(&self, name: &str, shape: &[usize], words: &str) -> PyResult<()> {
        if self.shape() == shape {
            return Ok(());
        }
        let (found, shape) = (tuple(self.shape()), tuple(shape));
        Err(Error::new_err(format!("{name} needs shape {words} = {shape}; found {found}")))
    }
}

/// The arguments of a screening, as Python has them.
pub struct GivenScreening<'a, 'py> {
    pub wtilde: &'a Bound<'py, PyAny>,
    pub eps: &'a Bound<'py, PyAny>,
    pub vcoul: &'a Bound<'py, PyAny>,
    pub igp_to_ig: &'a Bound<'py, PyAny>,
}

/// The arguments of bands, as Python has them.
pub struct GivenBands<'a, 'py> {
    pub aqsn: &'a Bound<'py, PyAny>,
    pub aqsm: &'a Bound<'py, PyAny>,
    pub e: &'a Bound<'py, PyAny>,
    pub occ: &'a Bound<'py, PyAny>,
    pub omega: &'a Bound<'py, PyAny>,
}

impl<'a, 'py> GivenScreening<'a, 'py> {
    /// Their names and values.
    pub fn named(&self) -> [(&'static str, &'a Bound<'py, PyAny>); 4] {
        let GivenScreening { wtilde, eps, vcoul, igp_to_ig } = *self;
        [("wtilde", wtilde), ("eps", eps), ("vcoul", vcoul), ("igp_to_ig", igp_to_ig)]
    }
}

impl<'a, 'py> GivenBands<'a, 'py> {
    /// Their names and values.
    pub fn named(&self) -> [(&'static str, &'a Bound<'py, PyAny>); 5] {
        let GivenBands { aqsn, aqsm, e, occ, omega } = *self;
        [("aqsn", aqsn), ("aqsm", aqsm), ("e", e), ("occ", occ), ("omega", omega)]
    }
}

/// A screening, of the right types and of shapes that fit each other.
pub struct OfScreening<'py> {
    wtilde: Matrix<'py>,
    eps: Matrix<'py>,
    vcoul: Vec<f64>,
    /// Row (1-based) of each column, 0 for one without.
    rows: Vec<i32>,
    /// 1, 2, 3, … for each column.
    indices: Vec<i32>,
}

impl<'py> OfScreening<'py> {
    /// Of these arguments.
    ///
    /// # Errors
    /// `TypeError` for a wrong type, [`Error`] for a wrong shape or index; both name the argument.
    pub fn of(given: &GivenScreening<'_, 'py>, calculator: &Calculator) -> PyResult<Self> {
        let rows = rows(given.igp_to_ig, calculator)?;
        let of = OfScreening {
            wtilde: Matrix::of("wtilde", given.wtilde)?,
            eps: Matrix::of("eps", given.eps)?,
            vcoul: numbers("vcoul", given.vcoul, calculator)?,
            indices: (1..).take(rows.len()).collect(),
            rows,
        };
        let shape = of.extents();
        of.wtilde.require("wtilde", &shape, "(ncouls, ngpown)")?;
        of.eps.require("eps", &shape, "(ncouls, ngpown)")?;
        match of.rows.iter().position(|&row| row < 0 || row as usize > shape[0]) {
            Some(at) => Err(Error::new_err(format!(
                "igp_to_ig[{at}] is {}; it must be from 0 to {}, or -1 where the column has no row",
                i64::from(of.rows[at]) - 1,
                shape[0] as i64 - 1
            ))),
            None => Ok(of),
        }
    }

    /// G and G′.
    pub fn extents(&self) -> [usize; 2] {
        [self.vcoul.len(), self.rows.len()]
    }

    /// What is made of its arrays, where all are the host's.
    pub fn on_host<R>(&self, make: impl FnOnce(&Screening) -> R) -> Option<R> {
        let (Matrix::Host(wtilde), Matrix::Host(eps)) = (&self.wtilde, &self.eps) else {
            return None;
        };
        let (wtilde, eps) = (wtilde.column_major(), eps.column_major());
        let (vcoul, inv_igp_index, indinv) = (&self.vcoul, &self.indices, &self.rows);
        Some(make(&Screening { wtilde: &wtilde, eps: &eps, vcoul, inv_igp_index, indinv }))
    }

    /// Places it: matrices of the host are copied. [`Error`] where that fails.
    pub fn placed(&self, py: Python<'_>, calculator: &Calculator) -> PyResult<Placed<'static>> {
        let OfScreening { vcoul, rows: indinv, indices: inv_igp_index, .. } = self;
        match (&self.wtilde, &self.eps) {
            (&Matrix::Device(_, wtilde), &Matrix::Device(_, eps)) => {
                let lent = lent::Screening { wtilde, eps, vcoul, inv_igp_index, indinv };
                // SAFETY: the arrays say that they are there, and are held as long as this is used.
                py.detach(|| unsafe { calculator.place_lent(&lent) }).map_err(raised)
            }
            (Matrix::Host(wtilde), Matrix::Host(eps)) => {
                let [wtilde, eps] = [wtilde, eps].map(|table| table.column_major().into_owned());
                let none = Screening { wtilde: &[], eps: &[], vcoul, inv_igp_index, indinv };
                py.detach(|| calculator.place_owned(&none, wtilde, eps)).map_err(raised)
            }
            _ => Err(Error::new_err("wtilde and eps are in different memories")),
        }
    }
}

/// Bands, of the right types and of shapes that fit each other.
pub struct OfBands<'py> {
    aqsn: Matrix<'py>,
    aqsm: Matrix<'py>,
    e: Vec<f64>,
    occ: Vec<f64>,
    /// Energies of the sums.
    pub omega: Vec<f64>,
}

impl<'py> OfBands<'py> {
    /// Of these arguments, for a screening of so many G and G′.
    ///
    /// # Errors
    /// `TypeError` for a wrong type, [`Error`] for a wrong shape; both name the argument.
    pub fn of(
        given: &GivenBands<'_, 'py>,
        [ncouls, ngpown]: [usize; 2],
        calculator: &Calculator,
    ) -> PyResult<Self> {
        let of = OfBands {
            aqsn: Matrix::of("aqsn", given.aqsn)?,
            aqsm: Matrix::of("aqsm", given.aqsm)?,
            e: numbers("e", given.e, calculator)?,
            occ: numbers("occ", given.occ, calculator)?,
            omega: numbers("omega", given.omega, calculator)?,
        };
        let nbands = of.e.len();
        of.aqsn.require("aqsn", &[ncouls, nbands], "(ncouls, nbands)")?;
        require_bands(&of.e, &of.occ)?;
        if !of.is_whole() {
            let words =
                format!("(ncouls, nbands) = {} or (ngpown, nbands)", tuple(&[ncouls, nbands]));
            of.aqsm.require("aqsm", &[ngpown, nbands], &words)?;
        }
        Ok(of)
    }

    /// Whether `aqsm` has a row for each G.
    fn is_whole(&self) -> bool {
        self.aqsm.shape() == self.aqsn.shape()
    }

    /// Calls `sum` with bands of the host.
    pub fn on_host<R>(&self, sum: impl FnOnce(&Bands) -> R) -> Option<R> {
        let (Matrix::Host(aqsn), Matrix::Host(aqsm)) = (&self.aqsn, &self.aqsm) else {
            return None;
        };
        let (aqsn, aqsm) = (aqsn.column_major(), aqsm.column_major());
        let aqsm = if self.is_whole() { Aqsm::Whole(&aqsm) } else { Aqsm::Local(&aqsm) };
        Some(sum(&Bands { aqsn: &aqsn, aqsm, e: &self.e, occ: &self.occ }))
    }

    /// The sums of a screening, calculated while other threads of Python run.
    ///
    /// # Errors
    /// Those of [`Calculator::sums`].
    pub fn sums(
        &self,
        py: Python<'_>,
        calculator: &Calculator,
        of: &OfScreening<'_>,
        formula: Formula,
    ) -> PyResult<Found> {
        let (omega, bands) = (&self.omega, self);
        let found = of.on_host(|screening| {
            bands.on_host(|bands| py.detach(|| calculator.sums(screening, bands, omega, formula)))
        });
        match found.flatten() {
            Some(found) => found.map_err(raised),
            None => self.sums_at(py, calculator, &mut of.placed(py, calculator)?, formula),
        }
    }

    /// The same of one in place.
    ///
    /// # Errors
    /// Those of [`Calculator::sums_at`].
    pub fn sums_at(
        &self,
        py: Python<'_>,
        calculator: &Calculator,
        placed: &mut Placed<'static>,
        formula: Formula,
    ) -> PyResult<Found> {
        let (e, occ, omega) = (&self.e, &self.occ, &self.omega);
        let found = match (&self.aqsn, &self.aqsm) {
            (&Matrix::Device(_, aqsn), &Matrix::Device(_, aqsm)) => {
                let is_whole = self.is_whole();
                let aqsm = if is_whole { lent::Aqsm::Whole(aqsm) } else { lent::Aqsm::Local(aqsm) };
                let bands = lent::Bands { aqsn, aqsm, e, occ };
                // SAFETY: the arrays say that they are there, and are held by the caller.
                py.detach(|| unsafe { calculator.sums_at_lent(placed, &bands, omega, formula) })
            }
            (Matrix::Host(_), Matrix::Host(_)) => {
                let sum =
                    |bands: &Bands| py.detach(|| calculator.sums_at(placed, bands, omega, formula));
                self.on_host(sum).expect("both are on the host")
            }
            _ => return Err(Error::new_err("aqsn and aqsm are in different memories")),
        };
        found.map_err(raised)
    }
}

/// Rows (1-based) of `igp_to_ig`, 32 or 64 bits; what 32 bits do not hold becomes −1, which is none.
fn rows(given: &Bound<'_, PyAny>, calculator: &Calculator) -> PyResult<Vec<i32>> {
    let row = |at: &i64| at.checked_add(1).and_then(|row| i32::try_from(row).ok()).unwrap_or(-1);
    if let Some(array) = OnDevice::of("igp_to_ig", given)? {
        return Ok(array.integers(calculator)?.iter().map(row).collect());
    }
    let is_integer = |array: &Bound<'_, PyUntypedArray>| -> PyResult<bool> {
        let dtype = array.getattr("dtype")?;
        let is_wide = dtype.getattr("itemsize")?.extract::<usize>()? >= 4;
        Ok(is_wide && dtype.getattr("kind")?.extract::<char>()? == 'i')
    };
    const NEEDS: &str = "igp_to_ig needs a NumPy array of int64 or int32, 1-dimensional";
    let wrong = || PyTypeError::new_err(NEEDS);
    let array = given.cast::<PyUntypedArray>().map_err(|_| wrong())?;
    if !is_integer(array)? {
        return Err(wrong());
    }
    let wide = given.call_method1("astype", ("int64",))?;
    let wide = wide.cast::<numpy::PyArray1<i64>>().map_err(|_| wrong())?;
    let rows: Cow<[i64]> = wide.readonly().as_array().iter().copied().collect();
    Ok(rows.iter().map(row).collect())
}
