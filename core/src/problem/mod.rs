//! One problem: the arrays that the kernels read, and where they come from.
//!
//! `ig` counts G vectors, `igp` the G′ of this rank: the rows and columns of `wtilde` and `eps`. [`Bands`] are
//! what all columns share, held once. A [`Slab`] is a range of `igp` with its columns. A [`Source`] gives both.
//! A [`Frame`] is a problem without its slabs: what a run needs before the first and after the last. A
//! [`Problem`] is a frame with one slab of all `igp`, in memory.

pub mod bands;
pub mod batch;
pub mod digest;
pub mod file;
pub mod frame;
pub mod grid;
pub mod header;
pub mod id;
pub mod kept;
pub mod layout;
pub mod matrix;
pub mod memory;
pub mod pairs;
pub mod plan;
pub mod range;
pub mod rows;
pub mod slab;
pub mod slabs;
pub mod source;
pub mod sums;
pub mod synthesis;
pub mod systems;
pub mod unmasked;
pub mod vectors;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::error::{DataError, Error, Result};
pub use bands::Bands;
pub use batch::{Batch, Batches};
pub use frame::{Frame, Outline};
pub use grid::Grid;
pub use header::{Header, Unmasked};
pub use id::Id;
pub use matrix::Matrix;
pub use memory::Extents;
pub use pairs::CheckedPairs;
use plan::SortedOnce;
pub use plan::{BandOrder, BandPlan, Cells, Evaluator, OddPoles};
pub use slab::{Slab, SlabView};
pub use slabs::Slabs;
pub use source::{Given, Source};
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

/// One problem in memory, checked: its frame and the slab of all igp. All arrays are column-major, the first
/// index named fastest.
#[derive(Clone, Debug)]
pub struct Problem {
    frame: Frame,
    slab: Slab,
}

/// The large arrays of a problem. The rest follows from the [`Header`], but for energies and occupations that a
/// caller gives: [`Bands::with_energies`].
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
        let Extents { ngpown, ncouls, .. } = bands.extents();
        let view = slab.view();
        let (igp, found) = (view.igp(), view.ncouls());
        if igp != (0..ngpown) || found != ncouls || slab.nbands() != bands.extents().nbands {
            let what = DataError::Igp { begin: igp.start, end: igp.end, ngpown };
            return Err(wrong(name, what));
        }
        let poles = range::poles_of(view.wtilde(), view.eps());
        Ok(Problem::with_poles(name, origin, bands, slab, poles))
    }

    /// The same of a slab whose contributing poles are known to have this in common.
    fn with_poles(
        name: &str,
        origin: Origin,
        bands: Arc<Bands>,
        slab: Slab,
        poles: Poles,
    ) -> Problem {
        Problem { frame: Frame::new(name, origin, bands, poles), slab }
    }

    /// Where its slab is one of those whose energies come and go, what its poles are sorted in.
    fn sorted(self, by_size: Option<Arc<SortedOnce>>) -> Problem {
        let by_size = by_size.map(|sorted| (self.slab().pairs_id(), sorted));
        Problem { frame: self.frame.sorted(by_size), ..self }
    }

    /// The same with other matrix elements, where these are elsewhere.
    #[must_use]
    pub(crate) fn with_other_elements(self) -> Problem {
        Problem { frame: self.frame.with_other_elements(), slab: self.slab.with_other_elements() }
    }

    /// Adds `asxtemp` and `achtemp`, which sums start from, and the reference sums `asxtempref` and
    /// `achtempref` where there are any.
    ///
    /// # Errors
    /// [`Error::Problem`] where these are not of as many energies.
    pub fn with_sums(self, start: Sums, stored: Option<Sums>) -> Result<Problem> {
        Ok(Problem { frame: self.frame.with_sums(start, stored)?, ..self })
    }

    /// Drops `asxtempref` and `achtempref`.
    pub fn without_stored(self) -> Problem {
        Problem { frame: self.frame.without_stored(), ..self }
    }

    /// All of it but the slab.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Its bands and its slab.
    pub fn into_parts(self) -> (Arc<Bands>, Slab) {
        (self.frame.shared_bands(), self.slab)
    }

    /// All igp.
    pub fn slab(&self) -> SlabView<'_> {
        self.slab.view()
    }

    /// Plasmon-pole modes in eV, `(ncouls, ngpown)`.
    pub fn wtilde(&self) -> &[Complex64] {
        self.slab().wtilde()
    }

    /// `δ − ε⁻¹`, `(ncouls, ngpown)`.
    pub fn eps(&self) -> &[Complex64] {
        self.slab().eps()
    }

    /// Matrix elements of G′, `(ngpown, nbands)`.
    ///
    /// # Panics
    /// Never: the problem's slab is all igp.
    pub fn aqsm_local(&self) -> &[Complex64] {
        self.slab().aqsm_local().whole().expect("the slab is all igp")
    }

    /// Coulomb interaction of each G′, `(ngpown)`.
    pub fn vcoul_loc(&self) -> &[f64] {
        self.slab().vcoul_loc()
    }

    /// Column `n` (0-based) of `aqsmtemp(ncouls, nbands)`, from which `aqsm_local` was taken. Of a
    /// problem that was not synthesised only the rows in `aqsm_local` are known; the rest are zero.
    pub fn aqsmtemp_column(&self, n: usize, column: &mut [Complex64]) {
        if let Origin::System(system, seed) = self.frame.origin() {
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

/// A problem is used for its frame wherever no slab is needed.
impl Deref for Problem {
    type Target = Frame;

    fn deref(&self) -> &Frame {
        &self.frame
    }
}

/// The error of a problem of that name.
pub(crate) fn wrong(name: &str, what: DataError) -> Error {
    match what {
        DataError::Memory { name, needed } => memory::refused(name, needed),
        what => Error::Problem { origin: name.to_string(), what },
    }
}
