//! V9: cache blocking over `ig` and `n`.
//!
//! As in v6, in other blocks: the talk's slides do not say which, its listing is the OpenACC kernel of
//! BerkeleyGW (`sigma_gpp_openacc` in Sigma/mtxel_cor.f90), which has 16 band blocks and 256 of `ig`. As
//! everywhere these are counts of blocks, the strides of a thread's loops (talk, V9).
//!
//! Lines of the nest: 1, 3.

use super::v6::term;
use super::v8;
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Loops, Version};
use crate::layout::Swapped;
use crate::sums::Sums;
use crate::versions::v1::Reciprocals;
use crate::versions::v3::Squares;
use crate::versions::v6::blocked;

/// What talk:V9 is.
pub static VERSION: Version = Version {
    id: "talk:V9",
    change: "cache blocking: 16 band blocks, 256 ig blocks",
    source: "talk, V9; BerkeleyGW, sigma_gpp_openacc",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    loops: Loops::Blocked { n_blk: N_BLK, ig_blk: IG_BLK },
    flops_per_term: Some(81.4),
    entries: entries!(
        body:
        gpp_talk_v9 = 1,
    ),
    ..v8::KERNEL
};

/// Band blocks, the stride of the band loop.
pub const N_BLK: u32 = 16;

/// Blocks of `ig`, the stride of the `ig` loop.
pub const IG_BLK: u32 = 256;

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { blocked::<Swapped, _, NW, N_BLK, IG_BLK>(a, iw, thread, term::<Reciprocals, Squares>) }
}
