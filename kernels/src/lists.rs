//! Lists: each lane of a block sums its own `igp`, those alone whose terms are not zero.
//!
//! Many pairs of a real problem have a pole or a weight of zero. Tiles go through them with a harmless pole.
//! Here the blocks of a group share its `igp`: for each `ig` those of its regular pairs that contribute are dealt
//! out in ascending order, so many to a block, and each lane of a block has the next ones of its own `ig`. What the
//! lanes of a block have stands in a *window* of neighbouring `igp`, so that the block stages no more than these.
//! An `ig` whose next `igp` is past the window waits for the next block.
//!
//! Each 32 `ig` of a group have two lists, that of pairs with the [static pole](STATIC) after that of all others. The
//! words of the lists begin with the number of the first block of each, and the number of all; then come the *records*, one a block: the first `igp` of its window, and for each lane one byte for each
//! `igp`, its place in the window. A block takes 16 `igp` of each `ig` from a window that begins with the first of
//! all, so that a group needs no more blocks than tiles would.

use crate::arrays::Arrays;
use crate::grid::Thread;
use crate::intrinsics::WARP;
use crate::tiling::{Shape, Tile};

/// The shape of blocks that sum lists.
pub const SHAPE: Shape = Shape { tile: 2, warps: 8, sharing: 16, lists: 2 };

/// The pole in eV that BerkeleyGW gives to invalid modes. Its pairs, *static* ones, have lists of their own.
pub const STATIC: f64 = 1e12;

/// `igp` of a window.
pub const WINDOW: u32 = 96;

/// What stands in the place of an `igp` where a lane has none: a place in the window all the same, marked.
pub const NONE: u8 = 1 << 7;

/// Bytes of a record's `igp`.
pub const BYTES: u32 = SHAPE.igp_of_block() * WARP;

/// Words of a record.
pub const RECORD: u32 = 1 + BYTES / 4;

/// Byte of a record for `igp` number `at` of a lane.
pub const fn byte(at: u32, lane: u32) -> u32 {
    (at / SHAPE.tile * WARP + lane) * SHAPE.tile + at % SHAPE.tile
}

/// Words of the lists of a slab at most.
pub const fn words(ngpown: u64, ncouls: u64) -> u64 {
    let blocks = ngpown.div_ceil(SHAPE.igp() as u64) * ncouls.div_ceil(WARP as u64);
    let lists = blocks * SHAPE.lists as u64;
    lists * (1 + SHAPE.sharing as u64 * RECORD as u64) + 1
}

/// What a thread sums: pairs of its `ig`.
#[derive(Clone, Copy)]
pub struct Listed<const T: usize> {
    /// The thread's `ig`.
    pub ig: u32,
    /// The first `igp` of the window.
    pub first: u32,
    /// Of each pair, place in the window, or [`NONE`].
    places: [u8; T],
    is_static: bool,
}

impl<const T: usize> Listed<T> {
    /// What a thread sums in a block that sums lists, if the block has any.
    ///
    /// # Safety
    /// The [launch contract](crate::contract).
    #[inline(always)]
    pub unsafe fn of(a: &Arrays, thread: Thread) -> Option<Listed<T>> {
        const { assert!(T as u32 == SHAPE.tile) };
        let (group, number) = SHAPE.grid_of(a).place(thread.block);
        let (of_group, number) = (number / SHAPE.sharing, number % SHAPE.sharing);
        let lists = a.ncouls.div_ceil(WARP) * SHAPE.lists;
        let list = group * lists + of_group;
        // SAFETY: the launch contract: a number for each list and that of all, and as many records.
        unsafe {
            let record = *a.plan.lists().add(list as usize) + number;
            if record >= *a.plan.lists().add(list as usize + 1) {
                return None;
            }
            let records = a.ngpown.div_ceil(SHAPE.igp()) * lists + 1;
            let record = a.plan.lists().add((records + record * RECORD) as usize);
            let places = record.add(1).cast::<[u8; T]>().add(thread.lane as usize);
            let ig = of_group / SHAPE.lists * WARP + thread.lane % WARP;
            let is_static = of_group % SHAPE.lists == 1;
            Some(Listed { ig, first: *record, places: *places, is_static })
        }
    }

    /// Place in the window of pair `t`, some place where there is none.
    #[inline(always)]
    pub fn place(self, t: usize) -> u32 {
        u32::from(self.places[t] & !NONE)
    }
}

impl<const T: usize> Tile for Listed<T> {
    #[inline(always)]
    unsafe fn pair(self, _: &Arrays, t: usize) -> Option<(u32, u32)> {
        (self.places[t] & NONE == 0).then(|| (self.ig, self.first + self.place(t)))
    }

    #[inline(always)]
    fn is_static(self) -> bool {
        self.is_static
    }
}
