//! The paper's versions, in order: each a module with its idea, its kernel, and its loop or term if that has changed. From
//! v3 on the term stays the same. [`crate::formula`] has the definition.
//!
//! Terms are `inline`, so that LLVM inlines them; if rustc did (`inline(always)`), it would split the sums differently
//! and the PTX would change.

use crate::arrays::{Arrays, Layout, Limits, Order, Original, Swapped};
use crate::formula::{
    Pair, TOL_ZERO, Term, ThreadSums, abs, branches, first_denominator, reciprocal,
    second_denominator, term, wdiff,
};
use crate::intrinsics::{opt_barrier, opt_barrier_u32};
use crate::kernel::{Energies, Kernel, Loops, entries};
use crate::threads::{Collapsed, Thread, each, split};

pub mod v0 {
    //! v0: baseline: loops over n, G′ and G collapsed into one.
    //!
    //! `n`, `igp` and `ig` are one loop over the grid's threads, `ig` fastest, so that neighbouring
    //! threads read neighbouring elements. Each thread goes through the energies and keeps a complex
    //! pair of sums for each. Quotients are complex divisions, absolute values are square roots and the
    //! branch has three ways (paper, section III, v0).
    //!
    //! Lines of the nest: 1, 2, 3.

    use super::*;

    version! {
        id: "v0", change: "baseline: loops over n, G′ and G collapsed into one",
        source: "paper III, v0"
    }

    pub const KERNEL: Kernel = Kernel {
        entries: entries!(body: gpp_v0),
        ..Kernel::new(Loops::Collapse3, Layout::Original, 128)
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        collapse3(a, iw, thread, term)
    }

    /// The loop of v0 to v3, with the term of each.
    #[inline(always)]
    pub unsafe fn collapse3<const NW: usize>(
        a: &Arrays,
        iw: u32,
        thread: Thread,
        term: impl Fn(&Pair, f64, &Limits) -> Term,
    ) -> ThreadSums<NW> {
        let Arrays { nbands, ngpown, ncouls, .. } = *a;
        let mut sums = ThreadSums::zero();
        let stride = Collapsed::split(thread.count, ngpown, ncouls);
        let mut indices = Collapsed::split(thread.index, ngpown, ncouls);
        while indices.outer < nbands {
            let Collapsed { outer: n, middle: igp, inner: ig } = indices;
            let pair = Pair::load(a, ig, igp);
            let matngmatmgp = a.matngmatmgp::<Original>(ig, igp, n);
            let (vcoul, occ) = (a.vcoul_loc(igp), a.occ(n));
            each::<NW>(|e| {
                let w = a.wx::<Original>(iw + e as u32, n);
                sums.update(e, vcoul, occ, term(&pair, w, &a.limits), matngmatmgp);
            });
            indices = indices.advance(stride, ngpown, ncouls);
        }
        sums
    }

    /// One term: divisions, square roots, three branches.
    #[inline]
    pub fn term(pair: &Pair, w: f64, limits: &Limits) -> Term {
        let Pair { wtilde, wtilde2, eps, omega2 } = *pair;
        let wsum = opt_barrier(w + wtilde.re);
        let wdiff = wdiff(w, wtilde);
        let wdiffr = wdiff.norm_sqr();
        let delw = wtilde / wdiff;
        let delwr = delw.norm_sqr();
        let term = if wdiffr > limits.limittwo && delwr < limits.limitone {
            let cden = first_denominator(wsum, wdiff, wtilde, wtilde2);
            Term { sch: delw * eps, ssx: omega2 / cden }
        } else if delwr > TOL_ZERO {
            let cden = second_denominator(wsum, wtilde);
            Term { sch: Term::zero().sch, ssx: -(omega2 / cden) }
        } else {
            Term::zero()
        };
        term.cut(w, abs, limits.sexcut * abs(eps))
    }
}

pub mod v1 {
    //! v1: reciprocals instead of divisions.
    //!
    //! A complex division ends in two `div.rn.f64`; `a / b = a · conj(b) · (1 / |b|²)` needs one
    //! `rcp.rn.f64` and multiplications instead. This changes three places: `delw`, and `ssx` in either branch
    //! (paper, section III, v1).
    //!
    //! Lines of the nest: 6, 7, 8.

    use super::v0::collapse3;
    use super::*;

    version! { id: "v1", change: "reciprocals instead of divisions", source: "paper III, v1" }

    pub const KERNEL: Kernel = Kernel { entries: entries!(body: gpp_v1), ..super::v0::KERNEL };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        collapse3(a, iw, thread, term)
    }

    /// One term: reciprocals, square roots, three branches.
    #[inline]
    pub fn term(pair: &Pair, w: f64, limits: &Limits) -> Term {
        three_branches(pair, w, limits).cut(w, abs, limits.sexcut * abs(pair.eps))
    }

    /// The same before the cutoff.
    #[inline(always)]
    pub fn three_branches(pair: &Pair, w: f64, limits: &Limits) -> Term {
        let Pair { wtilde, wtilde2, eps, omega2 } = *pair;
        let wsum = opt_barrier(w + wtilde.re);
        let wdiff = wdiff(w, wtilde);
        let wdiffr = wdiff.norm_sqr();
        let rden = 1.0 / wdiffr;
        let delw = wtilde * wdiff.conj() * rden;
        let delwr = delw.norm_sqr();
        if wdiffr > limits.limittwo && delwr < limits.limitone {
            let cden = first_denominator(wsum, wdiff, wtilde, wtilde2);
            Term { sch: delw * eps, ssx: omega2 * reciprocal(cden) }
        } else if delwr > TOL_ZERO {
            let cden = second_denominator(wsum, wtilde);
            Term { sch: Term::zero().sch, ssx: -(omega2 * reciprocal(cden)) }
        } else {
            Term::zero()
        }
    }
}

pub mod v2 {
    //! v2: a two-way instead of a three-way branch.
    //!
    //! `sch` and `ssx` are zeroed first, which removes the last branch. The paper gained nothing here,
    //! but did in other kernels of BerkeleyGW (section III, v2).
    //!
    //! Lines of the nest: 7, 8.

    use super::v0::collapse3;
    use super::*;

    version! { id: "v2", change: "a two-way instead of a three-way branch", source: "paper III, v2" }

    pub const KERNEL: Kernel = Kernel { entries: entries!(body: gpp_v2), ..super::v1::KERNEL };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        collapse3(a, iw, thread, term)
    }

    /// One term: reciprocals, square roots, two [`branches`].
    #[inline]
    pub fn term(pair: &Pair, w: f64, limits: &Limits) -> Term {
        branches(pair, w, limits).cut(w, abs, limits.sexcut * abs(pair.eps))
    }
}

pub mod v3 {
    //! v3: squares instead of absolute values; 72 registers.
    //!
    //! `|ssx|` and `|eps|` are only compared, so `|ssx|² > sexcut²·|eps|²` decides the same without a
    //! square root (paper, section III, v3): its [`term`] is that of [`crate::formula`]. A limit of 72 registers makes the kernel for two energies faster: 28
    //! warps fit on a multiprocessor, not the 24 without the limit, and 16 bytes are spilled.
    //!
    //! Lines of the nest: 9.

    use super::v0::collapse3;
    use super::*;

    version! { id: "v3", change: "squares instead of absolute values; 72 registers", source: "paper III, v3" }

    pub const KERNEL: Kernel = Kernel {
        entries: entries!(body: gpp_v3_nw1 = 1, gpp_v3_nw2 = 2 registers 72, gpp_v3_nw3 = 3),
        ..super::v2::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        collapse3(a, iw, thread, term)
    }
}

pub mod v4 {
    //! v4: loop over bands inside the thread.
    //!
    //! Collapsing only `igp` and `ig` leaves parallelism enough, and `wtilde` and `eps` are read once
    //! for all bands: the arithmetic intensity on HBM rises. Neighbouring threads still have neighbouring `ig`,
    //! the first index of the large arrays, so reads stay coalesced (paper, section III, v4).
    //!
    //! Lines of the nest: 1.

    use super::*;

    version! { id: "v4", change: "loop over bands inside the thread", source: "paper III, v4" }

    pub const KERNEL: Kernel = Kernel {
        loops: Loops::Collapse2,
        max_registers: Some(80),
        entries: entries!(body: gpp_v4_nw1 = 1, gpp_v4_nw2 = 2 registers 72, gpp_v4_nw3 = 3),
        ..super::v3::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        collapse2::<NW, Original>(a, iw, thread, |_| 0.0, |pair, _, w| term(pair, w, &a.limits))
    }

    /// `igp` and `ig` collapsed, then `n`, then the energies; a `cutoff` of the pair may be computed before the bands.
    #[inline(always)]
    pub unsafe fn collapse2<const NW: usize, L: Order>(
        a: &Arrays,
        iw: u32,
        thread: Thread,
        cutoff: impl Fn(&Pair) -> f64,
        term: impl Fn(&Pair, f64, f64) -> Term,
    ) -> ThreadSums<NW> {
        let mut sums = ThreadSums::zero();
        for index in thread.strided(a.ngpown * a.ncouls) {
            let (igp, ig) = split(index, a.ncouls);
            let pair = Pair::load(a, ig, igp);
            let (cutoff, vcoul) = (cutoff(&pair), a.vcoul_loc(igp));
            for n in 0..a.nbands {
                let matngmatmgp = a.matngmatmgp::<L>(ig, igp, n);
                let occ = a.occ(n);
                each::<NW>(|e| {
                    let w = a.wx::<L>(iw + e as u32, n);
                    sums.update(e, vcoul, occ, term(&pair, cutoff, w), matngmatmgp);
                });
            }
        }
        sums
    }
}

pub mod v5 {
    //! v5: one launch for each energy.
    //!
    //! A thread keeps two complex sums instead of two for each energy. In the paper more warps then fit; here
    //! v4 and v5 both have 28. But `M` and the pair's factors are computed again for each energy (paper, section III, v5).
    //!
    //! Lines of the nest: 4.

    use super::v4::body;
    use super::*;

    version! { id: "v5", change: "one launch for each energy", source: "paper III, v5" }

    pub const KERNEL: Kernel = Kernel {
        energies: Energies::OneLaunchEach,
        max_registers: None,
        entries: entries!(body: gpp_v5 = 1),
        ..super::v4::KERNEL
    };
}

pub mod v6 {
    //! v6: cache blocking over bands and G; 64 registers.
    //!
    //! For its `band_block`, `igp` and `ig_block` a thread takes every 128th `ig` from `ig_block` on and, for
    //! each, every 64th band from `band_block` on. `BAND_BLOCKS` and `IG_BLOCKS` are the strides, so neighbouring
    //! threads still hold neighbouring `ig`, and the same parts of `wtilde`, `eps` and `aqsn` are used
    //! again while they are in cache (paper, section III, v6).
    //!
    //! Lines of the nest: 1, 3.

    use super::*;

    /// Band blocks, the stride of the band loop.
    pub const BAND_BLOCKS: u32 = 64;

    /// Blocks of `ig`, the stride of the `ig` loop.
    pub const IG_BLOCKS: u32 = 128;

    version! { id: "v6", change: "cache blocking over bands and G; 64 registers", source: "paper III, v6" }

    pub const KERNEL: Kernel = Kernel {
        loops: Loops::Blocked { band_blocks: BAND_BLOCKS, ig_blocks: IG_BLOCKS },
        max_registers: Some(64),
        entries: entries!(body: gpp_v6 = 1),
        ..super::v5::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        let term = |pair: &Pair, _, w: f64| term(pair, w, &a.limits);
        blocked::<NW, Original, BAND_BLOCKS, IG_BLOCKS>(a, iw, thread, |_| 0.0, term)
    }

    /// The loop of v6 to v8, and of others with blocks: the order of indices of each, and v4's `cutoff`.
    #[inline(always)]
    pub unsafe fn blocked<
        const NW: usize,
        L: Order,
        const BAND_BLOCKS: u32,
        const IG_BLOCKS: u32,
    >(
        a: &Arrays,
        iw: u32,
        thread: Thread,
        cutoff: impl Fn(&Pair) -> f64,
        term: impl Fn(&Pair, f64, f64) -> Term,
    ) -> ThreadSums<NW> {
        let Arrays { nbands, ngpown, ncouls, .. } = *a;
        let mut sums = ThreadSums::zero();
        for index in thread.strided(BAND_BLOCKS * ngpown * IG_BLOCKS) {
            let (rest, ig_block) = split(index, IG_BLOCKS);
            let (band_block, igp) = split(rest, ngpown);
            let igp = opt_barrier_u32(igp);
            let vcoul = a.vcoul_loc(igp);
            let mut ig = ig_block;
            while ig < ncouls {
                let pair = Pair::load(a, ig, igp);
                let cutoff = cutoff(&pair);
                let mut n = band_block;
                while n < nbands {
                    let matngmatmgp = a.matngmatmgp::<L>(ig, igp, n);
                    let occ = a.occ(n);
                    each::<NW>(|e| {
                        let w = a.wx::<L>(iw + e as u32, n);
                        sums.update(e, vcoul, occ, term(&pair, cutoff, w), matngmatmgp);
                    });
                    n += BAND_BLOCKS;
                }
                ig += IG_BLOCKS;
            }
        }
        sums
    }
}

pub mod v7 {
    //! v7: bands contiguous in wx and aqsm.
    //!
    //! With blocking a thread goes from band to band, so its successive reads of `wx(n,iw)` and
    //! `aqsm_local(n,igp)` are closer together (paper, section III, v7).
    //!
    //! Lines of the nest: 5, 6.

    use super::v6::{BAND_BLOCKS, IG_BLOCKS, blocked};
    use super::*;

    version! { id: "v7", change: "bands contiguous in wx and aqsm", source: "paper III, v7" }

    pub const KERNEL: Kernel = Kernel {
        layout: Layout::Swapped,
        entries: entries!(body: gpp_v7 = 1),
        ..super::v6::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        let term = |pair: &Pair, _, w: f64| term(pair, w, &a.limits);
        blocked::<NW, Swapped, BAND_BLOCKS, IG_BLOCKS>(a, iw, thread, |_| 0.0, term)
    }
}

pub mod v8 {
    //! v8: 512 threads a block.
    //!
    //! The paper caps registers so that blocks of 512 threads fit on a multiprocessor (section III, v8). Here
    //! v6 and v7 already have the cap of 64, so v8 changes only the block size: two blocks fit, one with the
    //! paper's 128 registers.
    //!
    //! Lines of the nest: none, the launch changes.

    use super::v7::body;
    use super::*;

    version! { id: "v8", change: "512 threads a block", source: "paper III, v8" }

    pub const KERNEL: Kernel = Kernel {
        threads: 512,
        max_registers: Some(64),
        entries: entries!(body: gpp_v8 = 1),
        ..super::v7::KERNEL
    };
}
