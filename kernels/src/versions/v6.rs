//! v6: cache blocking over `ig` and `n`.
//!
//! The grid's threads share out `n_blk`, `igp` and `ig_blk`; a thread goes through every 128th `ig`
//! from `ig_blk` on and, inside, every 64th band from `n_blk` on. [`N_BLK`] and [`IG_BLK`] are
//! counts of blocks, so neighbouring threads still hold neighbouring `ig`, and the same parts of
//! `wtilde`, `eps` and `aqsn` are used again while they are in cache (paper, section III, v6).
//!
//! Lines of the nest: 1, 3.

use super::v3::term;
use super::v5;
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::formula::{Factors, TermFn};
use crate::grid::{Thread, each, split};
use crate::intrinsics::settle_index;
use crate::kernel::{Gpu, Kernel, Loops, Version};
use crate::layout::{Order, Original};
use crate::sums::Sums;

/// Band blocks, the stride of the band loop.
pub const N_BLK: u32 = 64;

/// Blocks of `ig`, the stride of the `ig` loop.
pub const IG_BLK: u32 = 128;

/// What v6 is.
pub static VERSION: Version = Version {
    id: "v6",
    change: "cache blocking: 64 band blocks, 128 ig blocks",
    source: "paper III, v6",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    loops: Loops::Blocked { n_blk: N_BLK, ig_blk: IG_BLK },
    max_registers: Some(64),
    flops_per_term: Some(82.6),
    entries: entries!(
        body:
        gpp_v6 = 1 spills { in_loop: 6, bytes: 192 },
    ),
    ..v5::KERNEL
};

/// `n_blk`, `igp` and `ig_blk` collapsed, then strided `ig`, then strided `n`.
///
/// # Safety
/// The [launch contract](crate::contract), arrays in the order of `L`.
#[inline(always)]
pub unsafe fn blocked<
    L: Order,
    P: Factors,
    const NW: usize,
    const N_BLK: u32,
    const IG_BLK: u32,
>(
    arrays: &Arrays,
    iw: u32,
    thread: Thread,
    term: impl TermFn<P>,
) -> Sums<NW> {
    let Arrays { nbands, ngpown, ncouls, .. } = *arrays;
    let mut sums = Sums::zero();
    for index in thread.strided(N_BLK * ngpown * IG_BLK) {
        let (rest, ig_blk) = split(index, IG_BLK);
        let (n_blk, igp) = split(rest, ngpown);
        let igp = settle_index(igp);
        // SAFETY: igp is a digit of the index, ig and n are below their extents by their loops; the
        // arrays are valid by the launch contract.
        unsafe {
            let vcoul = arrays.vcoul_loc(igp);
            let mut ig = ig_blk;
            while ig < ncouls {
                let pair = P::load(arrays, ig, igp);
                let mut n = n_blk;
                while n < nbands {
                    let matngmatmgp = arrays.matngmatmgp::<L>(ig, igp, n);
                    let occ = arrays.occ(n);
                    each::<NW>(|e| {
                        let w = arrays.wx::<L>(iw + e as u32, n);
                        sums.update(e, vcoul, occ, term(&pair, w, &arrays.limits), matngmatmgp);
                    });
                    n += N_BLK;
                }
                ig += IG_BLK;
            }
        }
    }
    sums
}

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { blocked::<Original, _, NW, N_BLK, IG_BLK>(a, iw, thread, term) }
}
