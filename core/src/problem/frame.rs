//! A problem without its slabs.

use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::arrays::Limits;
use gpp_kernels::kernel::Kernel as GpuKernel;
use gpp_kernels::plan::Poles;
use gpp_kernels::sums::VALUES;
use num_complex::Complex64;

use super::batch::{Batches, KeptBatches, OfBatches};
use super::plan::{BandOrder, BySize, SortedOnce};
use super::{
    Bands, Batch, Cells, Evaluator, Extents, Header, Id, OddPoles, Origin, SlabView, Source, Sums,
    wrong,
};
use crate::catalogue::{Kernel, Task, batches};
use crate::error::{DataError, Result};
use crate::ranks::Ranks;

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
    /// Its dimensions.
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
    pub(super) fn sorted(self, by_size: Option<(SlabId, Arc<SortedOnce>)>) -> Frame {
        Frame { by_size, ..self }
    }

    /// Of a source that these processes share; its bands are made or read now. Each looks at the poles of its
    /// own share of all igp. Collective.
    ///
    /// # Errors
    /// Those of [`Source::bands`] and [`Source::poles`].
    pub fn of(source: &dyn Source, ranks: &dyn Ranks) -> Result<Frame> {
        let bands = source.bands()?;
        let own = source.poles(ranks.share(source.extents().ngpown))?;
        let are_real = ranks.least((own == Poles::Real).into()) == 1;
        let poles = if are_real { Poles::Real } else { Poles::Any };
        let frame = Frame::new(source.name(), source.origin(), bands, poles);
        frame.with_sums(source.start(), source.stored())
    }

    /// See [`Problem::with_other_elements`](super::Problem::with_other_elements).
    pub(super) fn with_other_elements(mut self) -> Frame {
        Arc::make_mut(&mut self.bands).change_elements();
        self
    }

    /// See [`Problem::with_sums`](super::Problem::with_sums).
    pub(super) fn with_sums(self, start: Sums, stored: Option<Sums>) -> Result<Frame> {
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
        Ok(Frame { start, stored, ..self })
    }

    /// See [`Problem::without_stored`](super::Problem::without_stored).
    pub(super) fn without_stored(self) -> Frame {
        Frame { stored: None, ..self }
    }

    /// System name or file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The bands.
    pub fn bands(&self) -> &Bands {
        &self.bands
    }

    /// The bands, shared.
    pub(super) fn shared_bands(&self) -> Arc<Bands> {
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

    /// What batches are made of.
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
    pub(super) fn sorted_poles(&self, slab: SlabView) -> Option<&BySize> {
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
