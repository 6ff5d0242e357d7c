//! How versions from v9 on sum a problem: an order of bands, and a plan for each batch; see [`gpp_kernels::plan`].

mod clusters;
mod fallback;
pub mod heavy;

use std::borrow::Cow;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::arrays::Limits;
use gpp_kernels::intrinsics::WARP;
use gpp_kernels::kernel::{GpuVersion, Kernel};
use gpp_kernels::lists::{NONE, SHAPE, STATIC, STATIC_TILE, WINDOW};
use gpp_kernels::plan::{Plan, Poles, in_two_floats};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::Problem;
pub use crate::problem::plan::clusters::{EVEN_ON_CPU, EVEN_ON_GPU, SortedCells};
pub use crate::problem::plan::fallback::{BySize, FallbackPairs, SortedOnce};
use crate::problem::plan::fallback::{LARGEST, Regular};
use crate::problem::range::{LARGEST_CUTOFF, Lookup};
use crate::problem::slab::{CheckedBands, Id, SlabView};

/// An order of a problem's bands in which those of one class of [`gpp_kernels::plan`] are neighbours at any energy, so
/// that matrix elements are laid out once: the problem's own if band energies ascend.
#[derive(Clone, Debug, PartialEq)]
pub struct BandOrder {
    pub bands: Vec<usize>,
    /// Bands of occupation 1, the first ones.
    full: usize,
    /// Bands of an occupation that is not zero.
    occupied: usize,
}

impl BandOrder {
    /// Bands of occupation 1 by rising energy, then those of a fractional one, then empty bands by rising energy.
    pub fn new(bands: &CheckedBands) -> BandOrder {
        let with = |is: fn(f64) -> bool| {
            (0..bands.header().nbands).filter(move |&n| is(bands.occ()[n])).collect::<Vec<_>>()
        };
        let by_energy = |mut chosen: Vec<usize>| {
            chosen.sort_by(|&a, &b| bands.header().e(a).total_cmp(&bands.header().e(b)));
            chosen
        };
        let mut order = by_energy(with(|occ| occ == 1.0));
        let full = order.len();
        order.extend(with(|occ| occ != 1.0 && occ != 0.0));
        let occupied = order.len();
        order.extend(by_energy(with(|occ| occ == 0.0)));
        BandOrder { bands: order, full, occupied }
    }

    /// Whether this is the problem's own order.
    pub fn is_kept(&self) -> bool {
        self.bands.is_sorted()
    }
}

/// Relative error in last digits of an energy from its band's mean and half; a far quotient has no larger one.
const HALVED: f64 = 32.0;

/// Largest `sexcut` with which v15 compares `w` with bounds on it: these are rounded by up to 2⁻⁵² of `ω̃`, which is
/// `sexcut` times as much of `ssx`, and pairs within 2⁻⁴⁰ of the cutoff are fallback pairs. With zero nothing is looked at.
const SHARPEST: f64 = 512.0;

/// Half of what a band's second energy is above its first.
fn half_of(w: &[f64]) -> f64 {
    0.5 * (w[1] - w[0])
}

#[derive(Clone, Debug, PartialEq)]
pub struct BandPlan {
    order: Arc<BandOrder>,
    /// The first bands, of occupation 1, of which nothing is cut off: no energy is negative, or there is no cutoff.
    pub plain: usize,
    /// The first far band in their order.
    pub far_begin: usize,
    /// What all contributing poles of the problem have in common.
    pub poles: Poles,
    /// See [`Plan::energies`]: `wx(:,n)` in the plan's order of bands.
    pub wx: Vec<f64>,
    /// See [`Plan::half`].
    pub half: f64,
    /// For Σ alone: the plain bands that are as far from `−ω̃`, those of occupation 1, and the first far band.
    alone: [usize; 3],
    limits: Limits,
    nw: usize,
}

impl BandPlan {
    fn new(problem: &Problem, energies: Range<usize>) -> BandPlan {
        let Problem { bands, order, poles, .. } = problem;
        let wx_of = |n: usize| &bands.energies(n)[energies.clone()];
        let (full, rest) = order.bands.split_at(order.full);
        let empty = &rest[order.occupied - order.full..];
        let limits = bands.limits();
        let most = if empty.is_empty() { full } else { empty };
        let several = most.iter().map(|&n| wx_of(n)).filter(|w| w.len() > 1);
        let mut halves: Vec<f64> = several.map(half_of).collect();
        halves.sort_by(f64::total_cmp);
        // That of most bands; zero without bands or with one energy.
        let half = halves.get(halves.len() / 2).copied().unwrap_or_default();
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
        let is_plain = |w: &[f64]| limits.sexcut >= LARGEST_CUTOFF || w.iter().all(|&w| w >= 0.0);
        // Of Σ alone, three quotients share a reciprocal if their energies are at equal distances.
        let distance = 2.0 * half;
        let nearest = distance.abs() * if energies.len() == 3 { 2.0 } else { 1.0 };
        let is_even = |w: &[f64]| {
            let rounding = || HALVED * f64::EPSILON * w[1].abs().min(w[2].abs());
            w.len() != 3 || (w[2] - w[1] - distance).abs() <= rounding()
        };
        let are_beyond = |w: &[f64]| {
            w.iter().all(|w| (nearest..=LARGEST).contains(&w.abs()) && w.abs() > nearest)
                && is_halved(w)
                && is_even(w)
        };

        let plain = full.iter().take_while(|&&n| is_plain(wx_of(n))).count();
        let far = empty.iter().rev().take_while(|&&n| is_far(wx_of(n))).count();
        let is_plain_far = |w: &[f64]| w.iter().all(|&w| w >= 0.0) && are_beyond(w);
        let plain_far = full[..plain].iter().take_while(|&&n| is_plain_far(wx_of(n))).count();
        let far_alone = empty[empty.len() - far..].iter().rev();
        let far_alone = far_alone.take_while(|&&n| are_beyond(wx_of(n))).count();
        let full =
            if limits.sexcut > 0.0 && limits.sexcut <= SHARPEST { order.full } else { plain };
        let alone = [plain_far, full, order.bands.len() - far_alone];
        let wx = order.bands.iter().flat_map(|&n| wx_of(n)).copied().collect();
        let (far_begin, nw) = (order.bands.len() - far, energies.len());
        BandPlan {
            order: order.clone(),
            plain,
            far_begin,
            poles: *poles,
            wx,
            half,
            alone,
            limits,
            nw,
        }
    }

    pub fn order(&self) -> &[usize] {
        &self.order.bands
    }

    pub fn occupied(&self) -> usize {
        self.order.occupied
    }

    /// The kernel of a version that sums this: another's if constant memory does not hold the energies.
    pub fn kernel<'g>(&self, gpu: &'g GpuVersion) -> &'g Kernel {
        gpu.holding(self.wx.len()).kernel(self.poles)
    }

    /// What regular poles are for kernels that take these: real ones of a problem of only such, or any.
    fn regular(&self, takes: Poles) -> Regular {
        let open = self.wx[self.order.full * self.nw..].iter().copied();
        let open = (self.poles == Poles::Windowed).then(|| Lookup::from_energies(open));
        let occupied = self.wx_of_occupied();
        Regular::new(&self.wx, occupied, open, self.limits, self.takes(takes))
    }

    fn takes(&self, takes: Poles) -> Poles {
        match (self.poles, takes) {
            (Poles::Real | Poles::Windowed, takes) | (_, takes @ Poles::AnySize) => takes,
            _ => Poles::Any,
        }
    }

    fn wx_of_occupied(&self) -> &[f64] {
        &self.wx[..self.occupied() * self.nw]
    }

    /// See [`Plan::small`]; for kernels that take these poles.
    pub fn small(&self, takes: Poles) -> f64 {
        fallback::small(self.wx_of_occupied(), self.takes(takes))
    }

    /// The fallback pairs of a slab of this problem, whose poles may be sorted, for kernels that take these poles.
    pub fn fallback(&self, slab: SlabView, takes: Poles, sorted: Option<&BySize>) -> FallbackPairs {
        if takes == Poles::Unread {
            let words = Plan::words(slab.ncouls() as u32) as usize;
            let (mask, begins) = (vec![0; words * slab.len()], vec![0; slab.len() + 1]);
            return FallbackPairs { mask, pairs: Vec::new(), begins, bound: 0.0 };
        }
        let regular = self.regular(takes);
        let found = sorted.and_then(|poles| poles.fallback(slab, &regular));
        found.unwrap_or_else(|| {
            let regular = regular.for_poles(slab.wtilde().len());
            FallbackPairs::find(slab, |pole| regular.class(pole))
        })
    }

    /// The same for kernels in single precision; of pairs that matrix elements decide none.
    pub fn fallback_in_single(
        &self,
        slab: SlabView,
        takes: Poles,
        is_exact: bool,
    ) -> FallbackPairs {
        let regular = self.regular(takes).in_single(is_exact).for_poles(slab.wtilde().len());
        FallbackPairs::find(slab, |pole| regular.class(pole))
    }

    /// The constant memory of a kernel that has its energies there.
    pub fn constants(&self, kernel: &Kernel) -> Cow<'_, [f64]> {
        match kernel.is_single() {
            true => self.wx.iter().copied().map(in_two_floats).collect(),
            false => (&self.wx[..]).into(),
        }
    }

    /// The far plain bands, those that Σ alone sums as full ones, and the first far band.
    pub fn classes(&self, is_sigma_alone: bool) -> [usize; 3] {
        if is_sigma_alone { self.alone } else { [0, self.plain, self.far_begin] }
    }

    /// What a kernel reads, with the begins of a slab's fallback pairs, and where mask or lists, pairs and begins are. Energies
    /// are valid on the host, as long as the plan is.
    pub fn view(&self, kernel: &Kernel, begins: &[u32], arrays: &[*const c_void]) -> Plan {
        let [plain_far, full, far_begin] = self.classes(kernel.is_sigma_alone);
        Plan {
            plain: self.plain as u32,
            occupied: self.occupied() as u32,
            far_begin: far_begin as u32,
            fallback_mask: arrays[0].cast(),
            fallback_pairs: arrays[1].cast(),
            fallback_begins: arrays[2].cast(),
            fallback_blocks: kernel.fallback_blocks(begins),
            energies: self.wx.as_ptr(),
            half: self.half,
            square: self.half * self.half,
            plain_far: plain_far as u32,
            full: full as u32,
            small: self.small(kernel.poles),
        }
    }

    /// Whether the terms of the [static pole](STATIC) are `ssx = −eps` and `sch = −(1 + w/ω̃)·eps` to the last digit, at
    /// all energies, with the same `w/ω̃` from the first energy to another for all bands.
    pub fn has_static(&self) -> bool {
        let Limits { limittwo, limitone, sexcut } = self.limits;
        // The squares of w/ω̃ are below 1e-16, and the first branch holds by far.
        let is_far = self.wx.iter().all(|w| w.abs() <= 1e-8 * STATIC);
        // Energies of CheckedBands::with_energies need not be ω − e(n).
        let is_spaced = |w: &[f64]| {
            let above = |(a, b): (&f64, &f64)| (a - w[0]) - (b - self.wx[0]);
            w.iter().zip(&self.wx).map(above).all(|more| more.abs() <= 1e-17 * STATIC)
        };
        let is_far = is_far && self.wx.chunks(self.nw).all(is_spaced);
        is_far && limitone >= 4.0 && limittwo <= 1e-2 * STATIC * STATIC && sexcut >= 1.01
    }
}

/// How `nw` energies are batched for kernels that hold so many: in as few batches as can be, as even as can be. Kernels that
/// hold a multiple of 32 get multiples of 32, but in the last batch: rows of `wx` are whole cache lines then.
pub fn batches(nw: usize, holds: usize) -> impl Iterator<Item = Range<usize>> {
    let unit = if holds.is_multiple_of(32) { 32 } else { 1 };
    let (count, units) = (nw.div_ceil(holds), nw.div_ceil(unit));
    let begin = move |batch: usize| nw.min((batch * units).div_ceil(count) * unit);
    (0..count).map(move |batch| begin(batch)..begin(batch + 1))
}

/// Neighbouring energies, summed independently, but for kernels that sort pairs: [`SortedCells`] depend on all.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    of: Id,
    /// Which energies (0-based) of the problem.
    pub energies: Range<usize>,
    /// `wx` of them, `(nw, nbands)`, in the problem's order of bands.
    pub wx: Vec<f64>,
    pub plan: BandPlan,
}

impl Batch {
    /// Of these energies (0-based) of a problem, one at least.
    pub fn new(problem: &Problem, energies: Range<usize>) -> Batch {
        let of_band = |n| &problem.energies(n)[energies.clone()];
        let wx = (0..problem.header().nbands).flat_map(of_band).copied().collect();
        let plan = BandPlan::new(problem, energies.clone());
        Batch { of: problem.bands().id(), energies, wx, plan }
    }

    /// Equal for batches of the same bands and energies.
    pub fn id(&self) -> (Id, Range<usize>) {
        (self.of, self.energies.clone())
    }

    pub fn nw(&self) -> usize {
        self.energies.len()
    }

    /// `wx(:,n)` of band `n` (0-based).
    pub fn of_band(&self, n: usize) -> &[f64] {
        &self.wx[n * self.nw()..(n + 1) * self.nw()]
    }
}

const LANES: usize = WARP as usize;

/// Neighbouring `ig` that are sorted, so that the lanes of a warp have about as many `igp`.
const SORTED: usize = 32 * LANES;

/// The lists of a slab's pairs: see [`gpp_kernels::lists`].
#[derive(Clone, Debug, PartialEq)]
pub struct Lists {
    /// As kernels read them.
    pub words: Vec<u32>,
    pub records: u32,
}

impl Lists {
    /// Of all pairs that contribute, except fallback pairs, those with the static pole among themselves where these are `apart`.
    pub fn new(slab: SlabView, fallback: &FallbackPairs, apart: bool) -> Lists {
        let ncouls = slab.ncouls();
        let of_some = |igs: Range<usize>| {
            let mut lists = [0, 1].map(|_| vec![Vec::new(); igs.len()]);
            let columns = slab.wtilde().chunks(ncouls);
            let masks = fallback.mask.chunks(Plan::words(ncouls as u32) as usize);
            for (igp, (poles, mask)) in (0..).zip(columns.zip(masks)) {
                for (at, ig) in igs.clone().enumerate() {
                    if mask[ig / LANES] >> (ig % LANES) & 1 == 0 {
                        let is_static = apart && poles[ig] == Complex64::new(STATIC, 0.0);
                        lists[usize::from(is_static)][at].push(igp);
                    }
                }
            }
            let [others, of_static] = lists.map(|lists| {
                let mut lists: Vec<(usize, Vec<u32>)> = igs.clone().zip(lists).collect();
                lists.sort_by_key(|(_, igp)| igp.len());
                lists
            });
            let warps = others.chunks(LANES).zip(of_static.chunks(LANES));
            let records = warps.flat_map(|(others, of_static)| {
                let others = records(others, SHAPE.tile as usize);
                others.into_iter().chain(records(of_static, STATIC_TILE))
            });
            records.collect::<Vec<_>>()
        };
        let parts = (0..ncouls).into_par_iter().step_by(SORTED);
        let parts = parts.flat_map_iter(|first| of_some(first..ncouls.min(first + SORTED)));
        let mut records: Vec<Vec<u32>> = parts.collect();
        if records.is_empty() {
            // A launch has a block.
            records.push(record(&[0], 0, &[], SHAPE.tile as usize));
        }
        let begins = records.iter().scan(records.len() as u32, |end, record| {
            let begin = *end;
            *end += record.len() as u32;
            Some(begin)
        });
        let words = begins.chain(records.iter().flatten().copied()).collect();
        Lists { words, records: records.len() as u32 }
    }
}

/// The records of 32 `ig` at most, from the `igp` of each.
fn records(lists: &[(usize, Vec<u32>)], tile: usize) -> Vec<Vec<u32>> {
    let igs: Vec<usize> = lists.iter().map(|(ig, _)| *ig).collect();
    let mut left: Vec<&[u32]> = lists.iter().map(|(_, igp)| &igp[..]).collect();
    let mut records = Vec::new();
    while let Some(&first) = left.iter().filter_map(|list| list.first()).min() {
        let next = |list: &mut &[u32]| {
            let within = list.iter().take_while(|&&igp| igp - first < WINDOW);
            let (now, later) = list.split_at(within.take(SHAPE.warps as usize * tile).count());
            *list = later;
            now.to_vec()
        };
        let now: Vec<Vec<u32>> = left.iter_mut().map(next).collect();
        records.push(record(&igs, first, &now, tile));
    }
    records
}

/// A record of the `igp` of some `ig`, so many in a thread.
fn record(igs: &[usize], first: u32, now: &[Vec<u32>], tile: usize) -> Vec<u32> {
    let last = now.iter().filter_map(|list| list.last()).max().unwrap_or(&first);
    let mut bytes = vec![NONE; SHAPE.threads() as usize * tile];
    for (lane, list) in now.iter().enumerate() {
        let mut turns = vec![NONE; SHAPE.warps as usize * tile];
        deal(list.iter().map(|igp| (igp - first) as u8), lane, &mut turns);
        for (warp, turns) in turns.chunks(tile).enumerate() {
            let begin = (warp * LANES + lane) * tile;
            bytes[begin..begin + tile].copy_from_slice(turns);
        }
    }
    let words = bytes.chunks_exact(4).map(|of| u32::from_ne_bytes([of[0], of[1], of[2], of[3]]));
    let igs = (0..LANES).map(|lane| igs[lane.min(igs.len() - 1)] as u32);
    [first, last - first + 1, tile as u32].into_iter().chain(igs).chain(words).collect()
}

/// Banks of shared memory, of 16 bytes.
const BANKS: usize = 8;

/// Deals places in the window out to a lane's turns: neighbouring lanes mostly read of different banks.
fn deal(now: impl Iterator<Item = u8>, lane: usize, turns: &mut [u8]) {
    let mut left_over = Vec::new();
    for place in now {
        let bank = (place as usize + BANKS - lane % BANKS) % BANKS;
        match turns.iter().skip(bank).step_by(BANKS).position(|&turn| turn == NONE) {
            Some(at) => turns[bank + at * BANKS] = place,
            None => left_over.push(place),
        }
    }
    let free = turns.iter_mut().filter(|turn| **turn == NONE);
    free.zip(left_over).for_each(|(turn, place)| *turn = place);
}

#[cfg(test)]
mod tests;
