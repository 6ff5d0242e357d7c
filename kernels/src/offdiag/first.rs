//! The first product: U.

use crate::offdiag::fragment::{COLUMNS, LANES, ROWS, lane, sum, unrolled};
use crate::offdiag::image::{LEFT, RIGHT, Rows, left};
use crate::offdiag::poles::{Limits, Make};
use crate::offdiag::products::{Products, complex, products};
#[cfg(not(target_arch = "nvptx64"))]
use crate::offdiag::stages::InPlace;
use crate::offdiag::stages::Stages;
use crate::offdiag::versions::{Tile, Way};

/// Gives a macro what kernels of the first product take, after what is in brackets.
macro_rules! list {
    ($then:ident $with:tt) => {
        $crate::arguments::$then! { $with {
            /// A of items in groups: left images whose rows hold the fragments of one item after the other.
            a: *const f64,
            /// Right image of poles.
            poles: *const f64,
            /// `w` of the items, of n that follow each other.
            w: *const f64,
            /// Left images of U, one for each item.
            u: *mut f64,
            /// Steps of ig, a multiple of those that a product takes at a time.
            steps: u32,
            /// Items.
            count: u32,
            /// Left fragments of an item, two or more.
            fragments: u32,
            /// Left fragments of a group, a multiple of a block's.
            group: u32,
            /// Right fragments of the poles, which are steps of U, a multiple of a block's.
            right: u32,
            first: u64,
            sexcut: u64,
        } }
    };
}
pub(super) use list;

list! { structure [
    /// What kernels of the first product take; U is left for the second as a left image for each item.
    First
] }

/// Words of a right image of real poles and of complex ones.
pub const WORDS: [u32; 2] = [3, 4];

/// Tiles of igp whose blocks are neighbours: blocks that run at once then read few poles and few A.
const NEIGHBOURS: u32 = 12;

impl First {
    pub fn blocks(&self, tile: Tile) -> u32 {
        self.right / tile.right() * self.columns(tile)
    }

    /// Tiles of l, of all items.
    #[inline(always)]
    fn columns(&self, tile: Tile) -> u32 {
        (self.count * self.fragments).div_ceil(tile.left())
    }

    /// Tile of igp and tile of l of a block.
    #[inline(always)]
    #[expect(
        clippy::manual_clamp,
        reason = "of a clamped width the compiler does not see that it is not zero"
    )]
    fn place(&self, tile: Tile, block: u32) -> (u32, u32) {
        let (tiles, columns) = (self.right / tile.right(), self.columns(tile).max(1));
        let before = block / columns / NEIGHBOURS * NEIGHBOURS;
        let (at, width) = (block - before * columns, (tiles - before).min(NEIGHBOURS).max(1));
        (before + at % width, at / width)
    }

    #[inline(always)]
    fn rows(&self, tile: Tile, words: u32, block: u32) -> Rows {
        let (igp, column) = self.place(tile, block);
        let (first, row) = (column * tile.left(), self.group.max(1));
        let before = (first / row) as usize * self.steps as usize * row as usize;
        Rows {
            left: self.a.wrapping_add((before + (first % row) as usize) * LEFT as usize),
            right: self.poles.wrapping_add((igp * tile.right() * words * RIGHT) as usize),
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
    unsafe fn warp<
        W: Way,
        P: Make<WORDS>,
        const WORDS: usize,
        const M: usize,
        const N: usize,
        const K: usize,
    >(
        &self,
        stages: &mut impl Stages,
        block: u32,
        warp: u32,
    ) {
        let (igp, column) = self.place(W::FIRST, block);
        let (across, along) = W::FIRST.of_warp(warp);
        let (m0, n0) = (across * M as u32, along * N as u32);
        let first = column * W::FIRST.left() + m0;
        let each = self.fragments.max(1);
        // What is behind the last item is summed with its poles, and not stored.
        let of = |fragment: u32| (fragment / each).min(self.count - 1) as usize;
        let w = [*self.w.add(of(first)), *self.w.add(of(first + M as u32 - 1))];
        let own = if W::SPLITS { each - first % each } else { M as u32 };
        let sums = if P::CUTS && (w[0] < 0.0 || w[1] < 0.0) {
            self.split::<W, P, WORDS, M, N, K>(stages, own, w, m0, n0)
        } else {
            self.split::<W, P::Uncut, WORDS, M, N, K>(stages, own, w, m0, n0)
        };
        let igp = (igp * W::FIRST.right() + n0) * COLUMNS;
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

    /// The products of a warp's tile, whose first `own` fragments of l are of the item of `w[0]`.
    ///
    /// # Safety
    /// As [`First::warp`].
    #[inline(always)]
    unsafe fn split<
        W: Way,
        P: Make<WORDS>,
        const WORDS: usize,
        const M: usize,
        const N: usize,
        const K: usize,
    >(
        &self,
        stages: &mut impl Stages,
        own: u32,
        w: [f64; 2],
        l: u32,
        igp: u32,
    ) -> Products<M, N> {
        let limits = Limits { first: self.first, sexcut: self.sexcut };
        match own {
            1 if W::SPLITS => products::<W::Instruction, P, WORDS, M, N, K, 1>(
                stages, self.steps, limits, w, l, igp,
            ),
            2 if W::SPLITS && M > 2 => products::<W::Instruction, P, WORDS, M, N, K, 2>(
                stages, self.steps, limits, w, l, igp,
            ),
            _ => products::<W::Instruction, P, WORDS, M, N, K, M>(
                stages, self.steps, limits, w, l, igp,
            ),
        }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub(super) unsafe fn block<
        W: Way,
        P: Make<WORDS>,
        const WORDS: usize,
        const M: usize,
        const N: usize,
        const K: usize,
    >(
        &self,
    ) {
        use crate::intrinsics::{WARP, block, kept_lane};
        let rows = self.rows(W::FIRST, WORDS as u32, block());
        let mut stages = W::stages(rows, W::FIRST, WORDS as u32, self.steps);
        self.warp::<W, P, WORDS, M, N, K>(&mut stages, block(), kept_lane() / WARP);
    }

    /// Runs the kernel here, block by block and warp by warp.
    ///
    /// # Safety
    /// The launch contract, with pointers of the host.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(super) unsafe fn run<
        W: Way,
        P: Make<WORDS>,
        const WORDS: usize,
        const M: usize,
        const N: usize,
        const K: usize,
    >(
        &self,
    ) {
        for block in 0..self.blocks(W::FIRST) {
            for warp in 0..W::FIRST.warps() {
                let mut stages =
                    InPlace::reading(self.rows(W::FIRST, WORDS as u32, block), W::FIRST.deep);
                self.warp::<W, P, WORDS, M, N, K>(&mut stages, block, warp);
            }
        }
    }
}
