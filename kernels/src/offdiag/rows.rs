//! Where the rows of a block's operands are, step by step.

use super::stages::Rows;

/// Rows that follow each other.
pub struct InOrder {
    /// The next row of the left image.
    pub left: *const f64,
    /// Of the right one.
    pub right: *const f64,
    /// Numbers from a row of the left image to the next.
    pub left_stride: usize,
    /// Of the right one.
    pub right_stride: usize,
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
pub struct OfSlot {
    /// The rows.
    pub rows: InOrder,
    /// Steps of the item that are done.
    pub step: u32,
    /// Steps of an item.
    pub steps: u32,
    /// Numbers of the left image that are skipped between items.
    pub left_jump: usize,
    /// Of the right one.
    pub right_jump: usize,
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
pub fn split(block: u32, tiles: u32, columns: u32) -> (u32, u32, u32) {
    let (tiles, columns) = (tiles.max(1), columns.max(1));
    (block % tiles, block / tiles % columns, block / tiles / columns)
}
