//! The talk's steps, and what they became in BerkeleyGW.

use crate::arrays::{Arrays, Layout, Limits, Swapped};
use crate::formula::{
    Pair, TOL_ZERO, Term, ThreadSums, abs, abs2, branches, first_denominator, second_denominator,
    wdiff,
};
use crate::intrinsics::opt_barrier;
use crate::kernel::{Energies, Kernel, Loops, entries};
use crate::threads::Thread;
use crate::versions::blog::step1::body;
use crate::versions::paper::v0;
use crate::versions::paper::v4::collapse2;
use crate::versions::paper::v6::blocked as in_blocks;

/// The loop of V9 and of BerkeleyGW, with V8's term.
#[inline(always)]
unsafe fn blocked<const NW: usize, const BAND_BLOCKS: u32, const IG_BLOCKS: u32>(
    a: &Arrays,
    iw: u32,
    thread: Thread,
) -> ThreadSums<NW> {
    let cutoff = |pair: &Pair| a.limits.sexcut * a.limits.sexcut * abs2(pair.eps);
    let term = |pair: &Pair, cutoff, w: f64| branches(pair, w, &a.limits).cut(w, abs2, cutoff);
    in_blocks::<NW, Swapped, BAND_BLOCKS, IG_BLOCKS>(a, iw, thread, cutoff, term)
}

/// One term with a two-way branch and divisions, before the cutoff.
#[inline(always)]
fn divisions(pair: &Pair, w: f64, limits: &Limits) -> Term {
    let Pair { wtilde, wtilde2, eps, omega2 } = *pair;
    let wsum = opt_barrier(w + wtilde.re);
    let wdiff = wdiff(w, wtilde);
    let wdiffr = wdiff.norm_sqr();
    let delw = wtilde / wdiff;
    let delwr = delw.norm_sqr();
    let mut term = Term::zero();
    if wdiffr > limits.limittwo && delwr < limits.limitone {
        let cden = first_denominator(wsum, wdiff, wtilde, wtilde2);
        term.sch = delw * eps;
        term.ssx = omega2 / cden;
    } else if delwr > TOL_ZERO {
        let cden = second_denominator(wsum, wtilde);
        term.ssx -= omega2 / cden;
    }
    term
}

pub mod v1 {
    //! talk:V1: baseline: loops over n, G′ and G collapsed into one.
    //!
    //! The baseline of the paper and of the blog: complex divisions, square roots, a branch of three ways
    //! (talk, V1).
    //!
    //! Lines of the nest: 1, 2, 3.

    use super::v0::body;
    use super::*;

    version! {
        id: "talk:V1", change: "baseline: loops over n, G′ and G collapsed into one",
        source: "talk, V1"
    }

    pub const KERNEL: Kernel = Kernel { entries: entries!(body: gpp_talk_v1), ..super::v0::KERNEL };
}

pub mod v2 {
    //! talk:V2: loop over bands inside the thread.
    //!
    //! The blog's step 1. On a V100 a thread needs 186 registers, so that only eight warps fit on a
    //! multiprocessor, and the time grows (talk, V2).
    //!
    //! Lines of the nest: 1.

    use super::*;

    version! { id: "talk:V2", change: "loop over bands inside the thread", source: "talk, V2" }

    pub const KERNEL: Kernel = Kernel {
        loops: Loops::Collapse2,
        entries: entries!(body: gpp_talk_v2),
        ..super::v1::KERNEL
    };
}

pub mod v3 {
    //! talk:V3: 512 threads a block, at most 128 registers.
    //!
    //! Held to 128 registers, a thread's share of 65536 if there are 512, twice as many warps fit.
    //! In the talk that costs spills and pays all the same (talk, V3).
    //!
    //! Lines of the nest: none, the launch changes.

    use super::*;

    version! { id: "talk:V3", change: "512 threads a block, at most 128 registers", source: "talk, V3" }

    pub const KERNEL: Kernel = Kernel {
        threads: 512,
        max_registers: Some(128),
        entries: entries!(body: gpp_talk_v3),
        ..super::v2::KERNEL
    };
}

pub mod v4 {
    //! talk:V4: one launch for each energy.
    //!
    //! Without the loop over energies a thread branches less and keeps two complex sums instead of two for
    //! each energy; the talk counts 16 % fewer branches and needs 122 registers (talk, V4).
    //!
    //! Lines of the nest: 4.

    use super::*;

    version! { id: "talk:V4", change: "one launch for each energy", source: "talk, V4" }

    pub const KERNEL: Kernel = Kernel {
        energies: Energies::OneLaunchEach,
        entries: entries!(body: gpp_talk_v4 = 1),
        ..super::v3::KERNEL
    };
}

pub mod v5 {
    //! talk:V5: bands contiguous in wx and aqsm.
    //!
    //! A thread goes from band to band, so `wx(n,iw)` and `aqsm_local(n,igp)` put what it reads next nearer
    //! to what it read last (talk, V5). v7 is the same step, once there are blocks.
    //!
    //! Lines of the nest: 5, 6.

    use super::*;

    version! { id: "talk:V5", change: "bands contiguous in wx and aqsm", source: "talk, V5" }

    pub const KERNEL: Kernel = Kernel {
        layout: Layout::Swapped,
        entries: entries!(body: gpp_talk_v5 = 1),
        ..super::v4::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        collapse2::<NW, Swapped>(a, iw, thread, |_| 0.0, |pair, _, w| v0::term(pair, w, &a.limits))
    }
}

pub mod v6 {
    //! talk:V6: the cutoff out of the band loop, a two-way branch.
    //!
    //! What does not depend on the band is computed before the loop over bands: the cutoff `sexcut·|eps|`,
    //! its square root with it. `eps`, `vcoul_loc` and the powers of ω̃ stand there in every version here. The
    //! branch goes from three ways to two, as in v2 (talk, V6).
    //!
    //! Lines of the nest: 7, 8, 9.

    use super::*;

    version! {
        id: "talk:V6", change: "the cutoff out of the band loop, a two-way branch",
        source: "talk, V6"
    }

    pub const KERNEL: Kernel =
        Kernel { entries: entries!(body: gpp_talk_v6 = 1), ..super::v5::KERNEL };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        let cutoff = |pair: &Pair| a.limits.sexcut * abs(pair.eps);
        collapse2::<NW, Swapped>(a, iw, thread, cutoff, |pair, cutoff, w| {
            divisions(pair, w, &a.limits).cut(w, abs, cutoff)
        })
    }
}

pub mod v7 {
    //! talk:V7: reciprocals instead of divisions.
    //!
    //! As in v1; the talk counts 40 % fewer instructions and becomes bound by bandwidth (talk, V7).
    //!
    //! Lines of the nest: 6, 7, 8.

    use super::*;

    version! { id: "talk:V7", change: "reciprocals instead of divisions", source: "talk, V7" }

    pub const KERNEL: Kernel =
        Kernel { entries: entries!(body: gpp_talk_v7 = 1), ..super::v6::KERNEL };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        let cutoff = |pair: &Pair| a.limits.sexcut * abs(pair.eps);
        collapse2::<NW, Swapped>(a, iw, thread, cutoff, |pair, cutoff, w| {
            branches(pair, w, &a.limits).cut(w, abs, cutoff)
        })
    }
}

pub mod v8 {
    //! talk:V8: squares instead of absolute values.
    //!
    //! As in v3: warps wait half as often for what the square root leaves behind (talk, V8).
    //!
    //! Lines of the nest: 9.

    use super::*;

    version! { id: "talk:V8", change: "squares instead of absolute values", source: "talk, V8" }

    pub const KERNEL: Kernel =
        Kernel { entries: entries!(body: gpp_talk_v8 = 1), ..super::v7::KERNEL };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        let cutoff = |pair: &Pair| a.limits.sexcut * a.limits.sexcut * abs2(pair.eps);
        collapse2::<NW, Swapped>(a, iw, thread, cutoff, |pair, cutoff, w| {
            branches(pair, w, &a.limits).cut(w, abs2, cutoff)
        })
    }
}

pub mod v9 {
    //! talk:V9: cache blocking: 16 blocks of bands, 256 of G.
    //!
    //! As in v6, in other blocks: the talk's slides do not say which, its listing is the OpenACC kernel of
    //! BerkeleyGW (`sigma_gpp_openacc` in Sigma/mtxel_cor.f90), which has 16 band blocks and 256 of `ig`. As
    //! everywhere these are counts of blocks, the strides of a thread's loops (talk, V9).
    //!
    //! Lines of the nest: 1, 3.

    use super::*;

    version! {
        id: "talk:V9", change: "cache blocking: 16 blocks of bands, 256 of G",
        source: "talk, V9; BerkeleyGW, sigma_gpp_openacc"
    }

    pub const KERNEL: Kernel = Kernel {
        loops: Loops::Blocked { band_blocks: 16, ig_blocks: 256 },
        entries: entries!(body: gpp_talk_v9 = 1),
        ..super::v8::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        blocked::<NW, 16, 256>(a, iw, thread)
    }
}

pub mod bgw {
    //! talk:bgw: BerkeleyGW's loops of 2023: 16 blocks of bands, 512 of G.
    //!
    //! 16 band blocks and 512 of `ig`, as in the sources of 2023, where the input may set both
    //! (`acc_gpp_band_block_size`, `acc_gpp_ig_block_size`). With the 256 of its OpenACC kernel, which the
    //! talk shows, it would be V9 to the letter. Threads and indices are V9's.
    //!
    //! Lines of the nest: 1, 3.

    use super::*;

    version! {
        id: "talk:bgw", change: "BerkeleyGW's loops of 2023: 16 blocks of bands, 512 of G",
        source: "BerkeleyGW, sources of 2023"
    }

    pub const KERNEL: Kernel = Kernel {
        loops: Loops::Blocked { band_blocks: 16, ig_blocks: 512 },
        entries: entries!(body: gpp_talk_bgw = 1),
        ..super::v9::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        blocked::<NW, 16, 512>(a, iw, thread)
    }
}
