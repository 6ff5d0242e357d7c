//! v3: absolute values become squares.
//!
//! `|ssx|` and `|eps|` are only compared, so `|ssx|² > sexcut²·|eps|²` decides the same without a
//! square root (paper, section III, v3). For two energies 72 registers leave room for 28 warps instead of
//! 24, at the cost of one spilled number: the shorter time of the two.

use super::v0::collapse3;
use super::v2::{self, uncut_term};
use crate::arrays::{Arrays, Limits};
use crate::entries::entries;
use crate::formula::{Pair, Term, is_cut_off};
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Original;
use crate::real::Real;
use crate::sums::Sums;

/// What v3 is.
pub static VERSION: Version =
    Version { id: "v3", change: "squares for absolute values", source: "paper III, v3" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None, shapes: &[] };

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

/// One term as v2 writes it, with the cutoff by squares.
#[inline(always)]
pub fn term<R: Real>(pair: &Pair<R>, w: R, limits: &Limits) -> Term<R> {
    let mut term = uncut_term(pair, w, limits);
    let sexcut = R::of(limits.sexcut);
    let ssxcutoff = sexcut * sexcut * pair.eps.norm_sqr();
    if is_cut_off(w, || term.ssx.norm_sqr(), ssxcutoff) {
        term.ssx = Term::zero().ssx;
    }
    term
}

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
unsafe fn body<R: Real, const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the launch contract.
    unsafe { collapse3::<R, Original, NW>(a, iw, thread, term) }
}
