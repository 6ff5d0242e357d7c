//! What kernels of a version are compiled with.

use super::fragment::Instruction;
#[cfg(target_arch = "nvptx64")]
use super::rows::Rows;
#[cfg(target_arch = "nvptx64")]
use super::stages::{InPlace, Stages};
use super::tile::Tile;

/// How a version multiplies: what its kernels are compiled with.
pub trait Way {
    /// How fragments are multiplied.
    type Instruction: Instruction;
    /// Tile of the first product.
    const FIRST: Tile;
    /// Tile of the second.
    const SECOND: Tile;
    /// Whether an item may end within a warp's tile.
    const SPLITS: bool;

    /// How a block's operands come: read in place, if a version says nothing else.
    ///
    /// # Safety
    /// All threads of the block come here, once. The images of `rows` hold all steps, aligned to 16 bytes, in device
    /// memory; the block has the shared memory of [`Tile::extent`], if it has any.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn stages(rows: Rows, tile: Tile, words: u32, steps: u32) -> impl Stages {
        let _ = (words, steps);
        InPlace::reading(rows, tile.deep)
    }
}
