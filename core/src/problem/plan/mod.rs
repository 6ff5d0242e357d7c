//! The plan that the later versions follow, in two parts: one of the bands, made once for a problem, and the
//! odd poles of a slab, found for the kernels that take given poles; see [`gpp_kernels::plan`].

mod clusters;
mod lists;
mod odd;

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Zeroable;
use gpp_kernels::arrays::Limits;
use gpp_kernels::kernel::{Gpu, Kernel};
use gpp_kernels::lists::STATIC;
use gpp_kernels::plan::{Plan, Poles};
use gpp_kernels::table::Table;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::catalogue;
use crate::error::Result;
use crate::problem::memory::{Array, zeros};
pub use crate::problem::plan::clusters::{BySize, Cells, Evaluator, SortedOnce};
pub use crate::problem::plan::lists::Lists;
use crate::problem::plan::odd::Cutoff;
pub use crate::problem::plan::odd::OddPoles;
use crate::problem::{Bands, SlabView};

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

    pub fn plain(&self) -> usize {
        self.plain
    }

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

    /// Whether the terms of the [static pole](STATIC) are `ssx = −eps` and `sch = −(1 + w/ω̃)·eps` to the last digit, at
    /// all energies.
    pub fn has_static(&self) -> bool {
        let Limits { limittwo, limitone, sexcut } = self.limits;
        // The squares of w/ω̃ are below 1e-16, and the first branch holds by far.
        let is_far = self.table.wx.iter().all(|w| w.abs() <= 1e-8 * STATIC);
        is_far && limitone >= 4.0 && limittwo <= 1e-2 * STATIC * STATIC && sexcut >= 1.01
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

    pub fn half(&self) -> f64 {
        self.half
    }

    pub fn square(&self) -> f64 {
        self.half * self.half
    }

    /// What a kernel on the host reads; the pointer is good as long as `self` is.
    pub fn view(&self) -> Table {
        let (wx, half) = (self.wx.as_ptr(), self.half);
        Table { wx, half, square: self.square() }
    }
}

// Where the two branches of the formula meet, and which poles they are written for.

/// Largest pole, energy and width of the fast loops: products of four of them are finite. Larger poles are summed by
/// the definition.
pub const LARGEST: f64 = 1e30;

/// Relative to gamma: of smaller poles `|delw|²` may fall to `TOL_ZERO` within the second branch.
pub const SMALLEST: f64 = 2e-6;

/// Largest `|w − ω̃|²` of the second branch.
pub fn near2(limits: Limits, pole: Complex64) -> f64 {
    limits.limittwo.max(pole.norm_sqr() / limits.limitone)
}

// One order of bands for all batches of energies, so that matrix elements are laid out once.

/// Bands in an order in which those of each class of [`gpp_kernels::plan`] are neighbours, whichever of the
/// problem's energies are looked at. It is the problem's own where energies of bands ascend.
#[derive(Clone, Debug, PartialEq)]
pub struct BandOrder {
    bands: Vec<usize>,
    full: usize,
    occupied: usize,
}

impl BandOrder {
    /// Of a problem's bands: those of occupation 1, by falling `wx`; those of another that is not zero; empty
    /// ones, by falling `wx`. That is by rising energy of the band, whatever the energies of the problem are;
    /// where `wx` is made otherwise, empty bands whose energies have other distances come before the others.
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
            None => parted(bands, &empty),
        };
        order.extend(falling(uneven, most));
        order.extend(falling(even, most));
        BandOrder { bands: order, full, occupied }
    }

    /// Bands (0-based) in this order.
    pub fn bands(&self) -> &[usize] {
        &self.bands
    }

    /// Bands of occupation 1, the first ones.
    pub fn full(&self) -> usize {
        self.full
    }

    /// Bands of an occupation that is not zero.
    pub fn occupied(&self) -> usize {
        self.occupied
    }

    /// Whether the bands stand in this order already.
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

/// Parts bands in two: those whose energies have other distances than in most bands, then all others.
fn parted(bands: &Bands, of: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut uneven = vec![false; of.len()];
    for at in 1..bands.nw() {
        let pair = |n: usize| &bands.energies(n)[at - 1..=at];
        let half = half_of_most(of.iter().map(|&n| pair(n)));
        let largest = of.iter().flat_map(|&n| pair(n)).fold(0.0, |a: f64, w| a.max(w.abs()));
        for (uneven, &n) in uneven.iter_mut().zip(of) {
            let found = half_of(pair(n));
            let is_even = (found - half).abs() <= HALVED * f64::EPSILON * largest;
            *uneven |= !is_even;
        }
    }
    let those = |is: bool| {
        let chosen = of.iter().zip(&uneven).filter(move |(_, uneven)| **uneven == is);
        chosen.map(|(n, _)| *n).collect()
    };
    (those(true), those(false))
}

// Energies to look up by range.

/// Some energies, sorted.
#[derive(Debug)]
pub struct Lookup {
    sorted: Vec<f64>,
    /// How many lie below each of evenly spaced bounds, from the first energy to the last.
    below: Vec<u32>,
    scale: f64,
    /// Whether an energy lies in each of many more cells, by bits.
    taken: Vec<u64>,
    fine_scale: f64,
}

/// Cells for each energy, and in all: so many that few hold several.
const CELLS_EACH: usize = 8;
const MOST_CELLS: usize = 1 << 14;

/// Fine cells for each cell: so many that few are taken, so few that their bits are at hand.
const FINE: usize = 16;

impl Lookup {
    /// From finite ones in any order, or none.
    pub fn of(energies: impl IntoIterator<Item = f64>) -> Lookup {
        let mut sorted: Vec<f64> = energies.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        let (first, last) = match sorted[..] {
            [] => (0.0, 0.0),
            [only] => (only, only),
            [first, .., last] => (first, last),
        };
        let cells = (CELLS_EACH * sorted.len()).next_power_of_two().clamp(64, MOST_CELLS);
        let fine = FINE * cells;
        // Finite where all are the same.
        let [scale, fine_scale] = [cells, fine].map(|all| all as f64 / (last - first).max(1e-300));
        let mut below = vec![0; cells + 1];
        sorted.iter().for_each(|w| below[(((w - first) * scale) as usize).min(cells)] += 1);
        let mut sum = 0;
        below.iter_mut().for_each(|count| (*count, sum) = (sum, sum + *count));
        let mut energies = Lookup { sorted, below, scale, taken: vec![0; fine / 64], fine_scale };
        for at in 0..energies.sorted.len() {
            let cell = energies.fine_cell(energies.sorted[at]);
            energies.taken[cell / 64] |= 1 << (cell % 64);
        }
        energies
    }

    /// The fine cell of an energy, or the one at its end of all.
    fn fine_cell(&self, w: f64) -> usize {
        let first = self.sorted.first().copied().unwrap_or_default();
        (((w - first) * self.fine_scale).max(0.0) as usize).min(64 * self.taken.len() - 1)
    }

    /// Whether there are any within, ends included.
    pub fn any(&self, low: f64, high: f64) -> bool {
        let (begin, end) = (self.fine_cell(low), self.fine_cell(high));
        let is_taken = |cell: usize| self.taken[cell / 64] >> (cell % 64) & 1 == 1;
        if begin <= end && end <= begin + 1 && !is_taken(begin) && !is_taken(end) {
            return false;
        }
        !self.within(low, high).is_empty()
    }

    /// All, ascending, each once.
    pub fn all(&self) -> &[f64] {
        &self.sorted
    }

    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    pub fn within(&self, low: f64, high: f64) -> &[f64] {
        let (Some(&first), Some(&last)) = (self.sorted.first(), self.sorted.last()) else {
            return &[];
        };
        // Written so that a bound that is not a number holds nothing.
        if !(low <= high && low <= last && high >= first) {
            return &[];
        }
        let cells = self.below.len() - 1;
        let cell = |w: f64| (((w - first) * self.scale).max(0.0) as usize).min(cells - 1);
        let begin = self.below[cell(low)] as usize;
        let end = match cell(high) + 1 {
            last if last == cells => self.sorted.len(),
            cell => self.below[cell] as usize,
        };
        let cells = &self.sorted[begin..end];
        let begin = cells.partition_point(|&w| w < low);
        let end = cells.partition_point(|&w| w <= high);
        &cells[begin..end.max(begin)]
    }

    /// Whether this one is among them.
    pub fn contains(&self, w: f64) -> bool {
        self.any(w, w)
    }
}

// Which poles the fast loops may take.
//
// What they may lose is what a run is allowed (`reference::roundings`): relative to Σ|terms|, 128 roundings
// of a term and one for each of `n` bands that a thread adds one after the other. `q − p`, taken term
// by term, loses `3κ` roundings where `|w| = κ·|ω̃|`, and its sum `n/2` however large `κ` is; so
// `3κ + n/2 ≤ 128 + n` for any number of bands asks for `κ ≤ 42`, less what a term loses elsewhere.
// A difference of two sums would lose `κ·n/2`. Real poles have one quotient and no such bound.

/// Largest `κ`.
const MOST_CANCELLATION: f64 = 32.0;

/// What a pole must be for the fast loops.
#[derive(Debug)]
pub struct Regular {
    poles: Poles,
    /// Of the larger of the two parts.
    smallest: f64,
    /// The occupied bands' energies: a pole exactly there is an edge case.
    occupied: Lookup,
    /// All energies: one at a pole's bound between the branches is another.
    energies: Lookup,
    /// The occupied bands' energies below zero, where one may be at the cutoff.
    cutoff: Cutoff,
    limits: Limits,
    possible: bool,
}

impl Regular {
    /// For a problem with these energies, of which those are of occupied bands, and these poles.
    pub fn of(wx: &[f64], occupied: &[f64], limits: Limits, poles: Poles) -> Regular {
        let largest = |energies: &[f64]| energies.iter().fold(0.0, |max: f64, w| max.max(w.abs()));
        let gamma = limits.limittwo.sqrt();
        let mut smallest = (SMALLEST * gamma).max(1.0 / LARGEST);
        if poles == Poles::Any {
            smallest = smallest.max(largest(occupied) / MOST_CANCELLATION);
        }
        Regular {
            poles,
            smallest,
            cutoff: Cutoff::of(occupied.iter().copied().filter(|&w| w < 0.0), limits),
            occupied: Lookup::of(occupied.iter().copied()),
            energies: Lookup::of(wx.iter().copied()),
            limits,
            possible: largest(wx) <= LARGEST && gamma <= LARGEST,
        }
    }

    pub fn holds(&self, pole: Complex64) -> bool {
        let size = pole.re.abs().max(pole.im.abs());
        let on_axis = pole.im == 0.0;
        let suits = match self.poles {
            Poles::Real => on_axis && pole.re > 0.0,
            // Behind the imaginary axis w + ω̃ may vanish.
            Poles::Any => pole.re >= 0.0,
            Poles::Unread => true,
        };
        self.possible
            && suits
            && (self.smallest..=LARGEST).contains(&size)
            && !(on_axis && self.occupied.contains(pole.re))
            && !self.at_bound(pole)
            && !self.cutoff.is_at(pole)
    }

    /// Ranges outside of which all poles on the positive real axis are regular, but for those beyond [`LARGEST`]; none
    /// where there are no such ranges.
    pub fn sizes(&self) -> Option<Vec<[f64; 2]>> {
        let Limits { limittwo, limitone, .. } = self.limits;
        if !self.possible || !(4.0..=1e12).contains(&limitone) {
            return None;
        }
        let mut ranges = self.cutoff.sizes()?;
        ranges.push([0.0, self.smallest]);
        ranges.extend(self.occupied.all().iter().map(|&w| [w, w]));
        // As in `at_bound`, with room for its rounding and for that here.
        let (gamma, part) = (limittwo.sqrt(), 1.0 / limitone.sqrt());
        let factor = |by: f64| 1.0 + part * by;
        for &w in self.energies.all() {
            let room = 64.0 * f64::EPSILON * (w.abs() + 4.0 * gamma);
            let (least, most) = (gamma * (1.0 - UPPER) - room, gamma * (1.0 + UPPER) + room);
            ranges.push([w + least, w + most]);
            ranges.push([w - most, w - least]);
            // Where the bound grows with the pole.
            for [least, most] in
                [[1.0 - 2.0 * UPPER, 1.0 + 2.0 * UPPER], [-1.0 - 2.0 * UPPER, -1.0 + 2.0 * UPPER]]
            {
                let range = [w / factor(most), w / factor(least)];
                if range[1] * part * 1.01 >= gamma {
                    ranges.push(range);
                }
            }
        }
        Some(ranges)
    }

    /// Whether some energy is so near to the bound between the branches that upper words cannot
    /// tell on which side.
    fn at_bound(&self, pole: Complex64) -> bool {
        let near2 = near2(self.limits, pole);
        let least = near2 * (1.0 - UPPER) - pole.im * pole.im;
        let most = near2 * (1.0 + UPPER) - pole.im * pole.im;
        if most < 0.0 {
            return false;
        }
        let (least, most) = (least.max(0.0).sqrt(), most.sqrt());
        // The ends themselves are rounded.
        let room = 4.0 * f64::EPSILON * (pole.re.abs() + most);
        let any = |low: f64, high: f64| self.energies.any(low - room, high + room);
        any(pole.re + least, pole.re + most) || any(pole.re - most, pole.re - least)
    }
}

/// Two numbers that differ by this part of themselves have different upper words; with room for
/// rounding.
const UPPER: f64 = 1.0 / (1u64 << 18) as f64;

#[cfg(test)]
mod tests;
