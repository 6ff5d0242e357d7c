//! v3: absolute values become squares.
//!
//! `|ssx|` and `|eps|` are only compared, so `|ssx|² > sexcut²·|eps|²` decides the same without a
//! square root (paper, section III, v3). The entry for two energies may take 72 registers. Then 28 warps fit
//! on a multiprocessor instead of 24, and one number is spilled. That is faster.
//!
//! Lines of the nest: 9.

use num_complex::Complex;

use super::v0::collapse3;
use super::v2;
use crate::arrays::{Arrays, Limits};
use crate::entries::entries;
use crate::formula::{Pair, Size, Term};
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Original;
use crate::real::Real;
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
    fn of<R: Real>(ssx: Complex<R>) -> R {
        ssx.norm_sqr()
    }

    #[inline(always)]
    fn ssxcutoff<R: Real>(sexcut: R, eps: Complex<R>) -> R {
        sexcut * sexcut * eps.norm_sqr()
    }
}

/// One term as v2 writes it, with the cutoff by squares.
#[inline(always)]
pub fn term<R: Real>(pair: &Pair<R>, w: R, limits: &Limits) -> Term<R> {
    v2::term::<R, Squares>(pair, w, limits)
}

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
unsafe fn body<R: Real, const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the launch contract.
    unsafe { collapse3::<R, Original, NW>(a, iw, thread, term) }
}
