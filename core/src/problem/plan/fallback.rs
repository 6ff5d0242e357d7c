//! Which pairs the fast loops of the later versions may not take: fallback pairs, summed by the definition.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::{Plan, Poles};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::memory::{self, Extents};
use crate::problem::range;
use crate::problem::slab::SlabView;

/// The fallback pairs of a slab, igp by igp, which count from the slab's begin.
#[derive(Clone, Debug, PartialEq)]
pub struct FallbackPairs {
    /// See [`Plan::fallback_mask`]; pairs of no weight are in it too.
    pub mask: Vec<u32>,
    /// See [`Plan::fallback_pairs`]: offsets `igp · ncouls + ig`, ascending.
    pub pairs: Vec<u32>,
    /// Where the pairs of each igp begin, and where the last one's end.
    pub begins: Vec<u32>,
}

impl FallbackPairs {
    /// Bytes of those of a slab while they are found, if they are no more than one of 16 pairs: each igp has its
    /// own before all are put together.
    pub fn bytes_while_made(slab: Extents) -> u64 {
        slab.fallback_bytes().saturating_mul(2)
    }

    /// Of a slab; `is_regular` says of a pole whether it is.
    pub(super) fn of(
        slab: SlabView,
        is_regular: impl Fn(Complex64) -> bool + Sync,
    ) -> FallbackPairs {
        let ncouls = slab.ncouls();
        let words = Plan::words(ncouls as u32) as usize;
        let of_igp = |(igp, (wtilde, eps)): (usize, (&[Complex64], &[Complex64]))| {
            let mut mask = vec![0; words];
            let mut pairs = Vec::new();
            for (ig, (&pole, &eps)) in wtilde.iter().zip(eps).enumerate() {
                let counts = range::contributes(pole, eps);
                if !(counts && is_regular(pole)) {
                    mask[ig / 32] |= 1 << (ig % 32);
                    if counts {
                        pairs.push((igp * ncouls + ig) as u32);
                    }
                }
            }
            (mask, pairs)
        };
        let columns = slab.wtilde().par_chunks(ncouls).zip(slab.eps().par_chunks(ncouls));
        let (masks, pairs): (Vec<_>, Vec<Vec<u32>>) = columns.enumerate().map(of_igp).unzip();
        let begins = begins(pairs.iter().map(|pairs| pairs.len() as u32));
        FallbackPairs { mask: masks.concat(), pairs: pairs.concat(), begins }
    }

    /// None, of kernels that read no pole.
    pub(super) fn none(slab: SlabView) -> FallbackPairs {
        let words = Plan::words(slab.ncouls() as u32) as usize;
        let (mask, begins) = (vec![0; words * slab.len()], vec![0; slab.len() + 1]);
        FallbackPairs { mask, pairs: Vec::new(), begins }
    }

    /// These and others of the same slab, ascending pairs that contribute and are none of these.
    pub(super) fn with(&self, others: &[u32], ncouls: usize) -> FallbackPairs {
        let words = Plan::words(ncouls as u32) as usize;
        let mut mask = self.mask.clone();
        let mut counts: Vec<u32> = self.begins.windows(2).map(|of| of[1] - of[0]).collect();
        for &pair in others {
            let (igp, ig) = (pair as usize / ncouls, pair as usize % ncouls);
            mask[igp * words + ig / 32] |= 1 << (ig % 32);
            counts[igp] += 1;
        }
        let mut pairs = [&self.pairs, others].concat();
        // Two ascending runs, which this merges.
        pairs.sort();
        FallbackPairs { mask, pairs, begins: begins(counts.into_iter()) }
    }
}

/// Where the pairs of each igp begin, and where the last one's end, of so many each.
fn begins(counts: impl Iterator<Item = u32>) -> Vec<u32> {
    let ends = counts.scan(0, |end, count| {
        *end += count;
        Some(*end)
    });
    [0].into_iter().chain(ends).collect()
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
        // Finite if all are the same.
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
// by term, loses `3κ` roundings if `|w| = κ·|ω̃|`, and its sum `n/2` however large `κ` is; so
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
    /// The occupied bands' energies below zero, at which one may be at the cutoff.
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
    /// if there are no such ranges.
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
            // If the bound grows with the pole.
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

// Energies at the cutoff: `|ssx| = sexcut·|eps|`, where versions that round otherwise than v3 would
// decide otherwise.

/// Relative room around the cutoff, far more than any version's rounding.
const ROOM: f64 = 1.0 / (1u64 << 40) as f64;

/// Relative room around the energies that are looked at, more than their own rounding.
const WINDOW: f64 = 1.0 / (1u64 << 30) as f64;

/// The energies that the cutoff may take.
#[derive(Debug)]
pub struct Cutoff {
    energies: Lookup,
    limits: Limits,
}

impl Cutoff {
    /// Of occupied bands' energies below zero.
    pub fn of(energies: impl IntoIterator<Item = f64>, limits: Limits) -> Cutoff {
        Cutoff { energies: Lookup::of(energies), limits }
    }

    /// Whether for some energy `|ssx|` is at the cutoff or has no bound.
    ///
    /// In the first branch `|w² − ω̃²| = |ω̃|²/sexcut` there, a quadratic equation for `w²`; in the
    /// second `|w + ω̃| = |ω̃|/(2·sexcut)`. The solutions only say which energies to look at.
    pub fn is_at(&self, pole: Complex64) -> bool {
        let sexcut = self.limits.sexcut;
        if self.energies.is_empty() || sexcut == 0.0 {
            return false;
        }
        // Regular poles are neither so large nor so small that their squares are none.
        let size = pole.norm_sqr().sqrt();
        let any = |low: f64, high: f64| {
            self.energies.any(low, high)
                && self.energies.within(low, high).iter().any(|&w| self.is_undecided(w, pole))
        };

        let first = size * size / sexcut;
        let square = pole * pole;
        let room = WINDOW * size * size;
        let first = shell(first, square.im).is_some_and(|(least, most)| {
            [(square.re - most, square.re - least), (square.re + least, square.re + most)]
                .into_iter()
                .any(|(low, high)| {
                    let (low, high) = ((low - room).max(0.0), high + room);
                    high >= 0.0 && any(-high.sqrt(), -low.sqrt())
                })
        });
        let room = WINDOW * size;
        first
            || shell(size / (2.0 * sexcut), pole.im).is_some_and(|(least, most)| {
                any(-pole.re - most - room, -pole.re - least + room)
                    || any(-pole.re + least - room, -pole.re + most + room)
            })
    }

    /// Ranges of size outside of which no pole on the real axis is at the cutoff; none if that cannot be said.
    pub fn sizes(&self) -> Option<Vec<[f64; 2]>> {
        let inverse = 1.0 / self.limits.sexcut;
        if self.energies.is_empty() || self.limits.sexcut == 0.0 {
            return Some(Vec::new());
        }
        if !inverse.is_finite() {
            return None;
        }
        // Windows as above, relative to the size or its square, and as much for their own rounding.
        let within = |middle: f64, of: f64| {
            let room = 2.0 * WINDOW * (1.0 + of);
            let most = middle + room;
            [(middle - room).max(0.0), if most >= 0.0 { most } else { f64::NAN }]
        };
        let squares = [within(1.0 - inverse, inverse), within(1.0 + inverse, inverse)];
        let half = 0.5 * inverse;
        let [one, other] = squares.map(|of| of.map(f64::sqrt));
        let parts = [one, other, within(1.0 - half, half), within(1.0 + half, half)];
        // A quotient by zero has no end; one by no number holds nothing.
        let range = |w: f64| parts.map(|[least, most]| [-w / most, -w / least]);
        Some(self.energies.all().iter().flat_map(|&w| range(w)).collect())
    }

    /// Whether rounding may decide about this energy.
    fn is_undecided(&self, w: f64, pole: Complex64) -> bool {
        let (d, s) = ((pole - w).norm(), (pole + w).norm());
        let near = d * d <= near2(self.limits, pole);
        let ssx = pole.norm() / s * if near { 0.5 } else { pole.norm() / d };
        !ssx.is_finite() || (ssx / self.limits.sexcut - 1.0).abs() <= ROOM
    }
}

/// What is left for one leg of a right triangle with about this hypotenuse and that other leg.
fn shell(hypotenuse: f64, leg: f64) -> Option<(f64, f64)> {
    let square = |room: f64| hypotenuse * hypotenuse * (1.0 + room) - leg * leg * (1.0 - room);
    let most = square(WINDOW);
    (most >= 0.0).then(|| (square(-WINDOW).max(0.0).sqrt(), most.sqrt()))
}

// The poles of a slab by their size, so that fallback pairs are found without a look at all of them.
//
// A pole on the real axis is irregular if its size is in a narrow range near some energy. Poles off the axis are
// looked at one by one.

/// Pairs at least that a look-up is left with, on average.
const LEFT: usize = 64;

/// Most look-ups' first steps that are in place.
const MOST_STEPS: u32 = 20;

/// Poles are sorted if no more than one in so many is off the axis.
const MOST_OFF_AXIS: usize = 8;

/// Pairs that a thread looks at in one go.
const AT_ONCE: usize = 1 << 10;

/// The contributing poles of a slab, sorted by the larger one of their parts.
#[derive(Debug)]
pub struct BySize {
    /// Those that are irregular at any energies.
    always: FallbackPairs,
    /// Size, as [`BySize::key`] has it, in the upper half, and the pair: ascending.
    sorted: Vec<u64>,
    /// Where the sizes begin whose key has these first bits.
    begins: Vec<u32>,
    first_bits: u32,
    /// The least size, by its bits, and how many of these a key leaves out.
    least: u64,
    left_out: u32,
    /// Pairs with poles off the axis.
    off_axis: Vec<u32>,
}

/// The larger one of a pole's parts.
fn size(pole: Complex64) -> f64 {
    pole.re.abs().max(pole.im.abs())
}

/// Those of a slab, sorted when they are asked for again: to look at all of them once takes less time. None if the host
/// has no room, or if it is of no use.
#[derive(Debug, Default)]
pub struct SortedOnce {
    is_asked: AtomicBool,
    sorted: OnceLock<Option<BySize>>,
}

impl SortedOnce {
    /// Of this slab, which is the same in every call.
    pub fn of(&self, slab: SlabView) -> Option<&BySize> {
        if !self.is_asked.swap(true, Ordering::Relaxed) {
            return None;
        }
        let extents = Extents { nbands: 1, ngpown: slab.len(), ncouls: slab.ncouls(), nw: 1 };
        let sorted = || {
            memory::require("poles by their size", BySize::bytes(extents)).ok()?;
            BySize::of(slab)
        };
        self.sorted.get_or_init(sorted).as_ref()
    }
}

impl BySize {
    /// Bytes that those of a slab take while they are sorted.
    pub fn bytes(slab: Extents) -> u64 {
        let pairs = (slab.ncouls as u64).saturating_mul(slab.ngpown as u64);
        pairs.saturating_mul(2 * size_of::<u64>() as u64).saturating_add(slab.fallback_bytes())
    }

    /// Of a slab; none of one with many poles off the axis.
    pub fn of(slab: SlabView) -> Option<BySize> {
        let (wtilde, eps) = (slab.wtilde(), slab.eps());
        // No problem's poles are regular beyond these.
        let sizes = 1.0 / LARGEST..=LARGEST;
        let is_certain = |pole: Complex64| pole.re < 0.0 || !sizes.contains(&size(pole));
        let always = FallbackPairs::of(slab, |pole| !is_certain(pole));
        let others = || {
            let pairs = wtilde.par_iter().zip(eps).enumerate();
            pairs
                .filter(|(_, (pole, eps))| range::contributes(**pole, **eps) && !is_certain(**pole))
        };
        let off_axis = others().filter(|(_, (pole, _))| pole.im != 0.0);
        let off_axis: Vec<u32> = off_axis.map(|(pair, _)| pair as u32).collect();
        if off_axis.len() > wtilde.len() / MOST_OFF_AXIS {
            return None;
        }
        let bits = |(_, (&pole, _)): (usize, (&Complex64, &Complex64))| size(pole).to_bits();
        // Numbers that are not negative are in the order of their bits.
        let ends = |(low, high): (u64, u64), of: u64| (low.min(of), high.max(of));
        let (least, most) = others()
            .map(bits)
            .fold(|| (u64::MAX, 0), ends)
            .reduce(|| (u64::MAX, 0), |(low, high), other| (low.min(other.0), high.max(other.1)));
        let left_out = (u64::BITS - most.saturating_sub(least).leading_zeros()).saturating_sub(32);
        let word = |(pair, (&pole, _)): (usize, (&Complex64, &Complex64))| -> u64 {
            (size(pole).to_bits() - least) >> left_out << 32 | pair as u64
        };
        let mut sorted: Vec<u64> = others().map(word).collect();
        sorted.par_sort_unstable();

        let first_bits = (sorted.len() / LEFT).max(1).ilog2().min(MOST_STEPS);
        let mut begins = vec![0; (1 << first_bits) + 1];
        let step = |word: u64| (word >> 32 << first_bits >> 32) as usize;
        sorted.iter().for_each(|&word| begins[step(word) + 1] += 1);
        (1..begins.len()).for_each(|at| begins[at] += begins[at - 1]);
        Some(BySize { always, sorted, begins, first_bits, least, left_out, off_axis })
    }

    /// A number that grows with the size, or stays.
    fn key(&self, size: f64) -> u64 {
        let above = size.max(0.0).to_bits().saturating_sub(self.least) >> self.left_out;
        above.min(u64::from(u32::MAX))
    }

    /// The positions of those of these sizes, and of some more.
    fn range(&self, [low, high]: [f64; 2]) -> Range<usize> {
        // Written so that bounds that are no numbers hold nothing.
        if !(low <= high && high >= 0.0) {
            return 0..0;
        }
        let (low, high) = (self.key(low), self.key(high));
        let step = |key: u64| (key << self.first_bits >> 32) as usize;
        let from = self.begins[step(low)] as usize;
        let to = self.begins[step(high) + 1] as usize;
        let some = &self.sorted[from..to];
        let begin = some.partition_point(|&word| word >> 32 < low);
        let end = some.partition_point(|&word| word >> 32 <= high);
        from + begin..from + end
    }

    /// The fallback pairs of the slab that this is of; none if a look at all pairs takes as long. `is_regular` says
    /// of a pole whether `regular` holds it.
    pub fn fallback(
        &self,
        slab: SlabView,
        regular: &Regular,
        is_regular: impl Fn(Complex64) -> bool + Sync,
    ) -> Option<FallbackPairs> {
        let ranges = regular.sizes()?;
        let ranges: Vec<_> = ranges.into_par_iter().map(|of| self.range(of)).collect();
        let looks = ranges.iter().map(Range::len).sum::<usize>() + self.off_axis.len();
        if looks > self.sorted.len() / 2 {
            return None;
        }
        let is_fallback = |pair: &u32| !is_regular(slab.wtilde()[*pair as usize]);
        let on_axis = ranges.par_iter().with_min_len(AT_ONCE / LEFT).flat_map(|range| {
            let words = self.sorted[range.clone()].par_chunks(AT_ONCE);
            words.flat_map_iter(|words| words.iter().map(|&word| word as u32).filter(is_fallback))
        });
        let off_axis = self.off_axis.par_chunks(AT_ONCE);
        let off_axis = off_axis.flat_map_iter(|pairs| pairs.iter().copied().filter(is_fallback));
        let mut found: Vec<u32> = on_axis.chain(off_axis).collect();
        found.par_sort_unstable();
        found.dedup();
        Some(self.always.with(&found, slab.ncouls()))
    }
}

#[cfg(test)]
mod tests;
