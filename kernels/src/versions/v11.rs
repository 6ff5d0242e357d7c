//! v11: bands staged in shared memory.
//!
//! v10 waits for `aqsn` half of its time. A block brings eight bands to shared memory while it sums
//! the eight before, so no load is waited for, and `aqsn` leaves L2 once for the eight warps that
//! share its rows.

use super::{kernels, v10};
use crate::arrays::{Arrays, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::Version;
use crate::tiles::complex;

/// What the registry knows of v11.
pub const VERSION: Version = Version {
    id: "v11",
    change: "bands staged in shared memory, eight at a time",
    flops_per_term: 32.5,
    bodies: BODIES,
    ..v10::VERSION
};

kernels!(planned BODIES = body: gpp_v11_nw1 = 1, gpp_v11_nw2 = 2, gpp_v11_nw3 = 3);

/// # Safety
/// As [`complex::staged`].
#[inline(always)]
pub unsafe fn body<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { complex::staged::<R, NW, 1, 8>(a, thread) }
}
