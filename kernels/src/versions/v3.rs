//! v3: absolute values become squares.
//!
//! `|ssx|` and `|eps|` are only compared, so `|ssx|² > sexcut²·|eps|²` decides the same without a
//! square root (paper, section III, v3). The entry for two energies may take 72 registers. Then 28 warps fit
//! on a multiprocessor instead of 24, and one number is spilled. That is faster.
//!
//! Lines of the nest: 9.

use num_complex::Complex64;

use super::v0::collapse3;
use super::v2;
use crate::arrays::{Arrays, Limits};
use crate::entries::entries;
use crate::formula::{Pair, Size, Term};
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Original;
use crate::sums::Sums;

/// What v3 is.
pub static VERSION: Version =
    Version { id: "v3", change: "squares for absolute values", source: "paper III, v3" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(85.7),
    entries: entries!(
        body:
        gpp_v3_nw1 = 1,
        gpp_v3_nw2 = 2 registers 72 spills { in_loop: 8, bytes: 192 },
        gpp_v3_nw3 = 3,
    ),
    ..v2::KERNEL
};

/// Sizes squared.
pub struct Squares;

impl Size for Squares {
    #[inline(always)]
    fn of(ssx: Complex64) -> f64 {
        ssx.norm_sqr()
    }

    #[inline(always)]
    fn ssxcutoff(sexcut: f64, eps: Complex64) -> f64 {
        sexcut * sexcut * eps.norm_sqr()
    }
}

/// One term as v2 writes it, with the cutoff by squares.
#[inline(always)]
pub fn term(pair: &Pair, w: f64, limits: &Limits) -> Term {
    v2::term::<Squares>(pair, w, limits)
}

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse3::<Original, NW>(a, iw, thread, term) }
}
