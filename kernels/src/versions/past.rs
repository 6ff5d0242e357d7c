//! Past the paper: versions composed of the policies of [`crate::tiles`], and the static CH.

use crate::entries::entries;
use crate::kernel::Kernel;
use crate::tiles::branches::{Branches, StaticCh};
use crate::tiles::partial_fractions::PartialFractions;
use crate::tiles::real_poles::{PairedReciprocal, RealPoles};
use crate::tiles::{
    Direct, Exact, FromConstant, LikeEmpty, Staged, UpperWord, WithBand, WithoutNearTest,
};
use crate::tiling::{Shape, WIDE};

pub mod v9 {
    //! v9: all energies in one pass over the bands, with the pair's own factors outside the loop.
    //!
    //! A thread has one `(ig, igp)` and all bands; `M` is computed once for all energies. Factors that depend
    //! on the pair alone (Ω², the bound between the branches, the cutoff, vcoul) are computed before the
    //! loop or applied to the sums after it. Empty bands come last and have a loop without `ssx`.
    //!
    //! Lines of the nest: 1, 4, 5, 7, 8, 9, 10.

    use super::*;
    use crate::formula::term;

    version! {
        id: "v9", change: "one pass for all energies, pair constants out of the loop, empty bands apart",
        source: "docs/past-the-paper.md", kernels: [ANY]
    }

    /// What its body is composed of: see [`crate::tiles`].
    type Fraction = Branches<Direct, WithBand, Exact>;

    /// One `igp` a thread, eight warps a block.
    const SHAPE: Shape = Shape { tile: 1, warps: 8 };

    pub const ANY: Kernel = Kernel {
        max_registers: Some(128),
        flops_per_term: Some(42.9),
        ..Kernel::tiled::<Fraction>(
            SHAPE,
            entries!(tiled Fraction, SHAPE, term: gpp_v9_nw1 = 1, gpp_v9_nw2 = 2, gpp_v9_nw3 = 3),
        )
    };
}

pub mod v10 {
    //! v10: no branch and no division.
    //!
    //! In partial fractions both branches are `½ω̃·eps·(q − p)` with `q = 1/(w − ω̃)`, zero near the pole,
    //! and `p = 1/(w + ω̃)`: see [`crate::tiles::partial_fractions`]. A reciprocal is the hardware's
    //! approximation and one cubic correction, three fused operations: see [`crate::formula`].
    //!
    //! Lines of the nest: 6, 7, 8.

    use super::*;
    use crate::formula::term;

    version! {
        id: "v10", change: "partial fractions without a branch, approximate reciprocals corrected once",
        source: "docs/past-the-paper.md", kernels: [ANY]
    }

    type Fraction = PartialFractions<Direct, WithBand, UpperWord, LikeEmpty>;

    const SHAPE: Shape = Shape { tile: 1, warps: 8 };

    pub const ANY: Kernel = Kernel {
        max_registers: Some(128),
        flops_per_term: Some(32.5),
        ..Kernel::tiled::<Fraction>(
            SHAPE,
            entries!(tiled Fraction, SHAPE, term: gpp_v10_nw1 = 1, gpp_v10_nw2 = 2, gpp_v10_nw3 = 3),
        )
    };
}

pub mod v11 {
    //! v11: bands staged in shared memory.
    //!
    //! v10 waits for `aqsn` half of its time. A block brings eight bands to shared memory while it sums
    //! the eight before, so no load is waited for, and `aqsn` leaves L2 once for the eight warps that
    //! share its `ig`.
    //!
    //! Lines of the nest: 5, 6.

    use super::*;
    use crate::formula::term;

    version! {
        id: "v11", change: "bands staged in shared memory, eight at a time",
        source: "docs/past-the-paper.md", kernels: [ANY]
    }

    /// The fraction of any poles.
    pub type Fraction = PartialFractions<Staged, WithBand, UpperWord, LikeEmpty>;

    pub const SHAPE: Shape = Shape { tile: 1, warps: 8 };

    pub const ANY: Kernel = Kernel {
        max_registers: Some(128),
        flops_per_term: Some(32.5),
        ..Kernel::tiled::<Fraction>(
            SHAPE,
            entries!(tiled Fraction, SHAPE, term: gpp_v11_nw1 = 1, gpp_v11_nw2 = 2, gpp_v11_nw3 = 3),
        )
    };
}

pub mod v12 {
    //! v12: purely real poles have kernels of their own.
    //!
    //! BerkeleyGW's default makes every ω̃ real. Then both quotients are real, an accumulation is two
    //! fused operations, not four, and one reciprocal gives both: see [`crate::tiles::real_poles`]. A thread
    //! has two `igp`. gpp finds out whether all poles are real when it loads the problem, and sums other
    //! problems as in v11.
    //!
    //! Lines of the nest: 6, 7, 8, 10.

    use super::v11;
    use super::*;
    use crate::formula::term;

    version! {
        id: "v12", change: "kernels for purely real poles",
        source: "docs/past-the-paper.md", kernels: [REAL, ANY]
    }

    type Real = RealPoles<Staged, WithBand, UpperWord, LikeEmpty>;

    const SHAPE: Shape = Shape { tile: 2, warps: 8 };

    pub const REAL: Kernel = Kernel {
        max_registers: Some(128),
        flops_per_term: Some(17.9),
        ..Kernel::tiled::<Real>(
            SHAPE,
            entries!(
                tiled Real, SHAPE, term:
                gpp_v12_real_nw1 = 1, gpp_v12_real_nw2 = 2, gpp_v12_real_nw3 = 3,
            ),
        )
    };

    /// For any poles: v11's body.
    pub const ANY: Kernel = Kernel {
        entries: entries!(
            tiled v11::Fraction, v11::SHAPE, term:
            gpp_v12_nw1 = 1, gpp_v12_nw2 = 2, gpp_v12_nw3 = 3,
        ),
        ..v11::ANY
    };
}

pub mod v13 {
    //! v13: energies as operands, one reciprocal for two of them.
    //!
    //! v12 waits for reads of registers. The energies of a band are equal for all threads. An addition can
    //! take one straight from the constant memory: no register holds it, and none is read. Where the constant
    //! memory does not hold all energies, v12's kernels run.
    //!
    //! Two energies differ by one amount for all bands. So for *far* bands, to which no pole is near
    //! ([`crate::plan`]), two real quotients share a reciprocal ([`PairedReciprocal`]), and no test
    //! for the branch is needed.
    //!
    //! Lines of the nest: 6, 7.

    use super::v12;
    use super::*;
    use crate::formula::term;

    version! {
        id: "v13", change: "energies from constant memory, one reciprocal for two of them",
        source: "docs/past-the-paper.md", kernels: [REAL, ANY], beyond: Some(&v12::GPU)
    }

    /// What the body for real poles is composed of: see [`crate::tiles`].
    type Real = RealPoles<Staged, FromConstant, UpperWord, PairedReciprocal>;

    /// What the body for any poles is composed of.
    type Any = PartialFractions<Staged, FromConstant, UpperWord, WithoutNearTest>;

    const SHAPE: Shape = Shape { tile: 2, warps: 8 };

    pub const REAL: Kernel = Kernel {
        max_registers: Some(128),
        flops_per_term: Some(17.3),
        ..Kernel::tiled::<Real>(
            SHAPE,
            entries!(
                tiled Real, SHAPE, term:
                gpp_v13_real_nw1 = 1,
                gpp_v13_real_nw2 = 2,
                gpp_v13_real_nw3 = 3 spills { in_loop: 6, bytes: 512 },
            ),
        )
    };

    pub const ANY: Kernel = Kernel {
        max_registers: Some(128),
        flops_per_term: Some(32.5),
        ..Kernel::tiled::<Any>(
            SHAPE,
            entries!(
                tiled Any, SHAPE, term:
                gpp_v13_nw1 = 1,
                gpp_v13_nw2 = 2 spills { in_loop: 16, bytes: 1024 },
                gpp_v13_nw3 = 3 spills { in_loop: 96, bytes: 3200 },
            ),
        )
    };
}

pub mod static_ch {
    //! The static CH, which BerkeleyGW's static remainder takes: of no journey, since it is another sum.
    //!
    //! A thread sums `M` of four `igp` over all bands, four fused operations a pair and band, and multiplies by eps
    //! once. Four `igp` for each `aqsn` that is read keep shared memory and the FP64 pipe equally busy.

    use super::*;
    use crate::formula::term;

    version! {
        id: "static_ch", change: "the static CH of all bands, beside the sums of a version",
        source: "docs/sigma.md", kernels: [KERNEL]
    }

    /// As many `igp` in a block as v13 has.
    const SHAPE: Shape = Shape { tile: WIDE as u32, warps: 4 };

    /// Its kernel. No pair is odd, so that `term` is never taken.
    pub const KERNEL: Kernel = Kernel {
        max_registers: Some(128),
        ..Kernel::tiled::<StaticCh<Staged>>(
            SHAPE,
            entries!(tiled StaticCh<Staged>, SHAPE, term: gpp_static_ch = 1),
        )
    };
}
