//! What tiled kernels, v9 and later, are composed of: policies, each a type. A version names those
//! that it takes, in its own file, and [`sums`] makes a body of them.
//!
//! | what | policies |
//! |---|---|
//! | the fraction | [`branches::Branches`], [`partial_fractions::PartialFractions`], [`real_poles::RealPoles`], or none: [`static_ch::StaticCh`] |
//! | where bands come from | [`bands::Direct`], [`bands::Staged`] |
//! | where energies come from | [`energies::WithBand`], [`energies::FromConstant`], [`energies::Unread`] |
//! | the test for the second branch | [`near::Exact`], [`near::UpperWord`] |
//! | far bands | [`far::LikeEmpty`], [`far::WithoutNearTest`], [`paired_reciprocal::PairedReciprocal`] |
//!
//! A pair's constants stay in registers and its sums are scaled once, after the loops. A change that
//! an older version must not have is another policy.

pub mod bands;
pub mod branches;
pub mod energies;
pub mod far;
pub mod near;
pub mod paired_reciprocal;
pub mod partial_fractions;
pub mod real_poles;
pub mod static_ch;

use num_complex::Complex;

use crate::arrays::Arrays;
use crate::formula::{Pair, TermFn};
use crate::grid::{Thread, each};
use crate::intrinsics::WARP;
use crate::layout::Planned;
use crate::plan::Poles;
use crate::real::Real;
use crate::sums::Sums;
use crate::table::EnergiesFrom;
use crate::tiling::{Place, Shape};

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
    unsafe fn sums<R: Real, const NW: usize, const T: usize, const W: usize>(
        a: &Arrays,
        place: Place,
    ) -> Sums<R, NW>;
}

/// One thread's sums: a tile by `F`, or its share of an odd pair by the definition as `term` writes it.
///
/// # Safety
/// The [launch contract](crate::contract), for tiles of `T` in blocks of `W` warps.
#[inline(always)]
pub unsafe fn sums<F: Fraction, R: Real, const NW: usize, const T: usize, const W: usize>(
    a: &Arrays,
    thread: Thread,
    term: impl TermFn<R>,
) -> Sums<R, NW> {
    let shape = Shape { tile: T as u32, warps: W as u32 };
    // SAFETY: the launch contract; all threads of a block go the same way.
    unsafe {
        // No block is odd where no pole is.
        let may_be_odd = !matches!(F::POLES, Poles::Unread);
        if may_be_odd && shape.grid_of(a).is_odd(thread.block) {
            return match shape.odd_pair(a, thread) {
                Some((igp, ig)) => odd_pair::<_, NW, W>(a, ig, igp, thread.lane / WARP, term),
                None => Sums::zero(),
            };
        }
        F::sums::<R, NW, T, W>(a, shape.place(a, thread))
    }
}

/// A warp's share of a pair, by the definition: every `W`th band. A group has few odd pairs; with all
/// bands in one thread the last of them would be waited for.
///
/// # Safety
/// The [launch contract](crate::contract), the pair in range, `NW = nw`.
#[inline(always)]
unsafe fn odd_pair<R: Real, const NW: usize, const W: usize>(
    a: &Arrays,
    ig: u32,
    igp: u32,
    warp: u32,
    term: impl TermFn<R>,
) -> Sums<R, NW> {
    let mut sums = Sums::zero();
    // SAFETY: the launch contract; bands and energies are in range.
    unsafe {
        let pair = Pair::load(a, ig, igp);
        let vcoul = a.vcoul_loc(igp);
        let mut n = warp;
        while n < a.nbands {
            let matngmatmgp = a.matngmatmgp::<R, Planned>(ig, igp, n);
            let occ = a.occ(n);
            each::<NW>(|e| {
                let w = a.wx::<R, Planned>(e as u32, n);
                sums.update(e, vcoul, occ, term(&pair, w, &a.limits), matngmatmgp);
            });
            n += W as u32;
        }
    }
    sums
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
