//! Static pairs: those of the one pole that BerkeleyGW gives to invalid modes, 1e12 eV.
//!
//! So far from all energies `ssx = −eps`, and `sch = −(1 + w/ω̃)·eps` to the last digit. What is left to sum over
//! bands is `M`, and `w·M` for one of the energies, since all bands' energies differ by the same. No quotient is needed,
//! and one more energy costs nothing.

use core::array::from_mut;

use num_complex::Complex;

use super::adding::add;
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
    let plan = &a.plan;
    let zero = [Complex::new(R::zero(), R::zero()); T];
    // M of plain bands, of all others, times the occupation where it is not plain, and w·M.
    let (mut plain, mut others, mut occupied, mut moments) = (zero, zero, zero, zero);
    // SAFETY: the launch contract; the classes end within nbands.
    unsafe {
        B::each::<T, W, FromConstant>(a, place, 0, plan.plain, |n, band| {
            let w: [R; NW] = band.wx(a, n);
            each::<T>(|t| {
                let m: Complex<R> = band.matngmatmgp(t);
                plain[t] = plain[t] + m;
                add(from_mut(&mut moments[t]), m, [w[0]]);
            });
        });
        B::each::<T, W, FromConstant>(a, place, plan.plain, plan.occupied, |n, band| {
            let (w, occ): ([R; NW], R) = (band.wx(a, n), a.occ(n));
            each::<T>(|t| {
                let m: Complex<R> = band.matngmatmgp(t);
                others[t] = others[t] + m;
                add(from_mut(&mut occupied[t]), m, [occ]);
                add(from_mut(&mut moments[t]), m, [w[0]]);
            });
        });
        B::each::<T, W, FromConstant>(a, place, plan.occupied, a.nbands, |n, band| {
            let w: [R; NW] = band.wx(a, n);
            each::<T>(|t| {
                let m: Complex<R> = band.matngmatmgp(t);
                others[t] = others[t] + m;
                add(from_mut(&mut moments[t]), m, [w[0]]);
            });
        });
    }
    // SAFETY: the launch contract: there is a band.
    let w: [R; NW] = unsafe { plan.table.energies(0) };
    let mut sums = Sums::zero();
    each::<T>(|t| {
        // SAFETY: the launch contract.
        let weight = unsafe { place.weight::<R>(a, t) };
        let all = plain[t] + others[t];
        let (exchange, half) = (weight * (plain[t] + occupied[t]), weight * R::of(0.5));
        each::<NW>(|e| {
            let moment = moments[t] + all * (w[e] - w[0]);
            sums.asx[e] = sums.asx[e] + exchange;
            sums.ach[e] = sums.ach[e] - half * (all + moment * R::of(1.0 / STATIC));
        });
    });
    sums
}
