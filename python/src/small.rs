//! What is small of the arguments.

use gpp_core::Calculator;
use pyo3::prelude::*;

use crate::Error;
use crate::array::{Argument, Vector, tuple};
use crate::device::OnDevice;

/// A small vector of numbers, copied.
///
/// # Errors
/// `TypeError` for other numbers or dimensions; [`Error`].
pub fn numbers(
    name: &'static str,
    given: &Bound<'_, PyAny>,
    calculator: &Calculator,
) -> PyResult<Vec<f64>> {
    match OnDevice::of(name, given)? {
        Some(array) => array.vector("<f8", calculator),
        None => {
            let vector: Vector<'_, f64> = Argument { name, given }.array()?;
            Ok(vector.column_major().into_owned())
        }
    }
}

/// Fails where there are more or fewer occupations than energies.
///
/// # Errors
/// [`Error`].
pub fn require_bands(e: &[f64], occ: &[f64]) -> PyResult<()> {
    if occ.len() == e.len() {
        return Ok(());
    }
    let (shape, found) = (tuple(&[e.len()]), tuple(&[occ.len()]));
    Err(Error::new_err(format!("occ needs shape (nbands,) = {shape}; found {found}")))
}
