//! Where the rows of a block's operands are, step by step.

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
