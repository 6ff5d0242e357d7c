//! The bands: all that a problem's igp share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::problem::header::Header;
use crate::problem::memory::{AQSN, Extents, Matrix, OCC, WX};
use crate::problem::range;

/// The identity of data that never change: of the same data, and of their copies, the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(u64);

impl Id {
    /// One that nothing has yet.
    pub fn unique() -> Id {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Id(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

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
        range::check_factors(&AQSN, &mut aqsn, place)?;
        range::check_vcoul(&header)?;
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
            let (at, found) = (n + 1, occ[n]);
            return Err(Error::new(format!("occ({at}) is {found}; it must be from 0 to 1")));
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

    /// The part of `wx` that depends on the band, `−e(n)` in eV; none if energies are not the header's.
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
