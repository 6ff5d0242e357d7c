//! Single precision with a bound: what FP32 may lose of each pair, and heavy pairs, which are summed in FP64.
//!
//! A pair's *weight* is at least `Σₙ |term|` of Σ alone at each energy of a batch,
//!
//! ```text
//! ½·|v·ω̃·eps| · Σ over groups of bands: sqrt(Σ|aqsn|²) · sqrt(Σ|aqsm|²) · the largest quotient of the group
//! ```
//!
//! by Cauchy and Schwarz; a group has neighbouring bands of one class, and its energies are in one interval. FP32 loses
//! at most [`LOST`] of the weight. With u = 2⁻²⁴, k additions that follow each other in FP32 and all else in FP64:
//!
//! - 2u of the two matrix elements, rounded when they are read, and 2u of their product, two fused operations a part
//! - 2u of `w ∓ ω̃`, from two numbers of 24 bits each: `(w₁ ∓ ω₁) + (w₂ ∓ ω₂)`, or from the first of each if their sizes add up
//! - 2u of its reciprocal, 1.65u if it is `rcp.approx.ftz.f32`, less if a division or corrected
//! - k·u of the sum, whose first addition rounds the product with the quotient too
//!
//! That is (8 + k)u for real poles. Other loops lose more. Two energies that share a reciprocal `1/(x² − h²)` with |x| ≥ 15h,
//! and complex quotients from `d² + Im² ω̃`, lose up to 14u instead of 8u, times 8/7 for the difference of the two sums, or √2
//! for the two parts: at most √2·(14 + k)u. So k = 48 stays below (24 + 64)u in all loops, and real poles without a
//! shared reciprocal with k = 64.
//!
//! On a CPU the matrix elements of 16 static pairs are summed with their weights in FP32, and all else is done in FP64: 2u
//! of these numbers, and 32 additions of each part, at most (2 + √2·32)u.
//!
//! Numbers of 24 bits twice leave 2⁻⁴⁸ of `w` and `ω̃` for their difference, and small products vanish: weights have room for
//! both. A difference of one number each has no bound near a pole: a kernel that takes it everywhere has none.

use gpp_kernels::formula::UNLIMITED;
use gpp_kernels::plan::Plan;
use gpp_kernels::single::LARGEST_SCALE;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::plan::fallback::{FallbackPairs, PairClass};
use crate::problem::plan::{BandPlan, Batch};
use crate::problem::range::{self, LARGEST_CUTOFF};
use crate::problem::slab::{CheckedBands, SlabView};

/// (24 + 64) · 2⁻²⁴: see above.
pub const LOST: f64 = 88.0 / (1u64 << 24) as f64;

/// The same of kernels for GPUs, with k = 64 in all loops, and energies that share a reciprocal from |x| ≥ 3h on, which doubles
/// their difference: at most 2·(18 + k)u, of three energies.
pub const LOST_ON_GPU: f64 = 2.0 * LOST;

/// The share of Σ|terms| that a sum in single precision may lose unless the caller asks for another.
pub const TOLERANCE: f64 = 1e-7;

/// At most one pair of so many is heavy.
const FEWEST: usize = 100;

/// Poles and energies, in eV, whose squares and reciprocals are FP32 numbers.
pub const SIZES: [f64; 2] = [1.0 / (1u64 << 30) as f64, (1u64 << 40) as f64];

/// Largest `sexcut` with a bound `|ω̃|²/sexcut` that is an FP32 number.
const SHARPEST: f64 = (1u64 << 40) as f64;

/// The least part of `w` and `ω̃` that `|w − ω̃|` may be at the bound between the branches, 64 times what FP32 rounds off.
const NEAREST: f64 = 1.0 / (1u64 << 27) as f64;

/// `2⁻⁴⁶/LOST`, rounded up: what is left of `w` and `ω̃` in two FP32 numbers, in weights.
const LEFT: f64 = 1.0 / (1u64 << 28) as f64;

/// Products of FP32 numbers that vanish, in weights: below 2⁻⁹⁷ of the largest for each band.
const VANISHING: f64 = 1.0 / (1u128 << 80) as f64;

/// Of one row smallest and largest element: with a smaller quotient products of two leave the range of FP32.
const SPAN: f64 = (1u64 << 60) as f64;

const GROUPS: usize = 16;

const BLOCK: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Quotients {
    /// `1/(w + ω̃)` with `w ≥ 0`.
    Plain,
    /// Either, or both with weights.
    Both,
    /// `1/(w − ω̃)`.
    Empty,
}

/// Neighbouring bands in the plan's order, and their least and largest energy.
#[derive(Debug)]
struct Group {
    bands: std::ops::Range<usize>,
    energies: [f64; 2],
    quotients: Quotients,
}

fn groups(plan: &BandPlan) -> Vec<Group> {
    let (count, full) = (plan.order.bands.len(), plan.order.full);
    let ends = [0, plan.plain.min(full), full, plan.occupied(), count];
    let classes = ends.windows(2).enumerate().filter(|(_, of)| of[0] < of[1]);
    let of_class = |(class, of): (usize, &[usize])| {
        let groups = ((of[1] - of[0]) * (GROUPS - 4)).div_ceil(count);
        let size = (of[1] - of[0]).div_ceil(groups);
        let (begin, end) = (of[0], of[1]);
        (begin..end).step_by(size).map(move |first| {
            let bands = first..end.min(first + size);
            let none = [f64::INFINITY, f64::NEG_INFINITY];
            let wx = &plan.wx[bands.start * plan.nw..bands.end * plan.nw];
            let energies = wx.iter().fold(none, |[low, high], &w| [low.min(w), high.max(w)]);
            let quotients = match class {
                3 => Quotients::Empty,
                0 if energies[0] >= 0.0 => Quotients::Plain,
                _ => Quotients::Both,
            };
            Group { bands, energies, quotients }
        })
    };
    classes.flat_map(of_class).collect()
}

/// Norms of each group's matrix elements, and of all: `(rows, groups + 1)`, rows filled up to whole blocks.
struct Norms {
    of_group: Vec<f64>,
    stride: usize,
}

impl Norms {
    fn new<'a>(
        rows: usize,
        groups: &[Group],
        order: &[usize],
        column: impl Fn(usize) -> &'a [Complex64] + Sync,
    ) -> Norms {
        let stride = rows.next_multiple_of(BLOCK);
        let mut of_group = vec![0.0; stride * (groups.len() + 1)];
        of_group.par_chunks_mut(stride).zip(groups).for_each(|(norms, group)| {
            for &n in &order[group.bands.clone()] {
                norms.iter_mut().zip(column(n)).for_each(|(norm, z)| *norm += z.norm_sqr());
            }
        });
        let (each, all) = of_group.split_at_mut(stride * groups.len());
        for norms in each.chunks_mut(stride) {
            all.iter_mut().zip(norms).for_each(|(all, norm)| {
                *all += *norm;
                *norm = norm.sqrt();
            });
        }
        all.iter_mut().for_each(|norm| *norm = norm.sqrt());
        Norms { of_group, stride }
    }

    fn of(&self, group: usize) -> &[f64] {
        &self.of_group[group * self.stride..][..self.stride]
    }
}

/// The weights of a slab's pairs, `(ncouls, len)`: the upper words of FP64 numbers, rounded up. Zero for fallback pairs,
/// infinite for those that FP32 cannot sum.
#[derive(Debug)]
pub struct Weights(Vec<u32>);

impl Weights {
    pub fn new(
        bands: &CheckedBands,
        slab: SlabView,
        batch: &Batch,
        fallback: &FallbackPairs,
    ) -> Weights {
        let plan = &batch.plan;
        let (groups, ncouls) = (groups(plan), slab.ncouls());
        let aqsn = |n: usize| &bands.aqsn()[n * ncouls..(n + 1) * ncouls];
        let of_g = Norms::new(ncouls, &groups, plan.order(), aqsn);
        let of_gp = Norms::new(slab.len(), &groups, plan.order(), |n| slab.aqsm_local().column(n));
        let largest = plan.wx.iter().fold(0.0f64, |largest, w| largest.max(w.abs()));
        let cutoff = plan.limits.sexcut;
        let is_cut = cutoff < LARGEST_CUTOFF && plan.wx_of_occupied().iter().any(|w| *w < 0.0);
        let has_cutoff = !is_cut || (1.0 / SHARPEST..=SHARPEST).contains(&cutoff);
        let suits = largest <= SIZES[1] && has_cutoff;
        let pairs = Pairs { plan, groups, of_g, of_gp, slab, fallback, largest, suits };
        let mut weights = vec![0; ncouls * slab.len()];
        weights.par_chunks_mut(ncouls).enumerate().for_each(|(igp, column)| {
            for (at, weights) in column.chunks_mut(BLOCK).enumerate() {
                widest(
                    #[inline(always)]
                    || pairs.fill(igp, at * BLOCK, weights),
                );
            }
        });
        Weights(weights)
    }

    /// The weight of a pair, in the unit of `vcoul`.
    pub fn get(&self, pair: usize) -> f64 {
        f64::from_bits(u64::from(self.0[pair]) << 32)
    }

    /// The heavy pairs in ascending order, and the weight of all others: the heaviest until FP32 may lose no more than this
    /// share of all weights, or until there are as many as may be. Pairs of about the same weight, within an eighth, are
    /// heavy together or not.
    fn heavy(&self, tolerance: f64, lost: f64) -> (Vec<u32>, f64) {
        const KIND: u32 = 17;
        const KINDS: usize = 1 << (32 - KIND - 1);
        let infinite = (f64::INFINITY.to_bits() >> 32) as u32 >> KIND;
        let chunks = self.0.par_chunks(1 << 20).map(|weights| {
            let mut of_kind = vec![(0usize, 0.0); KINDS];
            for &weight in weights.iter().filter(|weight| **weight != 0) {
                let (count, sum) = &mut of_kind[(weight >> KIND) as usize];
                *count += 1;
                *sum += f64::from_bits(u64::from(weight) << 32);
            }
            of_kind
        });
        let mut of_kind = vec![(0usize, 0.0); KINDS];
        for chunk in chunks.collect::<Vec<_>>() {
            of_kind.iter_mut().zip(chunk).for_each(|(all, part)| {
                all.0 += part.0;
                all.1 += part.1;
            });
        }
        // The weight of all lighter pairs, from the smallest numbers on.
        let mut lighter = vec![0.0; infinite as usize + 1];
        for kind in 0..infinite as usize {
            lighter[kind + 1] = lighter[kind] + of_kind[kind].1;
        }
        let counted: usize = of_kind.iter().map(|(count, _)| count).sum();
        let mut room = counted / FEWEST;
        let (mut first, all) = (infinite as usize, lighter[infinite as usize]);
        while first > 0 && lost * lighter[first] > tolerance * all && of_kind[first - 1].0 <= room {
            first -= 1;
            room -= of_kind[first].0;
        }
        let is_heavy = |weight: u32| weight != 0 && (weight >> KIND) as usize >= first;
        let pairs = self.0.par_iter().enumerate().filter(|(_, weight)| is_heavy(**weight));
        (pairs.map(|(pair, _)| pair as u32).collect(), lighter[first])
    }
}

struct Pairs<'a> {
    plan: &'a BandPlan,
    groups: Vec<Group>,
    of_g: Norms,
    of_gp: Norms,
    slab: SlabView<'a>,
    fallback: &'a FallbackPairs,
    /// Of the sizes of all energies.
    largest: f64,
    /// Whether FP32 can sum a pair at all.
    suits: bool,
}

impl Pairs<'_> {
    /// The weights of neighbouring pairs of a column, at most [`BLOCK`].
    #[inline(always)]
    fn fill(&self, igp: usize, ig: usize, weights: &mut [u32]) {
        let (slab, limits, ncouls) = (self.slab, self.plan.limits, self.slab.ncouls());
        let first = igp * ncouls + ig;
        let (cutoff, largest) = (limits.sexcut, self.largest);
        // Without a near form nothing is near a pole: a pair whose pole may be met has an infinite weight.
        let limitone = if limits.limitone < UNLIMITED { limits.limitone } else { f64::INFINITY };

        let [mut re, mut im, mut size, mut near] = [[1.0f64; BLOCK]; 4];
        let [mut sum, mut most] = [[0.0f64; BLOCK]; 2];
        for (at, pole) in slab.wtilde()[first..first + weights.len()].iter().enumerate() {
            (re[at], im[at], size[at]) = (pole.re, pole.im.abs(), pole.norm_sqr());
        }
        for at in 0..BLOCK {
            near[at] = limits.limittwo.max(size[at] / limitone).sqrt();
            size[at] = size[at].sqrt();
        }
        for (number, group) in self.groups.iter().enumerate() {
            let of_gp = self.of_gp.of(number)[igp];
            let of_g: &[f64; BLOCK] =
                self.of_g.of(number)[ig..].first_chunk().expect("whole blocks");
            let [low, high] = group.energies;
            for at in 0..BLOCK {
                let distance = |pole: f64| (low - pole).max(pole - high).max(im[at]);
                let q = || 1.0 / distance(re[at]).max(near[at]);
                let quotient = match group.quotients {
                    Quotients::Plain => 1.0 / (low + re[at]).max(im[at]),
                    Quotients::Empty => q(),
                    // The cutoff bounds ssx, the sum of both quotients.
                    Quotients::Both => {
                        let (q, p) = (q(), 1.0 / distance(-re[at]));
                        let cut = if low < 0.0 { 2.0 * cutoff / size[at] + q } else { p };
                        q.max(p.min(cut))
                    }
                };
                // Of a distance that is not positive.
                let quotient = if quotient >= 0.0 { quotient } else { f64::INFINITY };
                sum[at] += of_g[at] * of_gp * quotient;
                most[at] = most[at].max(quotient);
            }
        }
        let all = self.groups.len();
        let (of_g, of_gp) = (&self.of_g.of(all)[ig..], self.of_gp.of(all)[igp]);
        let half = 0.5 * slab.vcoul_loc()[igp].abs();
        for (at, weight) in weights.iter_mut().enumerate() {
            let pair = first + at;
            let word = igp * Plan::words(ncouls as u32) as usize + (ig + at) / 32;
            let is_fallback = self.fallback.mask[word] >> ((ig + at) % 32) & 1 == 1;
            let (pole, eps) = (slab.wtilde()[pair], slab.eps()[pair]);
            if is_fallback || !range::contributes(pole, eps) {
                continue;
            }
            let both = largest + size[at];
            let suits = self.suits
                && (SIZES[0]..=SIZES[1]).contains(&size[at])
                && (near[at] == 0.0 || both * NEAREST <= near[at]);
            let sum = sum[at] + VANISHING * of_g[at] * of_gp * most[at];
            let sum =
                half * size[at] * eps.norm_sqr().sqrt() * sum * (1.0 + LEFT * both * most[at]);
            let sum = if suits && sum.is_finite() { sum } else { f64::INFINITY };
            // Rounded up; the next word is infinite where this is too large for a number.
            *weight = ((sum.to_bits() >> 32) as u32 + u32::from(sum.is_finite())).max(1);
        }
    }
}

/// Rows that FP32 does not hold: their elements, but zeros, span too much, or are too large or small to be scaled.
pub fn wide_rows<'a>(columns: impl Iterator<Item = &'a [Complex64]>, rows: usize) -> Vec<bool> {
    let mut ranges = vec![[f64::INFINITY, 0.0_f64]; rows];
    for column in columns {
        ranges.par_iter_mut().zip(column).with_min_len(1 << 12).for_each(|(range, element)| {
            let size = element.re.abs().max(element.im.abs());
            range[0] = range[0].min(if size == 0.0 { f64::INFINITY } else { size });
            range[1] = range[1].max(size);
        });
    }
    let power = |exponent: i32| 2.0_f64.powi(exponent);
    let sizes = power(-LARGEST_SCALE)..power(LARGEST_SCALE);
    let is_wide =
        |[least, most]: [f64; 2]| most > 0.0 && (!sizes.contains(&most) || most > SPAN * least);
    ranges.into_iter().map(is_wide).collect()
}

impl FallbackPairs {
    /// These, and pairs of wide rows of `aqsn` or `aqsm_local`.
    pub fn in_single(self, slab: SlabView, [wide_ig, wide_igp]: [&[bool]; 2]) -> FallbackPairs {
        if !wide_ig.contains(&true) && !wide_igp.contains(&true) {
            return self;
        }
        let (ncouls, wtilde, eps) = (slab.ncouls(), slab.wtilde(), slab.eps());
        let is_other = |&pair: &usize| {
            (wide_ig[pair % ncouls] || wide_igp[pair / ncouls])
                && range::contributes(wtilde[pair], eps[pair])
                && self.pairs.binary_search(&(pair as u32)).is_err()
        };
        let others = (0..wtilde.len()).filter(is_other);
        self.with(others.map(|pair| (pair as u32, PairClass::Fallback)), ncouls)
    }

    /// These and the heavy pairs of a slab, with the bound of what single precision may lose of the others, `lost` of their
    /// weights: `tolerance` of all weights if a hundredth of the pairs suffices.
    #[must_use]
    pub fn with_heavy(
        self,
        bands: &CheckedBands,
        slab: SlabView,
        batch: &Batch,
        tolerance: f64,
        lost: f64,
    ) -> FallbackPairs {
        let (heavy, left) = Weights::new(bands, slab, batch, &self).heavy(tolerance, lost);
        let heavy = heavy.into_iter().map(|pair| (pair, PairClass::Fallback));
        FallbackPairs { bound: lost * left, ..self.with(heavy, slab.ncouls()) }
    }
}

/// Calls `work`, which is `#[inline(always)]`, compiled for the widest vectors of the CPU.
pub(crate) fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f")]
        fn avx512<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        #[target_feature(enable = "avx2")]
        fn avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has the feature.
            return unsafe { avx512(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has the feature.
            return unsafe { avx2(work) };
        }
    }
    work()
}
