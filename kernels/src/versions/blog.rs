//! The blog's steps: no blocks, no swapped indices.

use crate::arrays::{Arrays, Limits, Original};
use crate::formula::{Pair, Term, ThreadSums, abs2};
use crate::kernel::{Energies, Kernel, Loops, entries};
use crate::threads::Thread;
use crate::versions::paper::v4::collapse2;
use crate::versions::paper::{v0, v1};

pub mod baseline {
    //! blog:baseline: baseline: loops over n, G′ and G collapsed into one.
    //!
    //! The first port of its mini-app is v0's: `n`, `igp` and `ig` are one loop, quotients are complex
    //! divisions, absolute values square roots (NVIDIA developer blog, baseline).
    //!
    //! Lines of the nest: 1, 2, 3.

    use super::v0::body;
    use super::*;

    version! {
        id: "blog:baseline", change: "baseline: loops over n, G′ and G collapsed into one",
        source: "NVIDIA blog, baseline"
    }

    pub const KERNEL: Kernel = Kernel { entries: entries!(body: gpp_blog_baseline), ..v0::KERNEL };
}

pub mod step1 {
    //! blog:step1: loop over bands inside the thread.
    //!
    //! Collapsing only `igp` and `ig` leaves parallelism enough, and `wtilde` and `eps` are read once for
    //! all bands: the arithmetic intensity rises from 7.39 to about 20, and the time with it, by a tenth
    //! (NVIDIA developer blog, step 1). v4 is the same step after v1 to v3.
    //!
    //! Lines of the nest: 1.

    use super::*;

    version! { id: "blog:step1", change: "loop over bands inside the thread", source: "NVIDIA blog, step 1" }

    pub const KERNEL: Kernel = Kernel {
        loops: Loops::Collapse2,
        entries: entries!(body: gpp_blog_step1),
        ..super::baseline::KERNEL
    };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        let term = |pair: &Pair, _, w: f64| v0::term(pair, w, &a.limits);
        collapse2::<NW, Original>(a, iw, thread, |_| 0.0, term)
    }
}

pub mod step2 {
    //! blog:step2: one launch for each energy.
    //!
    //! A thread keeps two complex sums instead of two for each energy (the blog's repository, step 2; the
    //! blog itself passes over it).
    //!
    //! Lines of the nest: 4.

    use super::step1::body;
    use super::*;

    version! {
        id: "blog:step2", change: "one launch for each energy",
        source: "the blog's repository, step 2"
    }

    pub const KERNEL: Kernel = Kernel {
        energies: Energies::OneLaunchEach,
        entries: entries!(body: gpp_blog_step2 = 1),
        ..super::step1::KERNEL
    };
}

pub mod step3 {
    //! blog:step3: reciprocals instead of divisions, squares instead of absolute values.
    //!
    //! Divisions become reciprocals and absolute values squares, as in v1 and v3; the branch keeps its
    //! three ways. The code runs twice as fast, at 2.9 TFLOP/s instead of 2.5 (NVIDIA developer blog,
    //! step 3).
    //!
    //! Lines of the nest: 6, 7, 8, 9.

    use super::*;

    version! {
        id: "blog:step3", change: "reciprocals instead of divisions, squares instead of absolute values",
        source: "NVIDIA blog, step 3"
    }

    pub const KERNEL: Kernel =
        Kernel { entries: entries!(body: gpp_blog_step3 = 1), ..super::step2::KERNEL };

    #[inline(always)]
    pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> ThreadSums<NW> {
        let term = |pair: &Pair, _, w: f64| term(pair, w, &a.limits);
        collapse2::<NW, Original>(a, iw, thread, |_| 0.0, term)
    }

    /// One term: reciprocals, squares, three branches.
    #[inline]
    pub fn term(pair: &Pair, w: f64, limits: &Limits) -> Term {
        let term = v1::three_branches(pair, w, limits);
        term.cut(w, abs2, limits.sexcut * limits.sexcut * abs2(pair.eps))
    }
}

pub mod step4 {
    //! blog:step4: 512 threads a block.
    //!
    //! More warps to hide latency behind; a multiprocessor has 65536 registers, so a thread of such a block
    //! has 128 at most (the blog's repository, step 4).
    //!
    //! Lines of the nest: none, the launch changes.

    use super::step3::body;
    use super::*;

    version! { id: "blog:step4", change: "512 threads a block", source: "the blog's repository, step 4" }

    pub const KERNEL: Kernel = Kernel {
        threads: 512,
        max_registers: Some(128),
        entries: entries!(body: gpp_blog_step4 = 1),
        ..super::step3::KERNEL
    };
}
