//! Vectors of FP64, by [`fearless_simd`]: instruction sets, chosen when the program runs, and complex numbers.
//!
//! A kernel is written once, for any `S: Simd`, and `at_level!` compiles it for each [`Level`]. Whatever runs for
//! each term is `#[inline(always)]`: a function of its own would be compiled without the instructions of the level.

use std::fmt;
use std::ops::{Add, Mul, Sub};

use fearless_simd::Level as Detected;
use fearless_simd::prelude::*;
use num_complex::Complex64;

/// Chains of additions of one value, one vector or several. So each chain adds the same terms at every level.
pub const WIDTH: usize = 8;

/// A number of each chain, in a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub struct Line(pub [f64; WIDTH]);

/// Real parts, and imaginary ones.
pub type Lines = [Line; 2];

impl Line {
    /// The numbers from `lane` on.
    #[inline(always)]
    pub fn vector<S: Simd>(&self, token: S, lane: usize) -> S::f64s {
        load(token, &self.0[lane.min(WIDTH - S::f64s::LEN)..])
    }
}

/// An array of the values of an expression for each index. [`core::array::from_fn`] and closures are functions of
/// their own, which are compiled without the instructions of the level.
macro_rules! array {
    ($count:expr, $at:ident => $value:expr) => {{
        let mut array = [{
            let $at = 0;
            $value
        }; $count];
        let mut index = 1;
        while index < $count {
            let $at = index;
            array[index] = $value;
            index += 1;
        }
        array
    }};
}
pub(crate) use array;

pub const fn registers<S: Simd>() -> usize {
    match S::f64s::LEN {
        8 => 32,
        2 if cfg!(target_arch = "aarch64") => 32,
        _ => 16,
    }
}

/// Newton steps that make a full reciprocal of an approximate one. The approximation of AVX-512 is good to 14 bits,
/// which two steps make 56; that of 64-bit ARM is good to 8, which takes three. AVX2 has none for FP64 and divides.
const fn newton_steps<S: Simd>() -> usize {
    match S::f64s::LEN {
        8 => 2,
        2 if cfg!(target_arch = "aarch64") => 3,
        _ => 0,
    }
}

#[inline(always)]
pub fn splat<S: Simd>(token: S, value: f64) -> S::f64s {
    S::f64s::splat(token, value)
}

#[inline(always)]
pub fn load<S: Simd>(token: S, from: &[f64]) -> S::f64s {
    S::f64s::from_slice(token, &from[..S::f64s::LEN])
}

#[inline(always)]
pub fn store<S: Simd>(_: S, vector: S::f64s, to: &mut [f64]) {
    vector.store_slice(&mut to[..S::f64s::LEN]);
}

#[inline(always)]
pub fn add_to<S: Simd>(token: S, vector: S::f64s, to: &mut [f64]) {
    store(token, load(token, to) + vector, to);
}

/// `1/z`, to the last digit or the one before: an approximation corrected where the instruction set has one, else a
/// division. Of zero it is infinite and of infinity zero.
#[inline(always)]
pub fn reciprocal<S: Simd>(token: S, z: S::f64s) -> S::f64s {
    let one = splat(token, 1.0);
    if newton_steps::<S>() == 0 {
        return one / z;
    }
    let approximate = z.approximate_recip();
    let mut reciprocal = approximate;
    for _ in 0..newton_steps::<S>() {
        let error = (-z).mul_add(reciprocal, one);
        reciprocal = reciprocal.mul_add(error, reciprocal);
    }
    // Zero of infinity and infinity of zero have an error that is not a number.
    reciprocal.simd_le(reciprocal).select(reciprocal, approximate)
}

/// `1/z` of each; `paired` takes one division for two that are not zero and whose product is finite: `1/a = b·r` and
/// `1/b = a·r` with `r = 1/(a·b)`. A division runs in parallel with the fused operations that an approximate
/// reciprocal would take for its corrections; there are few enough left for that.
#[inline(always)]
pub fn reciprocals<S: Simd, const N: usize>(
    token: S,
    z: [S::f64s; N],
    paired: bool,
) -> [S::f64s; N] {
    let mut one = z;
    let mut index = 0;
    while paired && index + 1 < N {
        let both = splat(token, 1.0) / (z[index] * z[index + 1]);
        (one[index], one[index + 1]) = (z[index + 1] * both, z[index] * both);
        index += 2;
    }
    while index < N {
        one[index] = reciprocal(token, z[index]);
        index += 1;
    }
    one
}

/// A complex number in each lane.
#[derive(Clone, Copy)]
pub struct ComplexVector<S: Simd> {
    pub re: S::f64s,
    pub im: S::f64s,
}

impl<S: Simd> ComplexVector<S> {
    #[inline(always)]
    pub fn new(re: S::f64s, im: S::f64s) -> Self {
        ComplexVector { re, im }
    }

    #[inline(always)]
    pub fn splat(token: S, z: Complex64) -> Self {
        ComplexVector { re: splat(token, z.re), im: splat(token, z.im) }
    }

    #[inline(always)]
    pub fn zero(token: S) -> Self {
        ComplexVector::splat(token, Complex64::ZERO)
    }

    #[inline(always)]
    pub fn load(token: S, from: &[Complex64]) -> Self {
        let parts: &[f64] = bytemuck::cast_slice(&from[..S::f64s::LEN]);
        let (low, high) = parts.split_at(S::f64s::LEN);
        let (re, im) = load(token, low).deinterleave(load(token, high));
        ComplexVector { re, im }
    }

    #[inline(always)]
    pub fn from_lines(token: S, [re, im]: &Lines, lane: usize) -> Self {
        ComplexVector { re: re.vector(token, lane), im: im.vector(token, lane) }
    }

    #[inline(always)]
    pub fn conj_mul(self, other: Self) -> Self {
        ComplexVector {
            re: self.im.mul_add(other.im, self.re * other.re),
            im: (-self.im).mul_add(other.re, self.re * other.im),
        }
    }

    #[inline(always)]
    pub fn scale(self, factor: S::f64s) -> Self {
        ComplexVector { re: self.re * factor, im: self.im * factor }
    }

    /// `self + m · factor`, for a real factor.
    #[inline(always)]
    pub fn add_scaled(self, m: Self, factor: S::f64s) -> Self {
        ComplexVector { re: m.re.mul_add(factor, self.re), im: m.im.mul_add(factor, self.im) }
    }

    /// `self + one · other`.
    #[inline(always)]
    pub fn add_product(self, one: Self, other: Self) -> Self {
        ComplexVector {
            re: (-one.im).mul_add(other.im, one.re.mul_add(other.re, self.re)),
            im: one.im.mul_add(other.re, one.re.mul_add(other.im, self.im)),
        }
    }

    #[inline(always)]
    pub fn norm_sqr(self) -> S::f64s {
        self.im.mul_add(self.im, self.re * self.re)
    }

    #[inline(always)]
    pub fn select(mask: S::mask64s, one: Self, other: Self) -> Self {
        ComplexVector { re: mask.select(one.re, other.re), im: mask.select(one.im, other.im) }
    }

    /// `self` where the mask holds, zero elsewhere.
    #[inline(always)]
    pub fn keep(self, token: S, mask: S::mask64s) -> Self {
        ComplexVector::select(mask, self, ComplexVector::zero(token))
    }
}

impl<S: Simd> Add for ComplexVector<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        ComplexVector { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<S: Simd> Sub for ComplexVector<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        ComplexVector { re: self.re - other.re, im: self.im - other.im }
    }
}

impl<S: Simd> Mul<f64> for ComplexVector<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f64) -> Self {
        ComplexVector { re: self.re * factor, im: self.im * factor }
    }
}

impl<S: Simd> Mul for ComplexVector<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        ComplexVector {
            re: (-self.im).mul_add(other.im, self.re * other.re),
            im: self.im.mul_add(other.re, self.re * other.im),
        }
    }
}

/// Asks for the cache lines of a slice if the CPU has an instruction for that: neighbouring `igp` are a whole column
/// apart, farther than hardware prefetchers reach.
#[inline(always)]
pub fn prefetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        const LINE: usize = 64;
        let first: *const i8 = slice.as_ptr().cast();
        for at in (0..size_of_val(slice)).step_by(LINE) {
            // SAFETY: a hint, which reads nothing that the program could see; the address is within the slice.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}

/// An instruction set that the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Scalar code for every CPU of the architecture, without FMA; on x86-64 two numbers a vector, by SSE2.
    Scalar,
    /// Two numbers a vector: 64-bit ARM.
    Neon,
    /// Four, with fused operations: x86-64-v3.
    Avx2,
    /// Eight, with approximate reciprocals: AVX-512 as of Ice Lake and Zen 4.
    Avx512,
}

impl Level {
    pub const ALL: [Level; 4] = [Level::Scalar, Level::Neon, Level::Avx2, Level::Avx512];

    pub const fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    pub fn by_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    pub fn is_available(self) -> bool {
        let detected = Detected::new();
        match self {
            #[cfg(target_arch = "aarch64")]
            Level::Neon => detected.as_neon().is_some(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => detected.as_avx2().is_some(),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => detected.as_avx512().is_some(),
            level => level == Level::Scalar,
        }
    }

    /// The levels that this CPU has, the widest last.
    pub fn available() -> Vec<Level> {
        Level::ALL.into_iter().filter(|level| level.is_available()).collect()
    }

    pub fn best() -> Level {
        Level::available().pop().unwrap_or(Level::Scalar)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Evaluates an expression at a level, with its instructions switched on and a token that shows that the CPU has them.
/// Panics if it does not.
macro_rules! at_level {
    (@vectorize $token:ident => $value:expr) => {
        ::fearless_simd::Simd::vectorize(
            $token,
            #[inline(always)]
            move || $value,
        )
    };
    ($level:expr, $token:ident => $value:expr) => {{
        use $crate::simd::{Level, at_level};
        let detected = ::fearless_simd::Level::new();
        match $level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if let Some($token) = detected.as_avx512() => {
                at_level!(@vectorize $token => $value)
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if let Some($token) = detected.as_avx2() => {
                at_level!(@vectorize $token => $value)
            }
            #[cfg(target_arch = "aarch64")]
            Level::Neon if let Some($token) = detected.as_neon() => {
                at_level!(@vectorize $token => $value)
            }
            // In place of scalars, with the same results: these take five times as long to compile.
            #[cfg(target_arch = "x86_64")]
            Level::Scalar if let Some($token) = detected.as_sse2() => {
                at_level!(@vectorize $token => $value)
            }
            #[cfg(not(target_arch = "x86_64"))]
            Level::Scalar => {
                let $token = ::fearless_simd::Fallback::new();
                $value
            }
            level => unreachable!("{detected:?} has no {level}"),
        }
    }};
}
pub(crate) use at_level;
