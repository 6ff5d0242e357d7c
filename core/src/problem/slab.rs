//! A range of igp: the unit of work.

use std::ops::Range;
use std::sync::Arc;

use num_complex::Complex64;

use super::bands::Bands;
use super::matrix::Matrix;
use super::memory::{AQSM_LOCAL, EPS, Extents, WTILDE};
use super::range;
use crate::error::DataError;

/// A range of igp with all that depends on it, checked. All arrays are column-major, the first index named
/// fastest; igp counts from the slab's begin in them.
#[derive(Clone, Debug, PartialEq)]
pub struct Slab {
    igp: Range<usize>,
    ncouls: usize,
    nbands: usize,
    wtilde: Arc<Matrix>,
    eps: Arc<Matrix>,
    aqsm_local: Matrix,
    vcoul_loc: Vec<f64>,
}

impl Slab {
    /// The `igp` (0-based) of the problem with these bands: modes and `δ − ε⁻¹`, both `(ncouls, n)`, and
    /// matrix elements of G′, `(n, nbands)`.
    ///
    /// # Errors
    /// [`DataError`] where the range is empty or not within the problem, a matrix has the wrong size, or a
    /// value is not finite or out of [`range`].
    pub fn new(
        bands: &Bands,
        igp: Range<usize>,
        wtilde: impl Into<Matrix>,
        eps: impl Into<Matrix>,
        aqsm_local: impl Into<Matrix>,
    ) -> Result<Slab, DataError> {
        let (mut wtilde, mut eps, mut aqsm_local) = (wtilde.into(), eps.into(), aqsm_local.into());
        let whole = bands.extents();
        check_part(&igp, whole.ngpown)?;
        let extents = Extents { ngpown: igp.len(), ..whole };
        let (n, ncouls) = (igp.len(), whole.ncouls);
        let pair = |at: usize| (at % ncouls + 1, igp.start + at / ncouls + 1);
        let element = |at: usize| (igp.start + at % n + 1, at / n + 1);

        WTILDE.check(extents, wtilde.len())?;
        EPS.check(extents, eps.len())?;
        AQSM_LOCAL.check(extents, aqsm_local.len())?;
        range::check_finite(&WTILDE, &wtilde, pair)?;
        range::check_finite(&EPS, &eps, pair)?;
        range::check_finite(&AQSM_LOCAL, &aqsm_local, element)?;
        range::check_factors(&EPS, &eps, pair)?;
        range::check_factors(&AQSM_LOCAL, &aqsm_local, element)?;
        range::check_poles(bands.header(), bands.wx(), &wtilde, pair)?;
        range::resolve_factors(&mut eps);
        range::resolve_factors(&mut aqsm_local);
        range::resolve_poles(&mut wtilde, bands.wx());
        let vcoul_loc = bands.header().vcoul_loc(igp.clone());
        let (wtilde, eps) = (Arc::new(wtilde), Arc::new(eps));
        let nbands = whole.nbands;
        Ok(Slab { igp, ncouls, nbands, wtilde, eps, aqsm_local, vcoul_loc })
    }

    /// All igp of these bands, of arrays that were checked with them; `aqsm_local` is empty where it is
    /// elsewhere.
    pub(super) fn of_pairs(bands: &Bands, pairs: [Arc<Matrix>; 2], aqsm_local: Matrix) -> Slab {
        let Extents { ngpown, ncouls, nbands, .. } = bands.extents();
        let ([wtilde, eps], igp) = (pairs, 0..ngpown);
        let vcoul_loc = bands.header().vcoul_loc(igp.clone());
        Slab { igp, ncouls, nbands, wtilde, eps, aqsm_local, vcoul_loc }
    }

    /// All of it.
    pub fn view(&self) -> SlabView<'_> {
        let n = self.igp.len();
        SlabView {
            begin: self.igp.start,
            wtilde: &self.wtilde,
            eps: &self.eps,
            vcoul_loc: &self.vcoul_loc,
            aqsm_local: Rows { all: &self.aqsm_local, stride: n, begin: 0, end: n },
            ncouls: self.ncouls,
            nbands: self.nbands,
        }
    }

    /// This slab with other igp. `make` gives the columns that this one lacks. Columns of both stay where
    /// they are in memory.
    pub(super) fn moved<E>(
        self,
        bands: &Bands,
        to: Range<usize>,
        make: impl Fn(Range<usize>) -> Result<Slab, E>,
    ) -> Result<Slab, E> {
        let both = self.igp.start.max(to.start)..self.igp.end.min(to.end);
        if both.is_empty() {
            drop(self);
            return make(to);
        }
        let lacking = |igp: Range<usize>| -> Result<Option<Slab>, E> {
            if igp.is_empty() { Ok(None) } else { make(igp).map(Some) }
        };
        let before = lacking(to.start..both.start)?;
        let behind = lacking(both.end..to.end)?;

        // Bands are far apart in memory and much smaller than the rest.
        let parts: Vec<SlabView> =
            [before.as_ref().map(Slab::view), Some(self.view().part(both.clone()))]
                .into_iter()
                .chain([behind.as_ref().map(Slab::view)])
                .flatten()
                .collect();
        let of_band = |n: usize| parts.iter().map(move |part| part.aqsm_local().column(n));
        let aqsm_local = (0..self.nbands()).flat_map(of_band).collect::<Vec<_>>().concat();

        let pair = |igp: usize| (igp - self.igp.start) * self.ncouls;
        let own = pair(both.start)..pair(both.end);
        let matrices = |slab: Option<Slab>| {
            let [wtilde, eps, _] = slab.map(Slab::into_matrices).unwrap_or_default();
            [wtilde, eps]
        };
        let ends = matrices(before).into_iter().zip(matrices(behind));
        let (ncouls, nbands) = (self.ncouls, self.nbands);
        let [mut wtilde, mut eps, _] = self.into_matrices();
        for (all, (before, behind)) in [&mut wtilde, &mut eps].into_iter().zip(ends) {
            all.truncate(own.end);
            all.reserve_exact((before.len() + behind.len()).saturating_sub(own.start));
            drop(all.splice(..own.start, before));
            all.extend(behind);
        }
        let vcoul_loc = bands.header().vcoul_loc(to.clone());
        let [wtilde, eps] = [wtilde, eps].map(|matrix| Arc::new(Matrix::from(matrix)));
        Ok(Slab { igp: to, ncouls, nbands, wtilde, eps, aqsm_local: aqsm_local.into(), vcoul_loc })
    }

    /// Bands.
    pub fn nbands(&self) -> usize {
        self.nbands
    }

    /// `wtilde` and `eps`, to own where they are: the arrays that are page-locked.
    pub fn shared(&self) -> [Arc<Matrix>; 2] {
        [self.wtilde.clone(), self.eps.clone()]
    }

    /// `wtilde`, `eps` and `aqsm_local`, copied where others own them as well.
    pub fn into_matrices(self) -> [Vec<Complex64>; 3] {
        [Arc::unwrap_or_clone(self.wtilde), Arc::unwrap_or_clone(self.eps), self.aqsm_local]
            .map(Matrix::into_vec)
    }
}

/// Fails where `igp` (0-based) is not a part of all `ngpown`.
///
/// # Errors
/// [`DataError::Igp`].
pub fn check_part(igp: &Range<usize>, ngpown: usize) -> Result<(), DataError> {
    if igp.start < igp.end && igp.end <= ngpown {
        return Ok(());
    }
    Err(DataError::Igp { begin: igp.start, end: igp.end, ngpown })
}

/// A slab, or a part of one, borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlabView<'a> {
    begin: usize,
    ncouls: usize,
    nbands: usize,
    wtilde: &'a [Complex64],
    eps: &'a [Complex64],
    vcoul_loc: &'a [f64],
    aqsm_local: Rows<'a>,
}

impl<'a> SlabView<'a> {
    /// Its igp (0-based), in the problem's numbers.
    pub fn igp(self) -> Range<usize> {
        self.begin..self.begin + self.len()
    }

    /// How many igp it has; at least one.
    #[expect(clippy::len_without_is_empty, reason = "no slab is empty")]
    pub fn len(self) -> usize {
        self.vcoul_loc.len()
    }

    /// G vectors.
    pub fn ncouls(self) -> usize {
        self.ncouls
    }

    /// Bands.
    pub fn nbands(self) -> usize {
        self.nbands
    }

    /// Plasmon-pole modes in eV, `(ncouls, len)`.
    pub fn wtilde(self) -> &'a [Complex64] {
        self.wtilde
    }

    /// `δ − ε⁻¹`, `(ncouls, len)`.
    pub fn eps(self) -> &'a [Complex64] {
        self.eps
    }

    /// Coulomb interaction of each G′, `(len)`.
    pub fn vcoul_loc(self) -> &'a [f64] {
        self.vcoul_loc
    }

    /// Matrix elements of G′, `(len, nbands)`.
    pub fn aqsm_local(self) -> Rows<'a> {
        self.aqsm_local
    }

    /// A slab of its own with the same data, which has been checked with these bands.
    ///
    /// # Errors
    /// Those of [`Slab::new`], for bands of another problem.
    pub fn copied(self, bands: &Bands) -> Result<Slab, DataError> {
        let aqsm_local = self.aqsm_local.columns().collect::<Vec<_>>().concat();
        Slab::new(bands, self.igp(), self.wtilde.to_vec(), self.eps.to_vec(), aqsm_local)
    }

    /// A part of it; `igp` in the problem's numbers.
    ///
    /// # Panics
    /// Where that is no part of it, or empty.
    pub fn part(self, igp: Range<usize>) -> SlabView<'a> {
        let all = self.igp();
        assert!(
            all.start <= igp.start && igp.start < igp.end && igp.end <= all.end,
            "igp {igp:?} is not a part of {all:?}"
        );
        let own = igp.start - self.begin..igp.end - self.begin;
        let pairs = own.start * self.ncouls..own.end * self.ncouls;
        let Rows { all, stride, begin, .. } = self.aqsm_local;
        SlabView {
            begin: igp.start,
            ncouls: self.ncouls,
            nbands: self.nbands,
            wtilde: &self.wtilde[pairs.clone()],
            eps: &self.eps[pairs],
            vcoul_loc: &self.vcoul_loc[own.clone()],
            aqsm_local: Rows { all, stride, begin: begin + own.start, end: begin + own.end },
        }
    }
}

/// Neighbouring rows of a column-major matrix.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    all: &'a [Complex64],
    /// Rows of the whole matrix.
    stride: usize,
    begin: usize,
    end: usize,
}

impl<'a> Rows<'a> {
    /// The rows of column `n` (0-based), next to each other.
    pub fn column(self, n: usize) -> &'a [Complex64] {
        &self.all[n * self.stride..(n + 1) * self.stride][self.begin..self.end]
    }

    /// All columns one after the other.
    pub fn columns(self) -> impl Iterator<Item = &'a [Complex64]> + Clone {
        self.all.chunks_exact(self.stride).map(move |column| &column[self.begin..self.end])
    }

    /// How many rows.
    pub fn rows(self) -> usize {
        self.end - self.begin
    }

    /// The matrix, where these are all of its rows.
    pub fn whole(self) -> Option<&'a [Complex64]> {
        (self.rows() == self.stride).then_some(self.all)
    }
}

impl PartialEq for Rows<'_> {
    fn eq(&self, other: &Rows) -> bool {
        self.columns().eq(other.columns())
    }
}
