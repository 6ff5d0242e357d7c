//! How the later versions sum a problem: the order of its bands, made once, and a plan for each batch of its
//! energies; see [`gpp_kernels::plan`].

mod clusters;
mod fallback;
mod lists;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Zeroable;
use gpp_kernels::arrays::Limits;
use gpp_kernels::kernel::{Gpu, Kernel};
use gpp_kernels::lists::STATIC;
use gpp_kernels::plan::Table;
use gpp_kernels::plan::{Plan, Poles};
use rayon::prelude::*;

use crate::error::Result;
use crate::problem::bands::{Bands, Id};
use crate::problem::memory::{Array, zeros};
pub use crate::problem::plan::clusters::{Cells, Evaluator};
use crate::problem::plan::fallback::Regular;
pub use crate::problem::plan::fallback::{BySize, FallbackPairs, SortedOnce};
pub use crate::problem::plan::lists::Lists;
use crate::problem::slab::SlabView;

// One order of bands for all batches of energies, so that matrix elements are laid out once.

/// Bands in an order in which those of each class of [`gpp_kernels::plan`] are neighbours, whichever of the
/// problem's energies are looked at. It is the problem's own if energies of bands ascend.
#[derive(Clone, Debug, PartialEq)]
pub struct BandOrder {
    bands: Vec<usize>,
    /// Bands of occupation 1, the first ones.
    full: usize,
    /// Bands of an occupation that is not zero.
    occupied: usize,
}

impl BandOrder {
    /// Of a problem's bands: those of occupation 1, by falling `wx`; those of another that is not zero; empty
    /// ones, by falling `wx`. That is by rising energy of the band, whatever the energies of the problem are;
    /// if `wx` is made otherwise, empty bands whose energies have other distances come before the others.
    pub fn of(bands: &Bands) -> BandOrder {
        let all = 0..bands.header().nbands;
        let occ = |n: usize| bands.occ()[n];
        let of_header = bands.falling();
        let falling = |mut chosen: Vec<usize>, extreme: fn(&[f64]) -> f64| {
            let key = |n: usize| {
                of_header.as_ref().map_or_else(|| extreme(bands.energies(n)), |falling| falling[n])
            };
            chosen.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
            chosen
        };
        let least = |w: &[f64]| w.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |w: &[f64]| w.iter().copied().fold(f64::NEG_INFINITY, f64::max);

        let mut order = falling(all.clone().filter(|&n| occ(n) == 1.0).collect(), least);
        let full = order.len();
        order.extend(all.clone().filter(|&n| occ(n) != 1.0 && occ(n) != 0.0));
        let occupied = order.len();
        let empty: Vec<usize> = all.filter(|&n| occ(n) == 0.0).collect();
        let (uneven, even) = match of_header {
            Some(_) => (Vec::new(), empty),
            None => uneven_and_even(bands, &empty),
        };
        order.extend(falling(uneven, most));
        order.extend(falling(even, most));
        BandOrder { bands: order, full, occupied }
    }

    /// Bands (0-based) in this order.
    pub fn bands(&self) -> &[usize] {
        &self.bands
    }

    /// Whether the bands are in this order already.
    pub fn is_kept(&self) -> bool {
        self.bands.is_sorted()
    }

    /// An array with a column for each band, given by its columns, in this order, with zeros added to each column up
    /// to `padded` rows.
    pub fn reordered<'a, T: Zeroable + Copy + Send + Sync + 'a>(
        &self,
        array: &Array,
        padded: usize,
        column: impl Fn(usize) -> &'a [T] + Sync,
    ) -> Result<Vec<T>> {
        let mut columns = zeros(array.name, padded * self.bands.len())?;
        columns.par_chunks_mut(padded).zip(&self.bands).for_each(|(to, &n)| {
            let from = column(n);
            to[..from.len()].copy_from_slice(from);
        });
        Ok(columns)
    }
}

/// Bands whose energies have other distances than in most bands, then all others.
fn uneven_and_even(bands: &Bands, of: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut uneven = vec![false; of.len()];
    for at in 1..bands.nw() {
        let pair = |n: usize| &bands.energies(n)[at - 1..=at];
        let half = half_of_most(of.iter().map(|&n| pair(n)));
        let largest = of.iter().flat_map(|&n| pair(n)).fold(0.0, |a: f64, w| a.max(w.abs()));
        for (uneven, &n) in uneven.iter_mut().zip(of) {
            *uneven |= (half_of(pair(n)) - half).abs() > HALVED * f64::EPSILON * largest;
        }
    }
    let those = |is: bool| {
        let chosen = of.iter().zip(&uneven).filter(move |(_, uneven)| **uneven == is);
        chosen.map(|(n, _)| *n).collect()
    };
    (those(true), those(false))
}

/// Relative error of an energy taken for its band's mean and half of the difference, in units of the
/// last digit. A quotient of a far band has no larger one.
const HALVED: f64 = 32.0;

/// Half of what a band's second energy is above its first.
fn half_of(w: &[f64]) -> f64 {
    0.5 * (w[1] - w[0])
}

/// The middle one of the bands' halves, zero without bands or with one energy.
fn half_of_most<'a>(bands: impl Iterator<Item = &'a [f64]>) -> f64 {
    let mut halves: Vec<f64> = bands.filter(|w| w.len() > 1).map(half_of).collect();
    halves.sort_by(f64::total_cmp);
    halves.get(halves.len() / 2).copied().unwrap_or_default()
}

// What kernels have to know of the bands at some energies.

/// The plan of a problem's bands at some of its energies.
#[derive(Clone, Debug, PartialEq)]
pub struct BandPlan {
    order: Arc<BandOrder>,
    /// Of the bands in their order, those of occupation 1 whose energies are not negative: the first ones.
    pub plain: usize,
    /// The first far band in their order.
    pub far_begin: usize,
    /// What all contributing poles of the problem have in common.
    pub poles: Poles,
    /// See [`Table::wx`]: `wx(:,n)` in the plan's order of bands.
    pub wx: Vec<f64>,
    /// See [`Table::half`].
    pub half: f64,
    limits: Limits,
    nw: usize,
}

impl BandPlan {
    /// Of a problem's bands at some energies (0-based), in the problem's order of bands.
    fn of(bands: &Bands, order: &Arc<BandOrder>, energies: Range<usize>, poles: Poles) -> BandPlan {
        let at = |n: usize| &bands.energies(n)[energies.clone()];
        let (full, rest) = order.bands.split_at(order.full);
        let empty = &rest[order.occupied - order.full..];
        let limits = bands.limits();
        let half = half_of_most(empty.iter().map(|&n| at(n)));
        let is_halved = |w: &[f64]| {
            w.len() < 2
                || (half_of(w) - half).abs() <= HALVED * f64::EPSILON * w[0].abs().min(w[1].abs())
        };
        // Regular poles are not behind the imaginary axis, so |w − ω̃| is at least |w| and |ω̃|: more
        // than gamma, and with the mean of two energies for w, at least three halves.
        let nearest_far = limits.limittwo.sqrt().max(2.0 * half.abs());
        let is_far = |w: &[f64]| {
            limits.limitone >= 1.0 && w.iter().all(|&w| w < -nearest_far) && is_halved(w)
        };
        let is_plain = |w: &[f64]| w.iter().all(|&w| w >= 0.0);

        let plain = full.iter().take_while(|&&n| is_plain(at(n))).count();
        let far = empty.iter().rev().take_while(|&&n| is_far(at(n))).count();
        let wx = order.bands.iter().flat_map(|&n| at(n)).copied().collect();
        let (far_begin, nw) = (order.bands.len() - far, energies.len());
        BandPlan { order: order.clone(), plain, far_begin, poles, wx, half, limits, nw }
    }

    /// Bands (0-based) in the plan's order.
    pub fn order(&self) -> &[usize] {
        &self.order.bands
    }

    /// Bands of an occupation that is not zero.
    pub fn occupied(&self) -> usize {
        self.order.occupied
    }

    /// The kernel of a version that sums this problem: one of its own, or another's if the constant memory does not
    /// hold the energies.
    pub fn kernel<'g>(&self, gpu: &'g Gpu) -> &'g Kernel {
        gpu.holding(self.wx.len()).kernel(self.poles)
    }

    /// What poles have to be to be regular for kernels that take these: the real ones of a problem that has only
    /// such, or any.
    fn regular(&self, takes: Poles) -> Regular {
        let takes = if self.poles == Poles::Real { takes } else { Poles::Any };
        Regular::of(&self.wx, &self.wx[..self.occupied() * self.nw], self.limits, takes)
    }

    /// The fallback pairs of a slab of this problem, whose poles may be sorted, for kernels that take these poles.
    pub fn fallback(&self, slab: SlabView, takes: Poles, sorted: Option<&BySize>) -> FallbackPairs {
        if takes == Poles::Unread {
            return FallbackPairs::none(slab);
        }
        let regular = self.regular(takes);
        let is_regular = |pole| regular.holds(pole);
        let found = sorted.and_then(|poles| poles.fallback(slab, &regular, is_regular));
        found.unwrap_or_else(|| FallbackPairs::of(slab, is_regular))
    }

    /// What a kernel on the host reads of it and of a slab's fallback pairs; the pointers are good as long as
    /// both are.
    pub fn view(&self, kernel: &Kernel, fallback: &FallbackPairs) -> Plan {
        Plan {
            plain: self.plain as u32,
            occupied: self.occupied() as u32,
            far_begin: self.far_begin as u32,
            fallback_mask: fallback.mask.as_ptr(),
            fallback_pairs: fallback.pairs.as_ptr(),
            fallback_begins: fallback.begins.as_ptr(),
            fallback_blocks: kernel.fallback_blocks(&fallback.begins),
            table: self.table(),
        }
    }

    /// Whether the terms of the [static pole](STATIC) are `ssx = −eps` and `sch = −(1 + w/ω̃)·eps` to the last digit, at
    /// all energies, with the same `w/ω̃` from the first energy to another for all bands.
    pub fn has_static(&self) -> bool {
        let Limits { limittwo, limitone, sexcut } = self.limits;
        // The squares of w/ω̃ are below 1e-16, and the first branch holds by far.
        let is_far = self.wx.iter().all(|w| w.abs() <= 1e-8 * STATIC);
        // Energies of Bands::with_energies need not be ω − e(n).
        let is_spaced = |w: &[f64]| {
            let above = |(a, b): (&f64, &f64)| (a - w[0]) - (b - self.wx[0]);
            w.iter().zip(&self.wx).map(above).all(|more| more.abs() <= 1e-17 * STATIC)
        };
        let is_far = is_far && self.wx.chunks(self.nw).all(is_spaced);
        is_far && limitone >= 4.0 && limittwo <= 1e-2 * STATIC * STATIC && sexcut >= 1.01
    }

    /// What a kernel on the host reads of the energies; the pointer is good as long as `self` is.
    pub fn table(&self) -> Table {
        Table { wx: self.wx.as_ptr(), half: self.half, square: self.half * self.half }
    }
}

// Energies that are summed together.

/// How `nw` energies are batched for kernels that hold so many: together, or evenly filled but for the last
/// ones.
pub fn batches(nw: usize, holds: usize) -> impl Iterator<Item = Range<usize>> {
    // Two energies of a band can share a reciprocal.
    let size = if nw <= holds { nw } else { (holds / 2 * 2).max(1) };
    (0..nw).step_by(size.max(1)).map(move |begin| begin..nw.min(begin + size))
}

/// Neighbouring energies of a problem, summed by a calculation of their own. Its sums do not depend on other
/// batches. Only kernels that sort pairs are different: their [`Cells`] depend on all energies of the problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    of: Id,
    energies: Range<usize>,
    wx: Vec<f64>,
    plan: BandPlan,
}

impl Batch {
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
}

/// Bytes of batches that stay for the next calculation; others are made each time.
pub const CACHED: usize = 16 << 20;

/// The batches of a problem that stay, by their energies.
#[derive(Clone, Debug, Default)]
pub(super) struct BatchCache(Arc<Mutex<Cached>>);

#[derive(Debug, Default)]
struct Cached {
    batches: BTreeMap<[usize; 2], Arc<Batch>>,
    bytes: usize,
}

/// Batches of a problem, each made when its turn comes.
#[derive(Clone, Debug)]
pub struct Batches<'a> {
    pub(super) bands: &'a Bands,
    pub(super) order: &'a Arc<BandOrder>,
    pub(super) poles: Poles,
    pub(super) cache: &'a BatchCache,
    /// The energies (0-based) of each, at least one.
    pub(super) ranges: Vec<Range<usize>>,
}

impl Batches<'_> {
    pub fn count(&self) -> usize {
        self.ranges.len()
    }

    pub fn nw(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// One of them.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn get(&self, at: usize) -> Arc<Batch> {
        // Every change is whole, whatever a thread that panicked did before or after.
        let cache = || self.cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        let energies = &self.ranges[at];
        let key = [energies.start, energies.end];
        if let Some(batch) = cache().batches.get(&key) {
            return batch.clone();
        }
        let Batches { bands, order, poles, .. } = *self;
        let of_band = |n| &bands.energies(n)[energies.clone()];
        let wx: Vec<f64> = (0..bands.header().nbands).flat_map(of_band).copied().collect();
        let bytes = size_of::<Batch>() + 2 * size_of_val(&wx[..]);
        let plan = BandPlan::of(bands, order, energies.clone(), poles);
        let batch = Arc::new(Batch { of: bands.id(), energies: energies.clone(), wx, plan });
        let mut cache = cache();
        if cache.bytes + bytes <= CACHED && cache.batches.insert(key, batch.clone()).is_none() {
            cache.bytes += bytes;
        }
        batch
    }

    pub fn first(&self) -> Arc<Batch> {
        self.get(0)
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Batch>> {
        (0..self.count()).map(move |at| self.get(at))
    }

    /// One batch of each size, in their order: the first, and the last if it has fewer energies. The
    /// size alone decides which kernels run.
    pub fn kinds(&self) -> impl Iterator<Item = Arc<Batch>> {
        let last = self.count() - 1;
        let differs = self.ranges[last].len() != self.ranges[0].len();
        [0].into_iter().chain(differs.then_some(last)).map(move |at| self.get(at))
    }
}

#[cfg(test)]
mod tests {
    use super::batches;

    #[test]
    fn batches_are_pairs_if_a_kernel_does_not_hold_all() {
        let of = |nw, holds| batches(nw, holds).map(|at| (at.start, at.end)).collect::<Vec<_>>();
        assert_eq!(of(1, 3), [(0, 1)]);
        assert_eq!(of(3, 3), [(0, 3)]);
        assert_eq!(of(4, 3), [(0, 2), (2, 4)]);
        assert_eq!(of(7, 3), [(0, 2), (2, 4), (4, 6), (6, 7)]);
        assert_eq!(of(501, 512), [(0, 501)]);
        assert_eq!(of(1025, 512), [(0, 512), (512, 1024), (1024, 1025)]);
        assert_eq!(of(3, 1), [(0, 1), (1, 2), (2, 3)]);
    }
}
