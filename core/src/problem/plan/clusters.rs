//! The pairs of a slab, by poles in cells ([`gpp_kernels::sigma`]), whose bounds change times and last bits.

use std::cmp::Reverse;
use std::ops::Range;
use std::slice;

use gpp_cpu::problem::ClusterPairs;
use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::Poles;
use gpp_kernels::sigma::complex::MIN_DISTANCE as MIN_DISTANCE_OF_DISCS;
use gpp_kernels::sigma::real::MIN_DISTANCE;
use gpp_kernels::sigma::{Disc, Interval, PAIRS, Pole};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::error::Result;
use crate::os::memory::collected;
use crate::problem::plan::fallback::{LARGEST, SMALLEST, near2};
use crate::problem::range::Lookup;
use crate::problem::slab::SlabView;
use crate::problem::{Problem, range};

/// The pairs of a slab that contribute, sorted by cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorted<W, P> {
    pub poles: Vec<Pole<W>>,
    /// The cells, in parts of at most [`PAIRS`] pairs, the largest first.
    pub parts: Vec<P>,
}

impl<W: Copy + Send + Sync, P: Copy + Send> Sorted<W, P> {
    /// `wtilde` is what is stored of a pole, `cell` the number of its cell, `cell_of` makes a cell from its pairs, and
    /// `over` is a cell with these pairs of all.
    fn from_slab(
        slab: SlabView,
        wtilde: impl Fn(Complex64) -> W + Sync,
        cell: impl Fn(W) -> usize + Sync,
        cell_of: impl Fn(usize, &[Pole<W>]) -> P + Sync,
        over: impl Fn(P, Range<u32>) -> P + Sync,
    ) -> Result<Sorted<W, P>> {
        let (ncouls, all, eps) = (slab.ncouls(), slab.wtilde(), slab.eps());
        // The cell in the upper half, and the pair.
        let key = |pair: usize| match range::contributes(all[pair], eps[pair]) {
            true => (cell(wtilde(all[pair])) as u64) << 32 | pair as u64,
            false => u64::MAX,
        };
        let mut keys = collected("sorted pairs", (0..all.len()).into_par_iter().map(key))?;
        keys.retain(|&key| key != u64::MAX);
        keys.par_sort_unstable();
        let pole = |key: &u64| {
            let pair = *key as u32 as usize;
            let (ig, igp) = ((pair % ncouls) as u32, (pair / ncouls) as u32);
            Pole { wtilde: wtilde(all[pair]), ig, igp, eps: eps[pair] }
        };
        let poles = collected("sorted pairs", keys.par_iter().map(pole))?;
        let mut begin = 0;
        let of_cell = |keys: &[u64]| {
            let pairs = begin..begin + keys.len();
            begin = pairs.end;
            ((keys[0] >> 32) as usize, pairs)
        };
        let cells: Vec<(usize, Range<usize>)> =
            keys.chunk_by(|a, b| a >> 32 == b >> 32).map(of_cell).collect();
        let in_parts = |(cell, pairs): (usize, Range<usize>)| {
            let cell_of_all = cell_of(cell, &poles[pairs.clone()]);
            let count = pairs.len().div_ceil(PAIRS as usize);
            let begin_of = |part: usize| (pairs.start + part * pairs.len() / count) as u32;
            let part = |part| (cell_of_all, begin_of(part)..begin_of(part + 1));
            (0..count).map(part).collect::<Vec<_>>()
        };
        let mut parts: Vec<(P, Range<u32>)> =
            cells.into_par_iter().flat_map_iter(in_parts).collect();
        parts.sort_by_key(|(_, pairs)| Reverse(pairs.len()));
        let [number, count] = slab.share;
        if count == 1 {
            let parts = parts.into_iter().map(|(cell, pairs)| over(cell, pairs)).collect();
            return Ok(Sorted { poles, parts });
        }
        // Parts of about as many pairs go to all devices in turn, forwards and backwards.
        let places = [number, 2 * count - 1 - number];
        let mut dealt = Sorted { poles: Vec::new(), parts: Vec::new() };
        for (index, (cell, pairs)) in parts.into_iter().enumerate() {
            if places.contains(&(index % (2 * count))) {
                let begin = dealt.poles.len() as u32;
                dealt.poles.extend(&poles[pairs.start as usize..pairs.end as usize]);
                dealt.parts.push(over(cell, begin..dealt.poles.len() as u32));
            }
        }
        Ok(dealt)
    }
}

/// A cell is at most this part of its poles wide: see [`gpp_kernels::sigma::real`].
const WIDEST: f64 = 1.0 / 32.0;

/// No cell is narrower than one of so many parts of what energies come near to.
const MOST: f64 = 16384.0;

/// So many terms one by one take as long as a cell's moments at an energy, as measured on a GPU and on a CPU.
pub const EVEN_ON_GPU: f64 = 0.12;
pub const EVEN_ON_CPU: f64 = 0.5;

/// What is summed one by one costs as much as so many terms more, however few pairs a cell has.
const BEGUN_CELL: f64 = 32.0;

/// Pairs, and energies of bands, of a sample at most.
const SAMPLED_PAIRS: usize = 1 << 16;

struct Weighed {
    poles: WeightedSample,
    /// Of those at which a pole may be near, one for each energy of a band.
    energies: WeightedSample,
    limits: Limits,
}

struct WeightedSample {
    sorted: Vec<f64>,
    /// How many each one represents, or which part of all.
    each: f64,
}

impl WeightedSample {
    fn new(mut values: Vec<f64>, each: f64) -> WeightedSample {
        values.sort_unstable_by(f64::total_cmp);
        WeightedSample { sorted: values, each }
    }

    /// How many are within, `high` excluded.
    fn within(&self, low: f64, high: f64) -> f64 {
        let below = |bound: f64| self.sorted.partition_point(|&value| value < bound);
        below(high).saturating_sub(below(low)) as f64 * self.each
    }
}

/// Numbers below `of`, [`SAMPLED_PAIRS`] at most, that keep step with no rows or columns.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    // The golden ratio's fraction of 2⁶⁴.
    let hashed = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let place = move |i: usize| ((u128::from(hashed(i)) * count as u128) >> 64) as usize;
    (0..count.min(SAMPLED_PAIRS)).map(move |i| if count <= SAMPLED_PAIRS { i } else { place(i) })
}

impl Weighed {
    fn new(
        slab: SlabView,
        energies: usize,
        energy: impl Fn(usize) -> (f64, f64),
        limits: Limits,
    ) -> Weighed {
        let pairs = slab.wtilde().len();
        let counts = |&at: &usize| range::contributes(slab.wtilde()[at], slab.eps()[at]);
        let poles = spread(pairs).filter(counts).map(|at| slab.wtilde()[at].re).collect();
        // Poles are positive: an occupied band's sums have w − ω̃ and w + ω̃, an empty one's only the first.
        let near = spread(energies).map(energy);
        let near = near.map(|(w, occ)| if occ == 0.0 { w } else { w.abs() }).collect();
        let of_sample = |count: usize| count as f64 / count.min(SAMPLED_PAIRS) as f64;
        Weighed {
            poles: WeightedSample::new(poles, of_sample(pairs)),
            energies: WeightedSample::new(near, 1.0 / energies.min(SAMPLED_PAIRS) as f64),
            limits,
        }
    }

    /// Terms of a cell that an average energy sums one by one, and what that costs besides.
    fn one_by_one(&self, low: f64, width: f64) -> f64 {
        let mid = low + 0.5 * width;
        // So far from an energy the second branch reaches; there moments tell the sums but for its bounds, the
        // energy itself and the cutoff's bound.
        let second = self.limits.limittwo.sqrt().max(mid / self.limits.limitone.sqrt());
        let around = second.max(0.5 * MIN_DISTANCE * width);
        let part = (around - second + 2.0 * width) / around;
        let near = self.energies.within(mid - around, mid + around);
        // A sample may have missed as many as one of it represents.
        let pairs = self.poles.within(low, low + width).max(self.poles.each - 1.0);
        if pairs > 0.0 { (pairs + BEGUN_CELL) * near * part.min(1.0) } else { 0.0 }
    }

    /// Bounds of cells, ascending. Moments of a cell take as long however many pairs it has. So cells are as wide as
    /// can be until what energies sum of them one by one, near some bound or the energy itself, takes as long as their
    /// moments: then neither narrower nor wider ones would be faster, for any number of energies.
    fn bounds(&self, even: f64) -> Vec<f64> {
        let gamma = self.limits.limittwo.sqrt();
        let reach = self.energies.sorted.last().map_or(0.0, |largest| largest.max(0.0) + gamma);
        let mut bounds = vec![(SMALLEST * gamma).max(1.0 / LARGEST)];
        let mut width = f64::INFINITY;
        while let Some(&low) = bounds.last().filter(|&&low| low < LARGEST) {
            width = (2.0 * width).min(WIDEST * low);
            while width > reach / MOST && self.one_by_one(low, width) > even {
                width *= 0.85;
            }
            bounds.push(low + width);
        }
        bounds
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum SortedCells {
    Real(Sorted<f64, Interval>),
    Any(Sorted<Complex64, Disc>),
}

impl SortedCells {
    /// The cells of a slab for all energies of its problem, to sum both parts or Σ alone; `even` is of the device.
    pub fn for_slab(
        problem: &Problem,
        slab: SlabView,
        even: f64,
        is_sigma_alone: bool,
    ) -> Result<SortedCells> {
        let (wx, occ, limits) = (problem.wx(), problem.occ(), problem.limits());
        let both = |index: usize| (wx[index], occ[index / problem.nw()]);
        // In Σ alone a full band above zero has no `q`: it is like an empty band at −w, but a pole at w has no term.
        let has_no_q = |&(w, occ): &(f64, f64)| is_sigma_alone && occ == 1.0 && w >= 0.0;
        let energy = |index| match both(index) {
            found if has_no_q(&found) => (-found.0, 0.0),
            found => found,
        };
        let empty = (0..wx.len()).map(both).filter(has_no_q).map(|(w, _)| w);
        let empty = Lookup::from_energies(empty);
        Ok(match problem.poles() {
            Poles::Real => {
                let bounds = Weighed::new(slab, wx.len(), energy, limits).bounds(even);
                SortedCells::Real(intervals(slab, bounds, &empty)?)
            }
            Poles::Any | Poles::AnySize | Poles::Unread | Poles::Windowed => {
                let squares = Squares::new(wx.len(), energy, limits);
                SortedCells::Any(discs(slab, squares, &empty)?)
            }
        })
    }

    pub fn pairs(&self) -> ClusterPairs<'_> {
        match self {
            SortedCells::Real(of) => ClusterPairs::Real(&of.poles, &of.parts),
            SortedCells::Any(of) => ClusterPairs::Any(&of.poles, &of.parts),
        }
    }

    /// How many parts: fewer than there are pairs, or bounds.
    pub fn count(&self) -> u32 {
        match self {
            SortedCells::Real(of) => of.parts.len() as u32,
            SortedCells::Any(of) => of.parts.len() as u32,
        }
    }

    /// Poles and parts as they are copied to a device.
    pub fn words(&self) -> (&[u32], &[u32]) {
        /// # Safety
        /// A value is `repr(C)`, of numbers of 8 bytes and of pairs of 4 bytes: without padding.
        unsafe fn words<T>(values: &[T]) -> &[u32] {
            const { assert!(size_of::<T>().is_multiple_of(8) && align_of::<T>() == 8) };
            // SAFETY: by this function's contract all bytes are initialised.
            unsafe { slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values) / 4) }
        }
        // SAFETY: poles, intervals and discs are such values.
        unsafe {
            match self {
                SortedCells::Real(of) => (words(&of.poles), words(&of.parts)),
                SortedCells::Any(of) => (words(&of.poles), words(&of.parts)),
            }
        }
    }
}

fn intervals(slab: SlabView, bounds: Vec<f64>, empty: &Lookup) -> Result<Sorted<f64, Interval>> {
    // The last cell is for the poles that are within no bounds, or at an energy without terms.
    let outside = bounds.len() - 1;
    let cell = |wtilde: f64| match bounds.partition_point(|&bound| bound <= wtilde) {
        0 => outside,
        _ if empty.contains(wtilde) => outside,
        above => above - 1,
    };
    let interval = |cell: usize, _: &[Pole]| {
        let (low, high) = match bounds.get(cell + 1) {
            Some(&high) => (bounds[cell], high),
            None => (f64::NAN, f64::NAN),
        };
        Interval { low, high, begin: 0, end: 0 }
    };
    let over = |cell, Range { start: begin, end }| Interval { begin, end, ..cell };
    Sorted::from_slab(slab, |wtilde| wtilde.re, cell, interval, over)
}

// Cells of complex poles: discs in the complex plane, see [`gpp_kernels::sigma::complex`].
//
// The plane is divided into squares, each of which is divided by four until a disc around it is as far from zero
// as moments need, and what an average energy sums of it one by one takes less than the moments of the four
// would. Both are known from samples.

/// So many terms one by one take as long as the moments of the discs that a square is divided into, at an energy:
/// about half of them are left if it is divided.
const EVEN: f64 = 8.0;

/// What is summed one by one costs as much as so many terms more, of a square and twice that of its parts.
const BEGUN_DISC: f64 = 64.0;

const SAMPLED_POLES: usize = 1 << 20;

/// Bits of a place along each axis within the squares of a power of two.
const BITS: u32 = 26;

/// Room for the rounding of distances, relative to a radius.
const ROOM: f64 = 1.0 / (1u64 << 40) as f64;

/// The least radius, relative to the distance from zero: that of a disc of one pole.
const LEAST_RADIUS: f64 = 1.0 / (1u64 << 30) as f64;

/// Sorts complex poles into discs, those at an energy of `empty`, which have no term there, into none.
fn discs(slab: SlabView, squares: Squares, empty: &Lookup) -> Result<Sorted<Complex64, Disc>> {
    let bounds = squares.bounds(slab);
    // Cell 0, before the first square, is for the poles that are in no square; some are with the last one.
    let cell = |wtilde: Complex64| match squares.place(wtilde) {
        Some(place) if wtilde.im != 0.0 || !empty.contains(wtilde.re) => {
            bounds.partition_point(|&bound| bound <= place)
        }
        _ => 0,
    };
    let disc = |cell: usize, poles: &[Pole<Complex64>]| around(poles, cell != 0);
    let over = |cell, Range { start: begin, end }| Disc { begin, end, ..cell };
    Sorted::from_slab(slab, |wtilde| wtilde, cell, disc, over)
}

/// The disc of some poles, without a radius if moments do not give their sums.
fn around(poles: &[Pole<Complex64>], is_square: bool) -> Disc {
    let ends = |part: fn(Complex64) -> f64| {
        let parts = poles.iter().map(|pole| part(pole.wtilde));
        parts.fold((f64::INFINITY, -f64::INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let ((left, right), (low, high)) = (ends(|z| z.re), ends(|z| z.im));
    let middle = Complex64::new(0.5 * (left + right), 0.5 * (low + high));
    let most = poles.iter().fold(0.0, |most: f64, pole| most.max((pole.wtilde - middle).norm()));
    let radius = (most * (1.0 + ROOM)).max(middle.norm() * LEAST_RADIUS);
    // If the sample had none of a square's poles it may be as large as any.
    let is_disc = is_square && MIN_DISTANCE_OF_DISCS * radius <= middle.norm();
    Disc { middle, radius: if is_disc { radius } else { f64::NAN }, begin: 0, end: 0 }
}

/// Squares around zero and what decides whether they are divided.
struct Squares {
    limits: Limits,
    /// Which part of all energies a pole is near to, of those of occupied bands and their negatives.
    energies: WeightedSample,
    /// The larger part of a pole is from here on.
    smallest: f64,
}

impl Squares {
    /// For so many energies of bands, each with the band's occupation.
    fn new(count: usize, energy: impl Fn(usize) -> (f64, f64), limits: Limits) -> Squares {
        let both = |(w, occ): (f64, f64)| [Some(w), (occ != 0.0).then_some(-w)];
        let energies = spread(count).map(energy).flat_map(both).flatten().collect();
        let each = 1.0 / count.min(SAMPLED_PAIRS) as f64;
        let smallest = (SMALLEST * limits.limittwo.sqrt()).max(1.0 / LARGEST);
        Squares { limits, energies: WeightedSample::new(energies, each), smallest }
    }

    /// Where a pole is: the power of two of its larger part, then the square of that size within the four by
    /// four around zero, and the quarters within that, from the largest to the smallest, two bits for each.
    /// None if it is too small, too large, or no number.
    fn place(&self, pole: Complex64) -> Option<u64> {
        let size = pole.re.abs().max(pole.im.abs());
        if !(self.smallest..=LARGEST).contains(&size) || !pole.is_finite() {
            return None;
        }
        let power = size.to_bits() >> 52;
        let unit = f64::from_bits(power << 52);
        let along = |x: f64| {
            let quarters = (x / unit + 2.0) * f64::from(1u32 << (BITS - 2));
            spread_bits((quarters as u64).min((1 << BITS) - 1))
        };
        Some(power << (2 * BITS) | along(pole.im) << 1 | along(pole.re))
    }

    /// Where the squares of a slab begin, ascending.
    fn bounds(&self, slab: SlabView) -> Vec<u64> {
        let (wtilde, eps) = (slab.wtilde(), slab.eps());
        let every = wtilde.len().div_ceil(SAMPLED_POLES);
        let place =
            |pair: usize| Some(wtilde[pair]).filter(|&pole| range::contributes(pole, eps[pair]));
        let mut sample: Vec<u64> = (0..wtilde.len().div_ceil(every))
            .into_par_iter()
            .filter_map(|pair| self.place(place(pair * every)?))
            .collect();
        sample.par_sort_unstable();
        let (mut bounds, mut rest) = (Vec::new(), &sample[..]);
        for power in self.smallest.to_bits() >> 52..=LARGEST.to_bits() >> 52 {
            let end = rest.partition_point(|place| place >> (2 * BITS) == power);
            let (own, behind) = rest.split_at(end);
            self.part(own, every as f64, power << (2 * BITS), 2 * BITS, &mut bounds);
            rest = behind;
        }
        bounds
    }

    /// Adds the bounds of the square of so many bits from `begin` on; each of its poles represents `every`.
    fn part(&self, places: &[u64], every: f64, begin: u64, bits: u32, bounds: &mut Vec<u64>) {
        if places.is_empty() || bits == 0 || self.is_disc(places.len() as f64 * every, begin, bits)
        {
            bounds.push(begin);
            return;
        }
        let (bits, mut rest) = (bits - 2, places);
        for quarter in 0..4 {
            let begin = begin + (quarter << bits);
            let end = rest.partition_point(|&place| place - begin < 1 << bits);
            let (places, behind) = rest.split_at(end);
            self.part(places, every, begin, bits, bounds);
            rest = behind;
        }
    }

    /// Whether a square of so many pairs is divided no further.
    fn is_disc(&self, pairs: f64, begin: u64, bits: u32) -> bool {
        let unit = f64::from_bits(begin >> (2 * BITS) << 52);
        let step = unit / f64::from(1u32 << (BITS - 2));
        let half = 0.5 * step * (1u64 << (bits / 2)) as f64;
        let along = |bits: u64| gathered(bits) as f64 * step - 2.0 * unit + half;
        let middle = Complex64::new(along(begin), along(begin >> 1));
        let radius = std::f64::consts::SQRT_2 * half;
        let needed = MIN_DISTANCE_OF_DISCS * radius;
        needed <= middle.norm()
            && (pairs - BEGUN_DISC) * self.one_by_one(middle, radius, needed) <= EVEN
    }

    /// Which part of all energies sums a disc one by one: those at which moments, that need such a distance, do
    /// not tell its sums, and those at which it lies across the bound of the second branch.
    fn one_by_one(&self, middle: Complex64, radius: f64, needed: f64) -> f64 {
        let second = near2(self.limits, middle).sqrt();
        let around = needed.max(second + radius);
        let across = (around * around - middle.im * middle.im).max(0.0).sqrt();
        let part = (around - second + radius) / around;
        self.energies.within(middle.re - across, middle.re + across) * part.min(1.0)
    }
}

/// A zero in front of each of 32 bits.
fn spread_bits(bits: u64) -> u64 {
    // Of each two groups of so many bits the mask has the lower one.
    let mask = |by: u32| u64::MAX / ((1 << by) + 1);
    [16, 8, 4, 2, 1].into_iter().fold(bits, |bits, by| (bits | bits << by) & mask(by))
}

/// Every second bit of a place, from the last one on.
fn gathered(bits: u64) -> u64 {
    (0..BITS).map(|bit| (bits >> (2 * bit) & 1) << bit).sum()
}

#[cfg(test)]
mod tests;
