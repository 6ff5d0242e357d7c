//! Register tiles: a warp owns 32 neighbouring `ig` and each of its threads `T` neighbouring `igp`.
//!
//! The warps of a block share their `ig`, so that a column of `aqsn` comes from L2 once for the
//! block and from L1 for its other warps; blocks of the same `ig` follow each other in the grid, so
//! that they find it in L2. Pairs past the edge or with an odd pole are summed as a harmless pole of
//! weight zero; the first blocks of the grid sum the odd pairs by the definition.

pub mod complex;
pub mod real;

use num_complex::Complex;

use crate::arrays::{Arrays, Planned, Sums};
use crate::formula::Pair;
use crate::grid::{Thread, each, split};
use crate::real::Real;
use crate::target::{self, WARP};
use crate::versions::v3;

/// Threads of a block, and pairs of a block that sums odd ones.
pub const THREADS: u32 = 256;

/// Warps of a block.
pub const WARPS: u32 = THREADS / WARP;

/// Blocks that sum odd pairs.
#[inline(always)]
pub fn odd_blocks(odd_count: u32) -> u32 {
    odd_count.div_ceil(THREADS)
}

/// Blocks that sum tiles of `tile` columns a thread.
#[inline(always)]
pub fn tile_blocks(ngpown: u32, ncouls: u32, tile: u32) -> u32 {
    ncouls.div_ceil(WARP) * ngpown.div_ceil(WARPS * tile)
}

/// Where a thread's tile begins; some of it may be past the edge.
#[derive(Clone, Copy)]
pub struct Place {
    /// The thread's G.
    pub ig: u32,
    /// Its first G′.
    pub igp: u32,
}

impl Place {
    #[inline(always)]
    fn of<const T: usize>(thread: Thread, a: &Arrays) -> Place {
        let block = thread.index / THREADS - odd_blocks(a.plan.odd_count);
        let lane = thread.index % THREADS;
        let (column, group) = split(block, a.ngpown.div_ceil(WARPS * T as u32));
        Place {
            ig: column * WARP + lane % WARP,
            igp: (group * WARPS + lane / WARP) * T as u32,
        }
    }

    /// The pair of column `t`, where it is in range and regular.
    ///
    /// # Safety
    /// Arrays and plan valid for their extents.
    #[inline(always)]
    unsafe fn pair(self, a: &Arrays, t: usize) -> Option<(u32, u32)> {
        let (ig, igp) = (self.ig, self.igp + t as u32);
        // SAFETY: in range, as checked first.
        let ours = ig < a.ncouls && igp < a.ngpown && unsafe { !a.plan.is_odd(ig, igp, a.ncouls) };
        ours.then_some((ig, igp))
    }

    /// The pole of column `t`, or one that harms nothing.
    ///
    /// # Safety
    /// As [`Place::pair`].
    #[inline(always)]
    unsafe fn wtilde<R: Real>(self, a: &Arrays, t: usize) -> Complex<R> {
        // SAFETY: the caller's contract.
        match unsafe { self.pair(a, t) } {
            Some((ig, igp)) => unsafe { a.wtilde(ig, igp) },
            None => Complex::new(R::one(), R::zero()),
        }
    }

    /// `vcoul · eps` of column `t`, or zero.
    ///
    /// # Safety
    /// As [`Place::pair`].
    #[inline(always)]
    unsafe fn weight<R: Real>(self, a: &Arrays, t: usize) -> Complex<R> {
        // SAFETY: the caller's contract.
        match unsafe { self.pair(a, t) } {
            Some((ig, igp)) => unsafe { a.eps::<R>(ig, igp) * a.vcoul_loc::<R>(igp) },
            None => Complex::new(R::zero(), R::zero()),
        }
    }
}

/// Largest `|wdiff|²` that takes the second branch.
#[inline(always)]
fn near2<R: Real>(a: &Arrays, wtilde: Complex<R>) -> R {
    let two = R::of(a.limits.limittwo);
    let one = wtilde.norm_sqr() / R::of(a.limits.limitone);
    if one > two { one } else { two }
}

/// One band as a tile reads it: `aqsn(ig,n)`, `aqsm_local(igp,n)` and `wx(iw,n)`.
#[derive(Clone, Copy)]
struct Band<R, const NW: usize, const T: usize> {
    aqsn: Complex<R>,
    aqsm: [Complex<R>; T],
    w: [R; NW],
}

impl<R: Real, const NW: usize, const T: usize> Band<R, NW, T> {
    /// `M` of column `t`.
    #[inline(always)]
    fn matngmatmgp(&self, t: usize) -> Complex<R> {
        self.aqsm[t].conj() * self.aqsn
    }
}

/// Calls `step` for each band of a class.
///
/// # Safety
/// Called by all threads of a block alike; arrays valid for their extents in the planned order,
/// `end <= nbands`.
#[inline(always)]
unsafe fn each_band<R: Real, const NW: usize, const T: usize>(
    a: &Arrays,
    place: Place,
    begin: u32,
    end: u32,
    mut step: impl FnMut(u32, &Band<R, NW, T>),
) {
    // SAFETY: the caller's contract.
    unsafe {
        target::each_band::<T>(a, place, begin, end, |n, aqsn, aqsm, w| {
            let band = Band {
                aqsn: R::complex(aqsn),
                aqsm: core::array::from_fn(|t| R::complex(aqsm[t])),
                w: core::array::from_fn(|e| R::of(w[e])),
            };
            step(n, &band);
        });
    }
}

/// Adds `m` times a real factor to each of `N` sums.
///
/// An FP64 instruction with three operands of its own takes three cycles to read them and only two
/// to issue. The order is such that each shares one with the instruction before, which the hardware
/// then does not read again: the factor, then a part of `m`, in turn.
#[inline(always)]
fn add<R: Real, const N: usize>(sums: &mut [Complex<R>; N], m: Complex<R>, factors: [R; N]) {
    each::<N>(|at| {
        let (sum, factor) = (&mut sums[at], factors[at]);
        if at % 2 == 0 {
            sum.re = sum.re + m.re * factor;
            sum.im = sum.im + m.im * factor;
        } else {
            sum.im = sum.im + m.im * factor;
            sum.re = sum.re + m.re * factor;
        }
    });
}

/// The odd pair of a thread, by the definition.
///
/// # Safety
/// Arrays and plan valid for their extents.
#[inline(always)]
unsafe fn odd_pair<R: Real, const NW: usize>(a: &Arrays, index: u32) -> Sums<R, NW> {
    let mut sums = Sums::zero();
    if index >= a.plan.odd_count {
        return sums;
    }
    // SAFETY: the list holds odd_count offsets of pairs; bands and energies are in range.
    unsafe {
        let (igp, ig) = split(*a.plan.odd_pairs.add(index as usize), a.ncouls);
        let pair = Pair::load(a, ig, igp);
        let vcoul = a.vcoul_loc(igp);
        for n in 0..a.nbands {
            let matngmatmgp = a.matngmatmgp::<R, Planned>(ig, igp, n);
            let occ = a.occ(n);
            each::<NW>(|e| {
                let w = a.wx::<R, Planned>(e as u32, n);
                sums.update(e, vcoul, occ, v3::term(&pair, w, &a.limits), matngmatmgp);
            });
        }
    }
    sums
}
