//! v6: cache blocking over `ig` and `n`.
//!
//! The grid's threads share out `n_blk`, `igp` and `ig_blk`; a thread goes through every 128th `ig`
//! from `ig_blk` on and, inside, every 64th band from `n_blk` on. [`N_BLK`] and [`IG_BLK`] are
//! counts of blocks, so neighbouring threads still hold neighbouring `ig`, and the same rows of
//! `wtilde`, `eps` and `aqsn` are used again while they are in cache (paper, section III, v6).

use super::kernels;
use super::v3::term;
use super::v5;
use crate::arrays::{Arrays, Layout, Original, Sums};
use crate::formula::{Pair, TermFn};
use crate::grid::{Thread, each, split};
use crate::real::Real;
use crate::registry::{Loops, Version};
use crate::target;

/// Band blocks, the stride of the band loop.
pub const N_BLK: u32 = 64;

/// Column blocks, the stride of the `ig` loop.
pub const IG_BLK: u32 = 128;

/// What the registry knows of v6.
pub const VERSION: Version = Version {
    id: "v6",
    change: "cache blocking: 64 band blocks, 128 ig blocks",
    source: "paper III, v6",
    loops: Loops::Blocked,
    max_registers: Some(64),
    flops_per_term: 82.6,
    bodies: BODIES,
    ..v5::VERSION
};

kernels!(body: gpp_v6 = 1 spills { in_loop: 6, bytes: 192 });

/// `n_blk`, `igp` and `ig_blk` collapsed, then strided `ig`, then strided `n`.
///
/// # Safety
/// `arrays` valid for their extents in the order of `L`; `iw + NW <= nw`.
#[inline(always)]
pub unsafe fn blocked<R: Real, L: Layout, const NW: usize>(
    arrays: &Arrays,
    iw: u32,
    thread: Thread,
    term: impl TermFn<R>,
) -> Sums<R, NW> {
    let Arrays { nbands, ngpown, ncouls, .. } = *arrays;
    let mut sums = Sums::zero();
    for index in thread.strided(N_BLK * ngpown * IG_BLK) {
        let (row, ig_blk) = split(index, IG_BLK);
        let (n_blk, igp) = split(row, ngpown);
        let igp = target::settle_index(igp);
        // SAFETY: igp is a digit of the index, ig and n are below their extents by their loops; the
        // arrays are valid by the caller's contract.
        unsafe {
            let vcoul = arrays.vcoul_loc(igp);
            let mut ig = ig_blk;
            while ig < ncouls {
                let pair = Pair::load(arrays, ig, igp);
                let mut n = n_blk;
                while n < nbands {
                    let matngmatmgp = arrays.matngmatmgp::<R, L>(ig, igp, n);
                    let occ = arrays.occ(n);
                    each::<NW>(|e| {
                        let w = arrays.wx::<R, L>(iw + e as u32, n);
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
/// As [`blocked`].
#[inline(always)]
unsafe fn body<R: Real, const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { blocked::<R, Original, NW>(a, iw, thread, term) }
}
