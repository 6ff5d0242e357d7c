//! Fallback pairs: those that the fast loops of versions from v9 on may not take. They are summed by the definition.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::{LARGEST_SINGLE, Plan, Poles};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::os::memory;
use crate::problem::range::{self, Lookup};
use crate::problem::slab::SlabView;

/// The fallback pairs of a slab; igp counts from the slab's begin.
#[derive(Clone, Debug, PartialEq)]
pub struct FallbackPairs {
    /// See [`Plan::fallback_mask`]; pairs of no weight are in it too, those with small poles are not.
    pub mask: Vec<u32>,
    /// See [`Plan::fallback_pairs`]: offsets `igp · ncouls + ig`, ascending.
    pub pairs: Vec<u32>,
    /// Where the pairs of each igp begin, and where the last one's end.
    pub begins: Vec<u32>,
    /// What single precision may lose of the sum of all others at any energy, in the unit of `vcoul`; zero in double, infinite
    /// if nothing is known.
    pub bound: f64,
}

/// How the fast loops sum a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairClass {
    Regular,
    /// All but `ssx`: see [`Plan::is_small`].
    Small,
    Fallback,
}

impl FallbackPairs {
    pub(super) fn find(
        slab: SlabView,
        class: impl Fn(Complex64) -> PairClass + Sync,
    ) -> FallbackPairs {
        let ncouls = slab.ncouls();
        let words = Plan::words(ncouls as u32) as usize;
        let of_igp = |(igp, (wtilde, eps)): (usize, (&[Complex64], &[Complex64]))| {
            let mut mask = vec![0; words];
            let mut pairs = Vec::new();
            for (ig, (&pole, &eps)) in wtilde.iter().zip(eps).enumerate() {
                let counts = range::contributes(pole, eps);
                let class = if counts { class(pole) } else { PairClass::Fallback };
                if class == PairClass::Fallback {
                    mask[ig / 32] |= 1 << (ig % 32);
                }
                if counts && class != PairClass::Regular {
                    pairs.push((igp * ncouls + ig) as u32);
                }
            }
            (mask, pairs)
        };
        let columns = slab.wtilde().par_chunks(ncouls).zip(slab.eps().par_chunks(ncouls));
        let (masks, pairs): (Vec<_>, Vec<Vec<u32>>) = columns.enumerate().map(of_igp).unzip();
        let pairs = pairs.concat();
        let begins = begins(&pairs, slab.len(), ncouls);
        FallbackPairs { mask: masks.concat(), pairs, begins, bound: 0.0 }
    }

    /// These and others of the same slab, not regular ones, which are ascending, contribute and are none of these.
    pub(super) fn with(
        &self,
        others: impl IntoIterator<Item = (u32, PairClass)>,
        ncouls: usize,
    ) -> FallbackPairs {
        let words = Plan::words(ncouls as u32) as usize;
        let (mut mask, mut pairs) = (self.mask.clone(), self.pairs.clone());
        for (pair, class) in others {
            let (igp, ig) = (pair as usize / ncouls, pair as usize % ncouls);
            if class == PairClass::Fallback {
                mask[igp * words + ig / 32] |= 1 << (ig % 32);
            }
            pairs.push(pair);
        }
        // Two ascending runs, which this merges.
        pairs.sort();
        let begins = begins(&pairs, self.begins.len() - 1, ncouls);
        FallbackPairs { mask, pairs, begins, bound: self.bound }
    }
}

/// See [`FallbackPairs::begins`], of so many igp.
fn begins(pairs: &[u32], igp: usize, ncouls: usize) -> Vec<u32> {
    let begin = |igp| pairs.partition_point(|&pair| (pair as usize) < igp * ncouls) as u32;
    (0..=igp).map(begin).collect()
}

/// Largest pole, energy and width of the fast loops: products of four are finite. Larger go by the definition.
pub const LARGEST: f64 = 1e30;

/// Relative to gamma: of smaller poles `|delw|²` may fall to `TOL_ZERO` within the second branch.
pub const SMALLEST: f64 = 2e-6;

/// Largest `|w − ω̃|²` of the second branch.
pub fn near2(limits: Limits, pole: Complex64) -> f64 {
    limits.limittwo.max(pole.norm_sqr() / limits.limitone)
}

// Which poles the fast loops may take.
//
// What they may lose is what a run is allowed (`reference::roundings`): relative to Σ|terms|, 128 roundings
// of a term and one for each of `n` bands that a thread adds one after the other. `q − p`, taken term
// by term, loses `3κ` roundings if `|w| = κ·|ω̃|`, and its sum `n/2` however large `κ` is; so
// `3κ + n/2 ≤ 128 + n` for any number of bands asks for `κ ≤ 42`, less what a term loses elsewhere.
// A difference of two sums would lose `κ·n/2`. Real poles have one quotient and no such bound.

/// Two numbers that differ by this part of themselves have different upper words; with room for rounding.
const UPPER: f64 = 1.0 / (1u64 << 18) as f64;

/// Largest `κ`.
const MOST_CANCELLATION: f64 = 32.0;

/// See [`Plan::small`].
pub fn small(occupied: &[f64], takes: Poles) -> f64 {
    if takes == Poles::Any { largest(occupied) / MOST_CANCELLATION } else { 0.0 }
}

fn largest(energies: &[f64]) -> f64 {
    energies.iter().fold(0.0, |max, w| w.abs().max(max))
}

/// What rounding may decide, in the precision of the fast loops, and the largest pole there.
#[derive(Clone, Copy, Debug)]
struct Rooms {
    /// Relative to the bound between the branches.
    near: f64,
    /// Relative to the cutoff.
    cutoff: f64,
    /// Relative, around the energies that are looked at.
    window: f64,
    largest: f64,
    /// Relative to a pole: a difference from an energy, or a sum with one, that is smaller has too few digits.
    clear: f64,
}

/// Smallest pole of FP32: its inverse square times a scaled element is in range.
const SMALLEST_SINGLE: f64 = 1.0 / (1u64 << 24) as f64;

/// Largest energy relative to a pole off the axis in FP32, where fourth powers of it are in range.
const WIDEST_SINGLE: f64 = (1u64 << 14) as f64;

/// What a pole must be for the fast loops.
#[derive(Debug)]
pub struct Regular {
    poles: Poles,
    /// Of the larger of the two parts.
    smallest: f64,
    /// See [`Plan::small`].
    small: f64,
    /// The occupied bands' energies: a pole exactly there is an edge case.
    occupied: Lookup,
    /// All energies: one at a pole's bound between the branches is another.
    energies: Lookup,
    /// The occupied bands' energies below zero, which the cutoff is for.
    cut: Lookup,
    /// With a window, the energies of bands that are not full.
    open: Option<Lookup>,
    limits: Limits,
    possible: bool,
    rooms: Rooms,
    /// Sizes of which real positive poles may be irregular, if a look here is quicker than at the energies.
    marks: Option<Marks>,
}

/// Bits of a [`key`] within a mark: its sizes differ by 1/8192 at most.
const MARK: u32 = 10;

/// A bit for all sizes whose [`key`]s are equal but for the last [`MARK`] bits.
#[derive(Debug)]
struct Marks(Vec<u64>);

impl Marks {
    fn from_ranges(mut ranges: Vec<[f64; 2]>) -> Marks {
        ranges.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
        let (mut marks, mut next) = (vec![0; 1 << (32 - MARK - 6)], 0);
        for [low, high] in ranges {
            for at in next.max(key(low) >> MARK)..=key(high) >> MARK {
                marks[at as usize / 64] |= 1 << (at % 64);
                next = at + 1;
            }
        }
        Marks(marks)
    }

    fn has(&self, size: f64) -> bool {
        let mark = key(size) >> MARK;
        self.0[mark as usize / 64] >> (mark % 64) & 1 == 1
    }
}

impl Regular {
    /// For a problem with energies `wx`, of which `occupied` are of occupied bands.
    pub fn new(
        wx: &[f64],
        occupied: &[f64],
        open: Option<Lookup>,
        limits: Limits,
        poles: Poles,
    ) -> Regular {
        let gamma = limits.limittwo.sqrt();
        Regular {
            poles,
            smallest: (SMALLEST * gamma).max(1.0 / LARGEST),
            small: small(occupied, poles),
            cut: Lookup::from_energies(occupied.iter().copied().filter(|&w| w < 0.0)),
            occupied: Lookup::from_energies(occupied.iter().copied()),
            energies: Lookup::from_energies(wx.iter().copied()),
            open,
            limits,
            possible: largest(wx) <= LARGEST && gamma <= LARGEST,
            rooms: Rooms {
                near: UPPER,
                // Both are far more than rounding.
                cutoff: 1.0 / (1u64 << 40) as f64,
                window: 1.0 / (1u64 << 30) as f64,
                largest: LARGEST,
                clear: 0.0,
            },
            marks: None,
        }
    }

    /// The same for loops of FP32, with differences of two floats each if it `is_exact`.
    pub fn in_single(mut self, is_exact: bool) -> Regular {
        let most = largest(&self.energies.sorted);
        let widest = if self.poles == Poles::Real { 0.0 } else { most / WIDEST_SINGLE };
        self.smallest = self.smallest.max(SMALLEST_SINGLE).max(widest);
        self.possible &= most <= LARGEST_SINGLE;
        // A quotient's denominators are off by some 2⁻²². That of one near a pole is off by 2⁻²³ of the pole, at most 500
        // times the bound, unless the difference is of two floats each: then the pole has 2⁻⁴⁸.
        let part = |exponent: i32| 1.0 / (1u64 << exponent) as f64;
        self.rooms = Rooms {
            near: if is_exact { UPPER } else { part(13) },
            cutoff: part(if is_exact { 19 } else { 13 }),
            window: part(if is_exact { 17 } else { 11 }),
            largest: LARGEST_SINGLE,
            clear: part(if is_exact { 20 } else { 10 }),
        };
        self
    }

    /// The same, prepared for so many poles.
    pub fn for_poles(mut self, poles: usize) -> Regular {
        if poles > MANY + 16 * self.energies.sorted.len() {
            self.marks = self.sizes().map(Marks::from_ranges);
        }
        self
    }

    pub fn class(&self, pole: Complex64) -> PairClass {
        match self.holds(pole) {
            true if size(pole) < self.small => PairClass::Small,
            true => PairClass::Regular,
            false => PairClass::Fallback,
        }
    }

    /// Whether the pair is not a fallback pair.
    fn holds(&self, pole: Complex64) -> bool {
        let on_axis = pole.im == 0.0;
        if let Some(marks) = &self.marks
            && on_axis
            && (0.0..=LARGEST).contains(&pole.re)
            && !marks.has(pole.re)
        {
            return true;
        }
        let suits = match self.poles {
            Poles::Real | Poles::Windowed => on_axis && pole.re > 0.0,
            // Behind the imaginary axis w + ω̃ may vanish.
            Poles::Any | Poles::AnySize => pole.re >= 0.0,
            Poles::Unread => true,
        };
        self.possible
            && suits
            && (self.smallest..=self.rooms.largest).contains(&size(pole))
            && !(on_axis && self.occupied.contains(pole.re))
            && !self
                .open
                .as_ref()
                .map_or_else(|| self.at_bound(pole), |open| self.in_window(pole, open))
            && !self.at_cutoff(pole)
            && self.is_clear(pole)
    }

    /// Whether no denominator has too few digits.
    fn is_clear(&self, pole: Complex64) -> bool {
        let room = pole.re * self.rooms.clear;
        if pole.im.abs() >= room {
            return true;
        }
        let meets = |lookup: &Lookup, at: f64| lookup.any(at - room, at + room);
        let is_beyond = near2(self.limits, pole) >= room * room;
        !meets(&self.occupied, -pole.re) && (is_beyond || !meets(&self.energies, pole.re))
    }

    /// Ranges of size outside of which all real positive poles up to [`LARGEST`] are regular and not small, if there are any.
    pub fn sizes(&self) -> Option<Vec<[f64; 2]>> {
        let Limits { limittwo, limitone, .. } = self.limits;
        if !self.possible || !(4.0..=1e12).contains(&limitone) {
            return None;
        }
        let mut ranges = self.cutoff_sizes()?;
        ranges.push([0.0, self.smallest.max(self.small)]);
        let Rooms { near, largest, clear, .. } = self.rooms;
        if largest < LARGEST {
            ranges.push([largest, LARGEST]);
            let sums = self.occupied.sorted.iter().filter(|w| **w < 0.0);
            ranges.extend(sums.map(|w| [-w * (1.0 - 2.0 * clear), -w * (1.0 + 2.0 * clear)]));
        }
        ranges.extend(self.occupied.sorted.iter().map(|&w| [w, w]));
        // As in `at_bound`, with room for its rounding and for that here.
        let (gamma, part) = (limittwo.sqrt(), 1.0 / limitone.sqrt());
        let factor = |by: f64| 1.0 + part * by;
        for &w in &self.energies.sorted {
            let room = 64.0 * f64::EPSILON * (w.abs() + 4.0 * gamma);
            let (least, most) = (gamma * (1.0 - near) - room, gamma * (1.0 + near) + room);
            ranges.push([w + least, w + most]);
            ranges.push([w - most, w - least]);
            if part < clear {
                ranges.push([w * (1.0 - 2.0 * clear), w * (1.0 + 2.0 * clear)]);
            }
            // If the bound grows with the pole.
            for [least, most] in
                [[1.0 - 2.0 * near, 1.0 + 2.0 * near], [-1.0 - 2.0 * near, -1.0 + 2.0 * near]]
            {
                let range = [w / factor(most), w / factor(least)];
                if range[1] * part * 1.01 >= gamma {
                    ranges.push(range);
                }
            }
        }
        // Bounds that are no numbers hold nothing.
        ranges.retain(|[low, high]| low <= high && *high >= 0.0);
        Some(ranges)
    }

    /// Whether an energy is so near to the bound between the branches that upper words cannot tell the side.
    fn at_bound(&self, pole: Complex64) -> bool {
        let near2 = near2(self.limits, pole);
        let least = near2 * (1.0 - self.rooms.near) - pole.im * pole.im;
        let most = near2 * (1.0 + self.rooms.near) - pole.im * pole.im;
        if most < 0.0 {
            return false;
        }
        let (least, most) = (least.max(0.0).sqrt(), most.sqrt());
        // The ends themselves are rounded.
        let room = 4.0 * f64::EPSILON * (pole.re.abs() + most);
        let any = |low: f64, high: f64| self.energies.any(low - room, high + room);
        any(pole.re + least, pole.re + most) || any(pole.re - most, pole.re - least)
    }

    /// Whether a quotient of a real pole is within the window, or so near to it that upper words cannot tell.
    fn in_window(&self, pole: Complex64, open: &Lookup) -> bool {
        let within = |energies: &Lookup, pole: f64| {
            let width = self.limits.limittwo.sqrt() * (1.0 + UPPER);
            let width = width + 4.0 * f64::EPSILON * (pole.abs() + width);
            energies.any(pole - width, pole + width)
        };
        within(open, pole.re) || within(&self.occupied, -pole.re)
    }

    /// Whether for some energy below zero `|ssx|` is at the cutoff, `sexcut·|eps|`, or has no bound: versions that round
    /// otherwise than v3 would decide otherwise.
    ///
    /// In the first branch `|w² − ω̃²| = |ω̃|²/sexcut` there, a quadratic equation for `w²`; in the
    /// second `|w + ω̃| = |ω̃|/(2·sexcut)`. The solutions only say which energies to look at.
    fn at_cutoff(&self, pole: Complex64) -> bool {
        let sexcut = self.limits.sexcut;
        if self.cut.sorted.is_empty() || sexcut == 0.0 {
            return false;
        }
        // Regular poles are neither so large nor so small that their squares are none.
        let size = pole.norm_sqr().sqrt();
        let any = |low: f64, high: f64| {
            self.cut.any(low, high)
                && self.cut.within(low, high).iter().any(|&w| self.is_undecided(w, pole))
        };

        let first = size * size / sexcut;
        let square = pole * pole;
        let window = self.rooms.window;
        let room = window * size * size;
        let first = shell(first, square.im, window).is_some_and(|(least, most)| {
            [(square.re - most, square.re - least), (square.re + least, square.re + most)]
                .into_iter()
                .any(|(low, high)| {
                    let (low, high) = ((low - room).max(0.0), high + room);
                    high >= 0.0 && any(-high.sqrt(), -low.sqrt())
                })
        });
        // The rest is for poles that may be near: as w is negative, they are nearer to zero.
        let most = size * (1.0 + 0.5 / sexcut) * (1.0 + window);
        let may_be_near = size * size <= near2(self.limits, pole) * (1.0 + window);
        first || may_be_near && any(-most, 0.0)
    }

    /// Ranges of size outside of which no pole on the real axis is at the cutoff; none if that is not certain.
    fn cutoff_sizes(&self) -> Option<Vec<[f64; 2]>> {
        let inverse = 1.0 / self.limits.sexcut;
        if self.cut.sorted.is_empty() || self.limits.sexcut == 0.0 {
            return Some(Vec::new());
        }
        if !inverse.is_finite() {
            return None;
        }
        // Windows as above, relative to the size or its square, and as much for their own rounding.
        let within = |middle: f64, growth: f64| {
            let room = 2.0 * self.rooms.window * (1.0 + growth);
            let most = middle + room;
            [(middle - room).max(0.0), if most >= 0.0 { most } else { f64::NAN }]
        };
        let squares = [within(1.0 - inverse, inverse), within(1.0 + inverse, inverse)];
        let first = squares.map(|growth| growth.map(f64::sqrt));
        // A quotient by zero has no end; one by no number holds nothing.
        let range = |w: f64| first.map(|[least, most]| [-w / most, -w / least]);
        // Poles that may be near.
        let gamma = self.limits.limittwo.sqrt() * (1.0 + self.rooms.window);
        let near = |w: f64| [-w / within(1.0 + 0.5 * inverse, inverse)[1], gamma];
        let near = self.cut.sorted.iter().filter(|w| -**w <= gamma).map(|&w| near(w));
        Some(self.cut.sorted.iter().flat_map(|&w| range(w)).chain(near).collect())
    }

    /// Whether rounding may decide about this energy, or the second branch holds where a formula takes `ssx`: v15 would
    /// have `q` in its place, or not notice.
    fn is_undecided(&self, w: f64, pole: Complex64) -> bool {
        let (d, s) = ((pole - w).norm(), (pole + w).norm());
        let near = d * d <= near2(self.limits, pole);
        let [first, second] =
            [pole.norm() / d, 0.5].map(|of| pole.norm() / s * of / self.limits.sexcut);
        let part = if near { second } else { first };
        !part.is_finite()
            || (part - 1.0).abs() <= self.rooms.cutoff
            || near && first.max(second) > 1.0
    }
}

/// What is left for one leg of a right triangle with about this hypotenuse and that other leg.
fn shell(hypotenuse: f64, leg: f64, window: f64) -> Option<(f64, f64)> {
    let square = |room: f64| hypotenuse * hypotenuse * (1.0 + room) - leg * leg * (1.0 - room);
    let most = square(window);
    (most >= 0.0).then(|| (square(-window).max(0.0).sqrt(), most.sqrt()))
}

/// Poles are sorted if no more than one in so many is off the axis.
const MOST_OFF_AXIS: usize = 8;

const AT_ONCE: usize = 1 << 10;

/// Poles that take longer than [`Marks`].
const MANY: usize = 1 << 14;

/// The contributing poles of a slab by size: one on the real axis is irregular only in a narrow range near some
/// energy, so a look at few finds fallback pairs. Poles off the axis are looked at one by one.
#[derive(Debug)]
pub struct BySize {
    /// Pairs that are irregular at any energies.
    always: FallbackPairs,
    /// The [`key`] of the size in the upper half, and the pair: ascending.
    sorted: Vec<u64>,
    off_axis: Vec<u32>,
}

/// A number that grows with the size, or stays.
fn key(size: f64) -> u64 {
    u64::from((size.max(0.0) as f32).to_bits())
}

fn size(pole: Complex64) -> f64 {
    pole.re.abs().max(pole.im.abs())
}

/// The poles of a slab, sorted when asked for again: one look takes less. None without room or use.
#[derive(Debug, Default)]
pub struct SortedOnce {
    is_asked: AtomicBool,
    sorted: OnceLock<Option<BySize>>,
}

impl SortedOnce {
    /// The slab is the same in every call.
    pub fn sorted(&self, slab: SlabView) -> Option<&BySize> {
        if !self.is_asked.swap(true, Ordering::Relaxed) {
            return None;
        }
        let sorted = || {
            let needed = 2 * size_of::<u64>() * slab.wtilde().len();
            memory::require("poles by their size", needed as u64).ok()?;
            BySize::sort(slab)
        };
        self.sorted.get_or_init(sorted).as_ref()
    }
}

impl BySize {
    /// None for a slab with many poles off the axis.
    pub fn sort(slab: SlabView) -> Option<BySize> {
        let (wtilde, eps) = (slab.wtilde(), slab.eps());
        // No problem's poles are regular beyond these.
        let sizes = 1.0 / LARGEST..=LARGEST;
        let is_certain = |pole: Complex64| pole.re < 0.0 || !sizes.contains(&size(pole));
        let always = FallbackPairs::find(slab, |pole| match is_certain(pole) {
            true => PairClass::Fallback,
            false => PairClass::Regular,
        });
        let is_open = |pole, eps| range::contributes(pole, eps) && !is_certain(pole);
        let pairs = || wtilde.par_iter().zip(eps).enumerate();
        let off_axis = pairs().filter(|(_, (pole, eps))| pole.im != 0.0 && is_open(**pole, **eps));
        let off_axis: Vec<u32> = off_axis.map(|(pair, _)| pair as u32).collect();
        if off_axis.len() > wtilde.len() / MOST_OFF_AXIS {
            return None;
        }
        let word = |(pair, (&pole, &eps))| match is_open(pole, eps) {
            true => key(size(pole)) << 32 | pair as u64,
            false => u64::MAX,
        };
        let mut sorted = memory::collected("poles by their size", pairs().map(word)).ok()?;
        sorted.retain(|&word| word != u64::MAX);
        sorted.par_sort_unstable();
        Some(BySize { always, sorted, off_axis })
    }

    /// The pairs of these sizes, and of some more.
    fn range(&self, [low, high]: [f64; 2]) -> &[u64] {
        let begin = self.sorted.partition_point(|&word| word >> 32 < key(low));
        let end = self.sorted.partition_point(|&word| word >> 32 <= key(high));
        &self.sorted[begin..end]
    }

    /// The fallback pairs of this slab; none if a look at all pairs takes as long.
    pub fn fallback(&self, slab: SlabView, regular: &Regular) -> Option<FallbackPairs> {
        let ranges = regular.sizes()?;
        let ranges: Vec<_> = ranges.into_par_iter().map(|of| self.range(of)).collect();
        let looks = ranges.iter().map(|words| words.len()).sum::<usize>() + self.off_axis.len();
        if looks > self.sorted.len() / 2 {
            return None;
        }
        let listed = |pair: u32| {
            let class = regular.class(slab.wtilde()[pair as usize]);
            (class != PairClass::Regular).then_some((pair, class))
        };
        let on_axis = ranges.par_iter().flat_map(|words| {
            let words = words.par_chunks(AT_ONCE);
            words.flat_map_iter(|words| words.iter().filter_map(|&word| listed(word as u32)))
        });
        let off_axis = self.off_axis.par_chunks(AT_ONCE);
        let off_axis =
            off_axis.flat_map_iter(|pairs| pairs.iter().filter_map(|&pair| listed(pair)));
        let mut found: Vec<(u32, PairClass)> = on_axis.chain(off_axis).collect();
        found.par_sort_unstable_by_key(|(pair, _)| *pair);
        found.dedup();
        Some(self.always.with(found, slab.ncouls()))
    }
}

#[cfg(test)]
mod tests;
