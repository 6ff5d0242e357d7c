//! What `Calculator.sums` is given, taken apart and checked.

use std::borrow::Cow;

use gpp_core::{Aqsm, Bands, Formula, Found, Screening};
use num_complex::Complex64;
use numpy::{PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::Error;
use crate::array::{Argument, Table, Vector, tuple};

/// The arguments of one call, as Python has them.
pub struct Given<'a, 'py> {
    pub wtilde: &'a Bound<'py, PyAny>,
    pub eps: &'a Bound<'py, PyAny>,
    pub vcoul: &'a Bound<'py, PyAny>,
    pub igp_to_ig: &'a Bound<'py, PyAny>,
    pub aqsn: &'a Bound<'py, PyAny>,
    pub aqsm: &'a Bound<'py, PyAny>,
    pub e: &'a Bound<'py, PyAny>,
    pub occ: &'a Bound<'py, PyAny>,
    pub omega: &'a Bound<'py, PyAny>,
}

/// The same, of the right types and of shapes that fit each other.
pub struct Arrays<'py> {
    wtilde: Table<'py, Complex64>,
    eps: Table<'py, Complex64>,
    vcoul: Vector<'py, f64>,
    /// Row (1-based) of each column, 0 for one without.
    rows: Vec<i32>,
    aqsn: Table<'py, Complex64>,
    aqsm: Table<'py, Complex64>,
    e: Vector<'py, f64>,
    occ: Vector<'py, f64>,
    omega: Vector<'py, f64>,
}

impl<'py> Arrays<'py> {
    /// Of these arguments.
    ///
    /// # Errors
    /// `TypeError` for a wrong type, [`Error`] for a wrong shape or index; both name the argument.
    pub fn of(given: &Given<'_, 'py>) -> PyResult<Arrays<'py>> {
        let argument = |name, given| Argument { name, given };
        let arrays = Arrays {
            wtilde: argument("wtilde", given.wtilde).array()?,
            eps: argument("eps", given.eps).array()?,
            vcoul: argument("vcoul", given.vcoul).array()?,
            rows: rows(given.igp_to_ig)?,
            aqsn: argument("aqsn", given.aqsn).array()?,
            aqsm: argument("aqsm", given.aqsm).array()?,
            e: argument("e", given.e).array()?,
            occ: argument("occ", given.occ).array()?,
            omega: argument("omega", given.omega).array()?,
        };
        arrays.check()?;
        Ok(arrays)
    }

    fn check(&self) -> PyResult<()> {
        let (ncouls, ngpown) = (self.vcoul.shape()[0], self.rows.len());
        let nbands = self.e.shape()[0];
        self.wtilde.require(&[ncouls, ngpown], "(ncouls, ngpown)")?;
        self.eps.require(&[ncouls, ngpown], "(ncouls, ngpown)")?;
        self.aqsn.require(&[ncouls, nbands], "(ncouls, nbands)")?;
        self.occ.require(&[nbands], "(nbands,)")?;
        if !self.is_whole() {
            let words =
                format!("(ncouls, nbands) = {} or (ngpown, nbands)", tuple(&[ncouls, nbands]));
            self.aqsm.require(&[ngpown, nbands], &words)?;
        }
        let wrong = |&row: &i32| row < 0 || row as usize > ncouls;
        match self.rows.iter().position(wrong) {
            Some(at) => Err(Error::new_err(format!(
                "igp_to_ig[{at}] is {}; it must be from 0 to {}, or -1 where the column has no row",
                i64::from(self.rows[at]) - 1,
                ncouls as i64 - 1
            ))),
            None => Ok(()),
        }
    }

    /// Whether `aqsm` has a row for each G.
    fn is_whole(&self) -> bool {
        self.aqsm.shape() == self.aqsn.shape()
    }

    /// The sums of these arrays, calculated while other threads of Python run.
    ///
    /// # Errors
    /// Those of [`gpp_core::Calculator::sums`].
    pub fn sums(
        &self,
        py: Python<'_>,
        calculator: &gpp_core::Calculator,
        formula: Formula,
    ) -> gpp_core::Result<Found> {
        let (wtilde, eps) = (self.wtilde.column_major(), self.eps.column_major());
        let (aqsn, aqsm) = (self.aqsn.column_major(), self.aqsm.column_major());
        let [vcoul, e, occ, omega] =
            [&self.vcoul, &self.e, &self.occ, &self.omega].map(|vector| vector.column_major());
        let indices: Vec<i32> = (1..).take(self.rows.len()).collect();
        let screening = Screening {
            wtilde: &wtilde,
            eps: &eps,
            vcoul: &vcoul,
            inv_igp_index: &indices,
            indinv: &self.rows,
        };
        let aqsm = if self.is_whole() { Aqsm::Whole(&aqsm) } else { Aqsm::Local(&aqsm) };
        let bands = Bands { aqsn: &aqsn, aqsm, e: &e, occ: &occ };
        py.detach(|| calculator.sums(&screening, &bands, &omega, formula))
    }
}

/// Rows (1-based) of `igp_to_ig`, 32 or 64 bits; what 32 bits do not hold becomes −1, which is none.
fn rows(given: &Bound<'_, PyAny>) -> PyResult<Vec<i32>> {
    let is_integer = |array: &Bound<'_, PyUntypedArray>| -> PyResult<bool> {
        let dtype = array.getattr("dtype")?;
        let is_wide = dtype.getattr("itemsize")?.extract::<usize>()? >= 4;
        Ok(is_wide && dtype.getattr("kind")?.extract::<char>()? == 'i')
    };
    let wrong =
        || PyTypeError::new_err("igp_to_ig needs a NumPy array of int64 or int32, 1-dimensional");
    if given.hasattr("__cuda_array_interface__")? {
        return Err(PyTypeError::new_err("igp_to_ig: arrays on a GPU are not supported yet"));
    }
    let array = given.cast::<PyUntypedArray>().map_err(|_| wrong())?;
    if !is_integer(array)? {
        return Err(wrong());
    }
    let wide = given.call_method1("astype", ("int64",))?;
    let wide = wide.cast::<numpy::PyArray1<i64>>().map_err(|_| wrong())?;
    let rows: Cow<[i64]> = wide.readonly().as_array().iter().copied().collect();
    let row = |at: &i64| at.checked_add(1).and_then(|row| i32::try_from(row).ok()).unwrap_or(-1);
    Ok(rows.iter().map(row).collect())
}
