//! The two products, and their main loop: a warp's tile of the sum, k-tile by k-tile.
//!
//! A complex product is three real ones: with `t1 = Ar·Pr`, `t2 = Ai·Pi` and `t3 = (Ar + Ai)·(Pr + Pi)`, the real
//! part is `t1 − t2` and the imaginary one `t3 − t1 − t2`.

use core::array::from_fn;

use crate::offdiag::mma::{
    COLUMNS, FragmentA, FragmentB, FragmentC, Instruction, LANES, ROWS, lane, position_c, warp,
};
use crate::offdiag::pack::{A_FRAGMENT, B_FRAGMENT, PackedOperands, packed_a};
use crate::offdiag::pipeline::{BlockTile, OperandPipeline, TileConfig};
use crate::offdiag::poles::{ElementB, MatrixLimits, PackedV};
use crate::threads::each;

/// The three real products of a warp's tile.
pub type Accumulators<const M: usize, const N: usize> = [[[FragmentC; 3]; N]; M];

/// The main loop of a warp: sums k-tiles, `K` at a time, for `M` fragments of l by `N` of igp, those from `l` and
/// `igp` on in a stage. The first `SPLIT` fragments of l are of the first item and its `w`, the others of the second.
#[inline(always)]
pub unsafe fn main_loop<
    I: Instruction,
    P: ElementB<WORDS>,
    const WORDS: usize,
    const M: usize,
    const N: usize,
    const K: usize,
    const SPLIT: usize,
>(
    pipeline: &mut impl OperandPipeline,
    k_tiles: u32,
    limits: MatrixLimits,
    w: [f64; 2],
    l: u32,
    igp: u32,
) -> Accumulators<M, N> {
    let mut sums: Accumulators<M, N> = [[[[[0.0; LANES]; 4]; 3]; N]; M];
    let mut stage = 0;
    while stage < k_tiles / K as u32 {
        pipeline.consume(stage);
        let mut operands = [[[[[0.0; LANES]; 2]; K]; 3]; N];
        each::<M>(|m| {
            if m == 0 || m == SPLIT {
                operands = load_b::<P, WORDS, N, K>(pipeline, w[usize::from(m > 0)], limits, igp);
            }
            multiply_a::<I, N, K>(pipeline, l + m as u32, &operands, &mut sums[m]);
        });
        stage += 1;
    }
    sums
}

/// B of a stage: P of `N` fragments of igp from `igp` on, made in registers; real part, imaginary part and their sum.
#[inline(always)]
unsafe fn load_b<P: ElementB<WORDS>, const WORDS: usize, const N: usize, const K: usize>(
    pipeline: &impl OperandPipeline,
    w: f64,
    limits: MatrixLimits,
    igp: u32,
) -> [[[FragmentB; K]; 3]; N] {
    let mut b = [[[[[0.0; LANES]; 2]; K]; 3]; N];
    each::<N>(|n| {
        each::<K>(|k| {
            let mut words = [[[0.0; LANES]; 2]; WORDS];
            let first = (igp + n as u32) * WORDS as u32;
            each::<WORDS>(|word| {
                words[word] = pipeline.b(k as u32, (first + word as u32) * 32);
            });
            let mut parts = [[[0.0; LANES]; 2]; 3];
            each::<2>(|half| {
                for lane in 0..LANES {
                    let words = from_fn(|word| words[word][half][lane]);
                    let [re, im] = P::element(words, w, limits);
                    parts[0][half][lane] = re;
                    parts[1][half][lane] = im;
                    parts[2][half][lane] = re + im;
                }
            });
            each::<3>(|of| b[n][of][k] = parts[of]);
        });
    });
    b
}

/// Adds the products of fragment `l` of A in a stage with B.
#[inline(always)]
unsafe fn multiply_a<I: Instruction, const N: usize, const K: usize>(
    pipeline: &impl OperandPipeline,
    l: u32,
    operands: &[[[FragmentB; K]; 3]; N],
    sums: &mut [[FragmentC; 3]; N],
) {
    let [mut re, mut im, mut both] = [[[[0.0; LANES]; 4]; K]; 3];
    each::<K>(|k| re[k] = load_a(pipeline, k, l * 128));
    each::<N>(|n| I::multiply(&mut sums[n][0], &re, &operands[n][0]));
    each::<K>(|k| im[k] = load_a(pipeline, k, l * 128 + 64));
    each::<N>(|n| I::multiply(&mut sums[n][1], &im, &operands[n][1]));
    each::<K>(|k| {
        each::<4>(|i| both[k][i] = from_fn(|lane| re[k][i][lane] + im[k][i][lane]));
    });
    each::<N>(|n| I::multiply(&mut sums[n][2], &both, &operands[n][2]));
}

/// The real or the imaginary part of a fragment of A in k-tile `k` of the stage.
#[inline(always)]
unsafe fn load_a(pipeline: &impl OperandPipeline, k: usize, first: u32) -> FragmentA {
    let [[a0, a1], [a2, a3]] = [pipeline.a(k as u32, first), pipeline.a(k as u32, first + 32)];
    [a0, a1, a2, a3]
}

/// Real and imaginary part of a lane's element of C.
#[inline(always)]
pub fn complex([t1, t2, t3]: &[FragmentC; 3], element: usize, lane: usize) -> [f64; 2] {
    let (t1, t2, t3) = (t1[element][lane], t2[element][lane], t3[element][lane]);
    [t1 - t2, t3 - t1 - t2]
}

// The first product: U.

/// Passes what is in brackets to a macro, then the arguments of [`ProductU`].
macro_rules! arguments_u {
    ($then:ident $with:tt) => {
        $crate::arrays::$then! { $with {
            /// Packed A of items in groups: a k-tile holds the fragments of one item after the other.
            a: *const f64,
            /// Packed poles.
            poles: *const f64,
            /// `w` of the items, of n that follow each other.
            w: *const f64,
            /// Packed U, one for each item.
            u: *mut f64,
            /// k-tiles of ig, a multiple of those of a stage.
            steps: u32,
            /// Items.
            count: u32,
            /// Fragments of l of an item, two or more.
            fragments: u32,
            /// Fragments of l of a group, a multiple of a block's.
            group: u32,
            /// Fragments of igp, which are k-tiles of U, a multiple of a block's.
            right: u32,
            first: u64,
            sexcut: u64,
        } }
    };
}
pub(super) use arguments_u;

arguments_u! { structure [
    /// `U = A · P`, packed as the A of [`ProductSigma`], one for each item.
    ProductU
] }

/// Words of a packed pole, real and complex.
pub const WORDS: [u32; 2] = [3, 4];

/// Tiles of igp whose blocks are neighbours: blocks that run at once then read few poles and few A.
const NEIGHBOURS: u32 = 12;

impl ProductU {
    pub fn blocks(&self, tile: BlockTile) -> u32 {
        self.right / tile.b_fragments() * self.columns(tile)
    }

    /// Tiles of l, of all items.
    #[inline(always)]
    fn columns(&self, tile: BlockTile) -> u32 {
        (self.count * self.fragments).div_ceil(tile.a_fragments())
    }

    /// Tile of igp and tile of l of a block.
    #[inline(always)]
    #[expect(
        clippy::manual_clamp,
        reason = "of a clamped width the compiler does not see that it is not zero"
    )]
    fn tile(&self, tile: BlockTile, block: u32) -> (u32, u32) {
        let (tiles, columns) = (self.right / tile.b_fragments(), self.columns(tile).max(1));
        let before = block / columns / NEIGHBOURS * NEIGHBOURS;
        let (at, width) = (block - before * columns, (tiles - before).min(NEIGHBOURS).max(1));
        (before + at % width, at / width)
    }

    #[inline(always)]
    fn operands(&self, tile: BlockTile, words: u32, block: u32) -> PackedOperands {
        let (igp, column) = self.tile(tile, block);
        let (first, row) = (column * tile.a_fragments(), self.group.max(1));
        let before = (first / row) as usize * self.steps as usize * row as usize;
        PackedOperands {
            a: self.a.wrapping_add((before + (first % row) as usize) * A_FRAGMENT as usize),
            b: self.poles.wrapping_add((igp * tile.b_fragments() * words * B_FRAGMENT) as usize),
            a_stride: (self.group * A_FRAGMENT) as usize,
            b_stride: (self.right * words * B_FRAGMENT) as usize,
        }
    }

    /// The tile of one warp of a block, with packed poles of `WORDS` words.
    #[inline(always)]
    pub(super) unsafe fn warp<
        W: TileConfig,
        P: ElementB<WORDS>,
        const WORDS: usize,
        const M: usize,
        const N: usize,
        const K: usize,
    >(
        &self,
        block: u32,
        index: u32,
    ) {
        let (tile, words) = (W::TILE_U, WORDS as u32);
        let operands = self.operands(tile, words, block);
        let mut pipeline = W::Pipeline::start(operands, tile, words, self.steps);
        let pipeline = &mut pipeline;
        let warp = warp(index);
        let (igp, column) = self.tile(tile, block);
        let (across, along) = tile.warp_position(warp);
        let (m0, n0) = (across * M as u32, along * N as u32);
        let first = column * W::TILE_U.a_fragments() + m0;
        let fragments = self.fragments.max(1);
        // What is behind the last item is summed with its poles, and not stored.
        let item_of = |fragment: u32| (fragment / fragments).min(self.count - 1) as usize;
        let w = [*self.w.add(item_of(first)), *self.w.add(item_of(first + M as u32 - 1))];
        let of_first_item = if W::SPLITS { fragments - first % fragments } else { M as u32 };
        let sums = if P::CUTS && (w[0] < 0.0 || w[1] < 0.0) {
            self.split::<W, P, WORDS, M, N, K>(pipeline, of_first_item, w, m0, n0)
        } else {
            self.split::<W, P::Uncut, WORDS, M, N, K>(pipeline, of_first_item, w, m0, n0)
        };
        let igp = (igp * W::TILE_U.b_fragments() + n0) * COLUMNS;
        each::<M>(|m| {
            let fragment = first + m as u32;
            let item = fragment / fragments;
            if item < self.count {
                let packed = (item * self.right) as usize * (fragments * A_FRAGMENT) as usize;
                let l = fragment % fragments * ROWS;
                each::<N>(|n| {
                    each::<4>(|element| {
                        for which in 0..LANES {
                            let (row, column) = position_c(lane(which), element as u32);
                            let igp = igp + n as u32 * COLUMNS + column;
                            let offset =
                                packed_a((l + row) as usize, igp as usize, fragments as usize);
                            let to = self.u.add(packed + offset);
                            let [re, im] = complex(&sums[m][n], element, which);
                            *to = re;
                            *to.add(A_FRAGMENT as usize / 2) = im;
                        }
                    });
                });
            }
        });
    }

    /// The products of a warp's tile, whose first `of_first_item` fragments of l are of the item of `w[0]`.
    #[inline(always)]
    unsafe fn split<
        W: TileConfig,
        P: ElementB<WORDS>,
        const WORDS: usize,
        const M: usize,
        const N: usize,
        const K: usize,
    >(
        &self,
        pipeline: &mut impl OperandPipeline,
        of_first_item: u32,
        w: [f64; 2],
        l: u32,
        igp: u32,
    ) -> Accumulators<M, N> {
        let limits = MatrixLimits { first: self.first, sexcut: self.sexcut };
        match of_first_item {
            1 if W::SPLITS => main_loop::<W::Instruction, P, WORDS, M, N, K, 1>(
                pipeline, self.steps, limits, w, l, igp,
            ),
            2 if W::SPLITS && M > 2 => main_loop::<W::Instruction, P, WORDS, M, N, K, 2>(
                pipeline, self.steps, limits, w, l, igp,
            ),
            _ => main_loop::<W::Instruction, P, WORDS, M, N, K, M>(
                pipeline, self.steps, limits, w, l, igp,
            ),
        }
    }
}

// The second product: Σ.

/// Passes what is in brackets to a macro, then the arguments of [`ProductSigma`].
macro_rules! arguments_sigma {
    ($then:ident $with:tt) => {
        $crate::arrays::$then! { $with {
            /// Packed U, one for each item.
            u: *const f64,
            /// Packed V, one for each item.
            v: *const f64,
            /// Sums, `[slot][m][l]` of real and imaginary part, to which are added those of the slot's items.
            sums: *mut f64,
            /// Items. A slot has `⌈items / slots⌉` that follow each other, the last slots fewer or none.
            items: u32,
            slots: u32,
            /// k-tiles of igp.
            steps: u32,
            /// Fragments of l, a multiple of a block's.
            left: u32,
            /// Fragments of m, a multiple of a block's.
            right: u32,
        } }
    };
}
pub(super) use arguments_sigma;

arguments_sigma! { structure [
    /// `Σ += U · V`.
    ProductSigma
] }

/// Tile, column and slot of a block; no count is zero, which the compiler does not know.
#[inline(always)]
fn split(block: u32, tiles: u32, columns: u32) -> (u32, u32, u32) {
    let (tiles, columns) = (tiles.max(1), columns.max(1));
    (block % tiles, block / tiles % columns, block / tiles / columns)
}

impl ProductSigma {
    pub fn blocks(&self, tile: BlockTile) -> u32 {
        self.right / tile.b_fragments() * (self.left / tile.a_fragments()) * self.slots
    }

    /// Tile of m, tile of l, and slot of a block.
    #[inline(always)]
    fn tile(&self, tile: BlockTile, block: u32) -> (u32, u32, u32) {
        split(block, self.right / tile.b_fragments(), self.left / tile.a_fragments())
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
    fn operands(&self, tile: BlockTile, block: u32) -> PackedOperands {
        let (m, l, slot) = self.tile(tile, block);
        let (a, b) = ((self.left * A_FRAGMENT) as usize, (self.right * 2 * B_FRAGMENT) as usize);
        let first = self.first(slot) as usize * self.steps as usize;
        PackedOperands {
            a: self.u.wrapping_add(first * a + (l * tile.a_fragments() * A_FRAGMENT) as usize),
            b: self.v.wrapping_add(first * b + (m * tile.b_fragments() * 2 * B_FRAGMENT) as usize),
            a_stride: a,
            b_stride: b,
        }
    }

    #[inline(always)]
    pub(super) unsafe fn warp<W: TileConfig, const M: usize, const N: usize, const K: usize>(
        &self,
        block: u32,
        index: u32,
    ) {
        let operands = self.operands(W::TILE_SIGMA, block);
        let (_, _, slot) = self.tile(W::TILE_SIGMA, block);
        let mut pipeline = W::Pipeline::start(operands, W::TILE_SIGMA, 2, self.steps(slot));
        self.sum::<W, M, N, K>(&mut pipeline, block, warp(index));
    }

    /// Sums the tile of a warp, and adds it to what is stored.
    #[inline(always)]
    unsafe fn sum<W: TileConfig, const M: usize, const N: usize, const K: usize>(
        &self,
        pipeline: &mut W::Pipeline,
        block: u32,
        warp: u32,
    ) {
        let tile = W::TILE_SIGMA;
        let (m, l, slot) = self.tile(tile, block);
        let (across, along) = tile.warp_position(warp);
        let (m0, n0) = (across * M as u32, along * N as u32);
        let none = MatrixLimits { first: 0, sexcut: 0 };
        let steps = self.steps(slot);
        let sums = main_loop::<W::Instruction, PackedV, 2, M, N, K, M>(
            pipeline, steps, none, [0.0; 2], m0, n0,
        );
        let (ls, ms) = ((self.left * ROWS) as usize, (self.right * COLUMNS) as usize);
        let to = self.sums.add(slot as usize * ls * ms * 2);
        let (l, m) =
            ((l * tile.a_fragments() + m0) * ROWS, (m * tile.b_fragments() + n0) * COLUMNS);
        each::<M>(|i| {
            each::<N>(|j| {
                each::<4>(|element| {
                    for of in 0..LANES {
                        let (row, column) = position_c(lane(of), element as u32);
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
