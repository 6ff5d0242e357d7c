//! v0, the baseline: all three loops collapsed, energies in the thread.
//!
//! `n`, `igp` and `ig` are one loop over the grid's threads, `ig` fastest, so that neighbouring
//! threads read neighbouring elements. Each thread goes through the energies and keeps a complex
//! pair of sums for each. Quotients are complex divisions, absolute values are square roots and the
//! branch has three ways (paper, section III, v0).
//!
//! Lines of the nest: 1, 2, 3.

use num_complex::Complex64;

use crate::arrays::{Arrays, Limits};
use crate::entries::entries;
use crate::formula::{
    Pair, Size, TOL_ZERO, Term, TermFn, first_denominator, second_denominator, wdiff,
};
use crate::grid::{Collapsed, Thread, each};
use crate::intrinsics::{settle, sqrt};
use crate::kernel::{Energies, Gpu, Kernel, Loops, Version};
use crate::layout::{Layout, Order, Original};
use crate::plan::Poles;
use crate::quotient::Quotients;
use crate::sums::Sums;
use crate::table::EnergiesFrom;

/// What v0 is.
pub static VERSION: Version =
    Version { id: "v0", change: "baseline: collapse(3) over n, igp, ig", source: "paper III, v0" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    poles: Poles::Any,
    loops: Loops::Collapse3,
    energies: Energies::Together,
    energies_from: EnergiesFrom::Arrays,
    layout: Layout::Original,
    threads: 128,
    max_registers: None,
    flops_per_term: Some(148.8),
    entries: entries!(
        body:
        gpp_v0_nw1 = 1,
        gpp_v0_nw2 = 2,
        gpp_v0_nw3 = 3,
    ),
};

/// Quotients by complex divisions.
pub struct Divisions;

impl Quotients for Divisions {
    #[inline(always)]
    fn delw(wtilde: Complex64, wdiff: Complex64, _: f64) -> Complex64 {
        wtilde / wdiff
    }

    #[inline(always)]
    fn over(a: Complex64, b: Complex64) -> Complex64 {
        a / b
    }
}

/// Sizes by square roots.
pub struct Roots;

impl Size for Roots {
    #[inline(always)]
    fn of(ssx: Complex64) -> f64 {
        sqrt(ssx.norm_sqr())
    }

    #[inline(always)]
    fn ssxcutoff(sexcut: f64, eps: Complex64) -> f64 {
        sexcut * Roots::of(eps)
    }
}

/// One term with a three-way branch.
#[inline(always)]
pub fn three_ways<Q: Quotients, S: Size>(pair: &Pair, w: f64, limits: &Limits) -> Term {
    let Pair { wtilde, wtilde2, eps, omega2 } = *pair;
    let wsum = settle(w + wtilde.re);
    let wdiff = wdiff(w, wtilde);
    let wdiffr = wdiff.norm_sqr();
    let delw = Q::delw(wtilde, wdiff, wdiffr);
    let delwr = delw.norm_sqr();

    let term = if wdiffr > limits.limittwo && delwr < limits.limitone {
        let cden = first_denominator(wsum, wdiff, wtilde, wtilde2);
        Term { sch: delw * eps, ssx: Q::over(omega2, cden) }
    } else if delwr > TOL_ZERO {
        let cden = second_denominator(wsum, wtilde);
        Term { sch: Term::zero().sch, ssx: -Q::over(omega2, cden) }
    } else {
        Term::zero()
    };

    term.cut::<S>(w, S::ssxcutoff(limits.sexcut, eps))
}

/// One term with divisions, square roots and a three-way branch.
#[inline(always)]
pub fn term(pair: &Pair, w: f64, limits: &Limits) -> Term {
    three_ways::<Divisions, Roots>(pair, w, limits)
}

/// The three loops collapsed; `term` is how the version writes a term.
///
/// # Safety
/// The [launch contract](crate::contract), arrays in the order of `L`.
#[inline(always)]
pub unsafe fn collapse3<L: Order, const NW: usize>(
    arrays: &Arrays,
    iw: u32,
    thread: Thread,
    term: impl TermFn,
) -> Sums<NW> {
    let Arrays { nbands, ngpown, ncouls, .. } = *arrays;
    let stride = Collapsed::split(thread.count, ngpown, ncouls);
    let mut at = Collapsed::split(thread.index, ngpown, ncouls);
    let mut sums = Sums::zero();
    while at.outer < nbands {
        let Collapsed { outer: n, middle: igp, inner: ig } = at;
        // SAFETY: `at` keeps its inner digits below their extents and the loop its outer one;
        // the arrays are valid by the launch contract.
        unsafe {
            let pair = Pair::load(arrays, ig, igp);
            let matngmatmgp = arrays.matngmatmgp::<L>(ig, igp, n);
            let (vcoul, occ) = (arrays.vcoul_loc(igp), arrays.occ(n));
            each::<NW>(|e| {
                let w = arrays.wx::<L>(iw + e as u32, n);
                sums.update(e, vcoul, occ, term(&pair, w, &arrays.limits), matngmatmgp);
            });
        }
        at = at.advance(stride, ngpown, ncouls);
    }
    sums
}

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse3::<Original, NW>(a, iw, thread, term) }
}
