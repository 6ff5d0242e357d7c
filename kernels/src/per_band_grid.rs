//! The blocks of kernels with sums for each band.

use crate::intrinsics::WARP;
use crate::tiling::Grid;

/// `igp` of a thread, and its bands.
pub const TILE: usize = 4;
pub const BANDS_OF_THREAD: usize = 2;

pub const WARPS: u32 = 8;
pub const THREADS: u32 = WARPS * WARP;

/// `igp` of a block, which are a group, and its bands.
pub const IGP: u32 = WARPS * TILE as u32;
pub const BANDS: u32 = WARP * BANDS_OF_THREAD as u32;

/// `ig` of a block, and those that are in shared memory at a time.
pub const CHUNK: u32 = 512;
pub const STAGE: u32 = 8;

pub const fn grid(nbands: u32, ngpown: u32, ncouls: u32) -> Grid {
    let (groups, ig_blocks) = (ngpown.div_ceil(IGP), ncouls.div_ceil(CHUNK));
    let band_blocks = nbands.div_ceil(BANDS);
    let (threads, fallback_blocks, take_turns) = (THREADS, 0, false);
    Grid { threads, groups, ig_blocks, fallback_blocks, take_turns, band_blocks }
}
