//! The kernels: a block's place, its rows and what it stores.

use super::fragment::{COLUMNS, ROWS, sum};
use super::image::{LEFT, RIGHT, left};
use super::lanes::{LANES, lane, unrolled};
use super::poles::{Exchange, Given, Hole, Limits, Make};
use super::products::{complex, products};
use super::stages::{Extent, Rows, Stages};
use crate::arguments::arguments;
use crate::intrinsics::WARP;

/// The tile of a block: fragments of a warp, and warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Fragments of 16 l of a warp.
    pub m: u32,
    /// Fragments of 8 igp of a warp.
    pub n: u32,
    /// Warps along l.
    pub across: u32,
    /// Warps along igp.
    pub along: u32,
    /// Stages of its ring.
    pub stages: u32,
}

impl Tile {
    /// Warps of a block.
    pub const fn warps(self) -> u32 {
        self.across * self.along
    }

    /// Threads of a block.
    pub const fn threads(self) -> u32 {
        self.warps() * WARP
    }

    /// Where a warp is along l and along igp: a scheduler, which has every fourth warp, has all along l.
    #[inline(always)]
    pub const fn of_warp(self, warp: u32) -> (u32, u32) {
        (warp / self.along, warp % self.along)
    }

    /// Left fragments of a block.
    pub const fn left(self) -> u32 {
        self.m * self.across
    }

    /// Right fragments of a block.
    pub const fn right(self) -> u32 {
        self.n * self.along
    }

    /// What a stage holds, of right images of so many words.
    pub const fn extent(self, words: u32) -> Extent {
        Extent { left: self.left(), right: self.right(), words, stages: self.stages }
    }
}

arguments! {
    /// What kernels of the first product take; U is left for the second as a left image for each item.
    First {
        /// A of items in groups: left images whose rows hold the fragments of one item after the other.
        a: *const f64,
        /// Right image of poles.
        poles: *const f64,
        /// `w` of the items, of n that follow each other.
        w: *const f64,
        /// Left images of U, one for each item.
        u: *mut f64,
        /// Steps of ig.
        steps: u32,
        /// Items.
        count: u32,
        /// Left fragments of an item, two or more.
        fragments: u32,
        /// Left fragments of a group, a multiple of a block's.
        group: u32,
        /// Right fragments of the poles, which are steps of U, a multiple of a block's.
        right: u32,
        /// See [`Limits::first`].
        first: u64,
        /// See [`Limits::sexcut`].
        sexcut: u64,
    }
    gpp_offdiag_hole = gpu::hole;
    gpp_offdiag_exchange = gpu::exchange;
}

arguments! {
    /// What the kernel of the second product takes.
    Second {
        /// Left images of U, one for each item.
        u: *const f64,
        /// Right images of V, one for each item.
        v: *const f64,
        /// Sums, `[slot][m][l]` of real and imaginary part, to which are added those of the slot's items.
        sums: *mut f64,
        /// Items; item i is of slot `i % slots`.
        items: u32,
        /// Slots.
        slots: u32,
        /// Steps of igp.
        steps: u32,
        /// Left fragments of U, a multiple of a block's.
        left: u32,
        /// Right fragments of V, a multiple of a block's.
        right: u32,
    }
    gpp_offdiag_second = gpu::second;
}

/// Tile of the first product: 96 l by 64 igp.
pub const TILE: Tile = Tile { m: 3, n: 2, across: 2, along: 4, stages: 9 };
/// Of the second.
pub const TILE_SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4, stages: 8 };

/// Symbols of the first product's kernels, for `sch` and for `ssx`.
pub const FIRST: [&str; 2] = ["gpp_offdiag_hole", "gpp_offdiag_exchange"];

/// Symbol of the second product's kernel.
pub const SECOND: &str = "gpp_offdiag_second";

/// Tiles of igp whose blocks are neighbours: blocks that run at once then read few poles and few A.
const NEIGHBOURS: u32 = 12;

/// Rows that follow each other.
struct InOrder {
    left: *const f64,
    right: *const f64,
    left_stride: usize,
    right_stride: usize,
}

impl Rows for InOrder {
    #[inline(always)]
    fn next(&mut self) -> (*const f64, *const f64) {
        let now = (self.left, self.right);
        self.left = self.left.wrapping_add(self.left_stride);
        self.right = self.right.wrapping_add(self.right_stride);
        now
    }
}

/// Rows of every so manyth item.
struct OfSlot {
    rows: InOrder,
    step: u32,
    steps: u32,
    left_jump: usize,
    right_jump: usize,
}

impl Rows for OfSlot {
    #[inline(always)]
    fn next(&mut self) -> (*const f64, *const f64) {
        if self.step == self.steps {
            self.step = 0;
            self.rows.left = self.rows.left.wrapping_add(self.left_jump);
            self.rows.right = self.rows.right.wrapping_add(self.right_jump);
        }
        self.step += 1;
        self.rows.next()
    }
}

/// A block's tile, column and item; no counts are zero, which the compiler does not know.
#[inline(always)]
fn split(block: u32, tiles: u32, columns: u32) -> (u32, u32, u32) {
    let (tiles, columns) = (tiles.max(1), columns.max(1));
    (block % tiles, block / tiles % columns, block / tiles / columns)
}

impl First {
    /// Blocks of a launch.
    pub fn blocks(&self) -> u32 {
        self.right / TILE.right() * self.columns()
    }

    /// Tiles of l, of all items.
    #[inline(always)]
    fn columns(&self) -> u32 {
        (self.count * self.fragments).div_ceil(TILE.left())
    }

    /// Tile of igp and tile of l of a block.
    #[inline(always)]
    fn place(&self, block: u32) -> (u32, u32) {
        let (tiles, columns) = (self.right / TILE.right(), self.columns().max(1));
        let before = block / columns / NEIGHBOURS * NEIGHBOURS;
        let (at, width) = (block - before * columns, (tiles - before).min(NEIGHBOURS).max(1));
        (before + at % width, at / width)
    }

    /// The rows of a block.
    #[inline(always)]
    fn rows(&self, words: u32, block: u32) -> impl Rows {
        let (igp, column) = self.place(block);
        let (first, row) = (column * TILE.left(), self.group.max(1));
        let before = (first / row) as usize * self.steps as usize * row as usize;
        InOrder {
            left: self.a.wrapping_add((before + (first % row) as usize) * LEFT as usize),
            right: self.poles.wrapping_add((igp * TILE.right() * words * RIGHT) as usize),
            left_stride: (self.group * LEFT) as usize,
            right_stride: (self.right * words * RIGHT) as usize,
        }
    }

    /// Sums and stores the tile of one warp of a block.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) of these kernels; all lanes of the warp come here, with stages of the
    /// block's rows.
    #[inline(always)]
    unsafe fn warp<P: Make<WORDS>, const WORDS: usize>(
        &self,
        stages: &mut impl Stages,
        block: u32,
        warp: u32,
    ) {
        const M: usize = TILE.m as usize;
        const N: usize = TILE.n as usize;
        let (igp, column) = self.place(block);
        let (across, along) = TILE.of_warp(warp);
        let (m0, n0) = (across * TILE.m, along * TILE.n);
        let first = column * TILE.left() + m0;
        let each = self.fragments.max(1);
        // What is behind the last item is summed with its poles, and not stored.
        let of = |fragment: u32| (fragment / each).min(self.count - 1) as usize;
        // SAFETY: this function's own contract.
        unsafe {
            let w = [*self.w.add(of(first)), *self.w.add(of(first + TILE.m - 1))];
            let limits = Limits { first: self.first, sexcut: self.sexcut };
            let (steps, cuts) = (self.steps, P::CUTS && (w[0] < 0.0 || w[1] < 0.0));
            let sums = match (each - first % each, cuts) {
                (1, true) => products::<P, WORDS, M, N, 1>(stages, steps, limits, w, m0, n0),
                (2, true) => products::<P, WORDS, M, N, 2>(stages, steps, limits, w, m0, n0),
                (_, true) => products::<P, WORDS, M, N, M>(stages, steps, limits, w, m0, n0),
                (1, false) => products::<P::Uncut, WORDS, M, N, 1>(stages, steps, limits, w, m0, n0),
                (2, false) => products::<P::Uncut, WORDS, M, N, 2>(stages, steps, limits, w, m0, n0),
                (_, false) => products::<P::Uncut, WORDS, M, N, M>(stages, steps, limits, w, m0, n0),
            };
            let igp = (igp * TILE.right() + n0) * COLUMNS;
            unrolled::<M>(|m| {
                let fragment = first + m as u32;
                let item = fragment / each;
                if item < self.count {
                    let image = (item * self.right) as usize * (each * LEFT) as usize;
                    let l = fragment % each * ROWS;
                    unrolled::<N>(|n| {
                        unrolled::<4>(|element| {
                            for of in 0..LANES {
                                let (row, column) = sum(lane(of), element as u32);
                                let igp = igp + n as u32 * COLUMNS + column;
                                let at = left((l + row) as usize, igp as usize, each as usize);
                                let to = self.u.add(image + at);
                                let [re, im] = complex(&sums[m][n], element, of);
                                *to = re;
                                *to.add(LEFT as usize / 2) = im;
                            }
                        });
                    });
                }
            });
        }
    }
}

impl Second {
    /// Blocks of a launch.
    pub fn blocks(&self, tile: Tile) -> u32 {
        self.right / tile.right() * (self.left / tile.left()) * self.slots
    }

    /// Tile of m, tile of l, and slot of a block.
    #[inline(always)]
    fn place(&self, tile: Tile, block: u32) -> (u32, u32, u32) {
        split(block, self.right / tile.right(), self.left / tile.left())
    }

    /// The steps of a slot.
    #[inline(always)]
    fn steps(&self, slot: u32) -> u32 {
        (self.items + self.slots - 1 - slot).checked_div(self.slots).unwrap_or(0) * self.steps
    }

    /// The rows of a block.
    #[inline(always)]
    fn rows(&self, tile: Tile, block: u32) -> impl Rows {
        let (m, l, slot) = self.place(tile, block);
        let (left, right) = ((self.left * LEFT) as usize, (self.right * 2 * RIGHT) as usize);
        let first = slot as usize * self.steps as usize;
        let skipped = (self.slots as usize - 1) * self.steps as usize;
        OfSlot {
            rows: InOrder {
                left: self.u.wrapping_add(first * left + (l * tile.left() * LEFT) as usize),
                right: self.v.wrapping_add(first * right + (m * tile.right() * 2 * RIGHT) as usize),
                left_stride: left,
                right_stride: right,
            },
            step: 0,
            steps: self.steps,
            left_jump: skipped * left,
            right_jump: skipped * right,
        }
    }

    /// Sums the tile of one warp of a block, and adds it to what is stored.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) of these kernels; all lanes of the warp come here, with stages of the
    /// block's rows.
    #[inline(always)]
    unsafe fn warp<const M: usize, const N: usize>(
        &self,
        tile: Tile,
        stages: &mut impl Stages,
        block: u32,
        warp: u32,
    ) {
        let (m, l, slot) = self.place(tile, block);
        let (across, along) = tile.of_warp(warp);
        let (m0, n0) = (across * M as u32, along * N as u32);
        let none = Limits { first: 0, sexcut: 0 };
        // SAFETY: this function's own contract.
        unsafe {
            let sums = products::<Given, 2, M, N, M>(stages, self.steps(slot), none, [0.0; 2], m0, n0);
            let (ls, ms) = ((self.left * ROWS) as usize, (self.right * COLUMNS) as usize);
            let to = self.sums.add(slot as usize * ls * ms * 2);
            let (l, m) = ((l * tile.left() + m0) * ROWS, (m * tile.right() + n0) * COLUMNS);
            unrolled::<M>(|i| {
                unrolled::<N>(|j| {
                    unrolled::<4>(|element| {
                        for of in 0..LANES {
                            let (row, column) = sum(lane(of), element as u32);
                            let l = (l + i as u32 * ROWS + row) as usize;
                            let m = (m + j as u32 * COLUMNS + column) as usize;
                            let to = to.add(2 * (m * ls + l));
                            let [re, im] = complex(&sums[i][j], element, of);
                            *to += re;
                            *to.add(1) += im;
                        }
                    });
                });
            });
        }
    }
}

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use super::super::stages::Ring;
    use super::*;
    use crate::intrinsics::{block, lane};

    macro_rules! first {
        ($($name:ident: $make:ty, $words:literal;)+) => {$(
            /// An entry's block.
            ///
            /// # Safety
            /// The launch contract.
            #[inline(always)]
            pub unsafe fn $name(arguments: First) {
                // SAFETY: the launch contract.
                unsafe {
                    let (rows, steps) = (arguments.rows($words, block()), arguments.steps);
                    let mut ring = Ring::new(rows, const { TILE.extent($words) }, steps, TILE.warps());
                    arguments.warp::<$make, $words>(&mut ring, block(), lane() / WARP);
                }
            }
        )+};
    }

    first! {
        hole: Hole, 3;
        exchange: Exchange<true>, 3;
    }

    /// The second product's block.
    ///
    /// # Safety
    /// The launch contract.
    #[inline(always)]
    pub unsafe fn second(arguments: Second) {
        const TILE: Tile = super::TILE_SECOND;
        // SAFETY: the launch contract.
        unsafe {
            let rows = arguments.rows(TILE, block());
            let (_, _, slot) = arguments.place(TILE, block());
            let steps = arguments.steps(slot);
            let mut ring = Ring::new(rows, TILE.extent(2), steps, TILE.warps());
            arguments.warp::<{ TILE.m as usize }, { TILE.n as usize }>(
                TILE,
                &mut ring,
                block(),
                lane() / WARP,
            );
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use super::super::stages::InPlace;
    use super::*;

    impl First {
        /// Runs the kernel here, block by block and warp by warp.
        ///
        /// # Safety
        /// The launch contract, with pointers of the host.
        pub unsafe fn run<P: Make<WORDS>, const WORDS: usize>(&self) {
            for block in 0..self.blocks() {
                for warp in 0..TILE.warps() {
                    let stages = &mut InPlace::new(self.rows(WORDS as u32, block));
                    // SAFETY: this function's own contract.
                    unsafe { self.warp::<P, WORDS>(stages, block, warp) };
                }
            }
        }
    }

    impl Second {
        /// As [`First::run`].
        ///
        /// # Safety
        /// As there.
        pub unsafe fn run(&self) {
            let tile = TILE_SECOND;
            for block in 0..self.blocks(tile) {
                for warp in 0..tile.warps() {
                    // SAFETY: this function's own contract.
                    unsafe {
                        let stages = &mut InPlace::new(self.rows(tile, block));
                        self.warp::<2, 2>(tile, stages, block, warp);
                    }
                }
            }
        }
    }
}
