//! Arrays on a GPU, by `__cuda_array_interface__`: CuPy's, PyTorch's and others'.

use gpp_core::Calculator;
use gpp_core::lent::{DeviceMatrix, ForeignStream, Pod};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::tuple;
use crate::{Error, raised};

/// An array in a GPU's memory.
pub struct OnDevice {
    name: &'static str,
    at: u64,
    shape: Vec<usize>,
    /// In elements.
    strides: Vec<isize>,
    kind: String,
    stream: Option<usize>,
}

impl OnDevice {
    /// An argument that is one; none where it is not on a GPU.
    ///
    /// # Errors
    /// `TypeError` where it does not say what it is.
    pub fn of(name: &'static str, given: &Bound<'_, PyAny>) -> PyResult<Option<OnDevice>> {
        const INTERFACE: &str = "__cuda_array_interface__";
        if !given.hasattr(INTERFACE)? {
            return Ok(None);
        }
        let wrong = || PyTypeError::new_err(format!("{name}: its {INTERFACE} is none"));
        let said = given.getattr(INTERFACE)?;
        let said = said.cast::<PyDict>().map_err(|_| wrong())?;
        let of = |key: &str| said.get_item(key).map(|value| value.filter(|value| !value.is_none()));
        let (at, _): (u64, bool) = of("data")?.ok_or_else(wrong)?.extract()?;
        let shape: Vec<usize> = of("shape")?.ok_or_else(wrong)?.extract()?;
        let kind: String = of("typestr")?.ok_or_else(wrong)?.extract()?;
        let size: usize = kind.get(2..).and_then(|size| size.parse().ok()).ok_or_else(wrong)?;
        let bytes: Option<Vec<isize>> = of("strides")?.map(|value| value.extract()).transpose()?;
        let strides = match bytes {
            Some(bytes) if bytes.len() == shape.len() => {
                bytes.iter().map(|step| step / size.max(1) as isize).collect()
            }
            Some(_) => return Err(wrong()),
            // The last index is the fastest.
            None => {
                let behind = |at: usize| shape[at + 1..].iter().product::<usize>() as isize;
                (0..shape.len()).map(behind).collect()
            }
        };
        let stream = of("stream")?.map(|value| value.extract()).transpose()?;
        Ok(Some(OnDevice { name, at, shape, strides, kind, stream }))
    }

    /// Elements along each index.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The stream in which it was made, where it names one.
    pub fn stream(&self) -> Option<usize> {
        self.stream
    }

    fn needs(&self, what: &str) -> PyErr {
        let (name, kind, shape) = (self.name, &self.kind, tuple(&self.shape));
        PyTypeError::new_err(format!("{name} needs {what}; found {kind} of shape {shape} on a GPU"))
    }

    /// As a matrix of complex numbers whose first index is the fastest.
    ///
    /// # Errors
    /// `TypeError` for other numbers or dimensions, [`Error`] for another order.
    pub fn matrix(&self) -> PyResult<DeviceMatrix> {
        if self.kind != "<c16" || self.shape.len() != 2 {
            return Err(self.needs("complex128, 2-dimensional"));
        }
        let [rows, columns] = [self.shape[0], self.shape[1]];
        let is_dense = rows <= 1 || self.strides[0] == 1;
        let ld = if columns <= 1 { rows as isize } else { self.strides[1] };
        match usize::try_from(ld) {
            Ok(ld) if is_dense && ld >= rows => Ok(DeviceMatrix { at: self.at, ld }),
            _ => Err(Error::new_err(format!(
                "{} needs its first index fastest: on a GPU nothing is copied. Of an array in C's order, of \
                 shape (columns, rows), give the transpose",
                self.name
            ))),
        }
    }

    /// As the columns of an array of three indices, of complex numbers in C's order; and their rows and number.
    ///
    /// # Errors
    /// `TypeError` for other numbers or dimensions, [`Error`] for another order.
    pub fn columns(&self) -> PyResult<(DeviceMatrix, [usize; 2])> {
        let &[outer, middle, rows] = &self.shape[..] else {
            return Err(self.needs("complex128, 3-dimensional"));
        };
        if self.kind != "<c16" {
            return Err(self.needs("complex128, 3-dimensional"));
        }
        let steps = [(outer, middle * rows), (middle, rows), (rows, 1)];
        let is_there = |((extent, step), found): ((usize, usize), &isize)| {
            extent <= 1 || usize::try_from(*found) == Ok(step)
        };
        if !steps.into_iter().zip(&self.strides).all(is_there) {
            return Err(Error::new_err(format!(
                "{} needs C's order without gaps: on a GPU nothing is copied",
                self.name
            )));
        }
        Ok((DeviceMatrix { at: self.at, ld: rows }, [rows, outer * middle]))
    }

    /// As a vector of these numbers, brought to the host.
    ///
    /// # Errors
    /// `TypeError` for other numbers or dimensions, or gaps; [`Error`].
    pub fn vector<T: Pod>(&self, kind: &str, calculator: &Calculator) -> PyResult<Vec<T>> {
        let is_dense = self.shape.len() == 1 && (self.shape[0] <= 1 || self.strides[0] == 1);
        if self.kind != kind || !is_dense {
            return Err(self.needs(&format!("{kind}, 1-dimensional, without gaps")));
        }
        // SAFETY: the array says that it is there, and is held by the caller.
        unsafe { calculator.fetch_vector(self.name, self.at, self.shape[0]) }.map_err(raised)
    }

    /// As a vector of integers.
    ///
    /// # Errors
    /// As [`OnDevice::vector`].
    pub fn integers(&self, calculator: &Calculator) -> PyResult<Vec<i64>> {
        match self.kind.as_str() {
            "<i4" => {
                Ok(self.vector::<i32>("<i4", calculator)?.into_iter().map(i64::from).collect())
            }
            _ => self.vector("<i8", calculator),
        }
    }
}

/// The calculator on the stream that is named, or that these arrays name.
///
/// # Errors
/// [`Error`] where they name several.
pub fn on_stream(
    calculator: &Calculator,
    named: Option<usize>,
    arrays: &[(&'static str, &Bound<'_, PyAny>)],
) -> PyResult<Calculator> {
    let mut stream = named;
    if named.is_none() {
        for (name, given) in arrays {
            let of = OnDevice::of(name, given)?.and_then(|array| array.stream());
            match (stream, of) {
                (Some(one), Some(other)) if one != other => {
                    let what = format!("{name} is of another stream than others; name one");
                    return Err(Error::new_err(what));
                }
                (_, of) => stream = stream.or(of),
            }
        }
    }
    let mut calculator = calculator.clone();
    // SAFETY: the array or the caller says that it is a stream of the device.
    let handle =
        unsafe { ForeignStream::new(std::ptr::without_provenance_mut(stream.unwrap_or(0))) };
    calculator.set_stream(handle);
    Ok(calculator)
}
