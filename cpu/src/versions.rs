//! The processor's journey, in order, and other versions for processors: each a module with the idea and what it is composed of.

use gpp_kernels::formula::{Pair, Sums, VALUES};
use gpp_kernels::kernel::Version;
use gpp_kernels::plan::Poles;
use gpp_kernels::versions::v0;

use crate::definition::{Band, Definition, ROW, Row};
use crate::fractions::branches::Branches;
use crate::fractions::partial_fractions::PartialFractions;
use crate::fractions::real_poles::RealPoles;
use crate::lanes::{ComplexLanes, Lanes, array};
use crate::planned::{Fraction, PairSums, Place, Planned, Running, over_bands};
use crate::pool::Threads;
use crate::problem::Task;
use crate::version::{Body, Cpu, FEW, Kernel, MANY, Needs};
use crate::work::{CHAIN, Compensated, Piece, Pieces};

/// The processor's journey, in order.
pub static CPU: &[&Cpu] = &[
    &threads::CPU,
    &simd::CPU,
    &blocked::CPU,
    &reciprocal::CPU,
    &smt::CPU,
    &hoisted::CPU,
    &energies::CPU,
    &fractions::CPU,
    &classes::CPU,
    &real::CPU,
    &paired::CPU,
];

/// Any number of energies.
pub static SIGMA: &[&Cpu] = &[&cells::CPU];

pub mod threads {
    //! cpu:threads, the start: the reference's loops, shared out to a thread for each core.
    //!
    //! A thread takes one `igp` after the other, whichever is next, and sums its terms as the reference
    //! writes them: complex divisions, absolute values as square roots, a three-way branch, one number at a
    //! time (the talk's first step on processors, "Add OpenMP").
    //!
    //! Lines of the nest: 2.

    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:threads",
        change: "the reference's loops, igp shared out to a thread for each core",
        source: "talk, processors, step 1",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        threads: Threads::Cores,
        needs: Needs::SLAB,
        holds: FEW,
        pieces: Pieces { igp: 1, ig: usize::MAX },
        kernels: &[Kernel::of::<Reference>()],
    };

    /// The reference's loops.
    struct Reference;

    impl Body for Reference {
        const IN_VECTORS: bool = false;

        #[inline(always)]
        fn sum<L: Lanes>(_: L::Token, task: &Task, piece: &Piece, sums: &mut [f64]) {
            let (bands, slab) = (&task.bands, &task.slab);
            let values = bands.nw * VALUES;
            for (igp, sums) in piece.igp.clone().zip(sums.chunks_exact_mut(values)) {
                let mut totals = [Compensated::default(); FEW * VALUES];
                let vcoul = slab.vcoul_loc[igp];
                for n in (0..bands.nbands).take_while(|_| !task.stop.is_asked()) {
                    let aqsm = slab.aqsm[igp * bands.nbands + n];
                    let occ = bands.occ[n];
                    for iw in 0..bands.nw {
                        let w = bands.wx[n * bands.nw + iw];
                        for begin in (0..bands.ncouls).step_by(CHAIN) {
                            let end = bands.ncouls.min(begin + CHAIN);
                            let mut part = Sums::<1>::zero();
                            for ig in begin..end {
                                let at = igp * bands.ncouls + ig;
                                let wtilde = slab.wtilde[at];
                                let eps = slab.eps[at];
                                let wtilde2 = wtilde * wtilde;
                                let pair = Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps };
                                let aqsn = bands.aqsn[n * bands.ncouls + ig];
                                let term = v0::term(&pair, w, &bands.limits);
                                part.update(0, vcoul, occ, term, aqsm.conj() * aqsn);
                            }
                            let ([asx], [ach]) = (part.asx, part.ach);
                            let totals = &mut totals[iw * VALUES..][..VALUES];
                            for (total, part) in
                                totals.iter_mut().zip([asx.re, asx.im, ach.re, ach.im])
                            {
                                total.add(part);
                            }
                        }
                    }
                }
                sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
            }
        }
    }
}

pub mod simd {
    //! cpu:simd: `ig` in vectors.
    //!
    //! The loop over `ig` is innermost, real and imaginary parts are taken apart when they are read, and each
    //! condition is a selection between two results, so that a vector of pairs goes one way (the talk's second
    //! step, "loop reordering, conditional removal"). A quotient is a division of real numbers.
    //!
    //! Lines of the nest: 1, 2, 3, 7, 8, 9.

    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:simd",
        change: "ig in vectors, conditions as selections",
        source: "talk, processors, step 2",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        threads: Threads::Cores,
        needs: Needs::SLAB,
        holds: FEW,
        pieces: Pieces { igp: 1, ig: usize::MAX },
        kernels: &[Kernel::of::<Vectors>()],
    };

    /// All `ig` of a band, band after band.
    struct Vectors;

    impl Body for Vectors {
        #[inline(always)]
        fn sum<L: Lanes>(token: L::Token, task: &Task, piece: &Piece, sums: &mut [f64]) {
            let (bands, slab) = (&task.bands, &task.slab);
            let definition = Definition::<L, false>::new(token, bands.limits);
            for (igp, sums) in piece.igp.clone().zip(sums.chunks_exact_mut(bands.nw * VALUES)) {
                let mut totals = [Compensated::default(); FEW * VALUES];
                for n in (0..bands.nbands).take_while(|_| !task.stop.is_asked()) {
                    for iw in 0..bands.nw {
                        let band = Band::of(bands, slab, igp, n, iw);
                        for begin in (0..bands.ncouls).step_by(ROW) {
                            let row = Row::of(task, igp, n, begin..bands.ncouls.min(begin + ROW));
                            definition.row(row, band, &mut totals[iw * VALUES..][..VALUES]);
                        }
                    }
                }
                sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
            }
        }
    }
}

pub mod blocked {
    //! cpu:blocked: `ig` and bands in blocks that the caches hold.
    //!
    //! cpu:simd reads all of ω̃, eps and `aqsn` again for each band: 530 KB for 11075 `ig`, more than a second
    //! cache holds beside others. Here a row of 512 `ig` of ω̃ and eps, 16 KB, stays in the first cache for a
    //! block of bands, and the block of `aqsn`, 32 bands by 512 `ig` in 256 KB, in the second for eight `igp`
    //! (the talk's third step, "Cache blocking").
    //!
    //! Lines of the nest: 1, 3.

    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:blocked",
        change: "ig and bands blocked for the second and the first cache",
        source: "talk, processors, step 3",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        threads: Threads::Cores,
        needs: Needs::SLAB,
        holds: FEW,
        pieces: Pieces { igp: 8, ig: ROW },
        kernels: &[Kernel::of::<Blocks<false>>()],
    };

    /// Bands of a block.
    const BANDS: usize = 32;

    /// Blocks of bands, for a row of `ig`; `RECIPROCAL` divides by approximate reciprocals.
    pub struct Blocks<const RECIPROCAL: bool>;

    impl<const RECIPROCAL: bool> Body for Blocks<RECIPROCAL> {
        #[inline(always)]
        fn sum<L: Lanes>(token: L::Token, task: &Task, piece: &Piece, sums: &mut [f64]) {
            let (bands, slab) = (&task.bands, &task.slab);
            let definition = Definition::<L, RECIPROCAL>::new(token, bands.limits);
            let values = bands.nw * VALUES;
            let mut totals = vec![Compensated::default(); sums.len()];
            for first in (0..bands.nbands).step_by(BANDS) {
                for (igp, totals) in piece.igp.clone().zip(totals.chunks_exact_mut(values)) {
                    if task.stop.is_asked() {
                        return;
                    }
                    for n in first..bands.nbands.min(first + BANDS) {
                        let row = Row::of(task, igp, n, piece.ig.clone());
                        for iw in 0..bands.nw {
                            let band = Band::of(bands, slab, igp, n, iw);
                            definition.row(row, band, &mut totals[iw * VALUES..][..VALUES]);
                        }
                    }
                }
            }
            sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
        }
    }
}

pub mod reciprocal {
    //! cpu:reciprocal: no division.
    //!
    //! Where the instruction set has an approximate reciprocal of FP64 numbers (AVX-512, 64-bit ARM), a division
    //! is that and a few fused corrections, which lose no accuracy; AVX2 has none and goes on dividing (the
    //! talk's fourth step, "Improved vectorization (divides)").
    //!
    //! Lines of the nest: 6, 7, 8.

    use super::blocked::{self, Blocks};
    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:reciprocal",
        change: "approximate reciprocals, corrected, for divisions",
        source: "talk, processors, step 4",
    };

    pub static CPU: Cpu =
        Cpu { version: &VERSION, kernels: &[Kernel::of::<Blocks<true>>()], ..blocked::CPU };
}

pub mod smt {
    //! cpu:smt: all threads of each core.
    //!
    //! A core with two threads has something to do while one waits for a reciprocal or for memory (the talk's
    //! fifth step, "Hyper-threading"). Where cores have one thread, it is cpu:reciprocal.
    //!
    //! Lines of the nest: none, the launch changes.

    use super::reciprocal;
    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:smt",
        change: "all threads that a core has",
        source: "talk, processors, step 5",
    };

    pub static CPU: Cpu = Cpu { version: &VERSION, threads: Threads::All, ..reciprocal::CPU };
}

pub mod hoisted {
    //! cpu:hoisted: what depends on the pair alone is out of the loop over bands.
    //!
    //! A vector of pairs goes through all bands with its sums in registers: Ω², the bound between the
    //! branches, the cutoff and vcoul are computed once, before the loop or after it. Such bounds decide like the
    //! definition for all but the poles at them, which are odd and summed by the definition (v9's idea on GPUs).
    //! `aqsn` is laid out in the order of this loop, once.
    //!
    //! Lines of the nest: 1, 7, 8, 9, 10.

    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:hoisted",
        change: "a vector of pairs for all bands, pair constants out of the loop, odd poles apart",
        source: "docs/processor.md",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        threads: Threads::All,
        needs: Needs { relaid: true, plan: true, ..Needs::SLAB },
        holds: FEW,
        pieces: Pieces { igp: 16, ig: 512 },
        kernels: &[Kernel::of::<Planned<Branches<false>>>()],
    };
}

pub mod energies {
    //! cpu:energies: one pass over the bands for all energies, with M computed once (v9 on GPUs).
    //!
    //! Lines of the nest: 4, 5.

    use super::hoisted;
    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:energies",
        change: "M once for all energies",
        source: "docs/processor.md",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        kernels: &[Kernel::of::<Planned<Branches<true>>>()],
        ..hoisted::CPU
    };
}

pub mod fractions {
    //! cpu:fractions: both branches are `½ω̃·eps·(q − p)`, without a choice of denominators (v10 on GPUs).
    //!
    //! Lines of the nest: 6, 7, 8.

    use super::hoisted;
    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:fractions",
        change: "partial fractions: both branches in one form",
        source: "docs/processor.md",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        kernels: &[Kernel::of::<Planned<PartialFractions<false, false>>>()],
        ..hoisted::CPU
    };
}

pub mod classes {
    //! cpu:classes: a loop for each class of bands.
    //!
    //! Empty bands have no `ssx` and so no `p`; full ones above the energy have no cutoff and no weight (v9 and
    //! v10 on GPUs).
    //!
    //! Lines of the nest: 1, 7, 8, 9.

    use super::hoisted;
    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:classes",
        change: "empty bands apart, and those that nothing cuts off",
        source: "docs/processor.md",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        kernels: &[Kernel::of::<Planned<PartialFractions<true, false>>>()],
        ..hoisted::CPU
    };
}

pub mod real {
    //! cpu:real: purely real poles have a kernel of their own.
    //!
    //! Quotients are real, an accumulation is two fused operations instead of four, and one reciprocal gives
    //! both quotients (v12 on GPUs). Other poles are summed as in cpu:classes.
    //!
    //! Lines of the nest: 6, 7, 8, 10.

    use super::hoisted;
    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:real",
        change: "kernels for purely real poles",
        source: "docs/processor.md",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        kernels: &[
            Kernel::of::<Planned<RealPoles<false>>>(),
            Kernel::of::<Planned<PartialFractions<true, false>>>(),
        ],
        ..hoisted::CPU
    };
}

pub mod paired {
    //! cpu:paired: one reciprocal for two denominators.
    //!
    //! `1/a` and `1/b` are `b·r` and `a·r` with `r = 1/(a·b)`: three multiplications for a reciprocal, which is
    //! a division, or an approximation and four fused operations. It takes denominators that are not zero:
    //! those of bands that nothing cuts off and, with no test for the second branch left, those of far bands
    //! (v13 on GPUs). For real poles other bands are not tested either, 32 neighbours at a time, where no pole of
    //! a vector is near any of their energies.
    //!
    //! Lines of the nest: 6, 7, 8.

    use super::hoisted;
    use super::*;

    pub static VERSION: Version = Version {
        id: "cpu:paired",
        change: "one reciprocal for two denominators, no test where no pole is near",
        source: "docs/processor.md",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        kernels: &[
            Kernel::of::<Planned<RealPoles<true>>>(),
            Kernel::of::<Planned<PartialFractions<true, true>>>(),
        ],
        ..hoisted::CPU
    };
}

pub mod cells {
    //! sigma:cells: pairs sorted by their poles, whose moments tell the sums at every energy.
    //!
    //! All versions before take a term for each energy. Whatever the energy, a term is `c·M` times a function of
    //! the pole and of `w`, and for pairs whose poles lie close together that function is one and the same
    //! polynomial: sums of `c·M` times a few powers of the pole, taken once for a band, give the sums at any
    //! number of energies ([`crate::cells`]). Other than real poles lie in
    //! discs of the complex plane, whose moments do so too.
    //!
    //! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

    use super::paired;
    use super::*;

    pub static VERSION: Version = Version {
        id: "sigma:cells",
        change: "pairs sorted by pole: moments for all energies",
        source: "docs/many-energies.md",
    };

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        needs: Needs { aqsm: false, relaid: false, plan: false, sorted: true },
        holds: MANY,
        kernels: &[Kernel::of_slab(|task, level, pool, _, done| {
            crate::cells::sum(sorted(task), level, pool, done)
        })],
        ..paired::CPU
    };

    fn sorted<'t>(task: &'t Task) -> &'t crate::cells::Task<'t> {
        task.sorted.as_ref().expect("looked at before")
    }
}

pub mod static_ch {
    //! The static CH, which BerkeleyGW's static remainder takes: of no journey, since it is another sum.
    //!
    //! A vector of pairs sums `aqsn` times the two parts of `aqsm` over all bands, four fused operations a band that
    //! do not wait for each other, and multiplies by eps once. What it reads is laid out as for cpu:paired.

    use super::hoisted;
    use gpp_kernels::versions::static_ch::VERSION;

    use super::*;

    pub static CPU: Cpu = Cpu {
        version: &VERSION,
        holds: 1,
        kernels: &[Kernel::of::<Planned<StaticCh>>()],
        ..hoisted::CPU
    };

    /// `−½·vcoul·eps·ΣM`, as the `ach` of one energy.
    struct StaticCh;

    impl Fraction for StaticCh {
        const POLES: Poles = Poles::Unread;

        #[inline(always)]
        fn sums<L: Lanes, const NW: usize>(place: &Place<L>) -> PairSums<L, NW> {
            // Of aqsn times the real and times the imaginary part of aqsm.
            let mut sums = Running::<L, 2>::zero(place.token);
            over_bands!(place, 0, place.plan.order.len(), [sums], band => {
                sums.part[0] = sums.part[0].add_scaled(band.aqsn, band.aqsm.re);
                sums.part[1] = sums.part[1].add_scaled(band.aqsn, band.aqsm.im);
            });
            let (re, im) = (sums.sum(0), sums.sum(1));
            let m = ComplexLanes::new(re.re.add(im.im), re.im.sub(im.re));
            let ach = place.weight.scale(place.splat(-0.5)).mul(m);
            PairSums { asx: [place.zero(); NW], ach: array!(NW, _e => ach) }
        }
    }
}
