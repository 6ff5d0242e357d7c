//! Tiles: how the pairs of a slab are dealt out to blocks from v9 on, how a thread reads its bands, and where each block's
//! sum goes.
//!
//! A warp owns 32 neighbouring `ig`, each of its threads a tile of neighbouring `igp` and all bands. The warps
//! of a block share their `ig`, and blocks of the same `ig` follow each other, so that their `aqsn` is still in L2.
//!
//! The `igp` of a block are a *group*, which includes the blocks that sum the fallback pairs ([`crate::plan`]) of these
//! `igp`. A group's sum depends on its own data alone: it has the same bits in whatever slab of whole groups it stands.

use core::array::from_fn;
use core::ops::Range;

use num_complex::Complex64;

use crate::arrays::{Arrays, Limits, Planned};
use crate::formula::{Pair, Term, ThreadSums};
use crate::intrinsics::{WARP, load};
use crate::threads::{Thread, each, split};

/// Blocks that sum fallback pairs, or tiles, in a row while there are both: about as many as a GPU has
/// multiprocessors, which are given blocks in turn.
const RUN: u32 = 128;

/// The blocks of a launch and the groups that their sums are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub threads: u32,
    pub groups: u32,
    /// Blocks of each group that sum tiles, one for each 32 `ig`; or all blocks of the only group.
    pub ig_blocks: u32,
    /// Blocks of each group that sum fallback pairs.
    pub fallback_blocks: u32,
    /// Whether blocks of fallback pairs take turns with those of tiles, or come first.
    pub take_turns: bool,
    /// Blocks that share a group's pairs, each with its own bands.
    pub band_blocks: u32,
}

impl Grid {
    pub const fn ungrouped(blocks: u32, threads: u32) -> Grid {
        Grid {
            threads,
            groups: 1,
            ig_blocks: blocks,
            fallback_blocks: 0,
            take_turns: false,
            band_blocks: 1,
        }
    }

    #[inline(always)]
    pub const fn per_group(self) -> u32 {
        self.ig_blocks + self.fallback_blocks
    }

    #[inline(always)]
    pub const fn blocks(self) -> u32 {
        self.groups * self.per_group() * self.band_blocks
    }

    /// Whether a block sums fallback pairs and no tile. Of the block's number itself, without a division: the
    /// compiler would not know that all threads of a block go the same way.
    #[inline(always)]
    pub const fn is_fallback(self, block: u32) -> bool {
        self.turn(block).0
    }

    /// Whether a block sums fallback pairs, and its number among those that do as it does. Where they take
    /// turns, [`RUN`]s of both do, so that multiprocessors hold some of each.
    #[inline(always)]
    const fn turn(self, block: u32) -> (bool, u32) {
        let (fallback, tiles) = (self.fallback_blocks * self.groups, self.ig_blocks * self.groups);
        let mixed = match self.take_turns {
            true => (if fallback < tiles { fallback } else { tiles }) / RUN * RUN,
            false => 0,
        };
        if block < 2 * mixed {
            return (block % (2 * RUN) < RUN, block / (2 * RUN) * RUN + block % RUN);
        }
        let rest = block - mixed;
        if rest < fallback { (true, rest) } else { (false, rest - fallback + mixed) }
    }

    /// Group of a block, and its number among those of the group that do as it does.
    #[inline(always)]
    pub fn place(self, block: u32) -> (u32, u32) {
        let (number, group) = split(self.turn(block).1, self.groups);
        (group, number)
    }

    /// Index of a block's sum, `(per_group, groups)`: those of tiles by `ig`, then those of fallback pairs.
    #[inline(always)]
    pub fn slot(self, block: u32) -> u32 {
        let (group, number) = self.place(block);
        let first = if self.is_fallback(block) { self.ig_blocks } else { 0 };
        group * self.per_group() + first + number
    }
}

pub mod per_band {
    //! The blocks of kernels with sums for each band.

    use super::Grid;
    use crate::intrinsics::WARP;

    /// `igp` of a thread, and its bands.
    pub const TILE: usize = 4;
    pub const BANDS_OF_THREAD: usize = 2;

    pub const WARPS: u32 = 8;
    pub const THREADS: u32 = WARPS * WARP;

    /// `igp` of a block, which are a group, and its bands.
    pub const IGP: u32 = WARPS * TILE as u32;
    pub const BANDS: u32 = WARP * BANDS_OF_THREAD as u32;

    /// `ig` of a block, and those that are in shared memory at a time.
    pub const CHUNK: u32 = 512;
    pub const STAGE: u32 = 8;

    pub const fn grid(nbands: u32, ngpown: u32, ncouls: u32) -> Grid {
        let (groups, band_blocks) = (ngpown.div_ceil(IGP), nbands.div_ceil(BANDS));
        Grid { groups, band_blocks, ..Grid::ungrouped(ncouls.div_ceil(CHUNK), THREADS) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileShape {
    /// `igp` of a thread.
    pub tile: u32,
    /// Warps of a block; each has its own `igp`.
    pub warps: u32,
}

impl TileShape {
    pub const fn threads(self) -> u32 {
        self.warps * WARP
    }

    pub const fn igp(self) -> u32 {
        self.warps * self.tile
    }

    /// Blocks that each group needs for its fallback pairs, one a lane, as many as that with most of them;
    /// `fallback_begins` as in [`crate::plan::Plan`].
    pub fn fallback_blocks(self, fallback_begins: &[u32]) -> u32 {
        let last = fallback_begins.len().saturating_sub(1);
        let groups = (0..last).step_by(self.igp() as usize);
        let pairs = groups.map(|begin| {
            let end = last.min(begin + self.igp() as usize);
            fallback_begins[end] - fallback_begins[begin]
        });
        pairs.max().unwrap_or(0).div_ceil(WARP)
    }

    #[inline(always)]
    pub const fn grid(self, ngpown: u32, ncouls: u32, fallback_blocks: u32) -> Grid {
        Grid {
            groups: ngpown.div_ceil(self.igp()),
            fallback_blocks,
            // Fallback pairs wait for memory, tiles of several igp for arithmetic; those of one wait too.
            take_turns: self.tile > 1,
            ..Grid::ungrouped(ncouls.div_ceil(WARP), self.threads())
        }
    }

    #[inline(always)]
    pub const fn grid_of(self, a: &Arrays) -> Grid {
        self.grid(a.ngpown, a.ncouls, a.plan.fallback_blocks)
    }

    #[inline(always)]
    pub fn place(self, a: &Arrays, thread: Thread) -> TilePlace {
        let (group, ig_block) = self.grid_of(a).place(thread.block);
        let (warp, lane) = (thread.thread_in_block / WARP, thread.thread_in_block % WARP);
        TilePlace { ig: ig_block * WARP + lane, igp: (group * self.warps + warp) * self.tile }
    }

    /// `igp` and `ig` of the fallback pair of a thread, in a block that sums fallback pairs: the same ones in each
    /// warp, which has its share of the bands.
    #[inline(always)]
    pub unsafe fn fallback_pair(self, a: &Arrays, thread: Thread) -> Option<(u32, u32)> {
        let (group, number) = self.grid_of(a).place(thread.block);
        let first = group * self.igp();
        let last = (first + self.igp()).min(a.ngpown);
        // Offsets of all igp and their end, pairs up to the last offset.
        let begin = *a.plan.fallback_begins.add(first as usize);
        let at = begin + number * WARP + thread.thread_in_block % WARP;
        let ours = at < *a.plan.fallback_begins.add(last as usize);
        ours.then(|| split(*a.plan.fallback_pairs.add(at as usize), a.ncouls))
    }
}

/// A pole farther than any regular one: no energy of the fast loops meets it or its negative.
pub const HARMLESS: f64 = 1e31;

/// Where a thread's tile begins. Fallback pairs and those past the edge are summed as a harmless pole of weight zero.
#[derive(Clone, Copy)]
pub struct TilePlace {
    pub ig: u32,
    /// Its first `igp`.
    pub igp: u32,
}

impl TilePlace {
    /// `ig` and `igp` of pair `t` of the tile, where it is in range and regular.
    #[inline(always)]
    pub unsafe fn pair(self, a: &Arrays, t: usize) -> Option<(u32, u32)> {
        let (ig, igp) = (self.ig, self.igp + t as u32);
        // In range, as checked first.
        let ours = ig < a.ncouls && igp < a.ngpown && !a.plan.is_fallback(ig, igp, a.ncouls);
        ours.then_some((ig, igp))
    }
}

/// One thread's sums in a block of fallback pairs: its share of one, by the definition as `term` writes it.
#[inline(always)]
pub unsafe fn fallback_sums<const NW: usize>(
    a: &Arrays,
    thread: Thread,
    shape: TileShape,
    term: impl Fn(&Pair, f64, &Limits) -> Term,
) -> ThreadSums<NW> {
    match shape.fallback_pair(a, thread) {
        Some((igp, ig)) => {
            let is_small = !a.plan.is_fallback(ig, igp, a.ncouls);
            fallback_pair(a, ig, igp, is_small, [thread.thread_in_block / WARP, shape.warps], term)
        }
        None => ThreadSums::zero(),
    }
}

/// A warp's share of a pair by the definition: its bands are every `warps`-th one. A group has few
/// fallback pairs, so with all bands in one thread, blocks would wait for the last of them. If its pole is small, the
/// share is of `ssx` alone.
#[inline(always)]
pub unsafe fn fallback_pair<const NW: usize>(
    a: &Arrays,
    ig: u32,
    igp: u32,
    is_small: bool,
    [warp, warps]: [u32; 2],
    term: impl Fn(&Pair, f64, &Limits) -> Term,
) -> ThreadSums<NW> {
    let mut sums = ThreadSums::zero();
    let pair = Pair::load(a, ig, igp);
    let vcoul = a.vcoul_loc(igp);
    let mut n = warp;
    let end = if is_small { a.plan.occupied } else { a.nbands };
    while n < end {
        let matngmatmgp = a.matngmatmgp::<Planned>(ig, igp, n);
        let occ = a.occ(n);
        each::<NW>(|e| {
            let w = a.wx::<Planned>(e as u32, n);
            sums.update(e, vcoul, occ, term(&pair, w, &a.limits), matngmatmgp);
        });
        n += warps;
    }
    if is_small {
        sums.ach = ThreadSums::zero().ach;
    }
    sums
}

/// As [`fallback_sums`] at one energy, and the derivatives in the place of a second one. No pair is small.
#[inline(always)]
pub unsafe fn fallback_derivatives<const NW: usize>(
    a: &Arrays,
    thread: Thread,
    shape: TileShape,
    term_and_derivative: impl Fn(&Pair, f64, &Limits) -> [Term; 2],
) -> ThreadSums<NW> {
    let mut sums = ThreadSums::zero();
    let Some((igp, ig)) = shape.fallback_pair(a, thread) else { return sums };
    let (pair, vcoul) = (Pair::load(a, ig, igp), a.vcoul_loc(igp));
    let mut n = thread.thread_in_block / WARP;
    while n < a.nbands {
        let (m, occ) = (a.matngmatmgp::<Planned>(ig, igp, n), a.occ(n));
        let terms = term_and_derivative(&pair, a.wx::<Planned>(0, n), &a.limits);
        each::<NW>(|e| sums.update(e, vcoul, occ, terms[e], m));
        n += shape.warps;
    }
    sums
}

/// Adds `m` times a real factor to each of `N` sums.
///
/// An FP64 instruction with three operands of its own takes three cycles to read them and only two to issue. So each
/// shares one with the instruction before, which is not read again: the factor, then a part of `m`, in turn.
#[inline(always)]
pub fn add<const N: usize>(sums: &mut [Complex64; N], m: Complex64, factors: [f64; N]) {
    each::<N>(|at| {
        let (sum, factor) = (&mut sums[at], factors[at]);
        if at % 2 == 0 {
            sum.re = sum.re + m.re * factor;
            sum.im = sum.im + m.im * factor;
        } else {
            sum.im = sum.im + m.im * factor;
            sum.re = sum.re + m.re * factor;
        }
    });
}

/// One band as memory holds it: `aqsn(ig,n)`, `aqsm_local(igp,n)` of the tile, and its energies if they are read.
#[derive(Clone, Copy)]
pub struct BandElements<const T: usize> {
    pub aqsn: Complex64,
    pub aqsm: [Complex64; T],
    pub wx: [f64; Planned::ENERGIES as usize],
}

impl<const T: usize> BandElements<T> {
    #[inline(always)]
    pub fn matngmatmgp(&self, t: usize) -> Complex64 {
        self.aqsm[t].conj() * self.aqsn
    }
}

/// A thread's pairs, and how it reads their bands.
pub trait PairSource<const T: usize>: Copy {
    /// `ig` and `igp` of pair `t`, if there is one.
    unsafe fn pair(self, a: &Arrays, t: usize) -> Option<(u32, u32)>;

    /// Calls `step` with the number and the elements of each band of a range.
    unsafe fn bands(self, a: &Arrays, range: Range<u32>, step: impl FnMut(u32, &BandElements<T>));

    /// The pole of pair `t`, or a dummy pole if there is none.
    #[inline(always)]
    unsafe fn wtilde(self, a: &Arrays, t: usize) -> Complex64 {
        match self.pair(a, t) {
            Some((ig, igp)) => a.wtilde(ig, igp),
            None => Complex64::new(HARMLESS, 0.0),
        }
    }

    /// `vcoul · eps` of pair `t`; zero of none.
    #[inline(always)]
    unsafe fn weight(self, a: &Arrays, t: usize) -> Complex64 {
        match self.pair(a, t) {
            Some((ig, igp)) => a.eps(ig, igp) * a.vcoul_loc(igp),
            None => Complex64::new(0.0, 0.0),
        }
    }
}

/// A tile whose bands each thread reads from global memory, with their energies.
#[derive(Clone, Copy)]
pub struct DirectPairs<const T: usize>(pub TilePlace);

/// A tile whose bands the block of `W` warps stages in shared memory, `A` (1 or 2) for each warp, with their energies if they are `READ`. All
/// threads of the block call [`PairSource::bands`] alike.
#[derive(Clone, Copy)]
pub struct StagedPairs<const T: usize, const W: usize, const A: usize, const READ: bool>(
    pub TilePlace,
);

impl<const T: usize> PairSource<T> for DirectPairs<T> {
    #[inline(always)]
    unsafe fn pair(self, a: &Arrays, t: usize) -> Option<(u32, u32)> {
        self.0.pair(a, t)
    }

    #[inline(always)]
    unsafe fn bands(
        self,
        a: &Arrays,
        range: Range<u32>,
        mut step: impl FnMut(u32, &BandElements<T>),
    ) {
        let place = self.0;
        let ig = place.ig.min(a.ncouls - 1);
        let mut n = range.start;
        while n < range.end {
            let first = n * Planned::rows(a.ngpown) + place.igp;
            // N and ig are in range, the padding holds whole tiles, and wx has room for so many energies in each band.
            let energy = |e| *a.wx.add((n * Planned::ENERGIES) as usize + e);
            let band = BandElements {
                aqsn: load(a.aqsn, n * a.ncouls + ig),
                aqsm: from_fn(|t| load(a.aqsm_local, first + t as u32)),
                wx: from_fn(energy),
            };
            step(n, &band);
            n += 1;
        }
    }
}

impl<const T: usize, const W: usize, const A: usize, const READ: bool> PairSource<T>
    for StagedPairs<T, W, A, READ>
{
    #[inline(always)]
    unsafe fn pair(self, a: &Arrays, t: usize) -> Option<(u32, u32)> {
        self.0.pair(a, t)
    }

    /// The threads of a block run in turn here.
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn bands(self, a: &Arrays, range: Range<u32>, step: impl FnMut(u32, &BandElements<T>)) {
        DirectPairs::<T>(self.0).bands(a, range, step)
    }

    /// The block stages `A` bands for each of its warps at a time, in two buffers in shared memory: the next ones are on
    /// their way from global memory while these are summed.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn bands(
        self,
        a: &Arrays,
        range: Range<u32>,
        mut step: impl FnMut(u32, &BandElements<T>),
    ) {
        use crate::intrinsics::{barrier, load_shared_pair, store_shared_pair, thread_in_block};

        let (begin, end) = (range.start, range.end);
        if begin >= end {
            return;
        }
        let bands = StageLayout::<T, W, A>::BANDS;
        let band_bytes = StageLayout::<T, W, A>::BAND * ELEMENT;
        // Global elements are clamped to the arrays' extents, shared ones are within the buffers by their slot; a buffer is
        // written only after the barrier that all its readers have passed.
        let thread = thread_in_block();
        let [first, second] =
            StageLayout::<T, W, A>::shares(thread, self.0, a.ngpown, a.ncouls, READ);
        let array = match second.array {
            StagedArray::Aqsn => a.aqsn,
            StagedArray::AqsmLocal => a.aqsm_local,
            StagedArray::Wx => a.wx.cast(),
        };
        let fetch = |n: u32| {
            (load(a.aqsn, first.element(n, a.nbands)), load(array, second.element(n, a.nbands)))
        };
        let other = StageLayout::<T, W, A>::other_band(first);
        let fetch_other = |n: u32| load(a.aqsn, other.element(n, a.nbands));
        let base = if StageLayout::<T, W, A>::STAGES > StageLayout::<3, 8, 1>::STAGES {
            gpp_stage_16()
        } else {
            gpp_stage_8()
        };
        let put = |buffer: u32, (one, two): (Complex64, Complex64)| {
            store_shared_pair(base + buffer + first.slot * ELEMENT, one);
            store_shared_pair(base + buffer + second.slot * ELEMENT, two);
        };
        let put_other = |buffer: u32, of: Complex64| {
            store_shared_pair(base + buffer + other.slot * ELEMENT, of);
        };
        let read = |band: u32| {
            let element = |slot: u32| load_shared_pair(band + slot * ELEMENT);
            let mut read = BandElements {
                aqsn: element(StageLayout::<T, W, A>::aqsn(thread)),
                aqsm: from_fn(|t| element(StageLayout::<T, W, A>::aqsm_local(thread, t))),
                wx: [0.0; Planned::ENERGIES as usize],
            };
            if READ {
                let [first, second] = [0, 1].map(|pair| element(StageLayout::<T, W, A>::wx(pair)));
                read.wx = [first.re, first.im, second.re, second.im];
            }
            read
        };

        let buffer_bytes = bands * band_bytes;
        let mut buffer = 0;
        put(buffer, fetch(begin));
        if A == 2 {
            put_other(buffer, fetch_other(begin));
        }
        barrier();
        let mut n = begin;
        loop {
            let more = end - n > bands;
            // The last time too, for nothing: without a branch.
            let next = fetch(n + bands);
            let next_other = if A == 2 { Some(fetch_other(n + bands)) } else { None };
            let stop = (n + bands).min(end);
            let mut band = base + buffer;
            // Two bands at a time leave ptxas more to choose from.
            while n + 1 < stop {
                let (first, second) = (read(band), read(band + band_bytes));
                step(n, &first);
                step(n + 1, &second);
                band += 2 * band_bytes;
                n += 2;
            }
            if n < stop {
                step(n, &read(band));
                n += 1;
            }
            if !more {
                break;
            }
            buffer = buffer_bytes - buffer;
            put(buffer, next);
            if let Some(next) = next_other {
                put_other(buffer, next);
            }
            barrier();
        }
        // Before the first buffer is filled again.
        barrier();
    }
}

// Which elements each thread of a block brings to shared memory, and where each finds its own. A stage holds one or two
// bands for each warp of the block, each of elements of 16 bytes: `aqsn` of 32 `ig`, `aqsm_local` of the block's `igp`, and
// `wx` in pairs. Warp `b` brings the `aqsn` of band `b`, of two bands also that of `b + W`; the rest is dealt out to the
// threads in turn.

pub struct StageLayout<const T: usize, const W: usize, const A: usize>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagedArray {
    /// `aqsn(ig,n)`.
    Aqsn,
    /// `aqsm_local(igp,n)`, padded.
    AqsmLocal,
    /// `wx(:,n)`, padded, two energies an element.
    Wx,
}

/// One element of each stage, as one thread brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    pub array: StagedArray,
    /// Elements of the array for a band.
    pub stride: u32,
    /// Its index among these.
    pub at: u32,
    /// The stage's band that it is of.
    pub band: u32,
    /// Its place in the stage, in elements.
    pub slot: u32,
}

impl Share {
    /// The element's offset in its array for the stage that begins with band `first`; past the last
    /// band, that of the last.
    #[inline(always)]
    pub fn element(&self, first: u32, nbands: u32) -> u32 {
        (first + self.band).min(nbands - 1) * self.stride + self.at
    }
}

impl<const T: usize, const W: usize, const A: usize> StageLayout<T, W, A> {
    pub const BANDS: u32 = (W * A) as u32;

    pub const IGP: u32 = (W * T) as u32;

    /// Elements of a band; `wx` has its place in all, so that all stages are as long.
    pub const BAND: u32 = WARP + Self::IGP + Planned::ENERGIES / 2;

    pub const LENGTH: u32 = Self::BANDS * Self::BAND;

    /// Bytes of two stages.
    const STAGES: u32 = 2 * Self::LENGTH * ELEMENT;

    /// What a thread of a block brings; of energies only if the bands are `with_energies`. A thread that has no
    /// second element to bring brings its first twice, so that none branches off.
    #[inline(always)]
    pub fn shares(
        thread: u32,
        place: TilePlace,
        ngpown: u32,
        ncouls: u32,
        with_energies: bool,
    ) -> [Share; 2] {
        // In addition to aqsn one element a thread is enough, with energies if a warp has one band, and the padding holds
        // whole blocks.
        const {
            assert!(A == 1 || A == 2);
            let energies = if A == 1 { 2 } else { 0 };
            assert!(A as u32 * Self::IGP + energies <= WARP);
            assert!(Planned::rows(1).is_multiple_of(Self::IGP));
        }
        let (warp, lane) = (thread / WARP, thread % WARP);
        let first = Share {
            array: StagedArray::Aqsn,
            stride: ncouls,
            at: place.ig.min(ncouls - 1),
            band: warp,
            slot: warp * Self::BAND + lane,
        };
        let of_aqsm_local = Self::BANDS * Self::IGP;
        let left = thread - of_aqsm_local.min(thread);
        let second = if thread < of_aqsm_local {
            let (band, igp) = (thread / Self::IGP, thread % Self::IGP);
            Share {
                array: StagedArray::AqsmLocal,
                stride: Planned::rows(ngpown),
                at: place.igp - warp * T as u32 + igp,
                band,
                slot: band * Self::BAND + WARP + igp,
            }
        } else if with_energies && left < 2 * Self::BANDS {
            let (band, pair) = (left / 2, left % 2);
            Share {
                array: StagedArray::Wx,
                stride: Planned::ENERGIES / 2,
                at: pair,
                band,
                slot: band * Self::BAND + WARP + Self::IGP + pair,
            }
        } else {
            first
        };
        [first, second]
    }

    /// What a thread that brings `first` brings for the other band of its warp, if there are two.
    #[inline(always)]
    pub fn other_band(first: Share) -> Share {
        let warps = W as u32;
        Share { band: first.band + warps, slot: first.slot + warps * Self::BAND, ..first }
    }

    #[inline(always)]
    pub fn aqsn(thread: u32) -> u32 {
        thread % WARP
    }

    /// Where a thread finds the `aqsm_local` of `igp` number `t` of its tile in a band.
    #[inline(always)]
    pub fn aqsm_local(thread: u32, t: usize) -> u32 {
        WARP + thread / WARP * T as u32 + t as u32
    }

    /// Where all threads find energies `2·pair` and `2·pair + 1` in a band.
    #[inline(always)]
    pub fn wx(pair: usize) -> u32 {
        WARP + Self::IGP + pair as u32
    }
}

pub const ELEMENT: u32 = 16;

// Two stages: of 8 bands and up to 24 `igp`, and of 16 bands and 16 `igp`.
shared_memory! { align 16 gpp_stage_8: StageLayout::<3, 8, 1>::STAGES }
shared_memory! { align 16 gpp_stage_16: StageLayout::<2, 8, 2>::STAGES }
