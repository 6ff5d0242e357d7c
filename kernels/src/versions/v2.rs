//! v2: the branch goes from three ways to two.
//!
//! `sch` and `ssx` are zeroed first, so that the last way is gone. The paper gained nothing from it
//! here, but other kernels of the code did (section III, v2).
//!
//! Lines of the nest: 7, 8.

use super::v0::{Roots, collapse3};
use super::v1::{self, Reciprocals};
use crate::arrays::{Arrays, Limits};
use crate::entries::entries;
use crate::formula::{Pair, Size, TOL_ZERO, Term, first_denominator, second_denominator, wdiff};
use crate::grid::Thread;
use crate::intrinsics::settle;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Original;
use crate::quotient::Quotients;
use crate::sums::Sums;

/// What v2 is.
pub static VERSION: Version =
    Version { id: "v2", change: "zero first, then a two-way branch", source: "paper III, v2" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(96.3),
    entries: entries!(
        body:
        gpp_v2_nw1 = 1,
        gpp_v2_nw2 = 2,
        gpp_v2_nw3 = 3,
    ),
    ..v1::KERNEL
};

/// One term before the cutoff, with a two-way branch.
#[inline(always)]
pub fn two_ways<Q: Quotients>(pair: &Pair, w: f64, limits: &Limits) -> Term {
    let Pair { wtilde, wtilde2, eps, omega2 } = *pair;
    let wsum = settle(w + wtilde.re);
    let wdiff = wdiff(w, wtilde);
    let wdiffr = wdiff.norm_sqr();
    let delw = Q::delw(wtilde, wdiff, wdiffr);
    let delwr = delw.norm_sqr();

    let mut term = Term::zero();
    if wdiffr > limits.limittwo && delwr < limits.limitone {
        let cden = first_denominator(wsum, wdiff, wtilde, wtilde2);
        term.sch = delw * eps;
        term.ssx = Q::over(omega2, cden);
    } else if delwr > TOL_ZERO {
        let cden = second_denominator(wsum, wtilde);
        term.ssx = -Q::over(omega2, cden);
    }
    term
}

/// One term with reciprocals and a two-way branch.
#[inline(always)]
pub fn term<S: Size>(pair: &Pair, w: f64, limits: &Limits) -> Term {
    let term = two_ways::<Reciprocals>(pair, w, limits);
    term.cut::<S>(w, S::ssxcutoff(limits.sexcut, pair.eps))
}

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse3::<Original, NW>(a, iw, thread, term::<Roots>) }
}
