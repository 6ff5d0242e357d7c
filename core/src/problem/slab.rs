//! The bands, which all igp share, and ranges of igp, the units of work.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::problem::arrays::{AQSM_LOCAL, AQSN, EPS, Extents, Matrix, OCC, Rows, WTILDE, WX};
use crate::problem::header::Header;
use crate::problem::range;

/// The identity of immutable data; copies have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(u64);

impl Id {
    pub fn unique() -> Id {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Id(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The bands of a problem, checked. All arrays are column-major, the first index named fastest.
#[derive(Clone, Debug)]
pub struct Bands {
    id: Id,
    /// The identity of `aqsn`.
    elements: Id,
    header: Arc<Header>,
    aqsn: Matrix,
    wx: Vec<f64>,
    occ: Vec<f64>,
}

impl Bands {
    /// From the small records and `aqsntemp(ncouls, nbands)`.
    pub fn new(header: impl Into<Arc<Header>>, aqsn: impl Into<Matrix>) -> Result<Bands> {
        let (header, mut aqsn) = (header.into(), aqsn.into());
        header.validate()?;
        let extents = header.extents();
        let index = |at: usize| (at % extents.ncouls + 1, at / extents.ncouls + 1);
        AQSN.check(extents, aqsn.len())?;
        range::check_factors(&AQSN, &mut aqsn, index)?;
        Bands::with_elements(header, aqsn)
    }

    /// Bands whose matrix elements of G are elsewhere and not checked: [`Bands::aqsn`] is empty.
    pub fn elsewhere(header: impl Into<Arc<Header>>) -> Result<Bands> {
        let header = header.into();
        header.validate()?;
        Bands::with_elements(header, Vec::new().into())
    }

    fn with_elements(header: Arc<Header>, aqsn: Matrix) -> Result<Bands> {
        range::check_vcoul(&header)?;
        let (wx, occ) = (header.wx(), header.occ());
        let (id, elements) = (Id::unique(), Id::unique());
        let (no_wx, no_occ) = (Vec::new(), Vec::new());
        Bands { id, elements, header, aqsn, wx: no_wx, occ: no_occ }.with_energies(wx, occ)
    }

    /// These bands with energies `wx(nw, nbands)` and occupations `occ(nbands)` in place of the header's.
    pub fn with_energies(mut self, wx: Vec<f64>, occ: Vec<f64>) -> Result<Bands> {
        let extents = self.header.extents();
        WX.check(extents, wx.len())?;
        OCC.check(extents, occ.len())?;
        range::check_energies(&self.header, &wx)?;
        if let Some(n) = occ.iter().position(|occ| !(0.0..=1.0).contains(occ)) {
            let (at, found) = (n + 1, occ[n]);
            return Err(Error::new(format!("occ({at}) is {found:?}; it must be from 0 to 1")));
        }
        (self.wx, self.occ) = (wx, occ);
        self.id = Id::unique();
        Ok(self)
    }

    /// These bands with occupations in place of the header's.
    pub fn with_occupations(mut self, occ: Vec<f64>) -> Result<Bands> {
        let wx = std::mem::take(&mut self.wx);
        self.with_energies(wx, occ)
    }

    /// These bands by the identity of others that have the same energies, occupations and limits.
    #[must_use]
    pub(crate) fn at(self, id: Id) -> Bands {
        Bands { id, ..self }
    }

    pub(super) fn change_elements(&mut self) {
        self.elements = Id::unique();
    }

    /// The identity of energies, occupations and limits: plans and batches follow from these.
    pub fn id(&self) -> Id {
        self.id
    }

    pub fn elements_id(&self) -> Id {
        self.elements
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Matrix elements of G, `aqsntemp(ncouls, nbands)`.
    pub fn aqsn(&self) -> &[Complex64] {
        &self.aqsn
    }

    /// Energies `ω(iw) − e(n)` in eV, `(nw, nbands)`: see [`Header::wx`].
    pub fn wx(&self) -> &[f64] {
        &self.wx
    }

    pub fn occ(&self) -> &[f64] {
        &self.occ
    }

    pub fn nw(&self) -> usize {
        self.header.nw()
    }

    /// Energies of band `n` (0-based), `wx(:,n)`.
    pub fn energies(&self, n: usize) -> &[f64] {
        let nw = self.nw();
        &self.wx[n * nw..(n + 1) * nw]
    }

    pub fn limits(&self) -> Limits {
        self.header.limits()
    }

    pub fn extents(&self) -> Extents {
        self.header.extents()
    }
}

/// A range of igp, counted from its begin, with all that depends on it, checked. Column-major as [`Bands`].
#[derive(Clone, Debug)]
pub struct Slab {
    id: Id,
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
    /// The `igp` (0-based) of the problem with these bands: `wtilde` and `eps`, both `(ncouls, n)`, and
    /// `aqsm_local(n, nbands)`.
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
        if let Some(resolved) = range::resolved_poles(bands.header(), bands.wx(), &wtilde, pair)? {
            wtilde = resolved;
        }
        let (id, pairs) = (Id::unique(), [Arc::new(wtilde), Arc::new(eps)]);
        Ok(Slab { id, ..Slab::of_pairs(bands, igp, id, pairs, aqsm_local) })
    }

    /// A slab of arrays checked with these bands, `aqsm_local` empty if elsewhere. Equal pairs may share `pairs`.
    pub(super) fn of_pairs(
        bands: &Bands,
        igp: Range<usize>,
        pairs: Id,
        [wtilde, eps]: [Arc<Matrix>; 2],
        aqsm_local: Matrix,
    ) -> Slab {
        let Extents { ncouls, nbands, .. } = bands.extents();
        let (id, vcoul_loc) = (Id::unique(), bands.header().vcoul_loc(igp.clone()));
        Slab { id, pairs, igp, ncouls, nbands, wtilde, eps, aqsm_local, vcoul_loc }
    }

    /// This slab by the identity of its source, which makes the same data each time.
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

    /// This slab with other igp; `make` makes those that it lacks. Columns of both stay where they are in memory.
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
        let (before, behind) = (lacking(to.start..both.start)?, lacking(both.end..to.end)?);

        // Bands are far apart in memory and much smaller than the rest.
        let own = self.view().part(both.clone());
        let [first, last] = [&before, &behind].map(|slab| slab.as_ref().map(Slab::view));
        let parts: Vec<SlabView> = first.into_iter().chain([own]).chain(last).collect();
        let of_band = |n: usize| parts.iter().map(move |part| part.aqsm_local().column(n));
        let aqsm_local = (0..self.nbands).flat_map(of_band).collect::<Vec<_>>().concat();

        let pair = |igp: usize| (igp - self.igp.start) * self.ncouls;
        let own = pair(both.start)..pair(both.end);
        let [before, behind] = [before, behind].map(|slab| slab.map(Slab::into_pairs));
        let ends = before.unwrap_or_default().into_iter().zip(behind.unwrap_or_default());
        let mut pairs = self.into_pairs();
        for (all, (before, behind)) in pairs.iter_mut().zip(ends) {
            all.truncate(own.end);
            all.reserve_exact((before.len() + behind.len()).saturating_sub(own.start));
            drop(all.splice(..own.start, before));
            all.extend(behind);
        }
        let pairs = pairs.map(|matrix| Arc::new(Matrix::from(matrix)));
        let id = Id::unique();
        Ok(Slab { id, ..Slab::of_pairs(bands, to, id, pairs, aqsm_local.into()) })
    }

    /// `wtilde` and `eps`, copied if they are shared.
    fn into_pairs(self) -> [Vec<Complex64>; 2] {
        [self.wtilde, self.eps].map(|matrix| Arc::unwrap_or_clone(matrix).into_vec())
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

impl<'a> SlabView<'a> {
    /// The identity of the data, and which igp of them.
    pub fn id(self) -> (Id, Range<usize>) {
        (self.of, self.igp())
    }

    /// The identity of its `wtilde`, `eps` and `vcoul_loc`.
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

    /// Plasmon-pole energies in eV, `(ncouls, len)`.
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
            begin: igp.start,
            wtilde: &self.wtilde[pairs.clone()],
            eps: &self.eps[pairs],
            vcoul_loc: &self.vcoul_loc[own.clone()],
            aqsm_local: self.aqsm_local.part(own),
            ..self
        }
    }
}
