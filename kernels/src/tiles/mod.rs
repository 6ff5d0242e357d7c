//! What tiled kernels, v9 and later, are composed of: policies, each a type. A version names those
//! that it takes, in its own file, and [`sums`] makes a body of them.
//!
//! | what | policies |
//! |---|---|
//! | the fraction | [`branches::Branches`], [`partial_fractions::PartialFractions`], [`real_poles::RealPoles`], or none: [`branches::StaticCh`] |
//! | where bands come from | [`Direct`], [`Staged`] |
//! | where energies come from | [`WithBand`], [`FromConstant`], [`Unread`] |
//! | the test for the second branch | [`Exact`], [`UpperWord`] |
//! | far bands | [`LikeEmpty`], [`WithoutNearTest`], [`real_poles::PairedReciprocal`] |
//!
//! A pair's constants stay in registers and its sums are scaled once, after the loops. A change that
//! an older version must not have is another policy.

use num_complex::Complex64;

use crate::arrays::Arrays;
use crate::formula::{Pair, Sums, TermFn};
use crate::grid::{Thread, each};
use crate::intrinsics::{WARP, load, upper};
use crate::layout::Planned;
use crate::plan::{EnergiesFrom, Poles};
use crate::tiling::{Place, Shape};

pub mod branches;
pub mod partial_fractions;
pub mod real_poles;

/// How the terms of regular poles are written, and what else a body of tiles is composed of.
pub trait Fraction {
    /// What it takes the regular poles to be.
    const POLES: Poles;

    /// Where it reads energies.
    const ENERGIES: EnergiesFrom;

    /// One thread's sums over a tile of `T` `igp`, in blocks of `W` warps, all bands.
    ///
    /// # Safety
    /// The [launch contract](crate::contract): called by all threads of a block of `W` warps alike,
    /// with the places of one block, `NW = nw`.
    unsafe fn sums<const NW: usize, const T: usize, const W: usize>(
        a: &Arrays,
        place: Place,
    ) -> Sums<NW>;
}

/// One thread's sums: a tile by `F`, or its share of an odd pair by the definition as `term` writes it.
///
/// # Safety
/// The [launch contract](crate::contract), for tiles of `T` in blocks of `W` warps.
#[inline(always)]
pub unsafe fn sums<F: Fraction, const NW: usize, const T: usize, const W: usize>(
    a: &Arrays,
    thread: Thread,
    term: impl TermFn,
) -> Sums<NW> {
    let shape = Shape { tile: T as u32, warps: W as u32 };
    // All threads of a block go the same way.
    // No block is odd where no pole is.
    let may_be_odd = !matches!(F::POLES, Poles::Unread);
    if may_be_odd && shape.grid_of(a).is_odd(thread.block) {
        return match shape.odd_pair(a, thread) {
            Some((igp, ig)) => odd_pair::<NW, W>(a, ig, igp, thread.lane / WARP, term),
            None => Sums::zero(),
        };
    }
    F::sums::<NW, T, W>(a, shape.place(a, thread))
}

/// A warp's share of a pair, by the definition: every `W`th band. A group has few odd pairs; with all
/// bands in one thread the last of them would be waited for.
#[inline(always)]
pub unsafe fn odd_pair<const NW: usize, const W: usize>(
    a: &Arrays,
    ig: u32,
    igp: u32,
    warp: u32,
    term: impl TermFn,
) -> Sums<NW> {
    let mut sums = Sums::zero();
    let pair = Pair::load(a, ig, igp);
    let vcoul = a.vcoul_loc(igp);
    let mut n = warp;
    while n < a.nbands {
        let matngmatmgp = a.matngmatmgp::<Planned>(ig, igp, n);
        let occ = a.occ(n);
        each::<NW>(|e| {
            let w = a.wx::<Planned>(e as u32, n);
            sums.update(e, vcoul, occ, term(&pair, w, &a.limits), matngmatmgp);
        });
        n += W as u32;
    }
    sums
}

/// Adds `m` times a real factor to each of `N` sums.
///
/// An FP64 instruction with three operands of its own takes three cycles to read them and only two
/// to issue. The order is such that each shares one with the instruction before, which the hardware
/// then need not read again: the factor, then a part of `m`, in turn.
#[inline(always)]
pub fn add<const N: usize>(sums: &mut [Complex64; N], m: Complex64, factors: [f64; N]) {
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

// Where bands come from.

/// One band as memory holds it: `aqsn(ig,n)`, `aqsm_local(igp,n)` of the tile, and its energies.
#[derive(Clone, Copy)]
pub struct Band<const T: usize, E> {
    /// Matrix element of G.
    pub aqsn: Complex64,
    /// Matrix elements of G′.
    pub aqsm: [Complex64; T],
    /// What memory holds of the energies.
    pub energies: E,
}

impl<const T: usize, E: Energies> Band<T, E> {
    /// `M` of pair `t` of the tile.
    #[inline(always)]
    pub fn matngmatmgp(&self, t: usize) -> Complex64 {
        self.aqsm[t].conj() * self.aqsn
    }

    /// Adds `M` of pair `t` of the tile, in four fused operations.
    #[inline(always)]
    pub fn add_matngmatmgp(&self, t: usize, sum: &mut Complex64) {
        let (aqsm, aqsn) = (self.aqsm[t], self.aqsn);
        sum.re = sum.re + aqsm.re * aqsn.re;
        sum.im = sum.im + aqsm.re * aqsn.im;
        sum.im = sum.im - aqsm.im * aqsn.re;
        sum.re = sum.re + aqsm.im * aqsn.im;
    }

    /// `wx(:,n)`, for band number `n`.
    ///
    /// # Safety
    /// As [`Energies::of`].
    #[inline(always)]
    pub unsafe fn wx<const NW: usize>(&self, a: &Arrays, n: u32) -> [f64; NW] {
        self.energies.of(a, n)
    }
}

/// How the bands of a class are gone through.
pub trait Bands {
    /// Calls `step` with the number and the elements of each band of `begin..end`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) and `end <= nbands`; called by all threads of a block of
    /// `W` warps alike, with the places of one block.
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        step: impl FnMut(u32, &Band<T, E>),
    );
}

/// Each thread reads its own from global memory.
pub struct Direct;

impl Bands for Direct {
    #[inline(always)]
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        mut step: impl FnMut(u32, &Band<T, E>),
    ) {
        let ig = place.ig.min(a.ncouls - 1);
        let mut n = begin;
        while n < end {
            let first = n * Planned::rows(a.ngpown) + place.igp;
            // N and ig are in range, and the padding holds whole tiles.
            let band = Band {
                aqsn: load(a.aqsn, n * a.ncouls + ig),
                aqsm: core::array::from_fn(|t| load(a.aqsm_local, first + t as u32)),
                energies: E::read(a, n),
            };
            step(n, &band);
            n += 1;
        }
    }
}

/// A block stages as many bands at a time as it has warps ([`crate::tiling`]), in two buffers in
/// shared memory: the next ones are on their way from global memory while these are summed.
pub struct Staged;

#[cfg(not(target_arch = "nvptx64"))]
impl Bands for Staged {
    /// The threads of a block run in turn here: each reads its own.
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        step: impl FnMut(u32, &Band<T, E>),
    ) {
        Direct::each::<T, W, E>(a, place, begin, end, step)
    }
}

#[cfg(target_arch = "nvptx64")]
impl Bands for Staged {
    #[inline(always)]
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        mut step: impl FnMut(u32, &Band<T, E>),
    ) {
        use crate::intrinsics::{barrier, lane, load_shared_pair, store_shared_pair};
        use crate::plan::EnergiesFrom;
        use crate::tiling::{Array, ELEMENT, Stage, stages};

        if begin >= end {
            return;
        }
        let bands = Stage::<T, W>::BANDS;
        let band_bytes = Stage::<T, W>::BAND * ELEMENT;
        // Global elements are clamped to the arrays' extents, shared ones are
        // within the buffers by their slot; a buffer is written only after the barrier that all its
        // readers have passed.
        let thread = lane();
        let with_energies = matches!(E::FROM, EnergiesFrom::Arrays);
        let [first, second] =
            Stage::<T, W>::shares(thread, place, a.ngpown, a.ncouls, with_energies);
        let array = match second.array {
            Array::Aqsn => a.aqsn,
            Array::AqsmLocal => a.aqsm_local,
            Array::Wx => a.wx.cast(),
        };
        let fetch = |n: u32| {
            (load(a.aqsn, first.element(n, a.nbands)), load(array, second.element(n, a.nbands)))
        };
        let base = stages::<T, W>();
        let put = |buffer: u32, (one, other): (Complex64, Complex64)| {
            store_shared_pair(base + buffer + first.slot * ELEMENT, one);
            store_shared_pair(base + buffer + second.slot * ELEMENT, other);
        };
        let read = |band: u32| {
            let element = |slot: u32| load_shared_pair(band + slot * ELEMENT);
            Band {
                aqsn: element(Stage::<T, W>::aqsn(thread)),
                aqsm: core::array::from_fn(|t| element(Stage::<T, W>::aqsm_local(thread, t))),
                energies: E::of_pairs(|pair| element(Stage::<T, W>::wx(pair))),
            }
        };

        let buffer_bytes = bands * band_bytes;
        let mut buffer = 0;
        put(buffer, fetch(begin));
        barrier();
        let mut n = begin;
        loop {
            let more = end - n > bands;
            // The last time too, for nothing: without a branch.
            let next = fetch(n + bands);
            let stop = (n + bands).min(end);
            let mut band = base + buffer;
            // Two bands at a time leave ptxas more to choose from.
            while n + 1 < stop {
                let (first, second) = (read(band), read(band + band_bytes));
                step(n, &first);
                step(n + 1, &second);
                band += 2 * band_bytes;
                n += 2;
            }
            if n < stop {
                step(n, &read(band));
                n += 1;
            }
            if !more {
                break;
            }
            buffer = buffer_bytes - buffer;
            put(buffer, next);
            barrier();
        }
        // Before the first buffer is filled again.
        barrier();
    }
}

// Where the energies of a band come from.

/// What memory holds of a band's energies beside its elements, and how the energies are had of it.
pub trait Energies: Copy {
    /// Where they stand.
    const FROM: EnergiesFrom;

    /// Read from `wx(:,n)`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) and `n < nbands`.
    unsafe fn read(a: &Arrays, n: u32) -> Self;

    /// Read in pairs: pair `p` is energies `2p` and `2p + 1`.
    fn of_pairs(pair: impl Fn(usize) -> Complex64) -> Self;

    /// `wx(:,n)`, for the band that `self` is of.
    unsafe fn of<const NW: usize>(&self, a: &Arrays, n: u32) -> [f64; NW];
}

/// Energies come with the band.
#[derive(Clone, Copy)]
pub struct WithBand([f64; Planned::ENERGIES as usize]);

impl Energies for WithBand {
    const FROM: EnergiesFrom = EnergiesFrom::Arrays;

    #[inline(always)]
    unsafe fn read(a: &Arrays, n: u32) -> Self {
        // Wx has room for so many in each band.
        WithBand(core::array::from_fn(|e| *a.wx.add((n * Planned::ENERGIES) as usize + e)))
    }

    #[inline(always)]
    fn of_pairs(pair: impl Fn(usize) -> Complex64) -> Self {
        let (first, second) = (pair(0), pair(1));
        WithBand([first.re, first.im, second.re, second.im])
    }

    #[inline(always)]
    unsafe fn of<const NW: usize>(&self, _: &Arrays, _: u32) -> [f64; NW] {
        core::array::from_fn(|e| self.0[e])
    }
}

/// Energies come from the constant memory ([`crate::plan`]): operands of arithmetic, which take neither
/// a register nor a read.
#[derive(Clone, Copy)]
pub struct FromConstant;

impl Energies for FromConstant {
    const FROM: EnergiesFrom = EnergiesFrom::ConstantMemory;

    #[inline(always)]
    unsafe fn read(_: &Arrays, _: u32) -> Self {
        FromConstant
    }

    #[inline(always)]
    fn of_pairs(_: impl Fn(usize) -> Complex64) -> Self {
        FromConstant
    }

    #[inline(always)]
    unsafe fn of<const NW: usize>(&self, a: &Arrays, n: u32) -> [f64; NW] {
        a.plan.table.energies(n)
    }
}

/// No energies are read.
#[derive(Clone, Copy)]
pub struct Unread;

impl Energies for Unread {
    const FROM: EnergiesFrom = EnergiesFrom::Nowhere;

    #[inline(always)]
    unsafe fn read(_: &Arrays, _: u32) -> Self {
        Unread
    }

    #[inline(always)]
    fn of_pairs(_: impl Fn(usize) -> Complex64) -> Self {
        Unread
    }

    #[inline(always)]
    unsafe fn of<const NW: usize>(&self, _: &Arrays, _: u32) -> [f64; NW] {
        [0.0; NW]
    }
}

// The test for the second branch: whether an energy is near a pole.

/// How a distance is compared with the largest of the second branch.
pub trait NearTest {
    /// What the loops keep of the largest distance.
    type Bound: Copy;

    /// The bound for the largest distance.
    fn bound(largest: f64) -> Self::Bound;

    /// Whether a distance takes the second branch.
    fn is_near(distance: f64, bound: Self::Bound) -> bool;
}

/// All digits.
pub struct Exact;

impl NearTest for Exact {
    type Bound = f64;

    #[inline(always)]
    fn bound(largest: f64) -> f64 {
        largest
    }

    #[inline(always)]
    fn is_near(distance: f64, bound: f64) -> bool {
        distance <= bound
    }
}

/// The upper words, outside the FP64 pipe. No energy is near enough to the bound for the lower word to
/// matter: such poles are odd.
pub struct UpperWord;

impl NearTest for UpperWord {
    type Bound = f32;

    #[inline(always)]
    fn bound(largest: f64) -> f32 {
        upper(largest)
    }

    #[inline(always)]
    fn is_near(distance: f64, bound: f32) -> bool {
        upper(distance) <= bound
    }
}

/// Largest `|wdiff|²` that takes the second branch.
#[inline(always)]
pub fn largest2(a: &Arrays, wtilde: Complex64) -> f64 {
    let two = a.limits.limittwo;
    let one = wtilde.norm_sqr() / a.limits.limitone;
    if one > two { one } else { two }
}

// What is done with far bands ([`crate::plan`]), of which no pole is near.

/// Where the loop of far bands begins.
pub trait FarBands {
    /// The first band of that loop; those before it are summed like empty ones.
    fn begin(a: &Arrays) -> u32;
}

/// Far bands are summed like the other empty ones.
pub struct LikeEmpty;

impl FarBands for LikeEmpty {
    #[inline(always)]
    fn begin(a: &Arrays) -> u32 {
        a.nbands
    }
}

/// Far bands have a loop of their own, without the test for the second branch.
pub struct WithoutNearTest;

impl FarBands for WithoutNearTest {
    #[inline(always)]
    fn begin(a: &Arrays) -> u32 {
        a.plan.far_begin
    }
}
