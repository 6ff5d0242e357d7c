//! The first product: U.

use super::fragment::{COLUMNS, ROWS, sum};
use super::image::{LEFT, RIGHT, left};
use super::lanes::{LANES, lane, unrolled};
use super::poles::{Limits, Make};
use super::products::{complex, products};
use super::rows::InOrder;
use super::stages::{Rows, Stages};
use super::tile::Tile;
use crate::arguments::arguments;

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
    gpp_offdiag_complex_hole = gpu::complex_hole;
    gpp_offdiag_complex_exchange = gpu::complex_exchange;
}

/// Tile of the first product: 96 l by 64 igp.
pub const TILE: Tile = Tile { m: 3, n: 2, across: 2, along: 4 };

/// Symbols: of real poles and of complex ones, for `sch` and for `ssx`.
pub const SYMBOLS: [[&str; 2]; 2] = [
    ["gpp_offdiag_hole", "gpp_offdiag_exchange"],
    ["gpp_offdiag_complex_hole", "gpp_offdiag_complex_exchange"],
];

/// Words of a right image of real poles and of complex ones.
pub const WORDS: [u32; 2] = [3, 4];

/// Tiles of igp whose blocks are neighbours: blocks that run at once then read few poles and few A.
const NEIGHBOURS: u32 = 12;

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
    #[expect(
        clippy::manual_clamp,
        reason = "of a clamped width the compiler does not see that it is not zero"
    )]
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
                (1, false) => {
                    products::<P::Uncut, WORDS, M, N, 1>(stages, steps, limits, w, m0, n0)
                }
                (2, false) => {
                    products::<P::Uncut, WORDS, M, N, 2>(stages, steps, limits, w, m0, n0)
                }
                (_, false) => {
                    products::<P::Uncut, WORDS, M, N, M>(stages, steps, limits, w, m0, n0)
                }
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

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use super::super::poles::{ComplexExchange, ComplexHole, Exchange, Hole};
    use super::super::ring::Ring;
    use super::*;
    use crate::intrinsics::{WARP, block, lane};

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
                    let mut ring = Ring::begun(rows, const { TILE.extent($words) }, steps, TILE.warps());
                    arguments.warp::<$make, $words>(&mut ring, block(), lane() / WARP);
                }
            }
        )+};
    }

    first! {
        hole: Hole, 3;
        exchange: Exchange<true>, 3;
        complex_hole: ComplexHole, 4;
        complex_exchange: ComplexExchange<true>, 4;
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl First {
    /// Runs the kernel here, block by block and warp by warp.
    ///
    /// # Safety
    /// The launch contract, with pointers of the host.
    pub unsafe fn run<P: Make<WORDS>, const WORDS: usize>(&self) {
        for block in 0..self.blocks() {
            for warp in 0..TILE.warps() {
                let stages = &mut super::stages::InPlace::reading(self.rows(WORDS as u32, block));
                // SAFETY: this function's own contract.
                unsafe { self.warp::<P, WORDS>(stages, block, warp) };
            }
        }
    }
}
