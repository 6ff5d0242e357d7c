//! What `Calculator.matrix` is given, taken apart and checked.

use std::borrow::Cow;

use gpp_core::lent::DeviceMatrix;
use gpp_core::{Calculator, Formula, FoundMatrix, MatrixBands, Placed};
use num_complex::Complex64;
use pyo3::prelude::*;

use crate::arguments::OfScreening;
use crate::array::{Argument, Block, tuple};
use crate::device::OnDevice;
use crate::small::{numbers, require_bands};
use crate::{Error, raised};

/// The arguments of a matrix's bands, as Python has them.
pub struct GivenMatrix<'a, 'py> {
    pub a: &'a Bound<'py, PyAny>,
    pub e: &'a Bound<'py, PyAny>,
    pub occ: &'a Bound<'py, PyAny>,
    pub omega: &'a Bound<'py, PyAny>,
    pub at_bands: bool,
}

impl<'a, 'py> GivenMatrix<'a, 'py> {
    /// Their names and values.
    pub fn named(&self) -> [(&'static str, &'a Bound<'py, PyAny>); 4] {
        let GivenMatrix { a, e, occ, omega, .. } = *self;
        [("a", a), ("e", e), ("occ", occ), ("omega", omega)]
    }
}

/// Matrix elements of many bands, on the host or on a GPU.
enum Elements<'py> {
    Host(Block<'py, Complex64>),
    /// Of so many rows and columns.
    Device(DeviceMatrix, [usize; 2]),
}

/// Bands of a matrix, of the right types and of shapes that fit each other.
pub struct OfMatrix<'py> {
    a: Elements<'py>,
    e: Vec<f64>,
    occ: Vec<f64>,
    omega: Vec<f64>,
    at_bands: bool,
}

impl<'py> OfMatrix<'py> {
    /// Of these arguments, for a screening of so many G.
    ///
    /// # Errors
    /// `TypeError` for a wrong type, [`Error`] for a wrong shape; both name the argument.
    pub fn of(
        given: &GivenMatrix<'_, 'py>,
        [ncouls, _]: [usize; 2],
        calculator: &Calculator,
    ) -> PyResult<Self> {
        let (a, shape) = match OnDevice::of("a", given.a)? {
            Some(array) => {
                let (matrix, shape) = array.columns()?;
                (Elements::Device(matrix, shape), array.shape().to_vec())
            }
            None => {
                let block: Block<'_, _> = Argument { name: "a", given: given.a }.array()?;
                let all = block.shape().to_vec();
                (Elements::Host(block), all)
            }
        };
        let of = OfMatrix {
            a,
            e: numbers("e", given.e, calculator)?,
            occ: numbers("occ", given.occ, calculator)?,
            omega: numbers("omega", given.omega, calculator)?,
            at_bands: given.at_bands,
        };
        let nbands = of.e.len();
        require_bands(&of.e, &of.occ)?;
        if shape[1..] != [nbands, ncouls] {
            let found = tuple(&shape);
            return Err(Error::new_err(format!(
                "a needs shape (bands, nbands, ncouls) = (bands, {nbands}, {ncouls}); found {found}"
            )));
        }
        Ok(of)
    }

    /// Has `sum` called with the bands while other threads of Python run.
    fn with(
        &self,
        py: Python<'_>,
        calculator: &Calculator,
        sum: impl FnOnce(&MatrixBands) -> gpp_core::Result<FoundMatrix> + Send,
    ) -> PyResult<FoundMatrix> {
        let OfMatrix { e, occ, at_bands, .. } = self;
        let a: Cow<[Complex64]> = match &self.a {
            Elements::Host(block) => block.row_major(),
            &Elements::Device(matrix, shape) => {
                // SAFETY: the array says that it is there, and is held by the caller.
                let fetch = || unsafe { calculator.fetch_matrix("a", matrix, shape) };
                py.detach(fetch).map_err(raised)?.into()
            }
        };
        py.detach(|| sum(&MatrixBands { a: &a, e, occ, at_bands: *at_bands })).map_err(raised)
    }

    /// The matrix of a screening.
    ///
    /// # Errors
    /// Those of [`Calculator::matrix`].
    pub fn matrix(
        &self,
        py: Python<'_>,
        calculator: &Calculator,
        of: &OfScreening<'_>,
        formula: Formula,
    ) -> PyResult<FoundMatrix> {
        let omega = &self.omega;
        let found = of.on_host(|screening| {
            self.with(py, calculator, |bands| calculator.matrix(screening, bands, omega, formula))
        });
        match found {
            Some(found) => found,
            None => self.matrix_at(py, calculator, &mut of.placed(py, calculator)?, formula),
        }
    }

    /// The same of one in place.
    ///
    /// # Errors
    /// Those of [`Calculator::matrix_at`].
    pub fn matrix_at(
        &self,
        py: Python<'_>,
        calculator: &Calculator,
        placed: &mut Placed<'static>,
        formula: Formula,
    ) -> PyResult<FoundMatrix> {
        let omega = &self.omega;
        self.with(py, calculator, |bands| calculator.matrix_at(placed, bands, omega, formula))
    }
}
