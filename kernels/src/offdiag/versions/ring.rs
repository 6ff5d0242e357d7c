//! Ring: bulk copies bring a block's operands to shared memory ahead of time, and the tile is 96 l by 64 igp.
//!
//! No warp waits for memory, and each element of A is read once a block. A warp whose l are of two bands n makes P
//! twice.

use crate::offdiag::fragment::M16N8;
use crate::offdiag::tile::Tile;
use crate::offdiag::version::version;
use crate::offdiag::way::Way;
#[cfg(target_arch = "nvptx64")]
use crate::offdiag::{rows::Rows, stages::Stages};

/// See the module.
pub struct Ring;

impl Way for Ring {
    type Instruction = M16N8;
    const FIRST: Tile = Tile { m: 3, n: 2, across: 2, along: 4, deep: 1 };
    const SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4, deep: 1 };
    const SPLITS: bool = true;

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn stages(rows: Rows, tile: Tile, words: u32, steps: u32) -> impl Stages {
        // SAFETY: this function's own contract.
        unsafe { crate::offdiag::ring::Ring::begun(rows, tile.extent(words), steps, tile.warps()) }
    }
}

version! {
    Ring, "ring", "bulk copies ahead of time, tiles of 96 l", from Some("m16n8k8"), capability 9.0, ring true;
    gpp_offdiag_ring_hole gpp_offdiag_ring_exchange
    gpp_offdiag_ring_complex_hole gpp_offdiag_ring_complex_exchange
    gpp_offdiag_ring_second
}
