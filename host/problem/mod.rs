//! One problem: the arrays that the kernels read, and where they come from.
//!
//! [`Bands`] are there once, [`Slab`]s for ranges of igp; a [`Source`] gives both. A [`Problem`] holds them
//! whole, with the sums that come with them.

pub mod bands;
pub mod file;
pub mod header;
pub mod layout;
pub mod memory;
pub mod plan;
pub mod range;
pub mod slab;
pub mod source;
pub mod sums;
pub mod synthesis;
pub mod systems;
pub mod vectors;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::error::{DataError, Error, Result};
pub use bands::Bands;
pub use header::Header;
pub use layout::SharedArrays;
pub use memory::Extents;
pub use plan::{BandPlan, OddPoles};
pub use slab::{Slab, SlabView};
pub use source::{Part, Source};
pub use sums::Sums;
pub use systems::System;

/// Where a problem comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A built-in system, synthesised with this seed.
    System(System, u64),
    /// A file in the reference mini-app's format.
    File(PathBuf),
    /// Arrays that a caller made.
    Made,
}

/// One problem in memory, checked. All arrays are column-major, the first index named fastest.
#[derive(Clone, Debug)]
pub struct Problem {
    name: String,
    origin: Origin,
    bands: Arc<Bands>,
    slab: Slab,
    start: Sums,
    stored: Option<Sums>,
    plan: OnceLock<BandPlan>,
}

/// The large arrays of a problem; everything else follows from the [`Header`].
#[derive(Clone, Debug)]
pub struct Matrices {
    /// `(ncouls, ngpown)`.
    pub wtilde: Vec<Complex64>,
    /// `(ncouls, ngpown)`.
    pub eps: Vec<Complex64>,
    /// `(ncouls, nbands)`.
    pub aqsn: Vec<Complex64>,
    /// `(ngpown, nbands)`.
    pub aqsm_local: Vec<Complex64>,
}

impl Problem {
    /// A problem from its header and matrices.
    ///
    /// # Errors
    /// [`Error::Problem`] where an extent or index is out of range, a matrix has the wrong size, or a
    /// value is not finite or out of [`range`].
    pub fn new(name: &str, origin: Origin, header: Header, matrices: Matrices) -> Result<Problem> {
        let Matrices { wtilde, eps, aqsn, aqsm_local } = matrices;
        let parts = || {
            let bands = Bands::new(header, aqsn)?;
            let slab = Slab::new(&bands, 0..bands.header().ngpown, wtilde, eps, aqsm_local)?;
            Ok((bands, slab))
        };
        let (bands, slab) = parts().map_err(|what| wrong(name, what))?;
        Problem::of(name, origin, bands.into(), slab)
    }

    /// A problem from its bands and the slab of all igp that was made with them.
    ///
    /// # Errors
    /// [`Error::Problem`] where the slab is not all of their igp.
    pub fn of(name: &str, origin: Origin, bands: Arc<Bands>, slab: Slab) -> Result<Problem> {
        let Extents { ngpown, ncouls, nw, .. } = bands.extents();
        let view = slab.view();
        let (igp, found) = (view.igp(), view.ncouls());
        if igp != (0..ngpown) || found != ncouls || slab.nbands() != bands.extents().nbands {
            let what = DataError::Igp { begin: igp.start, end: igp.end, ngpown };
            return Err(wrong(name, what));
        }
        let (start, name) = (Sums::zero(nw), name.to_string());
        Ok(Problem { name, origin, bands, slab, start, stored: None, plan: OnceLock::new() })
    }

    /// The same with `asxtemp` and `achtemp` before the kernel adds to them, and `asxtempref` and
    /// `achtempref` where there are any.
    ///
    /// # Errors
    /// [`Error::Problem`] where these are not of as many energies.
    pub fn with_sums(self, start: Sums, stored: Option<Sums>) -> Result<Problem> {
        let needed = self.nw() as u64;
        for (name, part) in [&start]
            .into_iter()
            .chain(&stored)
            .flat_map(|sums| [("asx", &sums.asx), ("ach", &sums.ach)])
        {
            let found = part.len() as u64;
            if found != needed {
                return Err(wrong(&self.name, DataError::Length { name, needed, found }));
            }
        }
        Ok(Problem { start, stored, ..self })
    }

    /// The same without `asxtempref` and `achtempref`.
    pub fn without_stored(self) -> Problem {
        Problem { stored: None, ..self }
    }

    /// Its bands and its slab.
    pub fn into_parts(self) -> (Arc<Bands>, Slab) {
        (self.bands, self.slab)
    }

    /// System name or file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What all igp have in common.
    pub fn bands(&self) -> &Bands {
        &self.bands
    }

    /// All igp.
    pub fn slab(&self) -> SlabView<'_> {
        self.slab.view()
    }

    /// `asxtemp` and `achtemp` before the kernel adds to them.
    pub fn start(&self) -> &Sums {
        &self.start
    }

    /// `asxtempref` and `achtempref`, where a file holds them.
    pub fn stored(&self) -> Option<&Sums> {
        self.stored.as_ref()
    }

    /// The small records of the file format.
    pub fn header(&self) -> &Header {
        self.bands.header()
    }

    /// Plasmon-pole modes in eV, `(ncouls, ngpown)`.
    pub fn wtilde(&self) -> &[Complex64] {
        self.slab().wtilde()
    }

    /// `δ − ε⁻¹`, `(ncouls, ngpown)`.
    pub fn eps(&self) -> &[Complex64] {
        self.slab().eps()
    }

    /// Matrix elements of G, `aqsntemp(ncouls, nbands)`.
    pub fn aqsn(&self) -> &[Complex64] {
        self.bands.aqsn()
    }

    /// Matrix elements of G′, `(ngpown, nbands)`.
    ///
    /// # Panics
    /// Never: the problem's slab is all igp.
    pub fn aqsm_local(&self) -> &[Complex64] {
        self.slab().aqsm_local().whole().expect("the slab is all igp")
    }

    /// Energies `e_lk + dw·(iw − 2) − e(n)` in eV, `(nw, nbands)`.
    pub fn wx(&self) -> &[f64] {
        self.bands.wx()
    }

    /// Coulomb interaction of each G′, `(ngpown)`.
    pub fn vcoul_loc(&self) -> &[f64] {
        self.slab().vcoul_loc()
    }

    /// Occupation of each band, `(nbands)`.
    pub fn occ(&self) -> &[f64] {
        self.bands.occ()
    }

    /// Energies.
    pub fn nw(&self) -> usize {
        self.bands.nw()
    }

    /// Limits of the formula.
    pub fn limits(&self) -> Limits {
        self.bands.limits()
    }

    /// What the sizes of its arrays depend on.
    pub fn extents(&self) -> Extents {
        self.bands.extents()
    }

    /// Terms of the sum: (n, igp, ig, iw).
    pub fn terms(&self) -> u64 {
        let Extents { nbands, ngpown, ncouls, nw } = self.extents();
        nbands as u64 * ngpown as u64 * ncouls as u64 * nw as u64
    }

    /// Bytes of the arrays that the kernels read.
    pub fn bytes(&self) -> u64 {
        self.extents().bytes()
    }

    /// What the later versions need to know of its bands, found out when it is first asked for.
    pub fn plan(&self) -> &BandPlan {
        self.plan
            .get_or_init(|| BandPlan::of(self.bands(), range::poles_of(self.wtilde(), self.eps())))
    }

    /// Column `n` (0-based) of `aqsmtemp(ncouls, nbands)`, from which `aqsm_local` was taken. Of a
    /// problem that was not synthesised only the rows in `aqsm_local` are known; the rest are zero.
    pub fn aqsmtemp_column(&self, n: usize, column: &mut [Complex64]) {
        if let Origin::System(system, seed) = &self.origin {
            synthesis::aqsmtemp_column(system, *seed, n, column);
            return;
        }
        column.fill(Complex64::ZERO);
        let aqsm_local = self.slab().aqsm_local().column(n);
        for (row, element) in self.header().rows().zip(aqsm_local) {
            if let Some(igp) = row {
                column[igp] = *element;
            }
        }
    }
}

/// The error of a problem of that name.
fn wrong(name: &str, what: DataError) -> Error {
    Error::Problem { origin: name.to_string(), what }
}
