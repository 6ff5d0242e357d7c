//! Quotients and products of complex numbers: how a version writes them, and reciprocals, by one real division
//! and without any.

use core::hint::select_unpredictable;

use num_complex::Complex;

use crate::real::Real;

/// How a version writes its three quotients.
pub trait Quotients {
    /// `delw = ω̃ / wdiff`, where `wdiffr` is `|wdiff|²`.
    fn delw<R: Real>(wtilde: Complex<R>, wdiff: Complex<R>, wdiffr: R) -> Complex<R>;
    /// `a / b`.
    fn over<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R>;
}

/// `sum + a·b`, four fused operations.
#[inline(always)]
pub fn plus_product<R: Real>(sum: Complex<R>, a: Complex<R>, b: Complex<R>) -> Complex<R> {
    let re = sum.re + a.re * b.re - a.im * b.im;
    let im = sum.im + a.re * b.im + a.im * b.re;
    Complex::new(re, im)
}

/// `1 / z` with one real reciprocal.
#[inline(always)]
pub fn reciprocal<R: Real>(z: Complex<R>) -> Complex<R> {
    let rden = R::one() / z.norm_sqr();
    z.conj() * rden
}

/// `1 / z`, or zero where `unless` holds, whatever finite number `z` is: the hardware's approximation
/// and one cubic correction.
///
/// The approximation's relative error is `e = 1 − z·r₀`, at most 2⁻¹⁹; `r₀·(1 + e + e²)` leaves e³,
/// below the last bit. `z` must be neither zero nor so far from one that `r₀` is subnormal.
#[inline(always)]
pub fn reciprocal_unless<R: Real>(unless: bool, z: R) -> R {
    let approximate = select_unpredictable(unless, R::zero(), z.approximate_reciprocal());
    let error = R::one() - z * approximate;
    let correction = error + error * error;
    approximate + approximate * correction
}
