//! The versions for CPUs, in order: each is a module with what it changes and its loops, from the
//! reference's loops on all cores on. [`CpuVersion`], at the end, describes and runs a version.

use fearless_simd::Simd;
use gpp_kernels::formula::{Pair, ThreadSums, VALUES};
use gpp_kernels::kernel::Label;
use gpp_kernels::plan::Poles;
use gpp_kernels::versions::v0;

use crate::definition::{BandFactors, Definition, FEW, ROW};
use crate::planned::{self, AnyPoles, RealPoles};
use crate::pool::{DefaultThreads, Pool};
use crate::problem::{CHUNK, LaneLayout, SlabTask, Tiles};
use crate::sigma;
use crate::sigma_alone::{AnyAlone, RealAlone};
use crate::simd::{Level, Line, WIDTH, at_level};
use crate::work::{CHAIN, CompensatedSum, Progress, SlabTile, map};

/// A kernel of what adds the sums of a tile to totals `(nw · VALUES, igp)`, compiled for every level:
/// `fn(token, &SlabTask, &SlabTile, &mut [CompensatedSum])`. With 2 each energy has two sums, the second its derivative.
macro_rules! kernel {
    ($poles:expr, $sum:expr) => {
        kernel!($poles, $sum, 1)
    };
    ($poles:expr, $sum:expr, $sums_of_energy:literal) => {
        CpuKernel {
            poles: $poles,
            sum: |task, level, tiles, progress| {
                let values = $sums_of_energy * task.bands.nw * VALUES;
                sum_tiles(task, (tiles, values), progress, &|tile, totals| {
                    at_level!(level, token => $sum(token, task, tile, totals));
                })
            },
        }
    };
}

/// The series of versions for a few energies, in order.
pub static CPU: &[&CpuVersion] = &[
    &threads::CPU,
    &simd::CPU,
    &blocked::CPU,
    &paired::CPU,
    &statics::CPU,
    &alone::CPU,
    &single::CPU,
];

/// The series for any number of energies.
pub static SIGMA: &[&CpuVersion] = &[&cells::CPU, &cells_alone::CPU];

pub mod threads {
    //! cpu:threads: the reference's loops, G′ distributed over a thread for each core.
    //!
    //! A thread takes one `igp` after the other, whichever is next, and sums its terms as the reference
    //! writes them: complex divisions, absolute values as square roots, a three-way branch, one number at a
    //! time (the talk's first step on CPUs, "Add OpenMP").
    //!
    //! Lines of the nest: 2.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "cpu:threads",
            change: "the reference's loops, G′ distributed over a thread for each core",
            source: "talk, processors, step 1",
        },
        threads: DefaultThreads::Cores,
        needs: ArrayNeeds::SLAB,
        holds: FEW,
        in_vectors: false,
        per_band: false,
        is_sigma_alone: false,
        has_derivative: false,
        is_single: false,
        otherwise: None,
        tiles: Tiles { igp: 1, ig: usize::MAX },
        kernels: &[kernel!(Poles::Any, sum)],
    };

    /// Not inline: it is compiled without the instructions of any level.
    #[inline(never)]
    fn sum<S: Simd>(_: S, task: &SlabTask, tile: &SlabTile, totals: &mut [CompensatedSum]) {
        let (bands, slab) = (&task.bands, &task.slab);
        for (igp, totals) in tile.igp.clone().zip(totals.chunks_exact_mut(bands.nw * VALUES)) {
            for n in (0..bands.nbands).take_while(|_| !task.stop.is_asked()) {
                for iw in 0..bands.nw {
                    let BandFactors { aqsm, w, vcoul, occ } =
                        BandFactors::from_task(task, igp, n, iw);
                    for begin in (0..bands.ncouls).step_by(CHAIN) {
                        let end = bands.ncouls.min(begin + CHAIN);
                        let mut part = ThreadSums::<1>::zero();
                        for ig in begin..end {
                            let index = igp * bands.ncouls + ig;
                            let pair = Pair::new(slab.wtilde[index], slab.eps[index]);
                            let aqsn = bands.aqsn[n * bands.ncouls + ig];
                            let term = v0::term(&pair, w, &bands.limits);
                            part.update(0, vcoul, occ, term, aqsm.conj() * aqsn);
                        }
                        let ([asx], [ach]) = (part.asx, part.ach);
                        let totals = &mut totals[iw * VALUES..][..VALUES];
                        for (total, part) in totals.iter_mut().zip([asx.re, asx.im, ach.re, ach.im])
                        {
                            total.add(part);
                        }
                    }
                }
            }
        }
    }
}

pub mod simd {
    //! cpu:simd: SIMD over G, masks instead of branches.
    //!
    //! The loop over `ig` is innermost, real and imaginary parts are taken apart when they are read, and each
    //! condition is a selection between two results, so that a vector of pairs has no branch (the talk's second
    //! step, "loop reordering, conditional removal"). A quotient is a division of real numbers.
    //!
    //! Lines of the nest: 1, 2, 3, 7, 8, 9.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "cpu:simd",
            change: "SIMD over G, masks instead of branches",
            source: "talk, processors, step 2",
        },
        in_vectors: true,
        kernels: &[kernel!(Poles::Any, sum::<_, 1>)],
        ..threads::CPU
    };

    /// Sums rows of `ig`, for blocks of `BANDS` bands.
    #[inline(always)]
    pub fn sum<S: Simd, const BANDS: usize>(
        token: S,
        task: &SlabTask,
        tile: &SlabTile,
        totals: &mut [CompensatedSum],
    ) {
        let (bands, slab) = (&task.bands, &task.slab);
        let definition = Definition::<S, false> { token, limits: bands.limits };
        let values = bands.nw * VALUES;
        for first in (0..bands.nbands).step_by(BANDS) {
            for (igp, totals) in tile.igp.clone().zip(totals.chunks_exact_mut(values)) {
                if task.stop.is_asked() {
                    return;
                }
                for n in first..bands.nbands.min(first + BANDS) {
                    for iw in 0..bands.nw {
                        let band = BandFactors::from_task(task, igp, n, iw);
                        for begin in tile.ig.clone().step_by(ROW) {
                            let ig = begin..tile.ig.end.min(begin + ROW);
                            let [wtilde, eps] = [slab.wtilde, slab.eps]
                                .map(|pairs| &pairs[igp * bands.ncouls..][ig.clone()]);
                            let row = [wtilde, eps, &bands.aqsn[n * bands.ncouls..][ig]];
                            definition.row(row, band, &mut totals[iw * VALUES..][..VALUES]);
                        }
                    }
                }
            }
        }
    }
}

pub mod blocked {
    //! cpu:blocked: blocks of G, G′ and bands for the L1 and L2 caches.
    //!
    //! cpu:simd reads all of ω̃, eps and `aqsn` again for each band: 530 KB for 11075 `ig`, more than a second
    //! cache holds next to others. Here a row of 512 `ig` of ω̃ and eps, 16 KB, stays in the first cache for a
    //! block of bands, and the block of `aqsn`, 32 bands by 512 `ig` in 256 KB, in the second for eight `igp`
    //! (the talk's third step, "Cache blocking").
    //!
    //! Lines of the nest: 1, 3.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "cpu:blocked",
            change: "blocks of G, G′ and bands for the L1 and L2 caches",
            source: "talk, processors, step 3",
        },
        tiles: Tiles { igp: 8, ig: ROW },
        kernels: &[kernel!(Poles::Any, simd::sum::<_, 32>)],
        ..simd::CPU
    };
}

pub mod paired {
    //! cpu:paired: the formulas of v9 to v13, sums over bands in registers.
    //!
    //! A vector of pairs goes through all bands with its sums in registers, in one pass for all energies: what depends
    //! on the pair alone is computed once, before the loop or after it, and so is M of a band. `aqsn` is packed in the
    //! order of this loop. Pairs with a pole at the bound between the branches are summed by the definition.
    //!
    //! Both branches are `½ω̃·eps·(q − p)` with `q = 1/(w − ω̃)` and `p = 1/(w + ω̃)`, without a choice of denominators.
    //! Each class of bands has a loop: empty bands have no `p`; full ones below all energies have no cutoff and
    //! no weight. Purely real poles have a kernel of their own, with real quotients: an accumulation is two fused
    //! operations instead of four, and one reciprocal gives both quotients.
    //!
    //! `1/a` and `1/b` are `b·r` and `a·r` with `r = 1/(a·b)`: three multiplications for a reciprocal, which is
    //! a division, or an approximation and four fused operations. Neither denominator may be zero, which holds for
    //! full bands that the cutoff cannot reach and for far bands. For real
    //! poles other bands are not tested for the second branch, 32 neighbours at a time, if no pole of a vector is near any of their
    //! energies. All threads of a core compute: one has something to do while another waits for a division.
    //!
    //! Lines of the nest: 1, 4, 5, 6, 7, 8, 9, 10.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "cpu:paired",
            change: "the formulas of v9 to v13, sums over bands in registers",
            source: "docs/cpu.md",
        },
        threads: DefaultThreads::All,
        needs: ArrayNeeds { panels: Some(LaneLayout::Ig), plan: true, ..ArrayNeeds::SLAB },
        tiles: Tiles { igp: 16, ig: 512 },
        kernels: &[
            kernel!(Poles::Real, planned::sum::<RealPoles, f64, _>),
            kernel!(Poles::Any, planned::sum::<AnyPoles, f64, _>),
        ],
        ..simd::CPU
    };
}

pub mod statics {
    //! cpu:static: SIMD over bands, lists of pairs, static pairs summed before multiplication.
    //!
    //! A third of real pairs has a pole of 1e12 eV, so far from all energies that a term is `eps·M` for each energy but
    //! for a factor `1 + w/ω̃`. Sums of `eps·aqsn` over the static `ig` of an `igp` take two fused operations a number,
    //! and are multiplied by `conj(aqsm)` once. Pairs without terms are skipped.
    //!
    //! Both leave holes between the pairs that are summed one by one. A vector of eight `ig` would have them too, so it
    //! has eight bands of one pair instead (`cpu/src/planned.rs`). Complex poles are summed as in cpu:paired.
    //!
    //! Lines of the nest: 1, 3, 4, 5, 6, 7, 8, 9, 10.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "cpu:static",
            change: "SIMD over bands, lists of pairs, static pairs summed before multiplication",
            source: "docs/cpu.md",
        },
        needs: ArrayNeeds { panels: Some(LaneLayout::Bands), plan: true, ..ArrayNeeds::SLAB },
        otherwise: Some((0, &paired::CPU)),
        kernels: &[kernel!(Poles::Real, planned::sum::<RealPoles, Line, _>)],
        ..paired::CPU
    };
}

pub mod alone {
    //! cpu:alone: Σ alone: one quotient for each band instead of two.
    //!
    //! A full band with `w ≥ 0` has one quotient and no branch, and half as many sums stay in registers. With real poles and
    //! 256 bands or more pairs are in lists as in cpu:static, with AVX-512 two of them at a time, which share a reciprocal in
    //! the loops of far bands. Fewer bands and complex poles are summed as in cpu:paired, eight pairs in a vector
    //! (`cpu/src/sigma_alone.rs`).
    //!
    //! Lines of the nest: 6, 7, 8, 10.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "cpu:alone",
            change: "Σ alone: one quotient for each band instead of two",
            source: "docs/cpu.md",
        },
        is_sigma_alone: true,
        otherwise: Some((MANY_BANDS, &IN_PANELS)),
        kernels: &[kernel!(Poles::Real, planned::sum::<RealAlone, Line, _>)],
        ..statics::CPU
    };

    static IN_PANELS: CpuVersion = CpuVersion {
        otherwise: None,
        needs: paired::CPU.needs,
        kernels: &[
            REAL,
            CpuKernel { poles: Poles::Windowed, ..REAL },
            kernel!(Poles::AnySize, planned::sum::<AnyAlone, f64, _>),
        ],
        ..CPU
    };

    const REAL: CpuKernel = kernel!(Poles::Real, planned::sum::<RealAlone, f64, _>);

    /// Σ alone and its derivative with respect to ω at one energy, in no series.
    pub static DERIVATIVE: CpuVersion = CpuVersion {
        has_derivative: true,
        holds: 1,
        otherwise: Some((MANY_BANDS, &DERIVATIVE_IN_PANELS)),
        kernels: &[kernel!(Poles::Real, planned::sum_energies::<RealAlone, Line, _, 1, 2>, 2)],
        ..CPU
    };

    static DERIVATIVE_IN_PANELS: CpuVersion = CpuVersion {
        otherwise: None,
        needs: paired::CPU.needs,
        kernels: &[
            REAL_DERIVATIVE,
            CpuKernel { poles: Poles::Windowed, ..REAL_DERIVATIVE },
            kernel!(Poles::AnySize, planned::sum_energies::<AnyAlone, f64, _, 1, 2>, 2),
        ],
        ..DERIVATIVE
    };

    const REAL_DERIVATIVE: CpuKernel =
        kernel!(Poles::Real, planned::sum_energies::<RealAlone, f64, _, 1, 2>, 2);
}

pub mod single {
    //! cpu:single: Σ alone in single precision, the heaviest pairs in double.
    //!
    //! The loops of cpu:alone in FP32, sixteen bands of a pair in a vector, for any poles and any number of bands. The
    //! pairs with the largest share of Σ|terms| are summed by cpu:alone's loops in FP64, so that the others' rounding has a
    //! bound (`cpu/src/single.rs`).
    //!
    //! Lines of the nest: 5, 6, 7, 8, 10.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "cpu:single",
            change: "Σ alone in single precision, the heaviest pairs in double",
            source: "docs/precision.md",
        },
        is_single: true,
        is_sigma_alone: true,
        tiles: Tiles { igp: 128, ig: 512 },
        needs: ArrayNeeds { panels: Some(LaneLayout::BandsTwice), plan: true, ..ArrayNeeds::SLAB },
        otherwise: None,
        kernels: &[REAL, CpuKernel { poles: Poles::AnySize, ..REAL }],
        ..statics::CPU
    };

    const REAL: CpuKernel = kernel!(Poles::Real, crate::single::sum);
}

pub mod cells {
    //! sigma:cells: pairs sorted by their poles, moments that serve all energies.
    //!
    //! It is sigma:blocks, with bands, energies or pairs in vectors (`cpu/src/sigma.rs`).
    //!
    //! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "sigma:cells",
            change: "pairs sorted by their poles, moments that serve all energies",
            source: "docs/many-energies.md",
        },
        needs: ArrayNeeds { aqsm: false, panels: None, plan: false, clusters: true },
        holds: 512,
        kernels: &[CpuKernel { poles: Poles::Any, sum: sigma::sum::<false> }],
        ..paired::CPU
    };
}

pub mod cells_alone {
    //! sigma:cells-alone: Σ alone: one expansion for each band instead of two.
    //!
    //! It is sigma:blocks-alone for CPUs.
    //!
    //! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

    use super::*;

    pub static CPU: CpuVersion = CpuVersion {
        version: &Label {
            id: "sigma:cells-alone",
            change: "Σ alone: one expansion for each band instead of two",
            source: "docs/many-energies.md",
        },
        is_sigma_alone: true,
        kernels: &[CpuKernel { poles: Poles::Any, sum: sigma::sum::<true> }],
        ..cells::CPU
    };
}

pub mod per_band {
    //! CH of each band at one energy, and the static CH of each band: in no series, since they are other sums
    //! (`cpu/src/per_band.rs`).

    use gpp_kernels::versions::per_band;

    use super::*;

    pub static CH: CpuVersion = CpuVersion {
        version: &per_band::CH_VERSION,
        needs: ArrayNeeds { panels: Some(LaneLayout::Bands), ..ArrayNeeds::SLAB },
        holds: 1,
        per_band: true,
        tiles: Tiles { igp: gpp_kernels::tiling::per_band::IGP as usize, ig: 512 },
        kernels: &[CpuKernel { poles: Poles::Unread, sum: crate::per_band::sum::<false> }],
        ..paired::CPU
    };

    pub static STATIC_CH: CpuVersion = CpuVersion {
        version: &per_band::STATIC_CH_VERSION,
        kernels: &[CpuKernel { poles: Poles::Unread, sum: crate::per_band::sum::<true> }],
        ..CH
    };
}

/// Arrays that a version reads in addition to the bands and the slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayNeeds {
    /// [`SlabSlices::aqsm`](crate::problem::SlabSlices::aqsm).
    pub aqsm: bool,
    /// [`SlabTask::panels`], in the plan's order of bands if it follows one.
    pub panels: Option<LaneLayout>,
    /// [`SlabTask::plan`].
    pub plan: bool,
    /// [`SlabTask::clusters`].
    pub clusters: bool,
}

impl ArrayNeeds {
    /// The slab as it is.
    pub const SLAB: ArrayNeeds =
        ArrayNeeds { aqsm: true, panels: None, plan: false, clusters: false };
}

/// A function that sums a slab on the threads of the pool in which it is called.
pub struct CpuKernel {
    /// The poles that it sums as regular ones.
    pub poles: Poles,
    sum: fn(&SlabTask, Level, Tiles, Progress) -> Vec<f64>,
}

/// The sums of a slab, `(igp, values)`: `sum` adds those of a tile to totals `(values, igp)`.
///
/// Tiles are the same for any number of threads, and a thread that is free takes the next. The sum of a tile for an
/// `igp` goes to the total of that `igp` in the order of `ig`: sums have the same bits for any number of threads and in
/// any slab. `sum` is a pointer, so that this function and the thread pool's are compiled once for all kernels.
fn sum_tiles(
    task: &SlabTask,
    (tiles, values): (Tiles, usize),
    progress: Progress,
    sum: &(dyn Fn(&SlabTile, &mut [CompensatedSum]) + Sync),
) -> Vec<f64> {
    let ngpown = task.ngpown();
    let tiles = tiles.in_slab(task);
    let sums = map(&tiles, progress, |tile| {
        let mut totals = vec![CompensatedSum::default(); tile.igp.len() * values];
        if !task.stop.is_asked() {
            sum(tile, &mut totals);
        }
        totals.iter().map(|total| total.value()).collect::<Vec<f64>>()
    });
    let mut totals = vec![CompensatedSum::default(); ngpown * values];
    for (tile, sums) in tiles.iter().zip(&sums) {
        let totals = &mut totals[tile.igp.start * values..tile.igp.end * values];
        totals.iter_mut().zip(sums).for_each(|(total, &sum)| total.add(sum));
    }
    (0..values)
        .flat_map(|value| (0..ngpown).map(move |igp| (value, igp)))
        .map(|(value, igp)| totals[igp * values + value].value())
        .collect()
}

/// A version for CPUs.
pub struct CpuVersion {
    pub version: &'static Label,
    pub threads: DefaultThreads,
    pub needs: ArrayNeeds,
    /// Maximum number of energies of a calculation by its kernels.
    pub holds: usize,
    /// Whether it computes in vectors; otherwise one number at a time at every level.
    pub in_vectors: bool,
    /// Whether its sums are CH of each band at one energy.
    pub per_band: bool,
    /// Whether its sums are Σ alone, in the place of CH.
    pub is_sigma_alone: bool,
    /// Whether the sums at an energy are followed by their derivatives with respect to it.
    pub has_derivative: bool,
    /// Whether terms are in single precision.
    pub is_single: bool,
    /// The distribution of its work.
    pub tiles: Tiles,
    /// Its kernels, those for special poles before those for any.
    pub kernels: &'static [CpuKernel],
    /// If its kernels are for real poles and at least so many bands: the number, and the version that sums other problems.
    otherwise: Option<(usize, &'static CpuVersion)>,
}

/// Bands from which on vectors of bands are faster than vectors of pairs, if poles are real.
pub const MANY_BANDS: usize = 256;

impl CpuVersion {
    pub const fn id(&self) -> &'static str {
        self.version.id
    }

    /// The version that sums such problems in its place, or itself.
    pub fn suited(&'static self, poles: Poles, nbands: usize) -> &'static CpuVersion {
        match self.otherwise {
            Some((bands, other)) if poles != Poles::Real || nbands < bands => other,
            _ => self,
        }
    }

    /// The kernel for problems of these poles, the most special of those that sum them.
    fn kernel(&self, poles: Poles) -> &CpuKernel {
        let admits = |kernel: &&CpuKernel| kernel.poles.admits(poles);
        self.kernels.iter().find(admits).expect("every version has a kernel for any poles")
    }

    /// The poles that its kernel for such problems sums as regular; others are fallback pairs.
    pub fn poles(&self, poles: Poles) -> Poles {
        self.kernel(poles).poles
    }

    /// `igp` of each group that has its own sums, or none if there is one sum, of the slab.
    pub fn igp_of_group(&self) -> Option<usize> {
        (!self.needs.clusters).then_some(if self.per_band { self.tiles.igp } else { 1 })
    }

    /// Bytes of the sums of the tiles of a slab at `nw` energies, before they are added up.
    pub fn bytes_of_sums(&self, [nbands, ngpown, ncouls]: [usize; 3], nw: usize) -> u64 {
        if self.needs.clusters {
            let shares = (nbands.div_ceil(CHUNK) * sigma::SHARES) as u64;
            return shares * (nw * VALUES * size_of::<CompensatedSum>()) as u64;
        }
        let tiles = ncouls.div_ceil(self.tiles.ig) as u64;
        if self.per_band {
            let bands = nbands.next_multiple_of(WIDTH) * 2 * size_of::<f64>();
            return (tiles + 1) * ngpown.div_ceil(self.tiles.igp) as u64 * bands as u64;
        }
        let of_igp = tiles * size_of::<f64>() as u64 + size_of::<CompensatedSum>() as u64;
        let sums = if self.has_derivative { 2 * nw } else { nw };
        ngpown as u64 * (sums * VALUES) as u64 * of_igp
    }

    /// The vectors that it computes with if the CPU is used at this level.
    pub fn level(&self, level: Level) -> Level {
        if self.in_vectors { level } else { Level::Scalar }
    }

    /// The sums of a slab for each `igp` apart, or of all: `(igp, values)`, the values of each energy as in
    /// [`gpp_kernels::formula::VALUES`], or CH of each band.
    ///
    /// # Panics
    /// If something that the version [needs](ArrayNeeds) is missing or of another slab, or the CPU does not have this level.
    pub fn sum(&self, task: &SlabTask, level: Level, pool: &Pool, progress: Progress) -> Vec<f64> {
        assert!(level.is_available(), "this CPU has no {level}");
        let nw = task.bands.nw;
        assert!((1..=self.holds).contains(&nw), "{nw} of 1 to {} energies", self.holds);
        let ArrayNeeds { aqsm, panels, plan, clusters } = self.needs;
        assert!(!aqsm || !task.slab.aqsm.is_empty(), "aqsm of {}", self.id());
        assert_eq!(panels, task.panels.map(|panels| panels.lanes), "packed aqsn of {}", self.id());
        assert!(!plan || task.plan.is_some(), "the plan of {}", self.id());
        assert!(!self.is_single || task.heavy.is_some(), "heavy pairs of {}", self.id());
        assert!(!clusters || task.clusters.is_some(), "clusters of {}", self.id());
        let kernel = self.kernel(task.plan.map_or(Poles::Any, |(plan, _)| plan.poles));
        task.check();
        pool.install(|| (kernel.sum)(task, level, self.tiles, progress))
    }
}
