//! Lists: each lane of a block sums its own `igp`, those alone whose terms are not zero.
//!
//! Many pairs of a real problem have a pole or a weight of zero. Tiles go through them with a harmless pole.
//! Here the regular pairs of each `ig` that contribute are dealt out in ascending order of `igp`, so many to a block,
//! and each lane of a block has the next ones of its own `ig`. What the lanes of a block have stands in a *window* of
//! neighbouring `igp`, so that the block stages no more than these. An `ig` whose next `igp` is past the window waits
//! for the next block.
//!
//! Pairs with the [static pole](STATIC) have lists and blocks of their own, with more `igp` in a thread.
//!
//! The words of the lists begin with where the *record* of each block is. A record has the first `igp` of
//! the window, the number of these, and the `igp` of a thread; then the `ig` of each lane, some that have about as many
//! `igp`; then, for each thread, a byte for each of its `igp`: the place in the window.

use crate::arrays::Arrays;
use crate::formula::TermFn;
use crate::grid::{Thread, split};
use crate::intrinsics::{WARP, uniform};
use crate::real::Real;
use crate::sums::Sums;
use crate::tiles::gathered::Gathered;
use crate::tiles::{Fraction, odd_pair, static_poles};
use crate::tiling::{Grid, Shape, Tile};

/// The shape of blocks.
pub const SHAPE: Shape = Shape { tile: TILE as u32, warps: WARPS as u32 };

/// `igp` of a thread.
const TILE: usize = 2;

/// `igp` of a thread that sums static pairs.
pub const STATIC_TILE: usize = 4;

const WARPS: usize = 8;

/// The pole in eV that BerkeleyGW gives to invalid modes. Its pairs, *static* ones, have lists of their own.
pub const STATIC: f64 = 1e12;

/// `igp` of a window: with the `ig` of a block, one for each thread.
pub const WINDOW: u32 = SHAPE.threads() - WARP;

/// What stands in the place of an `igp` where a lane has none.
pub const NONE: u8 = u8::MAX;

/// Words of a record before its bytes.
pub const HEAD: u32 = 3 + WARP;

/// Words of a record with so many `igp` in a thread.
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

/// Blocks that sum odd pairs, one a lane.
pub fn odd_blocks(odd_begins: &[u32]) -> u32 {
    odd_begins.last().map_or(0, |pairs| pairs.div_ceil(WARP))
}

/// The grid of so many records and blocks of odd pairs: one group, the slab.
#[inline(always)]
pub const fn grid(records: u32, odd_blocks: u32) -> Grid {
    Grid { threads: SHAPE.threads(), groups: 1, ig_blocks: records, odd_blocks, take_turns: true }
}

/// The grid that a thread stands in.
#[inline(always)]
const fn grid_of(a: &Arrays, thread: Thread) -> Grid {
    grid(thread.count / SHAPE.threads() - a.plan.odd_blocks, a.plan.odd_blocks)
}

/// The blocks of a launch.
pub struct Blocks;

#[cfg(target_arch = "nvptx64")]
impl Blocks {
    /// Their grid.
    #[inline(always)]
    pub fn grid_of(self, a: &Arrays) -> Grid {
        grid_of(a, Thread::calling())
    }
}

/// One thread's sums: pairs of a record, or its share of an odd pair by the definition as `term` writes it.
///
/// # Safety
/// The [launch contract](crate::contract), of a kernel of lists.
#[inline(always)]
pub unsafe fn sums<F, R: Real, const NW: usize>(
    a: &Arrays,
    thread: Thread,
    term: impl TermFn<R>,
) -> Sums<R, NW>
where
    F: Fraction<Bands = Gathered>,
{
    let grid = grid_of(a, thread);
    let (_, number) = grid.place(thread.block);
    // SAFETY: the launch contract; all threads of a block go the same way.
    unsafe {
        if grid.is_odd(thread.block) {
            let at = number * WARP + thread.lane % WARP;
            if at >= *a.plan.odd_begins.add(a.ngpown as usize) {
                return Sums::zero();
            }
            let (igp, ig) = split(*a.plan.odd_pairs.add(at as usize), a.ncouls);
            return odd_pair::<_, NW, WARPS>(a, ig, igp, thread.lane / WARP, term);
        }
        let record = a.plan.lists().add(*a.plan.lists().add(number as usize) as usize);
        if uniform(*record.add(2) == STATIC_TILE as u32) {
            static_poles::sums::<Gathered, R, NW, STATIC_TILE, WARPS>(a, Listed::of(record, thread))
        } else {
            F::sums::<R, NW, TILE, WARPS>(a, Listed::of(record, thread))
        }
    }
}

/// What a thread sums: pairs of its `ig`.
#[derive(Clone, Copy)]
pub struct Listed<const T: usize> {
    /// The thread's `ig`.
    pub ig: u32,
    /// The first `igp` of the window.
    pub first: u32,
    /// The last one.
    pub last: u32,
    /// Of each pair, place in the window, or [`NONE`].
    places: [u8; T],
}

impl<const T: usize> Listed<T> {
    /// What a thread has of a record.
    ///
    /// # Safety
    /// The record is one of tiles of `T`.
    #[inline(always)]
    unsafe fn of(record: *const u32, thread: Thread) -> Listed<T> {
        // SAFETY: this function's own contract.
        unsafe {
            let ig = *record.add(3 + (thread.lane % WARP) as usize);
            let first = *record;
            let places = *record.add(HEAD as usize).cast::<[u8; T]>().add(thread.lane as usize);
            Listed { ig, first, last: first + *record.add(1) - 1, places }
        }
    }

    /// Place in the window of pair `t`, some place where there is none.
    #[inline(always)]
    pub fn place(self, t: usize) -> u32 {
        let place = self.places[t];
        if place == NONE { 0 } else { place.into() }
    }
}

impl<const T: usize> Tile for Listed<T> {
    #[inline(always)]
    unsafe fn pair(self, _: &Arrays, t: usize) -> Option<(u32, u32)> {
        (self.places[t] != NONE).then(|| (self.ig, self.first + self.place(t)))
    }
}
