//! The bands: all that a problem's igp share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::problem::arrays::{AQSN, Extents, Matrix, OCC, WX};
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
    /// The identity of energies, occupations and limits.
    id: Id,
    /// The identity of `aqsn`.
    elements: Id,
    header: Arc<Header>,
    aqsn: Matrix,
    wx: Vec<f64>,
    occ: Vec<f64>,
}

/// Compares the data, not the identities.
impl PartialEq for Bands {
    fn eq(&self, other: &Bands) -> bool {
        let Bands { id: _, elements: _, header, aqsn, wx, occ } = self;
        (header, aqsn) == (&other.header, &other.aqsn) && (wx, occ) == (&other.wx, &other.occ)
    }
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
            return Err(Error::new(format!("occ({at}) is {found}; it must be from 0 to 1")));
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

    /// Gives matrix elements that are elsewhere a new identity.
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
