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

use num_complex::{Complex, Complex64};

use crate::arrays::Arrays;
use crate::arrays::Planned;
use crate::grid::{Thread, split};
use crate::intrinsics::WARP;

/// Blocks that sum odd pairs, or tiles, in a row while there are both: about as many as a GPU has
/// multiprocessors, which are given blocks in turn.
const RUN: u32 = 128;

/// The blocks of a launch and the groups that their sums are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub threads: u32,
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

    #[inline(always)]
    pub const fn per_group(self) -> u32 {
        self.ig_blocks + self.odd_blocks
    }

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
    #[inline(always)]
    pub unsafe fn odd_pair(self, a: &Arrays, thread: Thread) -> Option<(u32, u32)> {
        let (group, number) = self.grid_of(a).place(thread.block);
        let first = group * self.igp();
        let last = (first + self.igp()).min(a.ngpown);
        // Offsets of all igp and their end, pairs up to the last offset.
        let begin = *a.plan.odd_begins.add(first as usize);
        let at = begin + number * WARP + thread.lane % WARP;
        let ours = at < *a.plan.odd_begins.add(last as usize);
        ours.then(|| split(*a.plan.odd_pairs.add(at as usize), a.ncouls))
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
    #[inline(always)]
    unsafe fn pair(self, a: &Arrays, t: usize) -> Option<(u32, u32)> {
        let (ig, igp) = (self.ig, self.igp + t as u32);
        // In range, as checked first.
        let ours = ig < a.ncouls && igp < a.ngpown && !a.plan.is_odd(ig, igp, a.ncouls);
        ours.then_some((ig, igp))
    }

    /// The pole of pair `t`, or one that harms nothing.
    #[inline(always)]
    pub unsafe fn wtilde(self, a: &Arrays, t: usize) -> Complex64 {
        match self.pair(a, t) {
            Some((ig, igp)) => a.wtilde(ig, igp),
            None => Complex::new(HARMLESS, 0.0),
        }
    }

    /// `vcoul · eps` of pair `t`, or zero.
    #[inline(always)]
    pub unsafe fn weight(self, a: &Arrays, t: usize) -> Complex64 {
        match self.pair(a, t) {
            Some((ig, igp)) => a.eps(ig, igp) * a.vcoul_loc(igp),
            None => Complex::new(0.0, 0.0),
        }
    }
}

// Which elements each thread of a block brings to shared memory, and where each finds its own.
//
// A stage holds as many bands as the block has warps, each of elements of 16 bytes: `aqsn` of 32 `ig`,
// `aqsm_local` of the block's `igp`, and `wx` in pairs. Warp `b` brings the `aqsn` of band `b`;
// the rest is dealt out to the threads in turn.

/// The stage of blocks of `W` warps with tiles of `T`.
pub struct Stage<const T: usize, const W: usize>;

/// An array that bands are staged from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
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
    /// Where it is read.
    pub array: Array,
    /// Elements of the array for a band.
    pub stride: u32,
    /// Its place among these.
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

impl<const T: usize, const W: usize> Stage<T, W> {
    pub const BANDS: u32 = W as u32;

    pub const IGP: u32 = (W * T) as u32;

    /// Elements of a band; `wx` has its place in all, so that all stages are as long.
    pub const BAND: u32 = WARP + Self::IGP + Planned::ENERGIES / 2;

    pub const LENGTH: u32 = Self::BANDS * Self::BAND;

    /// What a thread of a block brings, with its place in the grid and the extents of the slab; of
    /// energies only if the bands are `with_energies`. A thread that has no second element to bring
    /// brings its first twice, so that none branches off.
    #[inline(always)]
    pub fn shares(
        thread: u32,
        place: Place,
        ngpown: u32,
        ncouls: u32,
        with_energies: bool,
    ) -> [Share; 2] {
        // Two elements a thread are enough, and the padding holds whole blocks.
        const { assert!(W * T + 2 <= 32 && (Planned::rows(1) as usize).is_multiple_of(W * T)) };
        let (warp, lane) = (thread / WARP, thread % WARP);
        let first = Share {
            array: Array::Aqsn,
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
                array: Array::AqsmLocal,
                stride: Planned::rows(ngpown),
                at: place.igp - warp * T as u32 + igp,
                band,
                slot: band * Self::BAND + WARP + igp,
            }
        } else if with_energies && left < 2 * Self::BANDS {
            let (band, pair) = (left / 2, left % 2);
            Share {
                array: Array::Wx,
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

    /// Where a thread finds `aqsn` in a band.
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

/// `igp` of a tile at most, but for [`WIDE`] ones in blocks of four warps.
pub const MAX_TILE: usize = 3;

/// `igp` of a wide tile.
pub const WIDE: usize = 4;

/// Bytes of an element of a stage.
pub const ELEMENT: u32 = 16;

// Two stages each, and a variable for each number of warps, so that a kernel holds no more than it
// fills.
#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(
    ".shared .align 16 .b8 gpp_stage_4[{four}];",
    ".shared .align 16 .b8 gpp_stage_8[{eight}];",
    ".shared .align 16 .b8 gpp_stage_16[{sixteen}];",
    ".shared .align 16 .b8 gpp_stage_wide[{wide}];",
    four = const 2 * Stage::<MAX_TILE, 4>::LENGTH * ELEMENT,
    eight = const 2 * Stage::<MAX_TILE, 8>::LENGTH * ELEMENT,
    sixteen = const 2 * Stage::<1, 16>::LENGTH * ELEMENT,
    wide = const 2 * Stage::<WIDE, 4>::LENGTH * ELEMENT,
);

/// Shared-memory address of the two stages of blocks of `W` warps with tiles of `T`.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub fn stages<const T: usize, const W: usize>() -> u32 {
    use core::arch::asm;

    const { assert!(W == 4 || W == 8 || W == 16) };
    const { assert!(T <= MAX_TILE || T == WIDE && W == 4) };
    let base: u32;
    // SAFETY: takes an address.
    unsafe {
        match W {
            4 if T == WIDE => asm!("mov.u32 {}, gpp_stage_wide;", out(reg32) base,
                                   options(pure, nomem, nostack, preserves_flags)),
            4 => asm!("mov.u32 {}, gpp_stage_4;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
            8 => asm!("mov.u32 {}, gpp_stage_8;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
            _ => asm!("mov.u32 {}, gpp_stage_16;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
        }
    }
    base
}
