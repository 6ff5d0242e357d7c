//! Tiles: how the pairs of a slab are dealt out to blocks from v9 on, and where each block's sum goes.
//!
//! A warp owns 32 neighbouring `ig`, each of its threads a tile of neighbouring `igp` and all bands. The
//! warps of a block share their `ig`, and blocks of the same `ig` follow each other in the grid, so that
//! what they read of `aqsn` is found near by.
//!
//! The `igp` of a block are a *group*; blocks of the same `igp` are of the same group, and so are the
//! blocks that sum the odd pairs ([`crate::plan`]) of these `igp`. A sum is kept
//! for each group, of nothing but its own data, and in an order that depends on nothing else: it has the
//! same bits in whatever slab of whole groups it stands.

use num_complex::Complex;

use crate::arrays::Arrays;
use crate::grid::{Thread, split};
use crate::intrinsics::WARP;
use crate::real::Real;

/// Blocks that sum odd pairs, or tiles, in a row while there are both: about as many as a GPU has
/// multiprocessors, which are given blocks in turn.
const RUN: u32 = 128;

/// The blocks of a launch and the groups that their sums are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Threads of a block.
    pub threads: u32,
    /// Groups of `igp`.
    pub groups: u32,
    /// Blocks of each group that sum tiles, one for each 32 `ig`; or all blocks of the only group.
    pub ig_blocks: u32,
    /// Blocks of each group that sum odd pairs.
    pub odd_blocks: u32,
    /// Whether blocks of odd pairs take turns with those of tiles, or come first.
    pub take_turns: bool,
}

impl Grid {
    /// A grid whose blocks are of one group, the slab.
    pub const fn ungrouped(blocks: u32, threads: u32) -> Grid {
        Grid { threads, groups: 1, ig_blocks: blocks, odd_blocks: 0, take_turns: false }
    }

    /// Blocks of each group.
    #[inline(always)]
    pub const fn per_group(self) -> u32 {
        self.ig_blocks + self.odd_blocks
    }

    /// Blocks of the launch.
    #[inline(always)]
    pub const fn blocks(self) -> u32 {
        self.groups * self.per_group()
    }

    /// Whether a block sums odd pairs and no tile. Of the block's number itself, without a division: the
    /// compiler would not know that all threads of a block go the same way.
    #[inline(always)]
    pub const fn is_odd(self, block: u32) -> bool {
        self.turn(block).0
    }

    /// Whether a block sums odd pairs, and its number among those that do as it does. Where they take
    /// turns, [`RUN`]s of both do, so that multiprocessors hold some of each.
    #[inline(always)]
    const fn turn(self, block: u32) -> (bool, u32) {
        let (odd, tiles) = (self.odd_blocks * self.groups, self.ig_blocks * self.groups);
        let mixed = match self.take_turns {
            true => (if odd < tiles { odd } else { tiles }) / RUN * RUN,
            false => 0,
        };
        if block < 2 * mixed {
            return (block % (2 * RUN) < RUN, block / (2 * RUN) * RUN + block % RUN);
        }
        let rest = block - mixed;
        if rest < odd { (true, rest) } else { (false, rest - odd + mixed) }
    }

    /// Group of a block and, within it, the number among those that sum odd pairs or among those that
    /// sum tiles.
    #[inline(always)]
    pub fn place(self, block: u32) -> (u32, u32) {
        let (number, group) = split(self.turn(block).1, self.groups);
        (group, number)
    }

    /// Where a block's sum is kept among those of all blocks, `(per_group, groups)`: those of tiles by
    /// `ig`, then those of odd pairs.
    #[inline(always)]
    pub fn slot(self, block: u32) -> u32 {
        let (group, number) = self.place(block);
        let first = if self.is_odd(block) { self.ig_blocks } else { 0 };
        group * self.per_group() + first + number
    }
}

/// Extents of a block's tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// `igp` of a thread.
    pub tile: u32,
    /// Warps of a block; each has its own `igp`.
    pub warps: u32,
}

impl Shape {
    /// Threads of a block.
    pub const fn threads(self) -> u32 {
        self.warps * WARP
    }

    /// `igp` of a block: of a group.
    pub const fn igp(self) -> u32 {
        self.warps * self.tile
    }

    /// Blocks that each group needs for its odd pairs, one a lane, as many as that with most of them;
    /// `odd_begins` as in [`crate::plan::Plan`].
    pub fn odd_blocks(self, odd_begins: &[u32]) -> u32 {
        let last = odd_begins.len().saturating_sub(1);
        let groups = (0..last).step_by(self.igp() as usize);
        let pairs = groups.map(|begin| {
            let end = last.min(begin + self.igp() as usize);
            odd_begins[end] - odd_begins[begin]
        });
        pairs.max().unwrap_or(0).div_ceil(WARP)
    }

    /// The grid for a slab.
    #[inline(always)]
    pub const fn grid(self, ngpown: u32, ncouls: u32, odd_blocks: u32) -> Grid {
        Grid {
            threads: self.threads(),
            groups: ngpown.div_ceil(self.igp()),
            ig_blocks: ncouls.div_ceil(WARP),
            odd_blocks,
            // Odd pairs wait for memory, tiles of several igp for arithmetic; those of one wait too.
            take_turns: self.tile > 1,
        }
    }

    /// The grid of the launch that a body belongs to.
    #[inline(always)]
    pub const fn grid_of(self, a: &Arrays) -> Grid {
        self.grid(a.ngpown, a.ncouls, a.plan.odd_blocks)
    }

    /// Where the tile of a thread begins, in a block that sums tiles.
    #[inline(always)]
    pub fn place(self, a: &Arrays, thread: Thread) -> Place {
        let (group, ig_block) = self.grid_of(a).place(thread.block);
        let (warp, lane) = (thread.lane / WARP, thread.lane % WARP);
        Place { ig: ig_block * WARP + lane, igp: (group * self.warps + warp) * self.tile }
    }

    /// `igp` and `ig` of the odd pair of a thread, in a block that sums odd pairs: the same ones in each
    /// warp, which has its share of the bands.
    ///
    /// # Safety
    /// The [launch contract](crate::contract).
    #[inline(always)]
    pub unsafe fn odd_pair(self, a: &Arrays, thread: Thread) -> Option<(u32, u32)> {
        let (group, number) = self.grid_of(a).place(thread.block);
        let first = group * self.igp();
        let last = (first + self.igp()).min(a.ngpown);
        // SAFETY: the launch contract: offsets of all igp and their end, pairs up to the last offset.
        unsafe {
            let begin = *a.plan.odd_begins.add(first as usize);
            let at = begin + number * WARP + thread.lane % WARP;
            let ours = at < *a.plan.odd_begins.add(last as usize);
            ours.then(|| split(*a.plan.odd_pairs.add(at as usize), a.ncouls))
        }
    }
}

/// A pole farther than any regular one: no energy of the fast loops meets it or its negative.
pub const HARMLESS: f64 = 1e31;

/// Where a thread's tile begins. Pairs past the edge or with an odd pole are summed as a harmless pole of
/// weight zero.
#[derive(Clone, Copy)]
pub struct Place {
    /// The thread's `ig`.
    pub ig: u32,
    /// Its first `igp`.
    pub igp: u32,
}

impl Place {
    /// `ig` and `igp` of pair `t` of the tile, where it is in range and regular.
    ///
    /// # Safety
    /// The [launch contract](crate::contract).
    #[inline(always)]
    unsafe fn pair(self, a: &Arrays, t: usize) -> Option<(u32, u32)> {
        let (ig, igp) = (self.ig, self.igp + t as u32);
        // SAFETY: the launch contract; in range, as checked first.
        let ours = ig < a.ncouls && igp < a.ngpown && unsafe { !a.plan.is_odd(ig, igp, a.ncouls) };
        ours.then_some((ig, igp))
    }

    /// The pole of pair `t`, or one that harms nothing.
    ///
    /// # Safety
    /// The [launch contract](crate::contract).
    #[inline(always)]
    pub unsafe fn wtilde<R: Real>(self, a: &Arrays, t: usize) -> Complex<R> {
        // SAFETY: the launch contract.
        match unsafe { self.pair(a, t) } {
            // SAFETY: the launch contract; in range, as the pair is.
            Some((ig, igp)) => unsafe { a.wtilde(ig, igp) },
            None => Complex::new(R::of(HARMLESS), R::zero()),
        }
    }

    /// `vcoul · eps` of pair `t`, or zero.
    ///
    /// # Safety
    /// The [launch contract](crate::contract).
    #[inline(always)]
    pub unsafe fn weight<R: Real>(self, a: &Arrays, t: usize) -> Complex<R> {
        // SAFETY: the launch contract.
        match unsafe { self.pair(a, t) } {
            // SAFETY: the launch contract; in range, as the pair is.
            Some((ig, igp)) => unsafe { a.eps::<R>(ig, igp) * a.vcoul_loc::<R>(igp) },
            None => Complex::new(R::zero(), R::zero()),
        }
    }
}
