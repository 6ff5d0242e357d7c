//! Lists: each lane of a block sums only those of its `igp` whose terms are not zero.
//!
//! Many pairs of a real problem have a pole or a weight of zero, which tiles sum as a dummy pole. Lists leave them out:
//! the other regular pairs of each `ig` are divided among blocks in ascending order of `igp`, and each lane of a block
//! has the next ones of its own `ig`. The `igp` of a block lie in a *window* of neighbouring ones, so that the block
//! stages only these. If the next `igp` of an `ig` is past the window, the next block sums it.
//!
//! Pairs with the [static pole](STATIC) have lists and blocks of their own, with more `igp` in a thread.
//!
//! The words of the lists begin with the offset of the *record* of each block. A record has the first `igp` of
//! the window, the number of `igp` in it, and that of a thread; then the `ig` of each lane, which have about equally many
//! `igp`; then, for each thread, a byte for each of its `igp`: its offset in the window.

use core::array::from_fn;
use core::ops::Range;

use num_complex::Complex64;

use crate::arrays::{Arrays, Planned};
use crate::formula::{ThreadSums, term};
use crate::intrinsics::{WARP, uniform};
use crate::threads::{Thread, each, split};
use crate::tiling::{BandElements, ELEMENT, Grid, PairSource, TileShape, fallback_pair};

/// `igp` of a thread.
pub const TILE: usize = 2;

/// `igp` of a thread that sums static pairs.
pub const STATIC_TILE: usize = 4;

const WARPS: usize = 8;

pub const SHAPE: TileShape = TileShape { tile: TILE as u32, warps: WARPS as u32 };

/// The pole in eV that BerkeleyGW gives to invalid modes. Its pairs, *static* ones, have lists of their own.
pub const STATIC: f64 = 1e12;

/// `igp` of a window: with the `ig` of a block, one for each thread.
pub const WINDOW: u32 = SHAPE.threads() - WARP;

/// Marks a lane that has no more `igp`, instead of an offset.
pub const NONE: u8 = u8::MAX;

/// Words of a record before its bytes.
pub const HEAD: u32 = 3 + WARP;

/// Words of a record with `tile` `igp` per thread.
pub const fn record(tile: u32) -> u32 {
    HEAD + SHAPE.threads() * tile / 4
}

/// Records of each kind for 32 `ig` at most: a block takes whatever is among its first `igp`.
const fn of_32_ig(ngpown: u64) -> [u64; 2] {
    [ngpown.div_ceil((TILE * WARPS) as u64), ngpown.div_ceil((STATIC_TILE * WARPS) as u64)]
}

/// Records of a slab at most.
pub const fn records(ngpown: u64, ncouls: u64) -> u64 {
    let [others, of_static] = of_32_ig(ngpown);
    ncouls.div_ceil(WARP as u64) * (others + of_static)
}

/// Words of the lists of a slab at most.
pub const fn words(ngpown: u64, ncouls: u64) -> u64 {
    let [others, of_static] = of_32_ig(ngpown);
    let [other, one] = [record(TILE as u32) as u64, record(STATIC_TILE as u32) as u64];
    ncouls.div_ceil(WARP as u64) * (others * (1 + other) + of_static * (1 + one))
}

/// Blocks that sum fallback pairs, one a lane.
pub fn fallback_blocks(fallback_begins: &[u32]) -> u32 {
    fallback_begins.last().map_or(0, |pairs| pairs.div_ceil(WARP))
}

/// The grid for these records and blocks of fallback pairs: one group, the slab.
#[inline(always)]
pub const fn grid(records: u32, fallback_blocks: u32) -> Grid {
    Grid { fallback_blocks, take_turns: true, ..Grid::ungrouped(records, SHAPE.threads()) }
}

#[inline(always)]
pub const fn grid_of(a: &Arrays, thread: Thread) -> Grid {
    grid(thread.count / SHAPE.threads() - a.plan.fallback_blocks, a.plan.fallback_blocks)
}

/// One thread's sums: of the pairs of a record, by `pairs`, or of static ones, or its share of a fallback pair by
/// the definition.
#[inline(always)]
pub unsafe fn sums<const NW: usize>(
    a: &Arrays,
    thread: Thread,
    pairs: unsafe fn(&Arrays, ListedPairs<TILE>) -> ThreadSums<NW>,
) -> ThreadSums<NW> {
    let grid = grid_of(a, thread);
    let (_, number) = grid.place(thread.block);
    // All threads of a block go the same way.
    if grid.is_fallback(thread.block) {
        let index = number * WARP + thread.thread_in_block % WARP;
        if index >= *a.plan.fallback_begins.add(a.ngpown as usize) {
            return ThreadSums::zero();
        }
        let (igp, ig) = split(*a.plan.fallback_pairs.add(index as usize), a.ncouls);
        let warp = [thread.thread_in_block / WARP, SHAPE.warps];
        return fallback_pair(a, ig, igp, false, warp, term);
    }
    let words = a.plan.fallback_mask;
    let record = words.add(*words.add(number as usize) as usize);
    if uniform(*record.add(2) == STATIC_TILE as u32) {
        static_sums(a, ListedPairs::from_record(record, thread))
    } else {
        pairs(a, ListedPairs::from_record(record, thread))
    }
}

/// Static poles are so far from all energies that `ssx = −eps` and `sch = −(1 + w/ω̃)·eps` to the last digit. So
/// `eps·conj(aqsm_local)` of a thread's pairs is summed before anything else is done with it, no quotient is needed,
/// and one more energy costs nothing: all bands' energies differ by the same.
#[inline(always)]
unsafe fn static_sums<const NW: usize>(
    a: &Arrays,
    list: ListedPairs<STATIC_TILE>,
) -> ThreadSums<NW> {
    let weights: [Complex64; STATIC_TILE] = from_fn(|t| list.weight(a, t));
    let zero = Complex64::new(0.0, 0.0);
    // With the occupation, and with 1 + w/ω̃ of the first energy.
    let (mut occupied, mut all) = (zero, zero);
    list.bands(a, 0..a.nbands, |n, band| {
        let (w, occ): ([f64; NW], f64) = (a.plan.energies(n), a.occ(n));
        let mut sum = zero;
        each::<STATIC_TILE>(|t| {
            let (weight, aqsm) = (weights[t], band.aqsm[t]);
            sum.re = sum.re + weight.re * aqsm.re;
            sum.im = sum.im + weight.im * aqsm.re;
            sum.re = sum.re + weight.im * aqsm.im;
            sum.im = sum.im - weight.re * aqsm.im;
        });
        let term = sum * band.aqsn;
        let factor = 1.0 + w[0] * (1.0 / STATIC);
        occupied = occupied + term * occ;
        all = all + term * factor;
    });
    let w: [f64; NW] = a.plan.energies(0);
    let mut sums = ThreadSums::zero();
    let half = all * -0.5;
    each::<NW>(|e| {
        sums.asx[e] = occupied;
        sums.ach[e] = half + half * ((w[e] - w[0]) * (1.0 / STATIC));
    });
    sums
}

/// The pairs that a thread sums, all of its `ig`.
#[derive(Clone, Copy)]
pub struct ListedPairs<const T: usize> {
    pub ig: u32,
    /// The first `igp` of the window.
    pub first: u32,
    pub last: u32,
    /// Of each pair, the offset in the window, or [`NONE`].
    offsets: [u8; T],
}

impl<const T: usize> ListedPairs<T> {
    #[inline(always)]
    unsafe fn from_record(record: *const u32, thread: Thread) -> ListedPairs<T> {
        let ig = *record.add(3 + (thread.thread_in_block % WARP) as usize);
        let first = *record;
        let offsets =
            *record.add(HEAD as usize).cast::<[u8; T]>().add(thread.thread_in_block as usize);
        ListedPairs { ig, first, last: first + *record.add(1) - 1, offsets }
    }

    /// Offset in the window of pair `t`; the first one's if there is no pair.
    #[inline(always)]
    fn offset(self, t: usize) -> u32 {
        let offset = self.offsets[t];
        if offset == NONE { 0 } else { offset.into() }
    }
}

/// Bands of a stage: between two barriers.
const BANDS: u32 = 2;

/// Stages in shared memory, a power of two: one is summed, the others are on their way.
const STAGES: u32 = 4;

/// Bytes of a band: an element for each thread.
const BAND: u32 = SHAPE.threads() * ELEMENT;

const STAGE: u32 = BANDS * BAND;

shared_memory! { align 16 gpp_windows: STAGES * STAGE }

impl<const T: usize> PairSource<T> for ListedPairs<T> {
    #[inline(always)]
    unsafe fn pair(self, _: &Arrays, t: usize) -> Option<(u32, u32)> {
        (self.offsets[t] != NONE).then(|| (self.ig, self.first + self.offset(t)))
    }

    /// On the CPU each thread reads its own.
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn bands(
        self,
        a: &Arrays,
        range: Range<u32>,
        mut step: impl FnMut(u32, &BandElements<T>),
    ) {
        use crate::intrinsics::load;

        for n in range {
            let first = n * Planned::rows(a.ngpown) + self.first;
            let band = BandElements {
                aqsn: load(a.aqsn, n * a.ncouls + self.ig),
                aqsm: from_fn(|t| load(a.aqsm_local, first + self.offset(t))),
                wx: [0.0; 4],
            };
            step(n, &band);
        }
    }

    /// A block copies the `aqsn` of its `ig` and the `aqsm_local` of its window to shared memory, one element
    /// of a band a thread, some stages ahead of the one that it sums; each lane reads those of its own `igp`.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn bands(
        self,
        a: &Arrays,
        range: Range<u32>,
        mut step: impl FnMut(u32, &BandElements<T>),
    ) {
        use crate::intrinsics::{
            barrier, commit_copies, copied, copy_to_shared, load_shared_pair, thread_in_block,
        };

        let (begin, end) = (range.start, range.end);
        if begin >= end {
            return;
        }
        let base = gpp_windows();
        let thread = thread_in_block();
        let igp = self.first + thread - WARP;
        let (array, stride, element) = match thread < WARP {
            true => (a.aqsn, a.ncouls, self.ig),
            false => (a.aqsm_local, Planned::rows(a.ngpown), igp),
        };
        let copies = thread < WARP || igp <= self.last;
        // A stage past the end is committed empty, so that as many are under way whatever the range.
        let copy = |n: u32, index: u32| {
            if copies && n < end {
                each::<{ BANDS as usize }>(|band| {
                    // Past the last band, that of the last.
                    let from = (n + band as u32).min(a.nbands - 1) * stride + element;
                    let to = base + index + band as u32 * BAND + thread * ELEMENT;
                    copy_to_shared(to, array.add(from as usize));
                });
            }
            commit_copies();
        };
        let aqsn = base + thread % WARP * ELEMENT;
        let aqsm: [u32; T] = from_fn(|t| base + (WARP + self.offset(t)) * ELEMENT);
        let read = |index: u32| BandElements {
            aqsn: load_shared_pair(aqsn + index),
            aqsm: aqsm.map(|slot| load_shared_pair(slot + index)),
            wx: [0.0; 4],
        };

        const AHEAD: u32 = STAGES - 1;
        each::<{ AHEAD as usize }>(|stage| {
            copy(begin + stage as u32 * BANDS, stage as u32 * STAGE)
        });
        let (mut n, mut at) = (begin, 0);
        while n < end {
            // The stage that is filled now is the one that all threads have summed before this barrier.
            copied::<{ AHEAD - 1 }>();
            barrier();
            copy(n + AHEAD * BANDS, (at + AHEAD * STAGE) % (STAGES * STAGE));
            if n + 1 < end {
                let (first, second) = (read(at), read(at + BAND));
                step(n, &first);
                step(n + 1, &second);
            } else {
                step(n, &read(at));
            }
            n += BANDS;
            at = (at + STAGE) % (STAGES * STAGE);
        }
        // Before the first stage is filled again.
        barrier();
    }
}
