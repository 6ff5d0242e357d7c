//! A large array: a problem's own, or one that a caller keeps where it is.

use std::ops::Deref;

use num_complex::Complex64;
use rayon::prelude::*;

use super::memory::zeros;
use crate::error::DataError;

/// A large array of a problem, whose index order its owner says.
#[derive(Debug)]
pub struct Matrix(Memory);

#[derive(Debug)]
enum Memory {
    Own(Vec<Complex64>),
    Kept { at: *const Complex64, len: usize },
}

// SAFETY: what is kept elsewhere is only read, as a shared slice, which any thread may.
unsafe impl Send for Matrix {}
// SAFETY: as above.
unsafe impl Sync for Matrix {}

impl Matrix {
    /// An array that stays where it is: nothing is copied.
    ///
    /// # Safety
    /// It is there, and nobody changes it, until this and what is made of it are dropped, not forgotten.
    pub unsafe fn kept(array: &[Complex64]) -> Matrix {
        Matrix(Memory::Kept { at: array.as_ptr(), len: array.len() })
    }

    /// The numbers, to change them: copied if they are kept elsewhere.
    ///
    /// # Errors
    /// [`DataError::Memory`] for the array of this name.
    pub fn to_mut(&mut self, name: &'static str) -> Result<&mut [Complex64], DataError> {
        if let Memory::Kept { .. } = self.0 {
            self.0 = Memory::Own(copied(name, self)?);
        }
        match &mut self.0 {
            Memory::Own(own) => Ok(own),
            Memory::Kept { .. } => unreachable!("it was copied"),
        }
    }

    /// Some columns of this matrix of so many rows, ascending: copied if they are kept elsewhere.
    ///
    /// # Errors
    /// As [`Matrix::to_mut`].
    pub fn with_columns(
        self,
        name: &'static str,
        rows: usize,
        columns: &[usize],
    ) -> Result<Matrix, DataError> {
        let from = |column: usize| column * rows..(column + 1) * rows;
        Ok(Matrix(match self.0 {
            Memory::Own(mut own) => {
                columns.iter().enumerate().for_each(|(to, &k)| own.copy_within(from(k), to * rows));
                own.truncate(columns.len() * rows);
                Memory::Own(own)
            }
            Memory::Kept { .. } => {
                let mut own = room(name, columns.len() * rows)?;
                let to = own.par_chunks_mut(rows).zip(columns);
                to.for_each(|(to, &k)| to.copy_from_slice(&self[from(k)]));
                Memory::Own(own)
            }
        }))
    }

    /// The numbers, copied where they are kept elsewhere.
    pub fn into_vec(self) -> Vec<Complex64> {
        match self.0 {
            Memory::Own(own) => own,
            Memory::Kept { .. } => self.to_vec(),
        }
    }
}

/// A copy of an array of this name.
pub(super) fn copied(name: &'static str, from: &[Complex64]) -> Result<Vec<Complex64>, DataError> {
    let mut copy = room(name, from.len())?;
    copy.copy_from_slice(from);
    Ok(copy)
}

/// Room for a copy of so many numbers.
fn room(name: &'static str, length: usize) -> Result<Vec<Complex64>, DataError> {
    let needed = (length * size_of::<Complex64>()) as u64;
    zeros(name, length).map_err(|_| DataError::Memory { name, needed })
}

impl Deref for Matrix {
    type Target = [Complex64];

    fn deref(&self) -> &[Complex64] {
        match &self.0 {
            Memory::Own(own) => own,
            // SAFETY: the contract of `kept`.
            Memory::Kept { at, len } => unsafe { std::slice::from_raw_parts(*at, *len) },
        }
    }
}

impl From<Vec<Complex64>> for Matrix {
    fn from(own: Vec<Complex64>) -> Matrix {
        Matrix(Memory::Own(own))
    }
}

/// A copy is its own.
impl Clone for Matrix {
    fn clone(&self) -> Matrix {
        self.to_vec().into()
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Matrix) -> bool {
        self[..] == other[..]
    }
}
