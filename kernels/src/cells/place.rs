//! The size of a block, and where things stand in its shared memory, in numbers.

use super::series::MOMENTS;
use crate::sums::VALUES;

/// Bands of a block, one for each of its threads.
pub const BANDS: u32 = 64;

/// Energies of a launch at most.
pub const HOLDS: u32 = 128;

/// Pairs whose factors a block has at hand at a time, one for each of its threads to make.
pub const STAGED: u32 = BANDS;

/// Polynomials of a pair: all but the first, which is one.
const OF_PAIR: u32 = MOMENTS as u32 - 1;
const _: () = assert!(OF_PAIR.is_multiple_of(2), "they are read two at a time");

/// `(2, BANDS, MOMENTS)`.
pub const MOMENT: u32 = 0;
/// `(VALUES, HOLDS)`, of a share each.
pub const SUMS: u32 = MOMENT + 2 * BANDS * MOMENTS as u32;
/// Two buffers of `(OF_PAIR, STAGED)`.
pub const POLYNOMIALS: u32 = SUMS + VALUES as u32 * HOLDS;
/// Two buffers of `(2, STAGED)`.
pub const WEIGHTS: u32 = POLYNOMIALS + 2 * STAGED * OF_PAIR;
/// All of them.
pub const NUMBERS: u32 = WEIGHTS + 2 * STAGED * 2;

/// Moment `k` of band `b`.
#[inline(always)]
pub const fn moment(b: u32, k: usize) -> u32 {
    MOMENT + 2 * (k as u32 * BANDS + b)
}

/// The polynomials `k + 1` and `k + 2` of a staged pair.
#[inline(always)]
pub const fn polynomials(buffer: u32, at: u32, k: usize) -> u32 {
    POLYNOMIALS + (buffer * STAGED + at) * OF_PAIR + k as u32
}

/// The weight of a staged pair.
#[inline(always)]
pub const fn weight(buffer: u32, at: u32) -> u32 {
    WEIGHTS + (buffer * STAGED + at) * 2
}
