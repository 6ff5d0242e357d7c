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
pub unsafe fn load_from_l2(tile: *const [f64; 2], index: u32) -> [f64; 2] {
    *tile.add(index as usize)
}

#[inline(always)]
pub unsafe fn load_from_l1(tile: *const [f64; 2], index: u32) -> [f64; 2] {
    *tile.add(index as usize)
}

#[inline(always)]
pub fn single_reciprocal(x: f32) -> f32 {
    1.0 / x
}

/// Two numbers of FP16, rounded to the nearest, ties to even; the first is the lower half.
pub fn as_halves(pair: [f32; 2]) -> u32 {
    let [first, second] = pair.map(|x| {
        let sign = (x.to_bits() >> 16) & 0x8000;
        // Of the spacing of FP16 at this size, 2⁻²⁴ at least.
        let exponent = ((x.to_bits() >> 23) & 0xff).max(113) - 10;
        let half = match x.abs() {
            x if x < 65520.0 => {
                let spacing = f64::from(f32::from_bits(exponent << 23));
                let rounded = (f64::from(x) / spacing).round_ties_even() as u32;
                rounded + ((exponent - 103) << 10)
            }
            x if x.is_nan() => 0x7e00,
            _ => 0x7c00,
        };
        sign | half
    });
    first | second << 16
}

/// The inverse of [`as_halves`].
pub fn from_halves(both: u32) -> [f32; 2] {
    [both & 0xffff, both >> 16].map(|half| {
        let (exponent, digits) = (half >> 10 & 31, half & 0x3ff);
        let size = match exponent {
            0 => digits as f32 / (1 << 24) as f32,
            31 if digits > 0 => f32::NAN,
            31 => f32::INFINITY,
            _ => f32::from_bits((exponent + 112) << 23 | digits << 13),
        };
        if half >> 15 == 1 { -size } else { size }
    })
}
