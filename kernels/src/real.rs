//! The number type a kernel body computes with.

use core::hint::select_unpredictable;
use core::ops::Neg;

use num_complex::{Complex, Complex64};
use num_traits::Num;

use crate::intrinsics;

/// A real number as the bodies use it: `f64`, or a type that observes the operations done on it.
pub trait Real: Copy + Num + Neg<Output = Self> + PartialOrd {
    /// The value read from memory or written in the source.
    fn of(value: f64) -> Self;

    /// What it is as memory holds it.
    fn value(self) -> f64;

    /// Square root.
    fn sqrt(self) -> Self;
    /// `|self|`, free like a change of sign.
    fn abs(self) -> Self;

    /// This value, computed before what follows in the source: see [`intrinsics::settle`].
    fn settle(self) -> Self;

    /// `1 / self` to 20 bits, zeros below; the start of [`crate::quotient`].
    fn approximate_reciprocal(self) -> Self;

    /// The upper word of `|self|`, read as a number of 32 bits: ordered as the whole is, where two
    /// differ by more than 2⁻²⁰ of themselves, and compared outside the FP64 pipe.
    fn upper(self) -> f32;

    /// This value, or without its upper word where `unless` holds: next to nothing, below 1e-313.
    /// What is summed with such values needs [`Real::flushed`].
    fn upper_unless(self, unless: bool) -> Self;

    /// This value, or zero where it is below 1e-280.
    fn flushed(self) -> Self;

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
    fn value(self) -> f64 {
        self
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        intrinsics::sqrt(self)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }

    #[inline(always)]
    fn settle(self) -> Self {
        intrinsics::settle(self)
    }

    #[inline(always)]
    fn approximate_reciprocal(self) -> f64 {
        intrinsics::approximate_reciprocal(self)
    }

    #[inline(always)]
    fn upper(self) -> f32 {
        intrinsics::upper(self)
    }

    #[inline(always)]
    fn upper_unless(self, unless: bool) -> f64 {
        let (upper, lower) = ((self.to_bits() >> 32) as u32, self.to_bits() as u32);
        let upper = select_unpredictable(unless, 0, upper);
        f64::from_bits(u64::from(upper) << 32 | u64::from(lower))
    }

    #[inline(always)]
    fn flushed(self) -> f64 {
        if self.abs() < 1e-280 { 0.0 } else { self }
    }
}
