//! One number at a time.

use num_complex::Complex64;

use super::Lanes;

/// One FP64 number.
#[derive(Clone, Copy)]
pub struct Single(f64);

impl Lanes for Single {
    type Token = ();
    type Mask = bool;
    const COUNT: usize = 1;
    const REGISTERS: usize = 16;

    #[inline(always)]
    fn splat((): (), value: f64) -> Self {
        Single(value)
    }

    #[inline(always)]
    fn load((): (), from: &[f64]) -> Self {
        Single(from[0])
    }

    #[inline(always)]
    fn load_complex((): (), from: &[Complex64]) -> (Self, Self) {
        (Single(from[0].re), Single(from[0].im))
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[0] = self.0;
    }

    #[inline(always)]
    fn add_to(self, to: &mut [f64]) {
        to[0] += self.0;
    }

    #[inline(always)]
    fn mask((): (), bits: u32) -> bool {
        bits & 1 != 0
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Single(self.0 + other.0)
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Single(self.0 - other.0)
    }

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Single(self.0 * other.0)
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Single(self.0 * factor.0 + term.0)
    }

    #[inline(always)]
    fn sub_from(self, factor: Self, term: Self) -> Self {
        Single(term.0 - self.0 * factor.0)
    }

    #[inline(always)]
    fn neg(self) -> Self {
        Single(-self.0)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Single(self.0.abs())
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Single(self.0 / other.0)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Single(self.0.sqrt())
    }

    #[inline(always)]
    fn reciprocal(self) -> Self {
        self.one_over()
    }

    #[inline(always)]
    fn one_over(self) -> Self {
        Single(1.0 / self.0)
    }

    #[inline(always)]
    fn le(self, other: Self) -> bool {
        self.0 <= other.0
    }

    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.0 < other.0
    }

    #[inline(always)]
    fn and(one: bool, other: bool) -> bool {
        one & other
    }

    #[inline(always)]
    fn or(one: bool, other: bool) -> bool {
        one | other
    }

    #[inline(always)]
    fn all(mask: bool) -> bool {
        mask
    }

    #[inline(always)]
    fn not(one: bool) -> bool {
        !one
    }

    #[inline(always)]
    fn select(mask: bool, one: Self, other: Self) -> Self {
        if mask { one } else { other }
    }
}
