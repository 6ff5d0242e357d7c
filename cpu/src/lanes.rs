//! What the kernels compute with: a few numbers at once, or one.
//!
//! A kernel is written once, for any [`Lanes`]. Its instances are for one number and for the vectors of each
//! instruction set.

use fearless_simd::prelude::*;
use num_complex::Complex64;

/// Numbers that the sums of one value are kept for: a vector, or a few of them, whatever the level. So
/// each number adds the same terms at every level.
pub const WIDTH: usize = 8;

/// The sum of eight numbers, in a tree.
#[inline(always)]
pub fn tree(lanes: &[f64; WIDTH]) -> f64 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// [`Lanes::COUNT`] numbers of FP64, on which operations act one by one.
///
/// What uses it has to be inlined into what the instruction set is switched on for: all functions over
/// `Lanes` are `#[inline(always)]`.
pub trait Lanes: Copy {
    /// What shows that the processor has them.
    type Token: Copy;
    /// A truth for each.
    type Mask: Copy;
    /// How many; a divisor of [`WIDTH`].
    const COUNT: usize;
    /// Registers that hold them.
    const REGISTERS: usize;

    /// A vector with this number in each lane.
    fn splat(token: Self::Token, value: f64) -> Self;
    fn load(token: Self::Token, from: &[f64]) -> Self;
    /// The first complex numbers of a slice, real and imaginary parts apart.
    fn load_complex(token: Self::Token, from: &[Complex64]) -> (Self, Self);
    /// Puts them into the first numbers of a slice.
    fn store(self, to: &mut [f64]);
    /// Adds each to the first numbers of a slice.
    fn add_to(self, to: &mut [f64]);
    /// Bit `i` for number `i`.
    fn mask(token: Self::Token, bits: u32) -> Self::Mask;

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// `self · factor + term`, fused where the level fuses.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// `term − self · factor`, fused where the level fuses.
    fn sub_from(self, factor: Self, term: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn div(self, other: Self) -> Self;
    fn sqrt(self) -> Self;
    /// `1 / self`, to the last digit or the one before: an approximation corrected where the instruction
    /// set has one, else a division; of zero it is infinite and of infinity zero.
    fn reciprocal(self) -> Self;

    /// `1 / self` by a division.
    fn one_over(self) -> Self;

    /// `self ≤ other`, false where one is not a number.
    fn le(self, other: Self) -> Self::Mask;
    /// `self < other`, false where one is not a number.
    fn lt(self, other: Self) -> Self::Mask;
    fn and(one: Self::Mask, other: Self::Mask) -> Self::Mask;
    fn or(one: Self::Mask, other: Self::Mask) -> Self::Mask;
    fn all(mask: Self::Mask) -> bool;
    fn not(one: Self::Mask) -> Self::Mask;
    /// `one` where the mask holds, `other` elsewhere.
    fn select(mask: Self::Mask, one: Self, other: Self) -> Self;
}

/// Functions of a line each, inlined.
macro_rules! inlined {
    ($(fn $name:ident($($arguments:tt)*) $(-> $value:ty)? $body:block)*) => {
        $(#[inline(always)] fn $name($($arguments)*) $(-> $value)? $body)*
    };
}

/// An array of what an expression is for each index. [`core::array::from_fn`] and closures are functions
/// of their own, which are compiled without the level's instructions.
macro_rules! array {
    ($count:expr, $at:ident => $value:expr) => {{
        let mut array = [{
            let $at = 0;
            $value
        }; $count];
        let mut at = 1;
        while at < $count {
            array[at] = {
                let $at = at;
                $value
            };
            at += 1;
        }
        array
    }};
}
pub(crate) use array;

/// A complex number in each lane.
#[derive(Clone, Copy)]
pub struct ComplexLanes<L> {
    pub re: L,
    pub im: L,
}

#[expect(
    clippy::should_implement_trait,
    reason = "as in `Lanes`, whose operations are methods too"
)]
impl<L: Lanes> ComplexLanes<L> {
    #[inline(always)]
    pub fn new(re: L, im: L) -> Self {
        ComplexLanes { re, im }
    }

    #[inline(always)]
    pub fn zero(token: L::Token) -> Self {
        let zero = L::splat(token, 0.0);
        ComplexLanes { re: zero, im: zero }
    }

    #[inline(always)]
    pub fn add(self, other: Self) -> Self {
        ComplexLanes { re: self.re.add(other.re), im: self.im.add(other.im) }
    }

    #[inline(always)]
    pub fn mul(self, other: Self) -> Self {
        ComplexLanes {
            re: self.im.sub_from(other.im, self.re.mul(other.re)),
            im: self.im.mul_add(other.re, self.re.mul(other.im)),
        }
    }

    #[inline(always)]
    pub fn conj_mul(self, other: Self) -> Self {
        ComplexLanes {
            re: self.im.mul_add(other.im, self.re.mul(other.re)),
            im: self.im.sub_from(other.re, self.re.mul(other.im)),
        }
    }

    #[inline(always)]
    pub fn scale(self, factor: L) -> Self {
        ComplexLanes { re: self.re.mul(factor), im: self.im.mul(factor) }
    }

    /// `self + m · factor`, for a real factor.
    #[inline(always)]
    pub fn add_scaled(self, m: Self, factor: L) -> Self {
        ComplexLanes { re: m.re.mul_add(factor, self.re), im: m.im.mul_add(factor, self.im) }
    }

    #[inline(always)]
    pub fn add_product(self, one: Self, other: Self) -> Self {
        ComplexLanes {
            re: one.im.sub_from(other.im, one.re.mul_add(other.re, self.re)),
            im: one.im.mul_add(other.re, one.re.mul_add(other.im, self.im)),
        }
    }

    #[inline(always)]
    pub fn norm_sqr(self) -> L {
        self.im.mul_add(self.im, self.re.mul(self.re))
    }

    /// `self` where the mask holds, zero elsewhere.
    #[inline(always)]
    pub fn keep(self, token: L::Token, mask: L::Mask) -> Self {
        let zero = L::splat(token, 0.0);
        ComplexLanes { re: L::select(mask, self.re, zero), im: L::select(mask, self.im, zero) }
    }
}

#[derive(Clone, Copy)]
pub struct Single(f64);

impl Lanes for Single {
    type Token = ();
    type Mask = bool;
    const COUNT: usize = 1;
    const REGISTERS: usize = 16;

    #[inline(always)]
    fn load_complex((): (), from: &[Complex64]) -> (Self, Self) {
        (Single(from[0].re), Single(from[0].im))
    }

    inlined! {
        fn splat((): (), value: f64) -> Self { Single(value) }
        fn load((): (), from: &[f64]) -> Self { Single(from[0]) }
        fn store(self, to: &mut [f64]) { to[0] = self.0; }
        fn add_to(self, to: &mut [f64]) { to[0] += self.0; }
        fn mask((): (), bits: u32) -> bool { bits & 1 != 0 }
        fn add(self, other: Self) -> Self { Single(self.0 + other.0) }
        fn sub(self, other: Self) -> Self { Single(self.0 - other.0) }
        fn mul(self, other: Self) -> Self { Single(self.0 * other.0) }
        fn mul_add(self, factor: Self, term: Self) -> Self { Single(self.0 * factor.0 + term.0) }
        fn sub_from(self, factor: Self, term: Self) -> Self { Single(term.0 - self.0 * factor.0) }
        fn neg(self) -> Self { Single(-self.0) }
        fn abs(self) -> Self { Single(self.0.abs()) }
        fn div(self, other: Self) -> Self { Single(self.0 / other.0) }
        fn sqrt(self) -> Self { Single(self.0.sqrt()) }
        fn reciprocal(self) -> Self { self.one_over() }
        fn one_over(self) -> Self { Single(1.0 / self.0) }
        fn le(self, other: Self) -> bool { self.0 <= other.0 }
        fn lt(self, other: Self) -> bool { self.0 < other.0 }
        fn and(one: bool, other: bool) -> bool { one & other }
        fn or(one: bool, other: bool) -> bool { one | other }
        fn all(mask: bool) -> bool { mask }
        fn not(one: bool) -> bool { !one }
        fn select(mask: bool, one: Self, other: Self) -> Self { if mask { one } else { other } }
    }
}

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
    fn load_complex(token: S, from: &[Complex64]) -> (Self, Self) {
        let (low, high) = parts(&from[..Self::COUNT]).split_at(Self::COUNT);
        let low = S::f64s::from_slice(token, low);
        let high = S::f64s::from_slice(token, high);
        let (re, im) = low.deinterleave(high);
        (Vector(re), Vector(im))
    }

    #[inline(always)]
    fn add_to(self, to: &mut [f64]) {
        let to = &mut to[..Self::COUNT];
        let sum = S::f64s::from_slice(self.0.token(), to) + self.0;
        sum.store_slice(to);
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

    inlined! {
        fn splat(token: S, value: f64) -> Self { Vector(S::f64s::splat(token, value)) }
        fn load(token: S, from: &[f64]) -> Self { Vector(S::f64s::from_slice(token, &from[..Self::COUNT])) }
        fn store(self, to: &mut [f64]) { self.0.store_slice(&mut to[..Self::COUNT]); }
        fn mask(token: S, bits: u32) -> S::mask64s { S::mask64s::from_bitmask(token, u64::from(bits)) }
        fn add(self, other: Self) -> Self { Vector(self.0 + other.0) }
        fn sub(self, other: Self) -> Self { Vector(self.0 - other.0) }
        fn mul(self, other: Self) -> Self { Vector(self.0 * other.0) }
        fn mul_add(self, factor: Self, term: Self) -> Self { Vector(self.0.mul_add(factor.0, term.0)) }
        fn sub_from(self, factor: Self, term: Self) -> Self { Vector((-self.0).mul_add(factor.0, term.0)) }
        fn neg(self) -> Self { Vector(-self.0) }
        fn abs(self) -> Self { Vector(self.0.abs()) }
        fn div(self, other: Self) -> Self { Vector(self.0 / other.0) }
        fn sqrt(self) -> Self { Vector(self.0.sqrt()) }
        fn one_over(self) -> Self { Self::splat(self.0.token(), 1.0).div(self) }
        fn le(self, other: Self) -> S::mask64s { self.0.simd_le(other.0) }
        fn lt(self, other: Self) -> S::mask64s { self.0.simd_lt(other.0) }
        fn and(one: S::mask64s, other: S::mask64s) -> S::mask64s { one & other }
        fn or(one: S::mask64s, other: S::mask64s) -> S::mask64s { one | other }
        fn all(mask: S::mask64s) -> bool { mask.all_true() }
        fn not(one: S::mask64s) -> S::mask64s { !one }
        fn select(mask: S::mask64s, one: Self, other: Self) -> Self { Vector(mask.select(one.0, other.0)) }
    }
}
