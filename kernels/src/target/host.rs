//! The host's side: the threads of a block run one after the other.

use num_complex::Complex64;
use std::vec::Vec;

use super::WARP;
use crate::arrays::{Arrays, Sums};
use crate::ceilings::Level;
use crate::grid::Thread;
use crate::reduce::{self, MAX_VALUES, VALUES};
use crate::tiles::{self, Place, RawBand};

/// Square root, correctly rounded as on the GPU.
#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    x.sqrt()
}

/// `x` itself; on the GPU, computed before what follows.
#[inline(always)]
pub fn settle(x: f64) -> f64 {
    x
}

/// As [`settle`].
#[inline(always)]
pub fn settle_index(x: u32) -> u32 {
    x
}

/// `1 / x` as the GPU approximates it: of the upper word of `x`, to the upper word of the result.
#[inline(always)]
pub fn approximate_reciprocal(x: f64) -> f64 {
    let upper = |x: f64| f64::from_bits(x.to_bits() & !u64::from(u32::MAX));
    upper(1.0 / upper(x))
}

/// The upper word of `|x|`.
#[inline(always)]
pub fn upper(x: f64) -> f32 {
    f32::from_bits((x.abs().to_bits() >> 32) as u32)
}

/// Reads element `at`.
///
/// # Safety
/// `array` holds more than `at` elements.
#[inline(always)]
pub unsafe fn load(array: *const Complex64, at: u32) -> Complex64 {
    // SAFETY: in range by the caller's contract.
    unsafe { *array.add(at as usize) }
}

/// Reads number `at`; on the GPU, from the constant memory.
///
/// # Safety
/// `table` holds it.
#[inline(always)]
pub unsafe fn constant(table: *const f64, at: u32) -> f64 {
    // SAFETY: the caller's contract.
    unsafe { *table.add(at as usize) }
}

/// Reads pair `at`; the host has no say in the level.
///
/// # Safety
/// `tile` holds more than `at` pairs.
#[inline(always)]
pub unsafe fn read(tile: *const [f64; 2], at: u32, _: Level) -> [f64; 2] {
    // SAFETY: in range by the caller's contract.
    unsafe { *tile.add(at as usize) }
}

/// Calls `step` with each band of `begin..end`; on the GPU they come through shared memory.
///
/// # Safety
/// As [`tiles::each_band`].
#[inline(always)]
pub unsafe fn each_staged_band<const T: usize, const W: usize, const E: usize>(
    a: &Arrays,
    place: Place,
    begin: u32,
    end: u32,
    step: impl FnMut(u32, &RawBand<T, E>),
) {
    // SAFETY: the caller's contract.
    unsafe { tiles::each_band(a, place, begin, end, step) }
}

/// The sums of one thread, `VALUES` for each energy, the rest zero.
pub type ThreadValues = [f64; MAX_VALUES];

/// A version's body for one number of energies, as the host calls it.
pub type HostBody = unsafe fn(&Arrays, u32, Thread) -> ThreadValues;

/// The same with its operations counted; the sums are dropped.
pub type CountedBody = unsafe fn(&Arrays, u32, Thread);

/// The values of `sums` in the order in which blocks store them.
pub fn values<const NW: usize>(sums: &Sums<f64, NW>) -> ThreadValues {
    let mut values = [0.0; MAX_VALUES];
    for iw in 0..NW {
        let (asx, ach) = (sums.asx[iw], sums.ach[iw]);
        values[iw * VALUES..][..VALUES].copy_from_slice(&[asx.re, asx.im, ach.re, ach.im]);
    }
    values
}

/// One block's sums: the body for each of its threads, then the tree of the GPU.
///
/// # Safety
/// The contract of the body: arrays valid for their extents, `iw` and the body's energies in `nw`.
pub unsafe fn run_block(
    body: HostBody,
    arrays: &Arrays,
    iw: u32,
    block: u32,
    threads: u32,
    blocks: u32,
) -> ThreadValues {
    let each: Vec<ThreadValues> = (0..threads)
        .map(|lane| {
            let thread = Thread::of(block, lane, blocks, threads);
            // SAFETY: the caller's contract is the body's.
            unsafe { body(arrays, iw, thread) }
        })
        .collect();
    let mut sums = [0.0; MAX_VALUES];
    for (value, sum) in sums.iter_mut().enumerate() {
        *sum = block_sum(each.iter().map(|values| values[value]));
    }
    sums
}

/// The second stage for one value over the sums of all blocks.
pub fn second_stage(partials: &[f64]) -> f64 {
    block_sum((0..reduce::THREADS).map(|thread| {
        // SAFETY: the slice holds as many values as are named.
        unsafe {
            reduce::strided_sum(partials.as_ptr(), partials.len() as u32, thread, reduce::THREADS)
        }
    }))
}

/// Sum over the threads of a block in the GPU's order.
fn block_sum(threads: impl Iterator<Item = f64>) -> f64 {
    let mut threads: Vec<f64> = threads.collect();
    threads
        .chunks_mut(WARP as usize)
        .map(|warp| {
            let mut width = WARP as usize / 2;
            while width > 0 {
                for lane in 0..width {
                    warp[lane] += warp[lane + width];
                }
                width /= 2;
            }
            warp[0]
        })
        .sum()
}
