//! Where things stand in a block's shared memory, in numbers.

use super::series::MOMENTS;
use crate::cells::{BANDS, HOLDS};
use crate::sums::VALUES;

/// Pairs whose factors a block has at hand at a time, one for each of its threads to make.
pub const STAGED: u32 = BANDS;

/// Moments are summed two at a time, of each even power of `ζ`.
pub const EVEN: usize = MOMENTS / 2;
const _: () = assert!(MOMENTS.is_multiple_of(2), "each even power has an odd one behind it");

/// Complex factors of a pair: its weight, `ζ`, and the even powers but the first, which is one.
const OF_PAIR: u32 = 2 + EVEN as u32 - 1;

/// `(2, BANDS, MOMENTS)`.
const MOMENT: u32 = 0;
/// `(VALUES, HOLDS)`, of a share each.
pub const SUMS: u32 = MOMENT + 2 * BANDS * MOMENTS as u32;
/// Two buffers of `(2, OF_PAIR, STAGED)`.
const FACTORS: u32 = SUMS + VALUES as u32 * HOLDS;
/// All of them.
pub const NUMBERS: u32 = FACTORS + 2 * STAGED * 2 * OF_PAIR;

/// Moment `k` of band `b`.
#[inline(always)]
pub const fn moment(b: u32, k: usize) -> u32 {
    MOMENT + 2 * (k as u32 * BANDS + b)
}

/// The weight of a staged pair, `ζ`, then `ζ²`, `ζ⁴` and so on.
#[inline(always)]
pub const fn factor(buffer: u32, at: u32, which: usize) -> u32 {
    FACTORS + ((buffer * STAGED + at) * OF_PAIR + which as u32) * 2
}
