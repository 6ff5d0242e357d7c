//! Wide: a tile of 128 l by 64 igp, so that an element of P serves 64 l instead of 48.
//!
//! The sums take 192 of 255 registers. A warp's l are of one band n: bands are filled up to a multiple of 64. So it is
//! for numbers of bands that fill it.

use crate::offdiag::fragment::M16N8;
use crate::offdiag::tile::Tile;
use crate::offdiag::version::version;
use crate::offdiag::way::Way;
#[cfg(target_arch = "nvptx64")]
use crate::offdiag::{rows::Rows, stages::Stages};

/// See the module.
pub struct Wide;

impl Way for Wide {
    type Instruction = M16N8;
    const FIRST: Tile = Tile { m: 4, n: 2, across: 2, along: 4, deep: 1 };
    const SECOND: Tile = Tile { m: 2, n: 2, across: 2, along: 4, deep: 1 };
    const SPLITS: bool = false;

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn stages(rows: Rows, tile: Tile, words: u32, steps: u32) -> impl Stages {
        // SAFETY: this function's own contract.
        unsafe { crate::offdiag::ring::Ring::begun(rows, tile.extent(words), steps, tile.warps()) }
    }
}

version! {
    Wide, "wide", "tiles of 128 l", from Some("ring"), capability 9.0, ring true;
    gpp_offdiag_wide_hole gpp_offdiag_wide_exchange
    gpp_offdiag_wide_complex_hole gpp_offdiag_wide_complex_exchange
    gpp_offdiag_wide_second
}
