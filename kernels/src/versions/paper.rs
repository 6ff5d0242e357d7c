//! The paper's versions, in order: each a module with the idea, what it is, its kernel, and what it changes.

use num_complex::Complex64;

use crate::arrays::{Arrays, Limits};
use crate::entries::entries;
use crate::formula::{
    Factors, Pair, Quotients, Size, Sums, TOL_ZERO, Term, TermFn, first_denominator, reciprocal,
    second_denominator, wdiff,
};
use crate::grid::{Collapsed, Thread, each, split};
use crate::intrinsics::{settle, settle_index, sqrt};
use crate::kernel::{Energies, Kernel, Loops};
use crate::layout::{Layout, Order, Original, Swapped};
use crate::plan::{EnergiesFrom, Poles};

pub mod v0 {
    //! v0, the baseline: all three loops collapsed, energies in the thread.
    //!
    //! `n`, `igp` and `ig` are one loop over the grid's threads, `ig` fastest, so that neighbouring
    //! threads read neighbouring elements. Each thread goes through the energies and keeps a complex
    //! pair of sums for each. Quotients are complex divisions, absolute values are square roots and the
    //! branch has three ways (paper, section III, v0).
    //!
    //! Lines of the nest: 1, 2, 3.

    use super::*;

    version! { id: "v0", change: "baseline: collapse(3) over n, igp, ig", source: "paper III, v0", kernels: [KERNEL] }

    pub const KERNEL: Kernel = Kernel {
        poles: Poles::Any,
        loops: Loops::Collapse3,
        energies: Energies::Together,
        energies_from: EnergiesFrom::Arrays,
        layout: Layout::Original,
        threads: 128,
        max_registers: None,
        flops_per_term: Some(148.8),
        entries: entries!(body: gpp_v0_nw1 = 1, gpp_v0_nw2 = 2, gpp_v0_nw3 = 3),
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
            // `at` keeps its inner digits below their extents and the loop its outer one;
            // the arrays are valid by the launch contract.
            let pair = Pair::load(arrays, ig, igp);
            let matngmatmgp = arrays.matngmatmgp::<L>(ig, igp, n);
            let (vcoul, occ) = (arrays.vcoul_loc(igp), arrays.occ(n));
            each::<NW>(|e| {
                let w = arrays.wx::<L>(iw + e as u32, n);
                sums.update(e, vcoul, occ, term(&pair, w, &arrays.limits), matngmatmgp);
            });
            at = at.advance(stride, ngpown, ncouls);
        }
        sums
    }

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
        collapse3::<Original, NW>(a, iw, thread, term)
    }
}

pub mod v1 {
    //! v1: divisions become reciprocals.
    //!
    //! A complex division ends in two `div.rn.f64`; `a / b = a · conj(b) · (1 / |b|²)` needs one
    //! `rcp.rn.f64` and multiplications instead ([`reciprocal`]). Three sites: `delw` and `ssx` in either branch
    //! (paper, section III, v1).
    //!
    //! Lines of the nest: 6, 7, 8.

    use super::v0::{self, Roots, collapse3, three_ways};
    use super::*;

    version! { id: "v1", change: "reciprocals for divisions", source: "paper III, v1", kernels: [KERNEL] }

    pub const KERNEL: Kernel = Kernel {
        flops_per_term: Some(96.3),
        entries: entries!(body: gpp_v1_nw1 = 1, gpp_v1_nw2 = 2, gpp_v1_nw3 = 3),
        ..v0::KERNEL
    };

    /// Quotients by reciprocals.
    pub struct Reciprocals;

    impl Quotients for Reciprocals {
        #[inline(always)]
        fn delw(wtilde: Complex64, wdiff: Complex64, wdiffr: f64) -> Complex64 {
            let rden = 1.0 / wdiffr;
            wtilde * wdiff.conj() * rden
        }

        #[inline(always)]
        fn over(a: Complex64, b: Complex64) -> Complex64 {
            a * reciprocal(b)
        }
    }

    #[inline(always)]
    unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
        collapse3::<Original, NW>(a, iw, thread, three_ways::<Reciprocals, Roots>)
    }
}

pub mod v2 {
    //! v2: the branch goes from three ways to two.
    //!
    //! `sch` and `ssx` are zeroed first, so that the last way is gone. The paper gained nothing from it
    //! here, but other kernels of the code did (section III, v2).
    //!
    //! Lines of the nest: 7, 8.

    use super::v0::{Roots, collapse3};
    use super::v1::{self, Reciprocals};
    use super::*;

    version! { id: "v2", change: "zero first, then a two-way branch", source: "paper III, v2", kernels: [KERNEL] }

    pub const KERNEL: Kernel = Kernel {
        flops_per_term: Some(96.3),
        entries: entries!(body: gpp_v2_nw1 = 1, gpp_v2_nw2 = 2, gpp_v2_nw3 = 3),
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
            term.ssx -= Q::over(omega2, cden);
        }
        term
    }

    /// One term with reciprocals and a two-way branch.
    #[inline(always)]
    pub fn term<S: Size>(pair: &Pair, w: f64, limits: &Limits) -> Term {
        let term = two_ways::<Reciprocals>(pair, w, limits);
        term.cut::<S>(w, S::ssxcutoff(limits.sexcut, pair.eps))
    }

    #[inline(always)]
    unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
        collapse3::<Original, NW>(a, iw, thread, term::<Roots>)
    }
}

pub mod v3 {
    //! v3: absolute values become squares.
    //!
    //! `|ssx|` and `|eps|` are only compared, so `|ssx|² > sexcut²·|eps|²` decides the same without a
    //! square root (paper, section III, v3). The entry for two energies may take 72 registers. Then 28 warps fit
    //! on a multiprocessor instead of 24, and one number is spilled. That is faster.
    //!
    //! Lines of the nest: 9.

    use super::v0::collapse3;
    use super::v2;
    use super::*;

    version! { id: "v3", change: "squares for absolute values", source: "paper III, v3", kernels: [KERNEL] }

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

    #[inline(always)]
    unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
        collapse3::<Original, NW>(a, iw, thread, term)
    }
}

pub mod v4 {
    //! v4: bands become a loop inside the thread.
    //!
    //! Collapsing only `igp` and `ig` leaves parallelism enough, and `wtilde` and `eps` are read once
    //! for all bands: the arithmetic intensity on HBM rises. Of the three loops the one over bands has
    //! the fewest arrays with the band as first index, so the reads stay coalesced (paper, section III,
    //! v4).
    //!
    //! Lines of the nest: 1.

    use super::v3::{self, term};
    use super::*;

    version! {
        id: "v4", change: "collapse(2) over igp, ig; bands in the thread",
        source: "paper III, v4", kernels: [KERNEL]
    }

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
            // `igp` and `ig` are digits of an index below ngpown · ncouls, n is below its extent by
            // the loop; the arrays are valid by the launch contract.
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
        sums
    }

    #[inline(always)]
    unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
        collapse2::<Original, _, NW>(a, iw, thread, term)
    }
}

pub mod v5 {
    //! v5: energies leave the kernel, one launch each.
    //!
    //! A thread keeps two complex sums instead of two for each energy: fewer registers, more warps.
    //! `M` and the pair's factors are computed again for each energy (paper, section III, v5).
    //!
    //! Lines of the nest: 4.

    use super::v3::term;
    use super::v4::{self, collapse2};
    use super::*;

    version! { id: "v5", change: "one launch for each energy", source: "paper III, v5", kernels: [KERNEL] }

    pub const KERNEL: Kernel = Kernel {
        energies: Energies::OneLaunchEach,
        max_registers: None,
        flops_per_term: Some(81.0),
        entries: entries!(body: gpp_v5 = 1),
        ..v4::KERNEL
    };

    #[inline(always)]
    unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
        collapse2::<Original, _, NW>(a, iw, thread, term)
    }
}

pub mod v6 {
    //! v6: cache blocking over `ig` and `n`.
    //!
    //! The grid's threads share out `n_blk`, `igp` and `ig_blk`; a thread goes through every 128th `ig`
    //! from `ig_blk` on and, inside, every 64th band from `n_blk` on. [`N_BLK`] and [`IG_BLK`] are
    //! counts of blocks, so neighbouring threads still hold neighbouring `ig`, and the same parts of
    //! `wtilde`, `eps` and `aqsn` are used again while they are in cache (paper, section III, v6).
    //!
    //! Lines of the nest: 1, 3.

    use super::v3::term;
    use super::v5;
    use super::*;

    /// Band blocks, the stride of the band loop.
    pub const N_BLK: u32 = 64;

    /// Blocks of `ig`, the stride of the `ig` loop.
    pub const IG_BLK: u32 = 128;

    version! {
        id: "v6", change: "cache blocking: 64 band blocks, 128 ig blocks",
        source: "paper III, v6", kernels: [KERNEL]
    }

    pub const KERNEL: Kernel = Kernel {
        loops: Loops::Blocked { n_blk: N_BLK, ig_blk: IG_BLK },
        max_registers: Some(64),
        flops_per_term: Some(82.6),
        entries: entries!(body: gpp_v6 = 1 spills { in_loop: 6, bytes: 192 }),
        ..v5::KERNEL
    };

    /// `n_blk`, `igp` and `ig_blk` collapsed, then strided `ig`, then strided `n`.
    #[inline(always)]
    pub unsafe fn blocked<
        L: Order,
        P: Factors,
        const NW: usize,
        const N_BLK: u32,
        const IG_BLK: u32,
    >(
        arrays: &Arrays,
        iw: u32,
        thread: Thread,
        term: impl TermFn<P>,
    ) -> Sums<NW> {
        let Arrays { nbands, ngpown, ncouls, .. } = *arrays;
        let mut sums = Sums::zero();
        for index in thread.strided(N_BLK * ngpown * IG_BLK) {
            let (rest, ig_blk) = split(index, IG_BLK);
            let (n_blk, igp) = split(rest, ngpown);
            let igp = settle_index(igp);
            // `igp` is a digit of the index, ig and n are below their extents by their loops; the
            // arrays are valid by the launch contract.
            let vcoul = arrays.vcoul_loc(igp);
            let mut ig = ig_blk;
            while ig < ncouls {
                let pair = P::load(arrays, ig, igp);
                let mut n = n_blk;
                while n < nbands {
                    let matngmatmgp = arrays.matngmatmgp::<L>(ig, igp, n);
                    let occ = arrays.occ(n);
                    each::<NW>(|e| {
                        let w = arrays.wx::<L>(iw + e as u32, n);
                        sums.update(e, vcoul, occ, term(&pair, w, &arrays.limits), matngmatmgp);
                    });
                    n += N_BLK;
                }
                ig += IG_BLK;
            }
        }
        sums
    }

    #[inline(always)]
    unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
        blocked::<Original, _, NW, N_BLK, IG_BLK>(a, iw, thread, term)
    }
}

pub mod v7 {
    //! v7: `wx` and `aqsm_local` swap their indices.
    //!
    //! With blocking a thread goes from band to band, so `wx(n,iw)` and `aqsm_local(n,igp)` put what it
    //! reads next nearer to what it read last (paper, section III, v7).
    //!
    //! Lines of the nest: 5, 6.

    use super::v3::term;
    use super::v6::{self, IG_BLK, N_BLK, blocked};
    use super::*;

    version! { id: "v7", change: "wx(n,iw) and aqsm_local(n,igp)", source: "paper III, v7", kernels: [KERNEL] }

    pub const KERNEL: Kernel = Kernel {
        layout: Layout::Swapped,
        flops_per_term: Some(82.6),
        entries: entries!(body: gpp_v7 = 1 spills { in_loop: 6, bytes: 192 }),
        ..v6::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
        blocked::<Swapped, _, NW, N_BLK, IG_BLK>(a, iw, thread, term)
    }
}

pub mod v8 {
    //! v8: 512 threads a block.
    //!
    //! A thread may take fewer registers, so that larger blocks fit on a multiprocessor (paper, section III,
    //! v8). With the paper's cap of 128 registers one block of 512 threads fits. With our cap of 64 two fit; a
    //! few numbers are spilled.
    //!
    //! Lines of the nest: none, the launch changes.

    use super::v7::{self, body};
    use super::*;

    version! {
        id: "v8", change: "512 threads a block, at most 64 registers",
        source: "paper III, v8", kernels: [KERNEL]
    }

    pub const KERNEL: Kernel = Kernel {
        threads: 512,
        max_registers: Some(64),
        flops_per_term: Some(82.6),
        entries: entries!(body: gpp_v8 = 1 spills { in_loop: 6, bytes: 192 }),
        ..v7::KERNEL
    };
}
