//! The second product: what U adds to the sums.

use super::fragment::{COLUMNS, ROWS, sum};
use super::image::{LEFT, RIGHT};
use super::lanes::{LANES, lane, unrolled};
use super::poles::{Given, Limits};
use super::products::{complex, products};
use super::rows::{InOrder, OfSlot, split};
use super::stages::{Rows, Stages};
use super::tile::Tile;
use crate::arguments::arguments;

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

/// Tile: 16 l by 64 m.
pub const TILE: Tile = Tile { m: 1, n: 2, across: 1, along: 4 };

/// Symbol.
pub const SYMBOL: &str = "gpp_offdiag_second";

impl Second {
    /// Blocks of a launch.
    pub fn blocks(&self) -> u32 {
        self.right / TILE.right() * (self.left / TILE.left()) * self.slots
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
            let sums =
                products::<Given, 2, M, N, M>(stages, self.steps(slot), none, [0.0; 2], m0, n0);
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
    use super::super::ring::Ring;
    use super::*;
    use crate::intrinsics::{WARP, block, lane};

    /// The second product's block.
    ///
    /// # Safety
    /// The launch contract.
    #[inline(always)]
    pub unsafe fn second(arguments: Second) {
        // SAFETY: the launch contract.
        unsafe {
            let rows = arguments.rows(TILE, block());
            let (_, _, slot) = arguments.place(TILE, block());
            let steps = arguments.steps(slot);
            let mut ring = Ring::begun(rows, TILE.extent(2), steps, TILE.warps());
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
impl Second {
    /// As [`super::first::First::run`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn run(&self) {
        let tile = TILE;
        for block in 0..self.blocks() {
            for warp in 0..tile.warps() {
                // SAFETY: this function's own contract.
                unsafe {
                    let stages = &mut super::stages::InPlace::reading(self.rows(tile, block));
                    self.warp::<{ TILE.m as usize }, { TILE.n as usize }>(
                        tile, stages, block, warp,
                    );
                }
            }
        }
    }
}
