//! The CPU's side: the same values by ordinary means.

use num_complex::Complex64;

pub const WARP: u32 = 32;

/// Square root, correctly rounded as on the GPU.
#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    x.sqrt()
}

/// `x` itself; on the GPU, computed before what follows.
#[inline(always)]
pub fn opt_barrier(x: f64) -> f64 {
    x
}

#[inline(always)]
pub fn opt_barrier_u32(x: u32) -> u32 {
    x
}

/// `1 / x` as the GPU approximates it: of the upper word of `x`, to the upper word of the result.
#[inline(always)]
pub fn approximate_reciprocal(x: f64) -> f64 {
    let upper = |x: f64| f64::from_bits(x.to_bits() & !u64::from(u32::MAX));
    upper(1.0 / upper(x))
}

#[inline(always)]
pub fn upper(x: f64) -> f32 {
    f32::from_bits((x.abs().to_bits() >> 32) as u32)
}

#[inline(always)]
pub unsafe fn uniform(holds: bool) -> bool {
    holds
}

#[inline(always)]
pub unsafe fn load(array: *const Complex64, index: u32) -> Complex64 {
    *array.add(index as usize)
}

/// Reads pair `index`; the CPU has no say in the cache.
#[inline(always)]
pub unsafe fn load_from_l1(tile: *const [f64; 2], index: u32) -> [f64; 2] {
    *tile.add(index as usize)
}

#[inline(always)]
pub fn single_reciprocal(x: f32) -> f32 {
    1.0 / x
}
