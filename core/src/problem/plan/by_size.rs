//! The poles of a slab by their size, so that odd ones are found without a look at all of them.
//!
//! A pole on the real axis is odd where its size is in a narrow range beside some energy. Poles off the axis are
//! looked at one by one.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use num_complex::Complex64;
use rayon::prelude::*;

use super::branches::LARGEST;
use super::odd::OddPoles;
use super::regular::Regular;
use crate::problem::{Extents, SlabView, memory, range};

/// Pairs at least that a look-up is left with, on average.
const LEFT: usize = 64;

/// Most look-ups' first steps that are in place.
const MOST_STEPS: u32 = 20;

/// Poles are sorted where no more than one in so many is off the axis.
const MOST_OFF_AXIS: usize = 8;

/// Pairs that a thread looks at in one go.
const AT_ONCE: usize = 1 << 10;

/// The contributing poles of a slab, sorted by the larger one of their parts.
#[derive(Debug)]
pub struct BySize {
    /// Those that are odd at any energies.
    always: OddPoles,
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
        pairs.saturating_mul(2 * size_of::<u64>() as u64).saturating_add(slab.odd_bytes())
    }

    /// Of a slab; none of one with many poles off the axis.
    pub fn of(slab: SlabView) -> Option<BySize> {
        let (wtilde, eps) = (slab.wtilde(), slab.eps());
        // No problem's poles are regular beyond these.
        let sizes = 1.0 / LARGEST..=LARGEST;
        let is_certain = |pole: Complex64| pole.re < 0.0 || !sizes.contains(&size(pole));
        let always = OddPoles::of(slab, |pole| !is_certain(pole));
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

    /// Where those of these sizes stand, and some beside them.
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

    /// The odd poles of the slab that this is of; none where a look at all of them takes as long. `is_regular` says
    /// of a pole whether `regular` holds it.
    pub fn odd(
        &self,
        slab: SlabView,
        regular: &Regular,
        is_regular: impl Fn(Complex64) -> bool + Sync,
    ) -> Option<OddPoles> {
        let ranges = regular.sizes()?;
        let ranges: Vec<_> = ranges.into_par_iter().map(|of| self.range(of)).collect();
        let looks = ranges.iter().map(Range::len).sum::<usize>() + self.off_axis.len();
        if looks > self.sorted.len() / 2 {
            return None;
        }
        let is_odd = |pair: &u32| !is_regular(slab.wtilde()[*pair as usize]);
        let on_axis = ranges.par_iter().with_min_len(AT_ONCE / LEFT).flat_map(|range| {
            let words = self.sorted[range.clone()].par_chunks(AT_ONCE);
            words.flat_map_iter(|words| words.iter().map(|&word| word as u32).filter(is_odd))
        });
        let off_axis = self.off_axis.par_chunks(AT_ONCE);
        let off_axis = off_axis.flat_map_iter(|pairs| pairs.iter().copied().filter(is_odd));
        let mut found: Vec<u32> = on_axis.chain(off_axis).collect();
        found.par_sort_unstable();
        found.dedup();
        Some(self.always.with(&found, slab.ncouls()))
    }
}

#[cfg(test)]
mod tests;
