//! The plan that the later versions follow, in two parts: one of the bands, made once for a problem, and the
//! odd poles of a slab, found for the kernels that take given poles; see [`gpp_kernels::plan`].

mod bounds;
mod branches;
mod by_size;
mod cells;
mod cutoff;
mod discs;
mod energies;
mod odd;
mod order;
mod regular;
mod sorted;

use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::arrays::Limits;
use gpp_kernels::kernel::{Gpu, Kernel};
use gpp_kernels::plan::{Plan, Poles};
use gpp_kernels::table::Table;
use num_complex::Complex64;

use self::regular::Regular;
use super::{Bands, SlabView};
use crate::catalogue;
pub use bounds::Evaluator;
pub use by_size::{BySize, SortedOnce};
pub use cells::Cells;
pub use odd::OddPoles;
pub use order::BandOrder;

/// The plan of a problem's bands at some of its energies.
#[derive(Clone, Debug, PartialEq)]
pub struct BandPlan {
    order: Arc<BandOrder>,
    plain: usize,
    far_begin: usize,
    poles: Poles,
    table: EnergyTable,
    limits: Limits,
    nw: usize,
}

impl BandPlan {
    /// Of a problem's bands at all energies, where `poles` is what all its contributing poles have in common.
    pub fn of(bands: &Bands, poles: Poles) -> BandPlan {
        BandPlan::of_batch(bands, &BandOrder::of(bands).into(), 0..bands.nw(), poles)
    }

    /// Of a problem's bands at some energies (0-based), in the problem's order of bands.
    pub(super) fn of_batch(
        bands: &Bands,
        order: &Arc<BandOrder>,
        energies: Range<usize>,
        poles: Poles,
    ) -> BandPlan {
        let at = |n: usize| &bands.energies(n)[energies.clone()];
        let (full, rest) = order.bands().split_at(order.full());
        let empty = &rest[order.occupied() - order.full()..];
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
        let wx = order.bands().iter().flat_map(|&n| at(n)).copied().collect();
        BandPlan {
            order: order.clone(),
            plain,
            far_begin: order.bands().len() - far,
            poles,
            table: EnergyTable { wx, half },
            limits,
            nw: energies.len(),
        }
    }

    /// Bands (0-based) in the plan's order.
    pub fn order(&self) -> &[usize] {
        self.order.bands()
    }

    /// Plain bands, the first ones.
    pub fn plain(&self) -> usize {
        self.plain
    }

    /// Plain and other occupied bands.
    pub fn occupied(&self) -> usize {
        self.order.occupied()
    }

    /// The first far band, in the plan's order.
    pub fn far_begin(&self) -> usize {
        self.far_begin
    }

    /// What all contributing poles of the problem have in common.
    pub fn poles(&self) -> Poles {
        self.poles
    }

    /// The energies.
    pub fn table(&self) -> &EnergyTable {
        &self.table
    }

    /// Whether the bands stand in the plan's order already.
    pub fn keeps_order(&self) -> bool {
        self.order.is_kept()
    }

    /// The kernels that run for a version: its own, or another's where the constant memory does not hold
    /// the energies.
    pub fn running<'g>(&self, gpu: &'g Gpu) -> &'g Gpu {
        gpu.holding(self.table.wx.len())
    }

    /// The kernel of a version that sums this problem.
    pub fn kernel<'g>(&self, gpu: &'g Gpu) -> &'g Kernel {
        self.running(gpu).kernel(self.poles)
    }

    /// The `igp` of the groups whose sums a version keeps; none where it keeps one of a slab.
    pub fn igp_of_group(&self, version: catalogue::Kernel) -> Option<usize> {
        match version {
            catalogue::Kernel::Gpu(gpu) => self.kernel(gpu).igp_of_group().map(|igp| igp as usize),
            catalogue::Kernel::Cpu(cpu) => cpu.igp_of_group(),
        }
    }

    /// What the odd poles of kernels that take these are found with: the real ones of a problem that has
    /// only such, or any.
    fn taken(&self, takes: Poles) -> Poles {
        if self.poles == Poles::Real { takes } else { Poles::Any }
    }

    /// What the regular poles of kernels that take these are told by.
    fn regular(&self, takes: Poles) -> Regular {
        let occupied = &self.table.wx[..self.occupied() * self.nw];
        Regular::of(&self.table.wx, occupied, self.limits, self.taken(takes))
    }

    /// The odd poles of a slab of this problem, for kernels that take these.
    pub fn odd(&self, slab: SlabView, takes: Poles) -> OddPoles {
        self.odd_of(slab, takes, None)
    }

    /// The same where the slab's poles may be sorted.
    pub(super) fn odd_of(&self, slab: SlabView, takes: Poles, sorted: Option<&BySize>) -> OddPoles {
        if takes == Poles::Unread {
            return OddPoles::none(slab);
        }
        let regular = self.regular(takes);
        let is_regular = |pole: Complex64| regular.holds(pole);
        let found = sorted.and_then(|poles| poles.odd(slab, &regular, is_regular));
        found.unwrap_or_else(|| OddPoles::of(slab, is_regular))
    }

    /// What a kernel on the host reads of it and of a slab's odd poles; the pointers are good as long as
    /// both are.
    pub fn view(&self, kernel: &Kernel, odd: &OddPoles) -> Plan {
        Plan {
            plain: self.plain as u32,
            occupied: self.occupied() as u32,
            far_begin: self.far_begin as u32,
            odd_mask: odd.mask().as_ptr(),
            odd_pairs: odd.pairs().as_ptr(),
            odd_begins: odd.begins().as_ptr(),
            odd_blocks: kernel.odd_blocks(odd.begins()),
            table: self.table.view(),
        }
    }

    /// The order of bands, common to all batches of energies.
    pub fn bands(&self) -> &BandOrder {
        &self.order
    }
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

/// The memory that a [`Table`] points to.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyTable {
    wx: Vec<f64>,
    half: f64,
}

impl EnergyTable {
    /// See [`Table::wx`]: `wx(:,n)` in the plan's order of bands.
    pub fn wx(&self) -> &[f64] {
        &self.wx
    }

    /// See [`Table::half`].
    pub fn half(&self) -> f64 {
        self.half
    }

    /// See [`Table::square`].
    pub fn square(&self) -> f64 {
        self.half * self.half
    }

    /// What a kernel on the host reads; the pointer is good as long as `self` is.
    pub fn view(&self) -> Table {
        let (wx, half) = (self.wx.as_ptr(), self.half);
        Table { wx, half, square: self.square() }
    }
}
