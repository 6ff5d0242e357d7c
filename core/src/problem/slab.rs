//! The bands, which all igp share, and ranges of igp, the units of work.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::error::{Quantity, Result};
use crate::problem::arrays::{
    AQSM_LOCAL, AQSN, ComplexMatrix, EPS, Extents, MatrixRows, OCC, WTILDE, WX,
};
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
pub struct CheckedBands {
    id: Id,
    /// The identity of `aqsn`.
    elements: Id,
    header: Arc<Header>,
    aqsn: ComplexMatrix,
    wx: Vec<f64>,
    occ: Vec<f64>,
}

impl CheckedBands {
    /// From the small records and `aqsntemp(ncouls, nbands)`.
    pub fn new(
        header: impl Into<Arc<Header>>,
        aqsn: impl Into<ComplexMatrix>,
    ) -> Result<CheckedBands> {
        let (header, mut aqsn) = (header.into(), aqsn.into());
        header.validate()?;
        let extents = header.extents();
        let index = |offset: usize| [offset % extents.ncouls, offset / extents.ncouls];
        AQSN.check(extents, aqsn.len())?;
        range::check_factors(&AQSN, &mut aqsn, index)?;
        CheckedBands::with_elements(header, aqsn)
    }

    /// Bands whose matrix elements of G are elsewhere and not checked: [`CheckedBands::aqsn`] is empty.
    pub fn elsewhere(header: impl Into<Arc<Header>>) -> Result<CheckedBands> {
        let header = header.into();
        header.validate()?;
        CheckedBands::with_elements(header, Vec::new().into())
    }

    fn with_elements(header: Arc<Header>, aqsn: ComplexMatrix) -> Result<CheckedBands> {
        let (header_wx, header_occ) = (header.wx(), header.occ());
        let (id, elements) = (Id::unique(), Id::unique());
        let (wx, occ) = Default::default();
        let bands = CheckedBands { id, elements, header, aqsn, wx, occ };
        bands.with_energies(header_wx, header_occ)
    }

    /// These bands with energies `wx(nw, nbands)` and occupations `occ(nbands)` in place of the header's.
    pub fn with_energies(mut self, wx: Vec<f64>, occ: Vec<f64>) -> Result<CheckedBands> {
        let extents = self.header.extents();
        WX.check(extents, wx.len())?;
        OCC.check(extents, occ.len())?;
        range::check_energies(&self.header, &wx)?;
        range::within(Quantity::Occ, occ.iter().copied().enumerate(), [0.0, 1.0])?;
        (self.wx, self.occ) = (wx, occ);
        self.id = Id::unique();
        Ok(self)
    }

    /// These bands with occupations in place of the header's, by the identity of others with the same energies,
    /// occupations and limits.
    pub(crate) fn with_occupations(mut self, occ: Vec<f64>, id: Id) -> Result<CheckedBands> {
        let wx = std::mem::take(&mut self.wx);
        Ok(CheckedBands { id, ..self.with_energies(wx, occ)? })
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

    pub fn terms(&self) -> u64 {
        self.extents().terms()
    }
}

/// A range of igp, counted from its begin, with all that depends on it, checked. Column-major as [`CheckedBands`].
#[derive(Clone, Debug)]
pub struct Slab {
    id: Id,
    pairs: Id,
    igp: Range<usize>,
    ncouls: usize,
    nbands: usize,
    wtilde: Arc<ComplexMatrix>,
    eps: Arc<ComplexMatrix>,
    aqsm_local: ComplexMatrix,
    vcoul_loc: Vec<f64>,
}

impl Slab {
    /// The `igp` (0-based) of the problem with these bands: `wtilde` and `eps`, both `(ncouls, n)`, which the slab has with
    /// the broadening of the header, and `aqsm_local(n, nbands)`.
    ///
    /// # Panics
    /// If there are no such igp.
    pub fn new(
        bands: &CheckedBands,
        igp: Range<usize>,
        wtilde: impl Into<ComplexMatrix>,
        eps: impl Into<ComplexMatrix>,
        aqsm_local: impl Into<ComplexMatrix>,
    ) -> Result<Slab> {
        let (mut wtilde, mut eps) = (wtilde.into(), eps.into());
        let problem_extents = bands.extents();
        assert_part(&igp, problem_extents.ngpown);
        let extents = Extents { ngpown: igp.len(), ..problem_extents };
        let ncouls = problem_extents.ncouls;
        let column = |k: usize| bands.header().column(igp.start + k);
        let pair = |offset: usize| [offset % ncouls, column(offset / ncouls)];
        WTILDE.check(extents, wtilde.len())?;
        EPS.check(extents, eps.len())?;
        range::check_factors(&EPS, &mut eps, pair)?;
        let elements = Slab::checked_elements(bands, igp.clone(), aqsm_local.into())?;
        if let Some(eta) = bands.header().eta {
            range::check_size(&WTILDE, &wtilde, range::LARGEST_POLE, pair)?;
            range::broaden(&mut wtilde, &mut eps, eta)?;
        }
        if let Some(resolved) = range::resolved_poles(bands.header(), bands.wx(), &wtilde, pair)? {
            wtilde = resolved;
        }
        let (id, pairs) = (Id::unique(), [Arc::new(wtilde), Arc::new(eps)]);
        Ok(Slab { id, ..Slab::of_pairs(bands, igp, id, pairs, elements) })
    }

    /// `aqsm_local(n, nbands)` of n igp (0-based).
    pub(super) fn checked_elements(
        bands: &CheckedBands,
        igp: Range<usize>,
        mut elements: ComplexMatrix,
    ) -> Result<ComplexMatrix> {
        let column = |k: usize| bands.header().column(igp.start + k);
        let element = |offset: usize| [column(offset % igp.len()), offset / igp.len()];
        AQSM_LOCAL.check(Extents { ngpown: igp.len(), ..bands.extents() }, elements.len())?;
        range::check_factors(&AQSM_LOCAL, &mut elements, element)?;
        Ok(elements)
    }

    /// A slab of arrays checked with these bands, `aqsm_local` empty if elsewhere. Equal pairs may share `pairs`.
    pub(super) fn of_pairs(
        bands: &CheckedBands,
        igp: Range<usize>,
        pairs: Id,
        [wtilde, eps]: [Arc<ComplexMatrix>; 2],
        aqsm_local: ComplexMatrix,
    ) -> Slab {
        let Extents { ncouls, nbands, .. } = bands.extents();
        let (id, vcoul_loc) = (Id::unique(), bands.header().vcoul_loc(igp.clone()));
        Slab { id, pairs, igp, ncouls, nbands, wtilde, eps, aqsm_local, vcoul_loc }
    }

    /// This slab by the identity of its source, which makes the same data each time.
    pub(super) fn with_id(self, id: Id) -> Slab {
        Slab { id, pairs: id, ..self }
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
            aqsm_local: MatrixRows::new(&self.aqsm_local, n),
            ncouls: self.ncouls,
            nbands: self.nbands,
            share: [0, 1],
            is_sample: false,
        }
    }
}

/// Panics if `igp` (0-based) is not a part of all `ngpown`.
pub fn assert_part(igp: &Range<usize>, ngpown: usize) {
    assert!(igp.start < igp.end && igp.end <= ngpown, "igp {igp:?} is not within 0..{ngpown}");
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
    aqsm_local: MatrixRows<'a>,
    /// Which share of its sorted pairs is summed, and of how many.
    pub share: [usize; 2],
    /// Whether a part of the slab that was begun before is summed once more, in FP64.
    pub is_sample: bool,
}

impl<'a> SlabView<'a> {
    /// The same for a share of its sorted pairs, by an identity of its own.
    #[must_use]
    pub fn shared(self, id: Id, share: [usize; 2]) -> SlabView<'a> {
        SlabView { of: id, pairs_of: id, share, ..self }
    }

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
    pub fn aqsm_local(self) -> MatrixRows<'a> {
        self.aqsm_local
    }

    /// A part of it; `igp` in the problem's numbers.
    ///
    /// # Panics
    /// If that is no part of it, or empty.
    pub fn part(self, igp: Range<usize>) -> SlabView<'a> {
        let slab_igp = self.igp();
        assert!(
            slab_igp.start <= igp.start && igp.start < igp.end && igp.end <= slab_igp.end,
            "igp {igp:?} is not a part of {slab_igp:?}"
        );
        let local = igp.start - self.begin..igp.end - self.begin;
        let pairs = local.start * self.ncouls..local.end * self.ncouls;
        SlabView {
            begin: igp.start,
            wtilde: &self.wtilde[pairs.clone()],
            eps: &self.eps[pairs],
            vcoul_loc: &self.vcoul_loc[local.clone()],
            aqsm_local: self.aqsm_local.part(local),
            ..self
        }
    }
}
