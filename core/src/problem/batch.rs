//! Energies that are summed together.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpp_kernels::plan::Poles;

use super::plan::BandOrder;
use super::{BandPlan, Bands, Id};

/// Neighbouring energies of a problem, summed by a calculation of their own. Its sums do not depend on other
/// batches. Only kernels that sort pairs are different: their [cells](super::Cells) depend on all
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

    /// How many.
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

    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        size_of::<Batch>() + 2 * size_of_val(self.wx())
    }
}

/// Bytes of batches that stay for the next calculation; others are made each time.
pub const KEPT: usize = 16 << 20;

/// Batches that stay.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptBatches(Arc<Mutex<Made>>);

#[derive(Debug, Default)]
struct Made {
    /// By their energies.
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

    /// How many.
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Energies of all.
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

    /// The first one.
    ///
    /// # Panics
    /// Never: a problem has an energy.
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
