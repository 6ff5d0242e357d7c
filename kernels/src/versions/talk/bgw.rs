//! Production BerkeleyGW: V9 in the blocks of its sources of 2023.
//!
//! 16 band blocks and 512 of `ig`, as in the sources of 2023, where the input may set both
//! (`acc_gpp_band_block_size`, `acc_gpp_ig_block_size`). With the 256 of its OpenACC kernel, which the
//! talk shows, it would be V9 to the letter. Threads and indices are V9's.
//!
//! Lines of the nest: 1, 3.

use super::v6::term;
use super::v9::{self, N_BLK};
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Loops, Version};
use crate::layout::Swapped;
use crate::sums::Sums;
use crate::versions::v1::Reciprocals;
use crate::versions::v3::Squares;
use crate::versions::v6::blocked;

/// What talk:bgw is.
pub static VERSION: Version = Version {
    id: "talk:bgw",
    change: "16 band blocks, 512 ig blocks",
    source: "BerkeleyGW, sources of 2023",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    loops: Loops::Blocked { n_blk: N_BLK, ig_blk: IG_BLK },
    flops_per_term: Some(81.4),
    entries: entries!(
        body:
        gpp_talk_bgw = 1,
    ),
    ..v9::KERNEL
};

/// Blocks of `ig`, the stride of the `ig` loop.
pub const IG_BLK: u32 = 512;

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { blocked::<Swapped, _, NW, N_BLK, IG_BLK>(a, iw, thread, term::<Reciprocals, Squares>) }
}
