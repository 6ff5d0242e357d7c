//! Arrays in the order in which warps read them: fragment by fragment, lane by lane, so that a warp reads 512
//! neighbouring bytes, and a block's next operands lie side by side.
//!
//! A *step* is [`DEPTH`] rows of the index that is summed over. What has no element is zero.
//!
//! - Left image, of A or U: `[step][16 l][re, im][k < 4, k ≥ 4][lane][row, row + 8]`, one for each n or item.
//! - Right image, of poles or V: `[step][8 igp][word][lane][k, k + 4]`.

use super::fragment::{COLUMNS, DEPTH, ROWS};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offdiag::fragment;

    #[test]
    fn images_hold_what_lanes_load() {
        // A lane loads the pairs of elements 0 and 1, and of 2 and 3.
        for lane in 0..32 {
            for element in 0..4 {
                let (row, k) = fragment::left(lane, element);
                let at = (element / 2 * 64 + lane * 2 + element % 2) as usize;
                assert_eq!(left(row as usize, k as usize, 1), at);
                let behind = 5 * 3 * LEFT as usize + 2 * LEFT as usize + at;
                assert_eq!(left(32 + row as usize, 40 + k as usize, 3), behind);
            }
            for element in 0..2 {
                let (k, column) = fragment::right(lane, element);
                let at = (lane * 2 + element) as usize;
                assert_eq!(right(k as usize, column as usize, 1, 3), at);
                let fragment = 3 * RIGHT as usize;
                assert_eq!(right(16 + k as usize, 8 + column as usize, 4, 3), 9 * fragment + at);
            }
        }
    }
}
