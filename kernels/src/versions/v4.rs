//! v4: bands become a loop inside the thread.
//!
//! Collapsing only `igp` and `ig` leaves parallelism enough, and `wtilde` and `eps` are read once
//! for all bands: the arithmetic intensity on HBM rises. Of the three loops the one over bands has
//! the fewest arrays with the band as first index, so the reads stay coalesced (paper, section III,
//! v4).
//!
//! Lines of the nest: 1.

use super::v3::{self, term};
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::formula::{Factors, TermFn};
use crate::grid::{Thread, each, split};
use crate::kernel::{Gpu, Kernel, Loops, Version};
use crate::layout::{Order, Original};
use crate::sums::Sums;

/// What v4 is.
pub static VERSION: Version = Version {
    id: "v4",
    change: "collapse(2) over igp, ig; bands in the thread",
    source: "paper III, v4",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    loops: Loops::Collapse2,
    max_registers: Some(80),
    flops_per_term: Some(77.5),
    entries: entries!(
        body:
        gpp_v4_nw1 = 1,
        gpp_v4_nw2 = 2 registers 72 spills { in_loop: 16, bytes: 192 },
        gpp_v4_nw3 = 3 spills { in_loop: 16, bytes: 192 },
    ),
    ..v3::KERNEL
};

/// `igp` and `ig` collapsed, then `n`, then the energies.
///
/// # Safety
/// The [launch contract](crate::contract), arrays in the order of `L`.
#[inline(always)]
pub unsafe fn collapse2<L: Order, P: Factors, const NW: usize>(
    arrays: &Arrays,
    iw: u32,
    thread: Thread,
    term: impl TermFn<P>,
) -> Sums<NW> {
    let Arrays { nbands, ngpown, ncouls, .. } = *arrays;
    let mut sums = Sums::zero();
    for index in thread.strided(ngpown * ncouls) {
        let (igp, ig) = split(index, ncouls);
        // SAFETY: igp and ig are digits of an index below ngpown · ncouls, n is below its extent by
        // the loop; the arrays are valid by the launch contract.
        unsafe {
            let pair = P::load(arrays, ig, igp);
            let vcoul = arrays.vcoul_loc(igp);
            for n in 0..nbands {
                let matngmatmgp = arrays.matngmatmgp::<L>(ig, igp, n);
                let occ = arrays.occ(n);
                each::<NW>(|e| {
                    let w = arrays.wx::<L>(iw + e as u32, n);
                    sums.update(e, vcoul, occ, term(&pair, w, &arrays.limits), matngmatmgp);
                });
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
    unsafe { collapse2::<Original, _, NW>(a, iw, thread, term) }
}
