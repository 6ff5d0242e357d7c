//! Quotients and products of complex numbers: how a version writes them, and reciprocals, by one real division
//! and without any.

use core::hint::select_unpredictable;

use num_complex::{Complex, Complex64};

use crate::intrinsics::approximate_reciprocal;

/// How a version writes its three quotients.
pub trait Quotients {
    /// `delw = ω̃ / wdiff`, where `wdiffr` is `|wdiff|²`.
    fn delw(wtilde: Complex64, wdiff: Complex64, wdiffr: f64) -> Complex64;
    /// `a / b`.
    fn over(a: Complex64, b: Complex64) -> Complex64;
}

/// `sum + a·b`, four fused operations.
#[inline(always)]
pub fn plus_product(sum: Complex64, a: Complex64, b: Complex64) -> Complex64 {
    let re = sum.re + a.re * b.re - a.im * b.im;
    let im = sum.im + a.re * b.im + a.im * b.re;
    Complex::new(re, im)
}

/// `1 / z` with one real reciprocal.
#[inline(always)]
pub fn reciprocal(z: Complex64) -> Complex64 {
    let rden = 1.0 / z.norm_sqr();
    z.conj() * rden
}

/// `1 / z`, or zero where `unless` holds, whatever finite number `z` is: the hardware's approximation
/// and one cubic correction.
///
/// The approximation's relative error is `e = 1 − z·r₀`, at most 2⁻¹⁹; `r₀·(1 + e + e²)` leaves e³,
/// below the last bit. `z` must be neither zero nor so far from one that `r₀` is subnormal.
#[inline(always)]
pub fn reciprocal_unless(unless: bool, z: f64) -> f64 {
    let approximate = select_unpredictable(unless, 0.0, approximate_reciprocal(z));
    let error = 1.0 - z * approximate;
    let correction = error + error * error;
    approximate + approximate * correction
}
