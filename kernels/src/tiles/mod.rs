//! Tiles: what v9 and later share. A warp owns 32 neighbouring `ig`, each of its threads `T`
//! neighbouring `igp` and all bands; a pair's constants stay in registers and its sums are scaled
//! once, after the loop.
//!
//! The warps of a block share their `ig` and blocks of the same `ig` follow each other in the grid,
//! so that columns of `aqsn` are found near by. Pairs past the edge or with an odd pole
//! ([`crate::plan`]) are summed as a harmless pole of weight zero; the first blocks of the grid sum
//! the odd pairs by the definition.

pub mod branches;
pub mod candidates;
pub mod complex;
pub mod halves;
pub mod real;
pub mod staging;

use num_complex::{Complex, Complex64};

use crate::arrays::{Arrays, Planned, Sums};
use crate::formula::Pair;
use crate::grid::{Thread, each, split};
use crate::real::Real;
use crate::target::{self, WARP};
use crate::versions::v3;

/// Extents of a block's tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// `igp` of a thread.
    pub tile: u32,
    /// Warps of a block; each has its own `igp`.
    pub warps: u32,
}

impl Shape {
    /// Threads of a block, and pairs of a block that sums odd ones.
    pub const fn threads(self) -> u32 {
        self.warps * WARP
    }

    /// Blocks that sum odd pairs.
    #[inline(always)]
    pub const fn odd_blocks(self, odd_count: u32) -> u32 {
        odd_count.div_ceil(self.threads())
    }

    /// Columns of blocks: those of the same `ig`.
    #[inline(always)]
    pub const fn groups(self, ngpown: u32) -> u32 {
        ngpown.div_ceil(self.warps * self.tile)
    }

    /// Blocks of a grid.
    pub const fn blocks(self, ngpown: u32, ncouls: u32, odd_count: u32) -> u32 {
        self.odd_blocks(odd_count) + ncouls.div_ceil(WARP) * self.groups(ngpown)
    }
}

/// A pole farther than any regular one: no energy of the fast loops meets it or its negative.
const HARMLESS: f64 = 1e31;

/// Where a thread's tile begins; some of it may be past the edge.
#[derive(Clone, Copy)]
pub struct Place {
    /// The thread's G.
    pub ig: u32,
    /// Its first G′.
    pub igp: u32,
}

impl Shape {
    /// Whether a block sums odd pairs, one a thread, and no tile.
    #[inline(always)]
    fn is_odd(self, a: &Arrays, thread: Thread) -> bool {
        // Of the block's number itself: of one divided out of the thread's it would not be known that
        // all threads of a block go the same way.
        thread.block < self.odd_blocks(a.plan.odd_count)
    }

    /// Where the tile of a thread begins, in a block that sums tiles.
    #[inline(always)]
    fn place(self, a: &Arrays, thread: Thread) -> Place {
        let block = thread.block - self.odd_blocks(a.plan.odd_count);
        let (column, group) = split(block, self.groups(a.ngpown));
        let (warp, lane) = (thread.lane / WARP, thread.lane % WARP);
        Place { ig: column * WARP + lane, igp: (group * self.warps + warp) * self.tile }
    }
}

impl Place {
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
            // SAFETY: in range, as the pair is.
            Some((ig, igp)) => unsafe { a.wtilde(ig, igp) },
            None => Complex::new(R::of(HARMLESS), R::zero()),
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
            // SAFETY: in range, as the pair is.
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

/// Energies that memory holds of a band.
const ENERGIES: usize = Planned::ENERGIES as usize;

/// One band as memory holds it: `aqsn(ig,n)`, `aqsm_local(igp,n)` of the tile and `wx(:,n)`, or
/// without that for `E = 0`.
#[derive(Clone, Copy)]
pub struct RawBand<const T: usize, const E: usize = ENERGIES> {
    /// Matrix element of G.
    pub aqsn: Complex64,
    /// Matrix elements of G′.
    pub aqsm: [Complex64; T],
    /// Energies.
    pub wx: [f64; E],
}

/// Calls `step` with the number and the elements of each band of a class.
///
/// # Safety
/// Arrays valid for their extents in the planned order, `end <= nbands`; on the GPU, called by all
/// threads of a block alike.
#[inline(always)]
pub unsafe fn each_band<const T: usize, const E: usize>(
    a: &Arrays,
    place: Place,
    begin: u32,
    end: u32,
    mut step: impl FnMut(u32, &RawBand<T, E>),
) {
    let ig = place.ig.min(a.ncouls - 1);
    let mut n = begin;
    while n < end {
        let row = n * Planned::rows(a.ngpown) + place.igp;
        // SAFETY: in range by the caller's contract; the padded rows hold whole tiles.
        let band = unsafe {
            RawBand {
                aqsn: target::load(a.aqsn, n * a.ncouls + ig),
                aqsm: core::array::from_fn(|t| target::load(a.aqsm_local, row + t as u32)),
                wx: core::array::from_fn(|e| *a.wx.add((n * Planned::ENERGIES) as usize + e)),
            }
        };
        step(n, &band);
        n += 1;
    }
}

/// [`each_band`], or the same through shared memory.
///
/// # Safety
/// As [`each_band`].
#[inline(always)]
unsafe fn bands<const T: usize, const W: usize, const E: usize, const STAGED: bool>(
    a: &Arrays,
    place: Place,
    begin: u32,
    end: u32,
    step: impl FnMut(u32, &RawBand<T, E>),
) {
    // SAFETY: the caller's contract.
    unsafe {
        if STAGED {
            target::each_staged_band::<T, W, E>(a, place, begin, end, step);
        } else {
            each_band(a, place, begin, end, step);
        }
    }
}

impl<const T: usize, const E: usize> RawBand<T, E> {
    /// `M` of column `t`.
    #[inline(always)]
    fn matngmatmgp<R: Real>(&self, t: usize) -> Complex<R> {
        R::complex(self.aqsm[t]).conj() * R::complex(self.aqsn)
    }

    /// `wx(e, n)`.
    #[inline(always)]
    fn w<R: Real>(&self, e: usize) -> R {
        R::of(self.wx[e])
    }
}

/// Adds `m` times a real factor to each of `N` sums.
///
/// An FP64 instruction with three operands of its own takes three cycles to read them and only two
/// to issue. The order is such that each shares one with the instruction before, which the hardware
/// then need not read again: the factor, then a part of `m`, in turn.
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
