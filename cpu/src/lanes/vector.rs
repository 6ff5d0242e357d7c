//! The vectors of an instruction set.

use fearless_simd::prelude::*;
use num_complex::Complex64;

use super::Lanes;

/// A vector of the instruction set that `S` shows.
#[derive(Clone, Copy)]
pub struct Vector<S: Simd>(S::f64s);

/// Corrections that make of a reciprocal all its digits.
///
/// On x86 the approximation is good to 14 bits, which two corrections make 56; the one of 64-bit ARM is
/// good to 8, which takes three. AVX2 has none for FP64 and divides.
const fn corrections(lanes: usize) -> usize {
    match lanes {
        8 => 2,
        2 => 3,
        _ => 0,
    }
}

/// Complex numbers as the real ones that they are in memory.
#[inline(always)]
fn parts(from: &[Complex64]) -> &[f64] {
    bytemuck::cast_slice(from)
}

impl<S: Simd> Lanes for Vector<S> {
    type Token = S;
    type Mask = S::mask64s;
    const COUNT: usize = S::f64s::LEN;
    const REGISTERS: usize = if S::f64s::LEN == 4 { 16 } else { 32 };

    #[inline(always)]
    fn splat(token: S, value: f64) -> Self {
        Vector(S::f64s::splat(token, value))
    }

    #[inline(always)]
    fn load(token: S, from: &[f64]) -> Self {
        Vector(S::f64s::from_slice(token, &from[..Self::COUNT]))
    }

    #[inline(always)]
    fn load_complex(token: S, from: &[Complex64]) -> (Self, Self) {
        let (low, high) = parts(&from[..Self::COUNT]).split_at(Self::COUNT);
        let low = S::f64s::from_slice(token, low);
        let high = S::f64s::from_slice(token, high);
        let (re, im) = low.deinterleave(high);
        (Vector(re), Vector(im))
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        self.0.store_slice(&mut to[..Self::COUNT]);
    }

    #[inline(always)]
    fn add_to(self, to: &mut [f64]) {
        let to = &mut to[..Self::COUNT];
        let sum = S::f64s::from_slice(self.0.token(), to) + self.0;
        sum.store_slice(to);
    }

    #[inline(always)]
    fn mask(token: S, bits: u32) -> S::mask64s {
        S::mask64s::from_bitmask(token, u64::from(bits))
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Vector(self.0 + other.0)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Vector(self.0 - other.0)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Vector(self.0 * other.0)
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Vector(self.0.mul_add(factor.0, term.0))
    }

    #[inline(always)]
    fn sub_from(self, factor: Self, term: Self) -> Self {
        Vector((-self.0).mul_add(factor.0, term.0))
    }

    #[inline(always)]
    fn neg(self) -> Self {
        Vector(-self.0)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Vector(self.0.abs())
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Vector(self.0 / other.0)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Vector(self.0.sqrt())
    }

    #[inline(always)]
    fn reciprocal(self) -> Self {
        if corrections(Self::COUNT) == 0 {
            return self.one_over();
        }
        let one = Self::splat(self.0.token(), 1.0);

        let approximate = Vector(self.0.approximate_recip());
        let mut reciprocal = approximate;
        for _ in 0..corrections(Self::COUNT) {
            let error = self.sub_from(reciprocal, one);
            reciprocal = reciprocal.mul_add(error, reciprocal);
        }
        // Zero of infinity and infinity of zero have an error that is not a number.
        let is_finite = reciprocal.le(reciprocal);
        Self::select(is_finite, reciprocal, approximate)
    }

    #[inline(always)]
    fn one_over(self) -> Self {
        Self::splat(self.0.token(), 1.0).div(self)
    }

    #[inline(always)]
    fn le(self, other: Self) -> S::mask64s {
        self.0.simd_le(other.0)
    }

    #[inline(always)]
    fn lt(self, other: Self) -> S::mask64s {
        self.0.simd_lt(other.0)
    }

    #[inline(always)]
    fn and(one: S::mask64s, other: S::mask64s) -> S::mask64s {
        one & other
    }

    #[inline(always)]
    fn or(one: S::mask64s, other: S::mask64s) -> S::mask64s {
        one | other
    }

    #[inline(always)]
    fn all(mask: S::mask64s) -> bool {
        mask.all_true()
    }

    #[inline(always)]
    fn not(one: S::mask64s) -> S::mask64s {
        !one
    }

    #[inline(always)]
    fn select(mask: S::mask64s, one: Self, other: Self) -> Self {
        Vector(mask.select(one.0, other.0))
    }
}
