//! Packed operands, in the order in which warps read them: fragment by fragment, lane by lane, so that a warp reads 512
//! neighbouring bytes, and a block's operands of one k-tile are adjacent. And the kernels besides the products: those
//! that pack V, add fallback pairs, and fold the sums.
//!
//! A *k-tile* is [`DEPTH`] rows of the index that is summed over. The padding is zero.
//!
//! - Packed A, of A or U: `[k-tile][16 l][re, im][k < 4, k ≥ 4][lane][row, row + 8]`, one for each n or item.
//! - Packed B, of poles or V: `[k-tile][8 igp][word][lane][k, k + 4]`.

use crate::arrays::{Limits, arguments};
use crate::offdiag::mma::{COLUMNS, DEPTH, ROWS};
use crate::offdiag::poles::FallbackPair;

/// Numbers of a fragment of packed A.
pub const A_FRAGMENT: u32 = 2 * ROWS * DEPTH;

/// Numbers of a word of a fragment of packed B.
pub const B_FRAGMENT: u32 = COLUMNS * DEPTH;

/// Offset of the real part of element (l, k) of packed A; the imaginary one is `A_FRAGMENT / 2` further on.
#[inline(always)]
pub const fn packed_a(l: usize, k: usize, fragments: usize) -> usize {
    let fragment = (k / 8 * fragments + l / 16) * A_FRAGMENT as usize;
    let (row, k) = (l % 16, k % 8);
    let (half, lane) = (k / 4, row % 8 * 4 + k % 4);
    fragment + half * 64 + lane * 2 + row / 8
}

/// Offset of word 0 of element (k, column) of packed B; the next word is `B_FRAGMENT` further on.
#[inline(always)]
pub const fn packed_b(k: usize, column: usize, fragments: usize, words: usize) -> usize {
    let fragment = (k / 8 * fragments + column / 8) * words * B_FRAGMENT as usize;
    let k = k % 8;
    fragment + (column % 8 * 4 + k % 4) * 2 + k / 4
}

/// The packed operands of a block: those of a k-tile are adjacent, those of the next a stride further on.
pub struct PackedOperands {
    pub a: *const f64,
    pub b: *const f64,
    pub a_stride: usize,
    pub b_stride: usize,
}

impl PackedOperands {
    #[inline(always)]
    pub fn at(&self, k_tile: u32) -> (*const f64, *const f64) {
        let a = self.a.wrapping_add(k_tile as usize * self.a_stride);
        (a, self.b.wrapping_add(k_tile as usize * self.b_stride))
    }
}

// The kernels besides the products.

pub const THREADS: u32 = 128;

arguments! {
    /// Adds fallback pairs to U, by the definition; the other fields are those of
    /// [`ProductU`](crate::offdiag::product::ProductU).
    FallbackPairs {
        a: *const f64,
        /// The pairs, those of an igp next to each other.
        pairs: *const FallbackPair,
        /// First pair of each igp that has any, and the end.
        begins: *const u32,
        w: *const f64,
        u: *mut f64,
        /// igp that have any.
        columns: u32,
        steps: u32,
        count: u32,
        fragments: u32,
        group: u32,
        right: u32,
        /// One for `ssx`, zero for `sch`.
        exchange: u32,
        limittwo: f64,
        limitone: f64,
        sexcut: f64,
    }
    gpp_offdiag_odd = |pairs| pairs.thread(crate::intrinsics::block(), crate::intrinsics::thread_in_block());
}

impl FallbackPairs {
    pub const SYMBOL: &str = "gpp_offdiag_odd";

    pub fn blocks(&self) -> u32 {
        self.columns * self.count
    }

    /// Adds the pairs of an igp to a thread's l of U.
    #[inline(always)]
    pub unsafe fn thread(&self, block: u32, thread: u32) {
        let (columns, each, row) = (self.columns.max(1), self.fragments.max(1), self.group.max(1));
        let (at, item) = (block % columns, block / columns);
        let FallbackPairs { limittwo, limitone, sexcut, .. } = *self;
        let limits = Limits { limittwo, limitone, sexcut };
        let first = item * each;
        let before = (first / row) as usize * self.steps as usize * (row * A_FRAGMENT) as usize;
        let mut l = thread;
        while l < each * ROWS {
            let column = (first % row) * ROWS + l;
            let mut sum = [0.0, 0.0];
            let (mut pair, end) =
                (*self.begins.add(at as usize), *self.begins.add(at as usize + 1));
            let igp = (*self.pairs.add(pair as usize)).igp;
            while pair < end {
                let fallback = &*self.pairs.add(pair as usize);
                let p = fallback.element(self.exchange != 0, *self.w.add(item as usize), &limits);
                let offset = before + packed_a(column as usize, fallback.ig as usize, row as usize);
                let (re, im) = (*self.a.add(offset), *self.a.add(offset + A_FRAGMENT as usize / 2));
                sum[0] += re * p.re - im * p.im;
                sum[1] += re * p.im + im * p.re;
                pair += 1;
            }
            let packed = (item * self.right) as usize * (each * A_FRAGMENT) as usize;
            let to = self.u.add(packed + packed_a(l as usize, igp as usize, each as usize));
            *to += sum[0];
            *to.add(A_FRAGMENT as usize / 2) += sum[1];
            l += THREADS;
        }
    }
}

arguments! {
    /// Packs V from A; the other fields are those of [`ProductU`](crate::offdiag::product::ProductU).
    PackV {
        a: *const f64,
        /// The row of A of each igp, or [`NO_ROW`].
        rows: *const u32,
        /// Coulomb interaction of each igp.
        vcoul: *const f64,
        /// Weights of the items.
        weights: *const f64,
        /// Packed V, one for each item.
        v: *mut f64,
        steps: u32,
        /// Items.
        count: u32,
        fragments: u32,
        group: u32,
        /// Igp, a multiple of 8; `rows` and `vcoul` are as long.
        igp: u32,
        /// Fragments of V.
        right: u32,
    }
    gpp_offdiag_gather = |pack| pack.element(crate::intrinsics::block() * THREADS + crate::intrinsics::thread_in_block());
}

/// The row of an igp that is not among the G.
pub const NO_ROW: u32 = u32::MAX;

impl PackV {
    pub const SYMBOL: &str = "gpp_offdiag_gather";

    pub fn blocks(&self) -> u32 {
        (self.count * self.igp * self.right * COLUMNS).div_ceil(THREADS)
    }

    /// Packs an element, by its number.
    #[inline(always)]
    pub unsafe fn element(&self, index: u32) {
        let (each, row) = (self.fragments.max(1), self.group.max(1));
        let (ms, igps) = ((self.right * COLUMNS).max(1), self.igp.max(1));
        let (m, igp, item) = (index % ms, index / ms % igps, index / ms / igps);
        if item >= self.count {
            return;
        }
        let first = item * each;
        let before = (first / row) as usize * self.steps as usize * (row * A_FRAGMENT) as usize;
        let ig = *self.rows.add(igp as usize);
        let mut element = [0.0, 0.0];
        if ig != NO_ROW && m < each * ROWS {
            let column = (first % row) * ROWS + m;
            let offset = before + packed_a(column as usize, ig as usize, row as usize);
            let weight = *self.vcoul.add(igp as usize) * *self.weights.add(item as usize);
            element = [
                weight * *self.a.add(offset),
                -weight * *self.a.add(offset + A_FRAGMENT as usize / 2),
            ];
        }
        let packed = item as usize * (igps / 8 * self.right * 2 * B_FRAGMENT) as usize;
        let to = self.v.add(packed + packed_b(igp as usize, m as usize, self.right as usize, 2));
        *to = element[0];
        *to.add(B_FRAGMENT as usize) = element[1];
    }
}

arguments! {
    /// Adds up the sums of all slots.
    Fold {
        /// Sums `[sum][slot][number]`, as in [`ProductSigma`](crate::offdiag::product::ProductSigma); zero afterwards.
        sums: *mut f64,
        /// Sums `[sum][number]`.
        folded: *mut f64,
        /// Numbers of a slot.
        each: u32,
        slots: u32,
        /// Sums.
        count: u32,
    }
    gpp_offdiag_fold = |fold| fold.number(crate::intrinsics::block() * THREADS + crate::intrinsics::thread_in_block());
}

impl Fold {
    pub const SYMBOL: &str = "gpp_offdiag_fold";

    pub fn blocks(&self) -> u32 {
        (self.count * self.each).div_ceil(THREADS)
    }

    /// Adds up a number of all slots.
    #[inline(always)]
    pub unsafe fn number(&self, index: u32) {
        let each = self.each.max(1);
        if index / each >= self.count {
            return;
        }
        let first =
            (index / each) as usize * (self.slots * each) as usize + (index % each) as usize;
        let mut from = self.sums.add(first);
        let mut sum = 0.0;
        for _ in 0..self.slots {
            sum += *from;
            *from = 0.0;
            from = from.wrapping_add(each as usize);
        }
        *self.folded.add(index as usize) = sum;
    }
}
