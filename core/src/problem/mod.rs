//! One problem: the arrays that the kernels read, and where they come from.
//!
//! `ig` counts G vectors, `igp` the G′ of this rank: the rows and columns of `wtilde` and `eps`. [`Bands`] are
//! what all columns share, held once. A [`Slab`] is a range of `igp` with its columns. A [`Source`] gives both.
//! A [`Frame`] is a problem without its slabs: what a run needs before the first and after the last. A
//! [`Problem`] is a frame with one slab of all `igp`, in memory.

pub mod bands;
pub mod digest;
pub mod file;
pub mod grid;
pub mod header;
pub mod layout;
pub mod memory;
pub mod plan;
pub mod range;
pub mod slab;
pub mod source;
pub mod synthesis;
pub mod systems;
pub mod vectors;

use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpp_kernels::arrays::Limits;
use gpp_kernels::kernel::Kernel as GpuKernel;
use gpp_kernels::plan::Poles;
use gpp_kernels::sums::VALUES;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Kernel, Task, batches};
use crate::error::{DataError, Error, Result};
pub use crate::problem::bands::{Bands, Batch, Batches};
use crate::problem::bands::{KeptBatches, OfBatches};
pub use crate::problem::grid::Grid;
pub use crate::problem::header::{Header, Unmasked};
pub use crate::problem::memory::{Extents, Matrix};
pub use crate::problem::plan::{BandOrder, BandPlan, Cells, Evaluator, Lists, OddPoles};
use crate::problem::plan::{BySize, SortedOnce};
pub use crate::problem::slab::{CheckedPairs, Slab, SlabView, Slabs};
pub use crate::problem::source::{Given, Source};
pub use crate::problem::systems::System;
use crate::ranks::Ranks;

#[derive(Clone, Debug)]
pub enum Origin {
    /// A built-in system, synthesised with this seed.
    System(System, u64),
    /// A file in the reference mini-app's format.
    File(PathBuf),
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
    pub fn of(name: &str, origin: Origin, bands: Arc<Bands>, slab: Slab) -> Result<Problem> {
        let Extents { ngpown, ncouls, .. } = bands.extents();
        let view = slab.view();
        let (igp, found) = (view.igp(), view.ncouls());
        if igp != (0..ngpown) || found != ncouls || slab.nbands() != bands.extents().nbands {
            let what = DataError::igp(&igp, ngpown);
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
    pub fn with_sums(self, start: Sums, stored: Option<Sums>) -> Result<Problem> {
        Ok(Problem { frame: self.frame.with_sums(start, stored)?, ..self })
    }

    /// Drops `asxtempref` and `achtempref`.
    pub fn without_stored(self) -> Problem {
        Problem { frame: self.frame.without_stored(), ..self }
    }

    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    pub fn into_parts(self) -> (Arc<Bands>, Slab) {
        (self.frame.shared_bands(), self.slab)
    }

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
    match what.as_refused() {
        Some((array, needed)) => memory::refused(array, needed),
        None => Error::Problem { origin: name.to_string(), what },
    }
}

// A problem without its slabs.

/// A problem without its slabs: bands with their plan, name and origin, and the sums that come with it.
#[derive(Clone, Debug)]
pub struct Frame {
    name: String,
    origin: Origin,
    bands: Arc<Bands>,
    poles: Poles,
    order: Arc<BandOrder>,
    kept: KeptBatches,
    start: Sums,
    stored: Option<Sums>,
    /// Of which slab poles are sorted.
    by_size: Option<(SlabId, Arc<SortedOnce>)>,
}

type SlabId = (Id, Range<usize>);

/// What is known of a problem before there are its arrays: it decides which version is the fastest, which layouts
/// versions have and how large these are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    pub extents: Extents,
    /// What all contributing poles have in common.
    pub poles: Poles,
    /// Whether the plan's order of bands is the problem's.
    pub keeps_order: bool,
}

impl Outline {
    /// What the time of versions depends on.
    pub fn task(self) -> Task {
        let Extents { nbands, ngpown, ncouls, nw } = self.extents;
        Task { nbands, pairs: ngpown as u64 * ncouls as u64, nw, poles: self.poles }
    }

    /// The batches of energies of a version, one at least.
    pub fn batches(self, version: Kernel) -> impl Iterator<Item = Range<usize>> {
        batches(self.extents.nw, version.holds(self.poles))
    }

    /// Bytes of a version's sums of all groups at all energies.
    pub fn bytes_of_sums(self, version: Kernel) -> u64 {
        let group = match version {
            Kernel::Gpu(_) => self.kernel(version).and_then(|(kernel, _)| kernel.igp_of_group()),
            Kernel::Cpu(cpu) => cpu.igp_of_group().map(|igp| igp as u32),
        };
        let groups = (self.extents.ngpown as u64).div_ceil(group.unwrap_or(u32::MAX).into());
        groups * self.extents.nw as u64 * (VALUES * size_of::<f64>()) as u64
    }

    /// The kernel of a version for GPUs that sums the first batch, and the energies of that.
    pub(crate) fn kernel(self, version: Kernel) -> Option<(&'static GpuKernel, usize)> {
        let nw = self.batches(version).next()?.len();
        let gpu = version.gpu()?.holding(self.extents.nbands * nw);
        Some((gpu.kernel(self.poles), nw))
    }
}

impl Frame {
    /// Of a problem whose contributing poles have `poles` in common.
    pub(crate) fn new(name: &str, origin: Origin, bands: Arc<Bands>, poles: Poles) -> Frame {
        let order = Arc::new(BandOrder::of(&bands));
        let (kept, start) = (KeptBatches::default(), Sums::zero(bands.nw()));
        let name = name.to_string();
        Frame { name, origin, bands, poles, order, kept, start, stored: None, by_size: None }
    }

    /// The same with what the poles of a slab are sorted in.
    fn sorted(self, by_size: Option<(SlabId, Arc<SortedOnce>)>) -> Frame {
        Frame { by_size, ..self }
    }

    /// Of a source that these processes share; its bands are made or read now. Each looks at the poles of its
    /// own share of all igp. Collective.
    pub fn of(source: &dyn Source, ranks: &dyn Ranks) -> Result<Frame> {
        let bands = source.bands()?;
        let own = source.poles(ranks.share(source.extents().ngpown))?;
        let are_real = ranks.least((own == Poles::Real).into()) == 1;
        let poles = if are_real { Poles::Real } else { Poles::Any };
        let frame = Frame::new(source.name(), source.origin(), bands, poles);
        frame.with_sums(source.start(), source.stored())
    }

    fn with_other_elements(mut self) -> Frame {
        Arc::make_mut(&mut self.bands).change_elements();
        self
    }

    fn with_sums(self, start: Sums, stored: Option<Sums>) -> Result<Frame> {
        let needed = self.nw() as u64;
        for (name, part) in [&start]
            .into_iter()
            .chain(&stored)
            .flat_map(|sums| [("asx", &sums.asx), ("ach", &sums.ach)])
        {
            let found = part.len() as u64;
            if found != needed {
                return Err(wrong(&self.name, DataError::length(name, needed, found)));
            }
        }
        Ok(Frame { start, stored, ..self })
    }

    fn without_stored(self) -> Frame {
        Frame { stored: None, ..self }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    pub fn bands(&self) -> &Bands {
        &self.bands
    }

    fn shared_bands(&self) -> Arc<Bands> {
        self.bands.clone()
    }

    /// The kind of all its contributing poles.
    pub fn poles(&self) -> Poles {
        self.poles
    }

    /// The order of its bands that serves all batches of its energies.
    pub fn order(&self) -> &BandOrder {
        &self.order
    }

    /// Its energies in the batches of kernels that hold so many, in their order.
    pub fn batches(&self, holds: usize) -> Batches<'_> {
        Batches::new(self.of_batches(), batches(self.nw(), holds))
    }

    /// The batches of a version, at least one.
    pub fn batches_for(&self, version: Kernel) -> Batches<'_> {
        self.batches(version.holds(self.poles))
    }

    /// Some of its energies (0-based), each a batch of its own.
    pub fn batches_at(&self, energies: &[usize]) -> Batches<'_> {
        Batches::new(self.of_batches(), energies.iter().map(|&at| at..at + 1))
    }

    fn of_batches(&self) -> OfBatches<'_> {
        let Frame { bands, order, poles, kept, .. } = self;
        OfBatches { bands, order, poles: *poles, kept }
    }

    /// The pairs of a slab sorted by their poles for all of its energies.
    pub fn cells(&self, slab: SlabView, by: Evaluator) -> Cells {
        Cells::of(slab, self.wx(), self.occ(), self.limits(), self.poles, by)
    }

    /// The odd poles of a slab at a batch of its energies, for kernels that take these.
    pub fn odd(&self, slab: SlabView, batch: &Batch, takes: Poles) -> OddPoles {
        batch.plan().odd_of(slab, takes, self.sorted_poles(slab))
    }

    /// The poles of a slab by their size, of one whose energies come and go.
    fn sorted_poles(&self, slab: SlabView) -> Option<&BySize> {
        let (_, sorted) = self.by_size.as_ref().filter(|(of, _)| *of == slab.pairs_id())?;
        sorted.of(slab)
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

    /// Matrix elements of G, `aqsntemp(ncouls, nbands)`.
    pub fn aqsn(&self) -> &[Complex64] {
        self.bands.aqsn()
    }

    /// Energies `ω(iw) − e(n)` in eV, `(nw, nbands)`: see [`Header::wx`].
    pub fn wx(&self) -> &[f64] {
        self.bands.wx()
    }

    pub fn occ(&self) -> &[f64] {
        self.bands.occ()
    }

    pub fn nw(&self) -> usize {
        self.bands.nw()
    }

    pub fn limits(&self) -> Limits {
        self.bands.limits()
    }

    /// What the sizes of its arrays depend on.
    pub fn extents(&self) -> Extents {
        self.bands.extents()
    }

    /// What is known of it without its arrays.
    pub fn outline(&self) -> Outline {
        let (extents, keeps_order) = (self.extents(), self.order.is_kept());
        Outline { extents, poles: self.poles, keeps_order }
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
}

// What tells data from all other data of this process.

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

// The result: a complex pair for each energy.

/// `asx` and `ach` for iw = nstart..=nend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Screened exchange.
    #[serde(with = "pairs")]
    pub asx: Vec<Complex64>,
    /// Coulomb hole.
    #[serde(with = "pairs")]
    pub ach: Vec<Complex64>,
}

impl Sums {
    pub fn zero(nw: usize) -> Sums {
        Sums { asx: vec![Complex64::ZERO; nw], ach: vec![Complex64::ZERO; nw] }
    }

    /// From the values in the order in which blocks store them: the parts of `asx`, then of `ach`,
    /// energy by energy.
    pub fn from_values(values: &[f64]) -> Sums {
        let (energies, _) = values.as_chunks::<4>();
        Sums {
            asx: energies.iter().map(|v| Complex64::new(v[0], v[1])).collect(),
            ach: energies.iter().map(|v| Complex64::new(v[2], v[3])).collect(),
        }
    }

    pub fn plus(&self, other: &Sums) -> Sums {
        let add = |a: &[Complex64], b: &[Complex64]| a.iter().zip(b).map(|(a, b)| a + b).collect();
        Sums { asx: add(&self.asx, &other.asx), ach: add(&self.ach, &other.ach) }
    }

    /// Each element with its name, as in `asx(iw=2)`; `nstart` is the first energy.
    pub fn named(&self, nstart: usize) -> impl Iterator<Item = (String, Complex64)> + '_ {
        let name = move |what: &'static str, sums: &[Complex64]| {
            sums.iter()
                .enumerate()
                .map(move |(e, &z)| (format!("{what}(iw={})", nstart + e), z))
                .collect::<Vec<_>>()
        };
        name("asx", &self.asx).into_iter().chain(name("ach", &self.ach))
    }
}

/// Complex numbers as `[re, im]` in JSON, which has null for what is no number.
mod pairs {
    use num_complex::Complex64;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(z: &[Complex64], to: S) -> Result<S::Ok, S::Error> {
        z.iter().map(|z| [z.re, z.im]).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Complex64>, D::Error> {
        let pairs = Vec::<[Option<f64>; 2]>::deserialize(from)?;
        let part = |part: Option<f64>| part.unwrap_or(f64::NAN);
        Ok(pairs.into_iter().map(|[re, im]| Complex64::new(part(re), part(im))).collect())
    }
}
