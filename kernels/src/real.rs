//! The number type a kernel body computes with.

use core::ops::Neg;

use num_complex::{Complex, Complex64};
use num_traits::Num;

use crate::target;

/// A real number as the bodies use it: `f64`, or a type that observes the operations done on it.
pub trait Real: Copy + Num + Neg<Output = Self> + PartialOrd {
    /// The value read from memory or written in the source.
    fn of(value: f64) -> Self;

    /// Square root.
    fn sqrt(self) -> Self;

    /// The same value, computed before what follows in the source: see [`target::settle`].
    fn settle(self) -> Self;

    /// `1 / self` to 20 bits, zeros below; the start of [`crate::quotient`].
    fn approximate_reciprocal(self) -> Self;

    /// The upper word of `|self|`, read as a number of 32 bits: ordered as the whole is, where two
    /// differ by more than 2⁻²⁰ of themselves, and compared outside the FP64 pipe.
    fn upper(self) -> f32;

    /// A complex value read from memory.
    #[inline(always)]
    fn complex(value: Complex64) -> Complex<Self> {
        Complex::new(Self::of(value.re), Self::of(value.im))
    }
}

impl Real for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        target::sqrt(self)
    }

    #[inline(always)]
    fn settle(self) -> Self {
        target::settle(self)
    }

    #[inline(always)]
    fn approximate_reciprocal(self) -> f64 {
        target::approximate_reciprocal(self)
    }

    #[inline(always)]
    fn upper(self) -> f32 {
        target::upper(self)
    }
}
