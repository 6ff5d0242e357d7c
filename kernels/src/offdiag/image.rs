//! Arrays in the order in which warps read them: fragment by fragment, lane by lane, so that a warp reads 512
//! neighbouring bytes, and a block's next operands lie side by side.
//!
//! A *step* is [`DEPTH`] rows of the index that is summed over. What has no element is zero.
//!
//! - Left image, of A or U: `[step][16 l][re, im][k < 4, k ≥ 4][lane][row, row + 8]`, one for each n or item.
//! - Right image, of poles or V: `[step][8 igp][word][lane][k, k + 4]`.

use crate::offdiag::fragment::{COLUMNS, DEPTH, ROWS};

/// Numbers of a fragment of a left image.
pub const LEFT: u32 = 2 * ROWS * DEPTH;

/// Numbers of a word of a fragment of a right image.
pub const RIGHT: u32 = COLUMNS * DEPTH;

/// Where the real part of element (l, k) of a left image stands; the imaginary one is `LEFT / 2` further on.
#[inline(always)]
pub const fn left(l: usize, k: usize, fragments: usize) -> usize {
    let fragment = (k / 8 * fragments + l / 16) * LEFT as usize;
    let (row, k) = (l % 16, k % 8);
    let (half, lane) = (k / 4, row % 8 * 4 + k % 4);
    fragment + half * 64 + lane * 2 + row / 8
}

/// Where word 0 of element (k, column) of a right image of `words` stands; the next is `RIGHT` further on.
#[inline(always)]
pub const fn right(k: usize, column: usize, fragments: usize, words: usize) -> usize {
    let fragment = (k / 8 * fragments + column / 8) * words * RIGHT as usize;
    let k = k % 8;
    fragment + (column % 8 * 4 + k % 4) * 2 + k / 4
}

// Where the rows of a block's operands are, step by step.

/// The images of a block: a row for each step, one after the other.
pub struct Rows {
    /// The first row of the left image.
    pub left: *const f64,
    /// Of the right one.
    pub right: *const f64,
    /// Numbers from a row of the left image to the next.
    pub left_stride: usize,
    /// Of the right one.
    pub right_stride: usize,
}

impl Rows {
    /// The fragments of the left and of the right image for a step.
    #[inline(always)]
    pub fn at(&self, step: u32) -> (*const f64, *const f64) {
        let left = self.left.wrapping_add(step as usize * self.left_stride);
        (left, self.right.wrapping_add(step as usize * self.right_stride))
    }
}

/// A block's tile, column and item; no counts are zero, which the compiler does not know.
#[inline(always)]
pub fn split(block: u32, tiles: u32, columns: u32) -> (u32, u32, u32) {
    let (tiles, columns) = (tiles.max(1), columns.max(1));
    (block % tiles, block / tiles % columns, block / tiles / columns)
}

#[cfg(test)]
mod tests;
