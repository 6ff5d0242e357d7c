//! m16n8k16: a matrix instruction twice as deep, which reads and writes the sums half as often.
//!
//! A warp makes P of 16 ig before their products. The tile is that of `ring`: of 128 l the sums and twice as many
//! operands would not fit into the registers. P of two bands n would not either: bands are filled up to a multiple of 48.

use crate::offdiag::fragment::M16N8;
use crate::offdiag::tile::Tile;
use crate::offdiag::version::version;
use crate::offdiag::way::Way;
#[cfg(target_arch = "nvptx64")]
use crate::offdiag::{rows::Rows, stages::Stages};

/// See the module.
pub struct M16N8K16;

impl Way for M16N8K16 {
    type Instruction = M16N8;
    const FIRST: Tile = Tile { m: 3, n: 2, across: 2, along: 4, deep: 2 };
    const SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4, deep: 1 };
    const SPLITS: bool = false;

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn stages(rows: Rows, tile: Tile, words: u32, steps: u32) -> impl Stages {
        // SAFETY: this function's own contract.
        unsafe { crate::offdiag::ring::Ring::begun(rows, tile.extent(words), steps, tile.warps()) }
    }
}

version! {
    M16N8K16, "m16n8k16", "a matrix instruction twice as deep", from Some("ring"), capability 9.0, ring true;
    gpp_offdiag_m16n8k16_hole gpp_offdiag_m16n8k16_exchange
    gpp_offdiag_m16n8k16_complex_hole gpp_offdiag_m16n8k16_complex_exchange
    gpp_offdiag_m16n8k16_second
}
