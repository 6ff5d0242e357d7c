//! Static pairs: those of the one pole that BerkeleyGW gives to invalid modes, 1e12 eV.
//!
//! So far from all energies `ssx = −eps`, and `sch = −(1 + w/ω̃)·eps` to the last digit. So `eps·conj(aqsm_local)` of a
//! thread's pairs is summed before anything else is done with it, no quotient is needed, and one more energy costs
//! nothing: all bands' energies differ by the same.

use core::array::from_fn;

use num_complex::Complex;

use super::bands::Bands;
use super::energies::FromConstant;
use crate::arrays::Arrays;
use crate::grid::each;
use crate::lists::STATIC;
use crate::real::Real;
use crate::sums::Sums;
use crate::tiling::Tile;

/// One thread's sums over pairs that are static.
///
/// # Safety
/// As [`super::Fraction::sums`], of a kernel with energies in the constant memory.
#[inline(always)]
pub unsafe fn sums<B: Bands, R: Real, const NW: usize, const T: usize, const W: usize>(
    a: &Arrays,
    place: B::Tile<T>,
) -> Sums<R, NW> {
    // SAFETY: the launch contract.
    let weights: [Complex<R>; T] = from_fn(|t| unsafe { place.weight(a, t) });
    let zero = Complex::new(R::zero(), R::zero());
    // With the occupation, and with 1 + w/ω̃ of the first energy.
    let (mut occupied, mut all) = (zero, zero);
    // SAFETY: the launch contract; the classes end within nbands.
    unsafe {
        B::each::<T, W, FromConstant>(a, place, 0, a.nbands, |n, band| {
            let (w, occ): ([R; NW], R) = (band.wx(a, n), a.occ(n));
            let mut sum = zero;
            each::<T>(|t| {
                let (weight, aqsm) = (weights[t], R::complex(band.aqsm[t]));
                sum.re = sum.re + weight.re * aqsm.re;
                sum.im = sum.im + weight.im * aqsm.re;
                sum.re = sum.re + weight.im * aqsm.im;
                sum.im = sum.im - weight.re * aqsm.im;
            });
            let term = sum * R::complex(band.aqsn);
            let factor = R::one() + w[0] * R::of(1.0 / STATIC);
            occupied = occupied + term * occ;
            all = all + term * factor;
        });
    }
    // SAFETY: the launch contract: there is a band.
    let w: [R; NW] = unsafe { a.plan.table.energies(0) };
    let mut sums = Sums::zero();
    let half = all * R::of(-0.5);
    each::<NW>(|e| {
        sums.asx[e] = occupied;
        sums.ach[e] = half + half * ((w[e] - w[0]) * R::of(1.0 / STATIC));
    });
    sums
}
