//! ω̃ and eps of all igp, looked at once: what problems of one screening share.

use std::sync::Arc;

use gpp_kernels::plan::Poles;

use super::memory::{AQSM_LOCAL, EPS, WTILDE};
use super::plan::SortedOnce;
use super::{Bands, Header, Id, Matrix, Origin, Problem, Slab, SlabView, range, wrong};
use crate::error::{DataError, Error};

/// `wtilde` and `eps` of all igp, both `(ncouls, ngpown)`, checked as far as that does not depend on energies.
#[derive(Clone, Debug)]
pub struct CheckedPairs {
    id: Id,
    ncouls: usize,
    ngpown: usize,
    wtilde: Arc<Matrix>,
    eps: Arc<Matrix>,
    poles: Poles,
    care: range::Care,
    is_as_given: bool,
    by_size: Arc<SortedOnce>,
}

impl CheckedPairs {
    /// Of all columns of these G and G′, of which masked ones are left out as the header has it.
    ///
    /// # Errors
    /// [`DataError`] where a matrix has the wrong size, or a value is not finite or out of [`range`].
    pub fn new(
        header: &Header,
        wtilde: impl Into<Matrix>,
        eps: impl Into<Matrix>,
    ) -> Result<CheckedPairs, DataError> {
        let Header { ncouls, ngpown, .. } = *header;
        let pair = |at: usize| (at % ncouls + 1, header.column(at / ncouls) + 1);
        let wtilde = header.unmasked_columns(&WTILDE, wtilde.into())?;
        let mut eps = header.unmasked_columns(&EPS, eps.into())?;
        range::check_finite(&WTILDE, &wtilde, pair)?;
        range::check_finite(&EPS, &eps, pair)?;
        range::check_factors(&EPS, &eps, pair)?;
        range::check_largest(&wtilde, pair)?;
        let is_as_given = !range::resolve_factors(&EPS, &mut eps)?;
        let (poles, care) = (range::poles_of(&wtilde, &eps), range::Care::of(&wtilde));
        let (wtilde, eps) = (Arc::new(wtilde), Arc::new(eps));
        let (id, by_size) = (Id::unique(), Arc::default());
        Ok(CheckedPairs { id, ncouls, ngpown, wtilde, eps, poles, care, is_as_given, by_size })
    }

    /// Whether the numbers are those that were given: `eps` below 1e-120 are taken for zero.
    pub fn are_as_given(&self) -> bool {
        self.is_as_given
    }

    /// `wtilde` and `eps`.
    pub fn matrices(&self) -> [&Arc<Matrix>; 2] {
        [&self.wtilde, &self.eps]
    }

    /// Whether a slab has these, not others made of them.
    pub fn are_of(&self, slab: SlabView) -> bool {
        slab.pairs_id().0 == self.id
    }

    /// The problem of these with such bands, which have as many G and G′ and always one Coulomb interaction, and matrix elements of G′,
    /// `(ngpown, nbands)`; none where they are elsewhere, as [`Bands::elsewhere`] has it. Poles are copied
    /// where some are next to real at an energy.
    ///
    /// # Errors
    /// [`Error::Problem`].
    pub fn problem(
        &self,
        name: &str,
        bands: Bands,
        aqsm_local: Option<Matrix>,
    ) -> Result<Problem, Error> {
        let slab = self.slab(&bands, aqsm_local).map_err(|what| wrong(name, what))?;
        let sorted = self.are_of(slab.view()).then(|| self.by_size.clone());
        Ok(Problem::with_poles(name, Origin::Made, bands.into(), slab, self.poles).sorted(sorted))
    }

    fn slab(&self, bands: &Bands, aqsm_local: Option<Matrix>) -> Result<Slab, DataError> {
        let extents = bands.extents();
        if (extents.ncouls, extents.ngpown) != (self.ncouls, self.ngpown) {
            let (begin, end, ngpown) = (0, self.ngpown, extents.ngpown);
            return Err(DataError::Igp { begin, end, ngpown });
        }
        let column = |k: usize| bands.header().column(k) + 1;
        let element = |at: usize| (column(at % self.ngpown), at / self.ngpown + 1);
        let aqsm_local = match aqsm_local {
            Some(mut aqsm_local) => {
                AQSM_LOCAL.check(extents, aqsm_local.len())?;
                range::check_finite(&AQSM_LOCAL, &aqsm_local, element)?;
                range::check_factors(&AQSM_LOCAL, &aqsm_local, element)?;
                range::resolve_factors(&AQSM_LOCAL, &mut aqsm_local)?;
                aqsm_local
            }
            None => Vec::new().into(),
        };
        let (mut id, mut wtilde) = (self.id, self.wtilde.clone());
        if self.care.is_needed(bands.header(), bands.wx()) {
            let column = |k: usize| bands.header().column(k) + 1;
            let pair = |at: usize| (at % self.ncouls + 1, column(at / self.ncouls));
            range::check_poles(bands.header(), bands.wx(), &wtilde, pair)?;
            if let Some(resolved) = range::resolved_poles(&wtilde, bands.wx())? {
                (id, wtilde) = (Id::unique(), Arc::new(resolved));
            }
        }
        Ok(Slab::of_pairs(bands, id, [wtilde, self.eps.clone()], aqsm_local))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::synthesis::synthesise;
    use crate::problem::systems;
    use crate::progress::Progress;

    /// A call's frame has them sorted once for all energies.
    #[test]
    fn poles_are_sorted_once() {
        let made = synthesise(systems::find("demo").unwrap(), 1, Progress::NONE).unwrap();
        // What was made has its masked columns left out already.
        let header = Header { unmasked: None, ..made.header().clone() };
        let pairs =
            CheckedPairs::new(&header, made.wtilde().to_vec(), made.eps().to_vec()).unwrap();
        let mut sorted = Vec::new();
        for shift in [0.0, 0.3] {
            let wx = made.wx().iter().map(|w| w + shift).collect();
            let bands =
                made.frame().bands().clone().with_energies(wx, made.occ().to_vec()).unwrap();
            let problem = pairs.problem("demo", bands, None).unwrap();
            let (batch, slab) = (problem.batches(3).first(), problem.slab());
            assert_eq!(problem.odd(slab, &batch, Poles::Real), batch.plan().odd(slab, Poles::Real));
            sorted.push(std::ptr::from_ref(problem.frame().sorted_poles(slab).unwrap()));
            let part = slab.part(1..3);
            assert!(problem.frame().sorted_poles(part).is_none());
            assert_eq!(problem.odd(part, &batch, Poles::Any), batch.plan().odd(part, Poles::Any));
        }
        assert_eq!(sorted[0], sorted[1]);
    }
}
