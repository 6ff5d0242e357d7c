//! v1: divisions become reciprocals.
//!
//! A complex division ends in two `div.rn.f64`; `a / b = a · conj(b) · (1 / |b|²)` needs one
//! `rcp.rn.f64` and multiplications instead ([`reciprocal`]). Three sites: `delw` and `ssx` in either branch
//! (paper, section III, v1).

use super::v0::{self, abs, collapse3};
use crate::arrays::{Arrays, Limits};
use crate::entries::entries;
use crate::formula::{
    Pair, TOL_ZERO, Term, first_denominator, is_cut_off, second_denominator, wdiff,
};
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Original;
use crate::quotient::reciprocal;
use crate::real::Real;
use crate::sums::Sums;

/// What v1 is.
pub static VERSION: Version =
    Version { id: "v1", change: "reciprocals for divisions", source: "paper III, v1" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None, shapes: &[] };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(96.3),
    entries: entries!(
        body:
        gpp_v1_nw1 = 1,
        gpp_v1_nw2 = 2,
        gpp_v1_nw3 = 3,
    ),
    ..v0::KERNEL
};

/// One term with reciprocals, square roots and a three-way branch.
#[inline(always)]
pub fn term<R: Real>(pair: &Pair<R>, w: R, limits: &Limits) -> Term<R> {
    let Pair { wtilde, wtilde2, eps, omega2 } = *pair;
    let wsum = (w + wtilde.re).settle();
    let wdiff = wdiff(w, wtilde);
    let wdiffr = wdiff.norm_sqr();
    let rden = R::one() / wdiffr;
    let delw = wtilde * wdiff.conj() * rden;
    let delwr = delw.norm_sqr();

    let mut term = if wdiffr > R::of(limits.limittwo) && delwr < R::of(limits.limitone) {
        let cden = first_denominator(wsum, wdiff, wtilde, wtilde2);
        Term { sch: delw * eps, ssx: omega2 * reciprocal(cden) }
    } else if delwr > R::of(TOL_ZERO) {
        let cden = second_denominator(wsum, wtilde);
        Term { sch: Term::zero().sch, ssx: -(omega2 * reciprocal(cden)) }
    } else {
        Term::zero()
    };

    let ssxcutoff = R::of(limits.sexcut) * abs(eps);
    if is_cut_off(w, || abs(term.ssx), ssxcutoff) {
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
