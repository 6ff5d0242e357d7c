//! Places a screening.

use num_complex::Complex64;

use super::arrays::{header, screening_header, wrong};
use super::placed::{Placed, extents};
use super::workspace::require_small;
use super::{Calculator, Formula, Screening, lent};
use crate::devices::gpu::resident::Resident;
use crate::error::Result;
use crate::problem::{CheckedPairs, Extents, Header, Matrix};

impl Calculator {
    /// Places a screening for calls of [`Calculator::sums_at`].
    ///
    /// # Errors
    /// As [`Calculator::sums`], of what is given here.
    pub fn place<'a>(&self, screening: &Screening<'a>) -> Result<Placed<'a>> {
        // SAFETY: what is placed holds the borrow.
        let kept = |array: &[Complex64]| unsafe { Matrix::kept(array) };
        self.place_matrices(screening, [kept(screening.wtilde), kept(screening.eps)])
    }

    /// Places a screening with these modes and `δ − ε⁻¹`, which it owns, in place of those that are given.
    ///
    /// # Errors
    /// As [`Calculator::place`].
    pub fn place_owned(
        &self,
        screening: &Screening,
        wtilde: Vec<Complex64>,
        eps: Vec<Complex64>,
    ) -> Result<Placed<'static>> {
        self.place_matrices(screening, [wtilde.into(), eps.into()])
    }

    fn place_matrices<'a>(&self, given: &Screening, matrices: [Matrix; 2]) -> Result<Placed<'a>> {
        let [wtilde, eps] = matrices;
        let (header, pairs) = self.opened.computed(|| {
            let header = screening_of(given)?;
            let pairs = CheckedPairs::new(&header, wtilde, eps).map_err(wrong)?;
            Ok((header, pairs))
        })?;
        let resident = self.opened.gpu().map(|_| Resident::default());
        Ok(Placed::new(&self.opened, pairs, header, resident))
    }

    /// Places a screening whose modes and `δ − ε⁻¹` are on this calculator's GPU: see [`lent`].
    ///
    /// # Errors
    /// As [`Calculator::place`]; [`Error::Data`](crate::Error::Data) where a matrix is not on the GPU.
    ///
    /// # Safety
    /// The matrices are there as long as what is returned is used, and nobody writes them but what the stream
    /// has under way.
    pub unsafe fn place_lent(&self, screening: &lent::Screening) -> Result<Placed<'static>> {
        let lent::Screening { wtilde, eps, vcoul, inv_igp_index, indinv } = *screening;
        let given = Screening { wtilde: &[], eps: &[], vcoul, inv_igp_index, indinv };
        let header = self.opened.here(|| screening_of(&given))?;
        let shape = extents(&header);
        // SAFETY: the caller's word.
        let fetch = |name, matrix| unsafe { self.fetch_matrix(name, matrix, shape) };
        let (on_host, eps_on_host) = (fetch("wtilde", wtilde)?, fetch("eps", eps)?);
        let pairs = || CheckedPairs::new(&header, on_host, eps_on_host).map_err(wrong);
        let pairs = self.opened.computed(pairs)?;
        let is_dense = wtilde.ld == shape[0] && eps.ld == shape[0] && header.unmasked.is_none();
        let resident = match is_dense && pairs.are_as_given() {
            // SAFETY: the caller's word.
            true => unsafe { Resident::lent([wtilde.at, eps.at]) },
            false => Resident::default(),
        };
        Ok(Placed::new(&self.opened, pairs, header, Some(resident)))
    }
}

/// The screening's part of a header, looked at if it has pairs. Of the G′ it has the rows of this rank's alone.
fn screening_of(screening: &Screening) -> Result<Header> {
    let (ncouls, ngpown) = (screening.vcoul.len(), screening.inv_igp_index.len());
    require_small(Extents { nbands: 1, ngpown, ncouls, nw: 1 }, screening.indinv.len())?;
    let given = screening_header(screening);
    if [ncouls, ngpown].contains(&0) {
        return Ok(given);
    }
    // With the bands of no problem.
    let given = header(given, &[0.0], &[0.0], Formula::default());
    given.validate().map_err(wrong)?;
    let rows = given.rows().map(|row| row.map_or(0, |row| row as i32 + 1)).collect();
    let inv_igp_index = (1..).take(given.ngpown).collect();
    Ok(Header { gvec_ng: given.ngpown, indinv: rows, inv_igp_index, ..given }.without_masked())
}
