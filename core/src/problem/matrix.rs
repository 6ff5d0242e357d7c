//! A large array: a problem's own, or one that a caller keeps where it is.

use std::ops::Deref;

use num_complex::Complex64;
use rayon::prelude::*;

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

    /// The numbers, to change them: copied where they are kept elsewhere.
    pub fn to_mut(&mut self) -> &mut Vec<Complex64> {
        if let Memory::Kept { .. } = self.0 {
            self.0 = Memory::Own(self.to_vec());
        }
        match &mut self.0 {
            Memory::Own(own) => own,
            Memory::Kept { .. } => unreachable!("it was copied"),
        }
    }

    /// Some columns of this matrix of so many rows, ascending: copied where they are kept elsewhere.
    #[must_use]
    pub fn with_columns(self, rows: usize, columns: &[usize]) -> Matrix {
        let from = |column: usize| column * rows..(column + 1) * rows;
        Matrix(match self.0 {
            Memory::Own(mut own) => {
                columns.iter().enumerate().for_each(|(to, &k)| own.copy_within(from(k), to * rows));
                own.truncate(columns.len() * rows);
                Memory::Own(own)
            }
            Memory::Kept { .. } => {
                let mut own = vec![Complex64::ZERO; columns.len() * rows];
                let to = own.par_chunks_mut(rows).zip(columns);
                to.for_each(|(to, &k)| to.copy_from_slice(&self[from(k)]));
                Memory::Own(own)
            }
        })
    }

    /// The numbers, copied where they are kept elsewhere.
    pub fn into_vec(mut self) -> Vec<Complex64> {
        std::mem::take(self.to_mut())
    }
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
