//! A range of igp: the unit of work.

use std::ops::Range;
use std::sync::Arc;

use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::problem::bands::{Bands, Id};
use crate::problem::memory::{AQSM_LOCAL, EPS, Extents, Matrix, Rows, WTILDE};
use crate::problem::range;

/// A range of igp with all that depends on it, checked. All arrays are column-major, the first index named
/// fastest; igp counts from the slab's begin in them.
#[derive(Clone, Debug)]
pub struct Slab {
    id: Id,
    /// The identity of `wtilde`, `eps` and `vcoul_loc`.
    pairs: Id,
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
    pub fn new(
        bands: &Bands,
        igp: Range<usize>,
        wtilde: impl Into<Matrix>,
        eps: impl Into<Matrix>,
        aqsm_local: impl Into<Matrix>,
    ) -> Result<Slab> {
        let (mut wtilde, mut eps, mut aqsm_local) = (wtilde.into(), eps.into(), aqsm_local.into());
        let whole = bands.extents();
        check_part(&igp, whole.ngpown)?;
        let extents = Extents { ngpown: igp.len(), ..whole };
        let (n, ncouls) = (igp.len(), whole.ncouls);
        let column = |k: usize| bands.header().column(igp.start + k) + 1;
        let pair = |at: usize| (at % ncouls + 1, column(at / ncouls));
        let element = |at: usize| (column(at % n), at / n + 1);
        WTILDE.check(extents, wtilde.len())?;
        EPS.check(extents, eps.len())?;
        AQSM_LOCAL.check(extents, aqsm_local.len())?;
        range::check_factors(&EPS, &mut eps, pair)?;
        range::check_factors(&AQSM_LOCAL, &mut aqsm_local, element)?;
        range::check_poles(bands.header(), bands.wx(), &wtilde, pair)?;
        if let Some(resolved) = range::resolved_poles(&wtilde, bands.wx())? {
            wtilde = resolved;
        }
        let vcoul_loc = bands.header().vcoul_loc(igp.clone());
        let (wtilde, eps) = (Arc::new(wtilde), Arc::new(eps));
        let (id, nbands) = (Id::unique(), whole.nbands);
        Ok(Slab { id, pairs: id, igp, ncouls, nbands, wtilde, eps, aqsm_local, vcoul_loc })
    }

    /// All igp of these bands, of arrays that were checked with them; `aqsm_local` is empty if it is
    /// elsewhere. Slabs whose `wtilde`, `eps` and `vcoul_loc` are the same may have one identity `id` of these.
    pub(super) fn of_pairs(
        bands: &Bands,
        id: Id,
        [wtilde, eps]: [Arc<Matrix>; 2],
        aqsm_local: Matrix,
    ) -> Slab {
        let Extents { ngpown, ncouls, nbands, .. } = bands.extents();
        let (of, igp) = (Id::unique(), 0..ngpown);
        let vcoul_loc = bands.header().vcoul_loc(igp.clone());
        Slab { id: of, pairs: id, igp, ncouls, nbands, wtilde, eps, aqsm_local, vcoul_loc }
    }

    /// This slab as one of data of this identity: a source gives the same ones each time.
    pub(super) fn of(self, id: Id) -> Slab {
        Slab { id, pairs: id, ..self }
    }

    pub(super) fn with_other_elements(self) -> Slab {
        Slab { id: Id::unique(), ..self }
    }

    pub fn view(&self) -> SlabView<'_> {
        let n = self.igp.len();
        SlabView {
            of: self.id,
            pairs_of: self.pairs,
            begin: self.igp.start,
            wtilde: &self.wtilde,
            eps: &self.eps,
            vcoul_loc: &self.vcoul_loc,
            aqsm_local: Rows::of(&self.aqsm_local, n),
            ncouls: self.ncouls,
            nbands: self.nbands,
        }
    }

    /// This slab with other igp. `make` gives the columns that this one lacks. Columns of both stay where
    /// they are in memory.
    pub(super) fn moved(
        self,
        bands: &Bands,
        to: Range<usize>,
        make: impl Fn(Range<usize>) -> Result<Slab>,
    ) -> Result<Slab> {
        let both = self.igp.start.max(to.start)..self.igp.end.min(to.end);
        if both.is_empty() {
            drop(self);
            return make(to);
        }
        let lacking = |igp: Range<usize>| -> Result<Option<Slab>> {
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
        let (id, aqsm_local) = (Id::unique(), aqsm_local.into());
        Ok(Slab { id, pairs: id, igp: to, ncouls, nbands, wtilde, eps, aqsm_local, vcoul_loc })
    }

    pub fn nbands(&self) -> usize {
        self.nbands
    }

    /// `wtilde`, `eps` and `aqsm_local`, copied if others own them as well.
    pub fn into_matrices(self) -> [Vec<Complex64>; 3] {
        [Arc::unwrap_or_clone(self.wtilde), Arc::unwrap_or_clone(self.eps), self.aqsm_local]
            .map(Matrix::into_vec)
    }
}

/// Fails if `igp` (0-based) is not a part of all `ngpown`.
pub fn check_part(igp: &Range<usize>, ngpown: usize) -> Result<()> {
    if igp.start < igp.end && igp.end <= ngpown {
        return Ok(());
    }
    Err(Error::igp(igp, ngpown))
}

/// A slab, or a part of one, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct SlabView<'a> {
    of: Id,
    pairs_of: Id,
    begin: usize,
    ncouls: usize,
    nbands: usize,
    wtilde: &'a [Complex64],
    eps: &'a [Complex64],
    vcoul_loc: &'a [f64],
    aqsm_local: Rows<'a>,
}

/// The same data, whichever slab they are of.
impl PartialEq for SlabView<'_> {
    fn eq(&self, other: &SlabView) -> bool {
        let SlabView { of: _, pairs_of: _, begin, ncouls, nbands, .. } = *self;
        let SlabView { wtilde, eps, vcoul_loc, aqsm_local, .. } = *self;
        (begin, ncouls, nbands) == (other.begin, other.ncouls, other.nbands)
            && (wtilde, eps) == (other.wtilde, other.eps)
            && (vcoul_loc, aqsm_local) == (other.vcoul_loc, other.aqsm_local)
    }
}

impl<'a> SlabView<'a> {
    /// What tells it from all others: of which data it is, and which igp of them.
    pub fn id(self) -> (Id, Range<usize>) {
        (self.of, self.igp())
    }

    /// What tells its `wtilde`, `eps` and `vcoul_loc` from all others.
    pub fn pairs_id(self) -> (Id, Range<usize>) {
        (self.pairs_of, self.igp())
    }

    /// Its igp (0-based), in the problem's numbers.
    pub fn igp(self) -> Range<usize> {
        self.begin..self.begin + self.len()
    }

    /// How many igp it has; at least one.
    #[expect(clippy::len_without_is_empty, reason = "no slab is empty")]
    pub fn len(self) -> usize {
        self.vcoul_loc.len()
    }

    pub fn ncouls(self) -> usize {
        self.ncouls
    }

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
    pub fn copied(self, bands: &Bands) -> Result<Slab> {
        let aqsm_local = self.aqsm_local.columns().collect::<Vec<_>>().concat();
        Slab::new(bands, self.igp(), self.wtilde.to_vec(), self.eps.to_vec(), aqsm_local)
    }

    /// A part of it; `igp` in the problem's numbers.
    ///
    /// # Panics
    /// If that is no part of it, or empty.
    pub fn part(self, igp: Range<usize>) -> SlabView<'a> {
        let all = self.igp();
        assert!(
            all.start <= igp.start && igp.start < igp.end && igp.end <= all.end,
            "igp {igp:?} is not a part of {all:?}"
        );
        let own = igp.start - self.begin..igp.end - self.begin;
        let pairs = own.start * self.ncouls..own.end * self.ncouls;
        SlabView {
            of: self.of,
            pairs_of: self.pairs_of,
            begin: igp.start,
            ncouls: self.ncouls,
            nbands: self.nbands,
            wtilde: &self.wtilde[pairs.clone()],
            eps: &self.eps[pairs],
            vcoul_loc: &self.vcoul_loc[own.clone()],
            aqsm_local: self.aqsm_local.part(own),
        }
    }
}
