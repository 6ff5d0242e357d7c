//! The second product: what U adds to the sums.

use crate::offdiag::fragment::{COLUMNS, LANES, ROWS, lane, sum, unrolled};
use crate::offdiag::image::{LEFT, RIGHT, Rows, split};
use crate::offdiag::poles::{Given, Limits};
use crate::offdiag::products::{complex, products};
#[cfg(not(target_arch = "nvptx64"))]
use crate::offdiag::stages::InPlace;
use crate::offdiag::stages::Stages;
use crate::offdiag::versions::{Tile, Way};

/// Gives a macro what kernels of the second product take, after what is in brackets.
macro_rules! list {
    ($then:ident $with:tt) => {
        $crate::arguments::$then! { $with {
            /// Left images of U, one for each item.
            u: *const f64,
            /// Right images of V, one for each item.
            v: *const f64,
            /// Sums, `[slot][m][l]` of real and imaginary part, to which are added those of the slot's items.
            sums: *mut f64,
            /// Items. A slot has `⌈items / slots⌉` that follow each other, the last slots fewer or none.
            items: u32,
            slots: u32,
            /// Steps of igp.
            steps: u32,
            /// Left fragments of U, a multiple of a block's.
            left: u32,
            /// Right fragments of V, a multiple of a block's.
            right: u32,
        } }
    };
}
pub(super) use list;

list! { structure [
    /// What kernels of the second product take.
    Second
] }

/// Words of V.
const WORDS: u32 = 2;

impl Second {
    pub fn blocks(&self, tile: Tile) -> u32 {
        self.right / tile.right() * (self.left / tile.left()) * self.slots
    }

    /// Tile of m, tile of l, and slot of a block.
    #[inline(always)]
    fn place(&self, tile: Tile, block: u32) -> (u32, u32, u32) {
        split(block, self.right / tile.right(), self.left / tile.left())
    }

    #[inline(always)]
    fn first(&self, slot: u32) -> u32 {
        self.items.min(slot * self.items.div_ceil(self.slots.max(1)))
    }

    #[inline(always)]
    fn steps(&self, slot: u32) -> u32 {
        (self.first(slot + 1) - self.first(slot)) * self.steps
    }

    #[inline(always)]
    fn rows(&self, tile: Tile, block: u32) -> Rows {
        let (m, l, slot) = self.place(tile, block);
        let (left, right) = ((self.left * LEFT) as usize, (self.right * 2 * RIGHT) as usize);
        let first = self.first(slot) as usize * self.steps as usize;
        Rows {
            left: self.u.wrapping_add(first * left + (l * tile.left() * LEFT) as usize),
            right: self.v.wrapping_add(first * right + (m * tile.right() * 2 * RIGHT) as usize),
            left_stride: left,
            right_stride: right,
        }
    }

    /// Sums the tile of one warp of a block, and adds it to what is stored.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) of these kernels; all lanes of the warp come here, with stages of the
    /// block's rows.
    #[inline(always)]
    unsafe fn warp<W: Way, const M: usize, const N: usize, const K: usize>(
        &self,
        stages: &mut impl Stages,
        block: u32,
        warp: u32,
    ) {
        let tile = W::SECOND;
        let (m, l, slot) = self.place(tile, block);
        let (across, along) = tile.of_warp(warp);
        let (m0, n0) = (across * M as u32, along * N as u32);
        let none = Limits { first: 0, sexcut: 0 };
        let steps = self.steps(slot);
        let sums = products::<W::Instruction, Given, { WORDS as usize }, M, N, K, M>(
            stages, steps, none, [0.0; 2], m0, n0,
        );
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

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(super) unsafe fn block<W: Way, const M: usize, const N: usize, const K: usize>(&self) {
        use crate::intrinsics::{WARP, block, kept_lane};
        let rows = self.rows(W::SECOND, block());
        let (_, _, slot) = self.place(W::SECOND, block());
        let mut stages = W::stages(rows, W::SECOND, WORDS, self.steps(slot));
        self.warp::<W, M, N, K>(&mut stages, block(), kept_lane() / WARP);
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub(super) unsafe fn run<W: Way, const M: usize, const N: usize, const K: usize>(&self) {
        for block in 0..self.blocks(W::SECOND) {
            for warp in 0..W::SECOND.warps() {
                let mut stages = InPlace::reading(self.rows(W::SECOND, block), W::SECOND.deep);
                self.warp::<W, M, N, K>(&mut stages, block, warp);
            }
        }
    }
}
