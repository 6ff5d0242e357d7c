//! Energies that are summed together.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use gpp_kernels::plan::Poles;

use super::plan::BandOrder;
use super::{BandPlan, Bands};

/// Neighbouring energies of a problem, a calculation of their own: what it sums depends on nothing but
/// them, whatever other batches there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    energies: Range<usize>,
    wx: Vec<f64>,
    plan: BandPlan,
}

impl Batch {
    /// Of these energies (0-based) of a problem's bands.
    pub(super) fn new(
        bands: &Bands,
        order: &Arc<BandOrder>,
        energies: Range<usize>,
        poles: Poles,
    ) -> Batch {
        let of_band = |n| &bands.energies(n)[energies.clone()];
        let wx = (0..bands.header().nbands).flat_map(of_band).copied().collect();
        let plan = BandPlan::of_batch(bands, order, energies.clone(), poles);
        Batch { energies, wx, plan }
    }

    /// Which energies (0-based) of the problem.
    pub fn energies(&self) -> Range<usize> {
        self.energies.clone()
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

    /// What the later versions need to know of the bands at these energies.
    pub fn plan(&self) -> &BandPlan {
        &self.plan
    }
}

/// How `nw` energies are batched for kernels that hold so many: together, or evenly filled but for the last
/// ones.
pub fn ranges(nw: usize, holds: usize) -> impl Iterator<Item = Range<usize>> {
    // Two energies of a band can share a reciprocal.
    let size = if nw <= holds { nw } else { (holds / 2 * 2).max(1) };
    (0..nw).step_by(size.max(1)).map(move |begin| begin..nw.min(begin + size))
}

/// The batches of a problem for kernels that hold so many energies, made when they are first asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Batches(Arc<Mutex<BTreeMap<usize, Arc<[Batch]>>>>);

impl Batches {
    /// Those of a problem, always the same one.
    pub fn of(
        &self,
        bands: &Bands,
        order: &Arc<BandOrder>,
        poles: Poles,
        holds: usize,
    ) -> Arc<[Batch]> {
        let batch = |energies| Batch::new(bands, order, energies, poles);
        let make = || ranges(bands.nw(), holds).map(batch).collect();
        // Every change is whole, whatever a thread that panicked did before or after.
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let size = holds.min(bands.nw());
        made.entry(size).or_insert_with(make).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_pairs_where_a_kernel_does_not_hold_all() {
        let of = |nw, holds| ranges(nw, holds).map(|at| (at.start, at.end)).collect::<Vec<_>>();
        assert_eq!(of(1, 3), [(0, 1)]);
        assert_eq!(of(3, 3), [(0, 3)]);
        assert_eq!(of(4, 3), [(0, 2), (2, 4)]);
        assert_eq!(of(7, 3), [(0, 2), (2, 4), (4, 6), (6, 7)]);
        assert_eq!(of(501, 512), [(0, 501)]);
        assert_eq!(of(1025, 512), [(0, 512), (512, 1024), (1024, 1025)]);
        assert_eq!(of(3, 1), [(0, 1), (1, 2), (2, 3)]);
    }
}
