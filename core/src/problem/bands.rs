//! The bands: all that a problem's igp share.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::error::DataError;
use crate::problem::header::Header;
use crate::problem::memory::{AQSN, Extents, Matrix, OCC, WX};
use crate::problem::plan::BandOrder;
use crate::problem::{BandPlan, Id, range};

type Result<T> = std::result::Result<T, DataError>;

/// The bands of a problem, checked. All arrays are column-major, the first index named fastest.
#[derive(Clone, Debug)]
pub struct Bands {
    /// The identity of energies, occupations and limits.
    id: Id,
    /// The identity of `aqsn`.
    elements: Id,
    header: Arc<Header>,
    aqsn: Matrix,
    wx: Vec<f64>,
    occ: Vec<f64>,
    /// Whether energies and occupations are those of the header.
    of_header: bool,
}

/// The same data, whichever bands they are.
impl PartialEq for Bands {
    fn eq(&self, other: &Bands) -> bool {
        let Bands { id: _, elements: _, header, aqsn, wx, occ, of_header } = self;
        (header, aqsn) == (&other.header, &other.aqsn)
            && (wx, occ, of_header) == (&other.wx, &other.occ, &other.of_header)
    }
}

impl Bands {
    /// From the small records and `aqsntemp(ncouls, nbands)`.
    pub fn new(header: impl Into<Arc<Header>>, aqsn: impl Into<Matrix>) -> Result<Bands> {
        let mut aqsn = aqsn.into();
        let header = header.into();
        header.validate()?;
        let extents = header.extents();
        let place = |at: usize| (at % extents.ncouls + 1, at / extents.ncouls + 1);
        AQSN.check(extents, aqsn.len())?;
        range::check_finite(&AQSN, &aqsn, place)?;
        range::check_factors(&AQSN, &aqsn, place)?;
        range::check_vcoul(&header)?;
        range::resolve_factors(&AQSN, &mut aqsn)?;
        Bands::with_elements(header, aqsn)
    }

    /// The same with matrix elements of G that are elsewhere and not looked at: [`Bands::aqsn`] is empty.
    pub fn elsewhere(header: impl Into<Arc<Header>>) -> Result<Bands> {
        let header = header.into();
        header.validate()?;
        range::check_vcoul(&header)?;
        Bands::with_elements(header, Vec::new().into())
    }

    fn with_elements(header: Arc<Header>, aqsn: Matrix) -> Result<Bands> {
        let (id, elements) = (Id::unique(), Id::unique());
        let (wx, occ, of_header) = (Vec::new(), Vec::new(), true);
        Bands { id, elements, header, aqsn, wx, occ, of_header }.of_header()
    }

    /// These bands with the energies and occupations of their header.
    fn of_header(self) -> Result<Bands> {
        let (wx, occ) = (self.header.wx(), self.header.occ());
        Ok(Bands { of_header: true, ..self.with_energies(wx, occ)? })
    }

    /// These bands with the energies of another header, which differs in nothing else.
    pub(super) fn with_header(self, header: Header) -> Result<Bands> {
        header.validate()?;
        Bands { header: header.into(), ..self }.of_header()
    }

    /// These bands with energies `wx(nw, nbands)` and occupations `occ(nbands)` that do not follow from the
    /// header; a file does not hold them.
    pub fn with_energies(mut self, wx: Vec<f64>, occ: Vec<f64>) -> Result<Bands> {
        let extents = self.header.extents();
        WX.check(extents, wx.len())?;
        OCC.check(extents, occ.len())?;
        range::check_energies(&self.header, &wx)?;
        if let Some(n) = occ.iter().position(|occ| !(0.0..=1.0).contains(occ)) {
            let text = format!(") is {}; it must be from 0 to 1", occ[n]);
            return Err(DataError::new("occ(").index(n + 1).text(text));
        }
        (self.wx, self.occ, self.of_header) = (wx, occ, false);
        self.id = Id::unique();
        Ok(self)
    }

    /// These bands with other occupations, which do not follow from the header.
    pub fn with_occupations(mut self, occ: Vec<f64>) -> Result<Bands> {
        let wx = std::mem::take(&mut self.wx);
        self.with_energies(wx, occ)
    }

    /// These bands with energies, occupations and limits that others have, by the identity of those.
    #[must_use]
    pub(crate) fn at(self, id: Id) -> Bands {
        Bands { id, ..self }
    }

    /// Takes what is elsewhere for other matrix elements.
    pub(super) fn change_elements(&mut self) {
        self.elements = Id::unique();
    }

    /// What tells their energies, occupations and limits from all others: plans and batches follow from these.
    pub fn id(&self) -> Id {
        self.id
    }

    /// What tells their matrix elements from all others.
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

    /// The part of `wx` that depends on the band, `−e(n)` in eV; none where energies are not the header's.
    pub(super) fn falling(&self) -> Option<Vec<f64>> {
        let falling = || (0..self.header.nbands).map(|n| -self.header.e(n)).collect();
        self.of_header.then(falling)
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

// Energies that are summed together.

/// Neighbouring energies of a problem, summed by a calculation of their own. Its sums do not depend on other
/// batches. Only kernels that sort pairs are different: their [cells](crate::problem::Cells) depend on all
/// energies of the problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    of: Id,
    energies: Range<usize>,
    wx: Vec<f64>,
    plan: BandPlan,
}

impl Batch {
    /// A batch of these energies (0-based) of a problem's bands.
    pub(super) fn new(
        bands: &Bands,
        order: &Arc<BandOrder>,
        energies: Range<usize>,
        poles: Poles,
    ) -> Batch {
        let of_band = |n| &bands.energies(n)[energies.clone()];
        let wx = (0..bands.header().nbands).flat_map(of_band).copied().collect();
        let plan = BandPlan::of_batch(bands, order, energies.clone(), poles);
        Batch { of: bands.id(), energies, wx, plan }
    }

    /// Which energies (0-based) of the problem.
    pub fn energies(&self) -> Range<usize> {
        self.energies.clone()
    }

    /// What tells it from all others: of which bands it is, at which energies.
    pub fn id(&self) -> (Id, Range<usize>) {
        (self.of, self.energies())
    }

    pub fn nw(&self) -> usize {
        self.energies.len()
    }

    /// `wx` of them, `(nw, nbands)`, in the problem's order of bands.
    pub fn wx(&self) -> &[f64] {
        &self.wx
    }

    /// `wx(:,n)` of band `n` (0-based).
    pub fn of_band(&self, n: usize) -> &[f64] {
        &self.wx[n * self.nw()..(n + 1) * self.nw()]
    }

    /// The plan of the bands at these energies, which versions from v9 on need.
    pub fn plan(&self) -> &BandPlan {
        &self.plan
    }

    fn bytes(&self) -> usize {
        size_of::<Batch>() + 2 * size_of_val(self.wx())
    }
}

/// Bytes of batches that stay for the next calculation; others are made each time.
pub const KEPT: usize = 16 << 20;

#[derive(Clone, Debug, Default)]
pub(super) struct KeptBatches(Arc<Mutex<Made>>);

#[derive(Debug, Default)]
struct Made {
    batches: BTreeMap<(usize, usize), Arc<Batch>>,
    bytes: usize,
}

impl KeptBatches {
    fn made(&self) -> MutexGuard<'_, Made> {
        // Every change is whole, whatever a thread that panicked did before or after.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one at these energies, made if it is not there.
    pub fn of(&self, energies: Range<usize>, make: impl FnOnce() -> Batch) -> Arc<Batch> {
        let key = (energies.start, energies.end);
        if let Some(batch) = self.made().batches.get(&key) {
            return batch.clone();
        }
        let batch = Arc::new(make());
        let mut made = self.made();
        if made.bytes + batch.bytes() <= KEPT {
            made.bytes += batch.bytes();
            if let Some(other) = made.batches.insert(key, batch.clone()) {
                made.bytes -= other.bytes();
            }
        }
        batch
    }
}

/// Batches of a problem, each made when its turn comes.
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    of: OfBatches<'a>,
    ranges: Vec<Range<usize>>,
}

/// The data that batches are made from, and the batches that stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfBatches<'a> {
    pub bands: &'a Bands,
    pub order: &'a Arc<BandOrder>,
    pub poles: Poles,
    pub kept: &'a KeptBatches,
}

impl<'a> Batches<'a> {
    /// Of these energies (0-based), at least one batch.
    pub(super) fn new(of: OfBatches<'a>, ranges: impl Iterator<Item = Range<usize>>) -> Self {
        Batches { of, ranges: ranges.collect() }
    }

    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    pub fn nw(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// One of them.
    ///
    /// # Panics
    /// Where there are not so many.
    pub fn get(&self, at: usize) -> Arc<Batch> {
        let (OfBatches { bands, order, poles, kept }, energies) =
            (self.of, self.ranges[at].clone());
        kept.of(energies.clone(), || Batch::new(bands, order, energies, poles))
    }

    pub fn first(&self) -> Arc<Batch> {
        self.get(0)
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Batch>> {
        (0..self.count()).map(move |at| self.get(at))
    }

    /// One batch of each size, in their order: the first, and the last where it has fewer energies. The
    /// size alone decides which kernels run.
    pub fn kinds(&self) -> impl Iterator<Item = Arc<Batch>> {
        let last = self.count() - 1;
        let differs = self.ranges[last].len() != self.ranges[0].len();
        [0].into_iter().chain(differs.then_some(last)).map(move |at| self.get(at))
    }
}
