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
    use crate::versions::v3::term;

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
    use crate::versions::v3::term;

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
    use crate::versions::v3::term;

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
    use crate::versions::v3::term;

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
    use crate::versions::v3::term;

    version! {
        id: "v13", change: "energies from constant memory, one reciprocal for two of them",
        source: "docs/past-the-paper.md", kernels: [REAL, ANY], beyond: Some(&v12::GPU)
    }

    /// What the body for real poles is composed of: see [`crate::tiles`].
    type Real = RealPoles<Staged, FromConstant, UpperWord, PairedReciprocal>;

    /// What the body for any poles is composed of.
    pub type Any = PartialFractions<Staged, FromConstant, UpperWord, WithoutNearTest>;

    pub const SHAPE: Shape = Shape { tile: 2, warps: 8 };

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

pub mod v14 {
    //! v14: pairs without terms are left out, and static ones are summed without quotients.
    //!
    //! BerkeleyGW leaves the pole or the weight of an invalid mode zero, and the pair has no terms. v13's tiles go
    //! through such pairs with a harmless pole. Here each lane has a [list](crate::lists) of the `igp` that it sums;
    //! the block copies the window of `igp` that holds them to shared memory without registers between (`cp.async`,
    //! which needs compute capability 8.0), and each lane reads its own. The arithmetic is v13's, but for pairs with
    //! the one pole of other invalid modes, 1e12 eV, which have lists of their own and no quotients.
    //!
    //! Complex poles, of which none is static, are summed as in v13.
    //!
    //! Lines of the nest: 2, 5.

    use core::array::{from_fn, from_mut};

    use num_complex::Complex64;

    use super::*;
    use super::{v12, v13};
    use crate::arrays::Arrays;
    use crate::formula::Sums;
    use crate::grid::each;
    use crate::layout::Layout;
    use crate::kernel::Loops;
    use crate::lists::{Listed, TILE, bands};
    use crate::tiles::add;
    use crate::tiles::real_poles::{FarSums, Pole, flushed};
    use crate::versions::v3::term;

    version! {
        id: "v14", change: "lists of the pairs that have terms, static ones apart",
        source: "docs/past-the-paper.md", kernels: [REAL, ANY], beyond: Some(&v12::GPU)
    }

    /// One thread's sums over pairs of a list.
    #[inline(always)]
    unsafe fn pairs<const NW: usize>(a: &Arrays, listed: Listed<TILE>) -> Sums<NW> {
        let (plan, table) = (&a.plan, &a.plan.table);
        let poles: [Pole<UpperWord>; TILE] = from_fn(|t| Pole::of(a, listed.wtilde(a, t)));
        let weight = |t: usize| listed.weight(a, t) * poles[t].wtilde;
        let zero = [[Complex64::new(0.0, 0.0); NW]; TILE];
        let (mut q, mut y, mut far) = (zero, zero, zero);

        bands(a, listed, 0, plan.plain, |n, band| {
            let w: [f64; NW] = table.energies(n);
            each::<TILE>(|t| {
                let m = band.matngmatmgp(t);
                let both = w.map(|w| poles[t].quotients(w));
                add(&mut y[t], m, both.map(|(y, _)| y));
                add(&mut q[t], m, both.map(|(_, q)| q));
            });
        });
        bands(a, listed, plan.plain, plan.occupied, |n, band| {
            let (w, occ): ([f64; NW], f64) = (table.energies(n), a.occ(n));
            each::<TILE>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| {
                    let (one, quotient) = poles[t].cut_quotients(a, w[e]);
                    add(from_mut(&mut y[t][e]), m, [one * occ]);
                    add(from_mut(&mut q[t][e]), m, [quotient]);
                });
            });
        });
        let mut sums = Sums::zero();
        each::<TILE>(|t| {
            let omega2 = weight(t) * poles[t].wtilde;
            each::<NW>(|e| sums.asx[e] = sums.asx[e] - omega2 * y[t][e]);
        });
        bands(a, listed, plan.occupied, plan.far_begin, |n, band| {
            let w: [f64; NW] = table.energies(n);
            each::<TILE>(|t| {
                add(&mut q[t], band.matngmatmgp(t), w.map(|w| poles[t].quotient(w)));
            });
        });
        bands(a, listed, plan.far_begin, a.nbands, |n, band| {
            let w: [f64; NW] = table.energies(n);
            each::<TILE>(|t| {
                let m = band.matngmatmgp(t);
                PairedReciprocal::add(&mut far[t], m, &w, poles[t].wtilde, table);
            });
        });
        each::<TILE>(|t| {
            let half = weight(t) * 0.5;
            let q = PairedReciprocal::join(q[t].map(flushed), &far[t], table);
            each::<NW>(|e| sums.ach[e] = sums.ach[e] + half * q[e]);
        });
        sums
    }

    pub const REAL: Kernel = Kernel {
        loops: Loops::Listed,
        layout: Layout::Listed,
        flops_per_term: None,
        entries: entries!(
            listed pairs, term:
            gpp_v14_real_nw1 = 1,
            gpp_v14_real_nw2 = 2,
            gpp_v14_real_nw3 = 3 spills { in_loop: 6, bytes: 512 },
        ),
        ..v13::REAL
    };

    /// For any poles: v13's body.
    pub const ANY: Kernel = Kernel {
        entries: entries!(
            tiled v13::Any, v13::SHAPE, term:
            gpp_v14_nw1 = 1,
            gpp_v14_nw2 = 2 spills { in_loop: 16, bytes: 1024 },
            gpp_v14_nw3 = 3 spills { in_loop: 96, bytes: 3200 },
        ),
        ..v13::ANY
    };
}

pub mod static_ch {
    //! The static CH, which BerkeleyGW's static remainder takes: of no journey, since it is another sum.
    //!
    //! A thread sums `M` of four `igp` over all bands, four fused operations a pair and band, and multiplies by eps
    //! once. Four `igp` for each `aqsn` that is read keep shared memory and the FP64 pipe equally busy.

    use super::*;
    use crate::versions::v3::term;

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
