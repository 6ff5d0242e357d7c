//! What the kernels compute with: a few numbers at once, or one.
//!
//! A kernel is written once, for any [`Lanes`]. Its instances are for one number and for the vectors of each
//! instruction set.

mod single;
mod vector;

use num_complex::Complex64;

pub use single::Single;
pub use vector::Vector;

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
    /// The first numbers of a slice.
    fn load(token: Self::Token, from: &[f64]) -> Self;
    /// The first complex numbers of a slice, real and imaginary parts apart.
    fn load_complex(token: Self::Token, from: &[Complex64]) -> (Self, Self);
    /// Puts them into the first numbers of a slice.
    fn store(self, to: &mut [f64]);
    /// Adds each to the first numbers of a slice.
    fn add_to(self, to: &mut [f64]);
    /// Bit `i` for number `i`.
    fn mask(token: Self::Token, bits: u32) -> Self::Mask;

    /// `self + other`.
    fn add(self, other: Self) -> Self;
    /// `self − other`.
    fn sub(self, other: Self) -> Self;
    /// `self · other`.
    fn mul(self, other: Self) -> Self;
    /// `self · factor + term`, fused where the level fuses.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// `term − self · factor`, fused where the level fuses.
    fn sub_from(self, factor: Self, term: Self) -> Self;
    /// `−self`.
    fn neg(self) -> Self;
    /// `|self|`.
    fn abs(self) -> Self;
    /// `self / other`.
    fn div(self, other: Self) -> Self;
    /// `√self`.
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
    /// Both.
    fn and(one: Self::Mask, other: Self::Mask) -> Self::Mask;
    /// One or the other.
    fn or(one: Self::Mask, other: Self::Mask) -> Self::Mask;
    /// Whether it holds for every number.
    fn all(mask: Self::Mask) -> bool;
    /// Neither.
    fn not(one: Self::Mask) -> Self::Mask;
    /// `one` where the mask holds, `other` elsewhere.
    fn select(mask: Self::Mask, one: Self, other: Self) -> Self;
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
    /// Real parts.
    pub re: L,
    /// Imaginary parts.
    pub im: L,
}

#[expect(
    clippy::should_implement_trait,
    reason = "as in `Lanes`, whose operations are methods too"
)]
impl<L: Lanes> ComplexLanes<L> {
    /// Of its parts.
    #[inline(always)]
    pub fn new(re: L, im: L) -> Self {
        ComplexLanes { re, im }
    }

    /// Zero.
    #[inline(always)]
    pub fn zero(token: L::Token) -> Self {
        let zero = L::splat(token, 0.0);
        ComplexLanes { re: zero, im: zero }
    }

    /// `self + other`.
    #[inline(always)]
    pub fn add(self, other: Self) -> Self {
        ComplexLanes { re: self.re.add(other.re), im: self.im.add(other.im) }
    }

    /// `self · other`.
    #[inline(always)]
    pub fn mul(self, other: Self) -> Self {
        ComplexLanes {
            re: self.im.sub_from(other.im, self.re.mul(other.re)),
            im: self.im.mul_add(other.re, self.re.mul(other.im)),
        }
    }

    /// `conj(self) · other`.
    #[inline(always)]
    pub fn conj_mul(self, other: Self) -> Self {
        ComplexLanes {
            re: self.im.mul_add(other.im, self.re.mul(other.re)),
            im: self.im.sub_from(other.re, self.re.mul(other.im)),
        }
    }

    /// `self · factor`.
    #[inline(always)]
    pub fn scale(self, factor: L) -> Self {
        ComplexLanes { re: self.re.mul(factor), im: self.im.mul(factor) }
    }

    /// `self + m · factor`, for a real factor.
    #[inline(always)]
    pub fn add_scaled(self, m: Self, factor: L) -> Self {
        ComplexLanes { re: m.re.mul_add(factor, self.re), im: m.im.mul_add(factor, self.im) }
    }

    /// `self + one · other`.
    #[inline(always)]
    pub fn add_product(self, one: Self, other: Self) -> Self {
        ComplexLanes {
            re: one.im.sub_from(other.im, one.re.mul_add(other.re, self.re)),
            im: one.im.mul_add(other.re, one.re.mul_add(other.im, self.im)),
        }
    }

    /// `|self|²`.
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
