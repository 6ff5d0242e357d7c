//! NumPy arrays as the core wants them: column-major slices.

use std::borrow::Cow;

use num_complex::Complex64;
use numpy::{
    Element, PyArray, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray, PyUntypedArray,
    PyUntypedArrayMethods, dtype,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::Error;

/// An argument by its name, not looked at.
pub struct Argument<'a, 'py> {
    /// What the function calls it.
    pub name: &'static str,
    /// What was given.
    pub given: &'a Bound<'py, PyAny>,
}

/// Numbers that the core takes.
pub trait Number: Element + Copy {}
impl Number for f64 {}
impl Number for Complex64 {}

/// A vector, of any spacing.
pub type Vector<'py, T> = Column<'py, T, numpy::Ix1>;
/// A matrix, of any order.
pub type Table<'py, T> = Column<'py, T, numpy::Ix2>;

/// An array of three indices, of any order.
pub type Block<'py, T> = Column<'py, T, numpy::Ix3>;

/// An array of the right type and dimensions; nobody writes it through another binding while this is there.
pub struct Column<'py, T: Number, D: numpy::ndarray::Dimension> {
    array: PyReadonlyArray<'py, T, D>,
}

impl<'py> Argument<'_, 'py> {
    /// As an array of these numbers.
    ///
    /// # Errors
    /// `TypeError` where it is no array, or one of other numbers or dimensions; [`Error`] where
    /// another binding writes it.
    pub fn array<T: Number, D: numpy::ndarray::Dimension>(&self) -> PyResult<Column<'py, T, D>> {
        let (name, py) = (self.name, self.given.py());
        let dimensions = D::NDIM.unwrap_or_default();
        let needs =
            || format!("{name} needs a NumPy array of {}, {dimensions}-dimensional", of::<T>(py));
        let Ok(untyped) = self.given.cast::<PyUntypedArray>() else {
            let found = self.given.get_type().qualname()?;
            return Err(PyTypeError::new_err(format!("{}; found {found}", needs())));
        };
        let Ok(array) = self.given.cast::<PyArray<T, D>>() else {
            let (found, ndim) = (untyped.dtype(), untyped.ndim());
            let what = format!("{}; found {found}, {ndim}-dimensional", needs());
            return Err(PyTypeError::new_err(what));
        };
        if !untyped.getattr("flags")?.getattr("aligned")?.is_truthy()? {
            return Err(PyTypeError::new_err(format!("{name} is not aligned in memory; copy it")));
        }
        let array =
            array.try_readonly().map_err(|error| Error::new_err(format!("{name}: {error}")))?;
        Ok(Column { array })
    }
}

fn of<T: Element>(py: Python<'_>) -> String {
    let of = dtype::<T>(py);
    match of.kind() {
        b'c' => "complex128".into(),
        b'f' => "float64".into(),
        _ => of.to_string(),
    }
}

impl<T: Number, D: numpy::ndarray::Dimension> Column<'_, T, D> {
    /// Elements along each index.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// The numbers, the last index fastest: as they stand where the array is in C's order, else a copy.
    pub fn row_major(&self) -> Cow<'_, [T]> {
        match self.array.as_slice() {
            Ok(slice) if self.array.is_c_contiguous() => slice.into(),
            _ => self.array.as_array().iter().copied().collect::<Vec<T>>().into(),
        }
    }

    /// The numbers, the first index fastest: as they stand where the array is in Fortran's order, else a copy.
    pub fn column_major(&self) -> Cow<'_, [T]> {
        match self.array.as_slice() {
            Ok(slice) if self.array.is_fortran_contiguous() => slice.into(),
            // The first index is the transposed array's last, which is read fastest.
            _ => self.array.as_array().t().iter().copied().collect::<Vec<T>>().into(),
        }
    }
}

/// A shape as Python writes it.
pub fn tuple(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
