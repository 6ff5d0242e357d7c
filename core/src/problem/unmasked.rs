//! Columns that are masked, because their G′ has no row or no Coulomb interaction: all their terms are zero, so a
//! problem leaves them out.

use super::header::{Header, Unmasked};
use super::matrix::Matrix;
use super::memory::{Array, Extents};
use crate::error::DataError;

impl Header {
    /// The same for a rank that has bands and columns. One that has none of either gets a band and a column that is
    /// masked, whose terms are all zero.
    #[must_use]
    pub fn with_work(mut self) -> Header {
        if self.nbands > 0 && self.ngpown > 0 {
            return self;
        }
        self.indinv.push(0);
        let gvec_ng = self.indinv.len();
        let (nbands, ngpown) = (self.nbands.max(1), 1);
        if self.nbands == 0 {
            self.peinf_indext_dist = vec![1];
        }
        Header { gvec_ng, nbands, ngpown, inv_igp_index: vec![gvec_ng as i32], ..self }
    }

    /// Leaves masked columns out, whose terms are all zero: those of a G′ without a row or without a Coulomb
    /// interaction. Where all are, the first one stays. The header has been validated.
    #[must_use]
    pub fn without_masked(self) -> Header {
        let vcoul = self.vcoul_loc(0..self.ngpown);
        let mut columns: Vec<usize> = (0..self.ngpown).filter(|&k| vcoul[k] != 0.0).collect();
        if columns.is_empty() {
            columns.push(0);
        }
        let (given, ngpown) = (self.ngpown, columns.len());
        if ngpown == given {
            return self;
        }
        let inv_igp_index = columns.iter().map(|&k| self.inv_igp_index[k]).collect();
        let unmasked = Some(Unmasked { given, columns });
        Header { ngpown, epsmpi_ngpown_max: ngpown, inv_igp_index, unmasked, ..self }
    }

    /// Columns of this rank, masked ones included.
    pub fn given_ngpown(&self) -> usize {
        self.unmasked.as_ref().map_or(self.ngpown, |unmasked| unmasked.given)
    }

    /// A matrix of all columns, `(ncouls, ngpown)`, without the masked ones.
    ///
    /// # Errors
    /// [`DataError::Length`] if it has other dimensions, [`DataError::Memory`].
    pub(crate) fn unmasked_columns(&self, of: &Array, all: Matrix) -> Result<Matrix, DataError> {
        of.check(Extents { ngpown: self.given_ngpown(), ..self.extents() }, all.len())?;
        Ok(match &self.unmasked {
            Some(unmasked) => all.with_columns(of.name, self.ncouls, &unmasked.columns)?,
            None => all,
        })
    }

    /// The number (0-based) of an igp (0-based) among all columns, masked ones included.
    pub fn column(&self, igp: usize) -> usize {
        self.unmasked.as_ref().map_or(igp, |unmasked| unmasked.columns[igp])
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;

    use super::*;
    use crate::problem::CheckedPairs;
    use crate::problem::memory::WTILDE;

    /// Of so many columns, of which only these are not masked: without a row, or without a Coulomb interaction.
    fn header(given: usize, summed: &[usize]) -> Header {
        let rows = (0..given).map(|k| match (summed.contains(&k), k % 2) {
            (true, _) => 1,
            (false, 0) => 0,
            _ => 2,
        });
        Header {
            gvec_ng: given,
            ncoul: 2,
            epsmpi_ngpown_max: given,
            ngpown: given,
            ncouls: 2,
            inv_igp_index: (1..=given as i32).collect(),
            indinv: rows.collect(),
            vcoul: vec![1.0, 0.0],
            ..Header::default()
        }
        .without_masked()
    }

    #[test]
    fn masked_columns_are_left_out() {
        let header = header(6, &[1, 2, 5]);
        assert_eq!((header.ngpown, header.given_ngpown()), (3, 6));
        let columns: Vec<usize> = (0..3).map(|igp| header.column(igp)).collect();
        assert_eq!(columns, [1, 2, 5]);
        assert!(header.rows().all(|row| row == Some(0)));
        let all: Vec<_> = (0..12).map(|at| Complex64::new(f64::from(at) + 1.0, 0.0)).collect();
        let pairs = CheckedPairs::new(&header, all.clone(), all.clone()).unwrap();
        let kept: Vec<f64> = pairs.matrices()[0].iter().map(|z| z.re).collect();
        assert_eq!(kept, [3.0, 4.0, 5.0, 6.0, 11.0, 12.0]);
        // SAFETY: it is there to the end of this test.
        let lent = unsafe { Matrix::kept(&all) };
        let lent = CheckedPairs::new(&header, lent, all).unwrap();
        assert_eq!(lent.matrices(), pairs.matrices());
    }

    #[test]
    fn without_masked_columns_nothing_changes_and_one_always_stays() {
        assert_eq!(header(3, &[0, 1, 2]).unmasked, None);
        let all_masked = header(4, &[]);
        assert_eq!((all_masked.ngpown, all_masked.column(0)), (1, 0));
    }

    #[test]
    fn a_wrong_number_is_named_by_its_own_column_and_a_masked_one_may_hold_any() {
        let mut wtilde = vec![Complex64::ONE; 12];
        wtilde[6].re = f64::NAN;
        let make = |wtilde: &Vec<_>, summed: &[usize]| {
            CheckedPairs::new(&header(6, summed), wtilde.clone(), vec![Complex64::ONE; 12])
        };
        assert!(make(&wtilde, &[1, 2, 5]).is_ok());
        match make(&wtilde, &[1, 3, 5]) {
            Err(DataError::Matrix { name, at, .. }) => {
                assert_eq!((name, at), (WTILDE.name, (1, 4)))
            }
            other => panic!("{other:?}"),
        }
        let length = CheckedPairs::new(&header(6, &[1]), wtilde[..2].to_vec(), vec![]);
        assert!(matches!(length, Err(DataError::Length { needed: 12, found: 2, .. })));
    }
}
