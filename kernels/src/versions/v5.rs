//! v5: energies leave the kernel, one launch each.
//!
//! A thread keeps two complex sums instead of two for each energy: fewer registers, more warps.
//! `M` and the pair's factors are computed again for each energy (paper, section III, v5).
//!
//! Lines of the nest: 4.

use super::v3::term;
use super::v4::{self, collapse2};
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Energies, Gpu, Kernel, Version};
use crate::layout::Original;
use crate::sums::Sums;

/// What v5 is.
pub static VERSION: Version =
    Version { id: "v5", change: "one launch for each energy", source: "paper III, v5" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    energies: Energies::OneLaunchEach,
    max_registers: None,
    flops_per_term: Some(81.0),
    entries: entries!(
        body:
        gpp_v5 = 1,
    ),
    ..v4::KERNEL
};

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse2::<Original, _, NW>(a, iw, thread, term) }
}
