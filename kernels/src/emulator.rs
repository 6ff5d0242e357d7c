//! Blocks on the host: the threads of a block run one after the other.

use std::vec::Vec;

use crate::arrays::Arrays;
use crate::formula::{Sums, VALUES};
use crate::grid::Thread;
use crate::reduction;
use crate::reduction::THREADS;
use crate::tiling::Grid;

/// A block of an entry on the host: the address of its arguments
/// ([`Arguments::address`](crate::arguments::Arguments::address)), the constant memory, the number of the block and the
/// grid of the launch. It stores its sums as on the GPU.
pub type BlockBody = unsafe fn(*const (), *const f64, u32, Grid);

/// Runs a block: the body for each of its threads, then the tree of the GPU.
pub unsafe fn run_block<const NW: usize>(
    arrays: &Arrays,
    iw: u32,
    partials: *mut f64,
    block: u32,
    grid: Grid,
    body: unsafe fn(&Arrays, u32, Thread) -> Sums<NW>,
) {
    let threads: Vec<Sums<NW>> = (0..grid.threads)
        .map(|lane| body(arrays, iw, Thread::of(block, lane, grid.blocks(), grid.threads)))
        .collect();
    for at in 0..NW {
        let sum = |of: fn(&Sums<NW>, usize) -> f64| {
            reduction::block_sum(threads.iter().map(|sums| of(sums, at)))
        };
        let values: [f64; VALUES] = [
            sum(|sums, at| sums.asx[at].re),
            sum(|sums, at| sums.asx[at].im),
            sum(|sums, at| sums.ach[at].re),
            sum(|sums, at| sums.ach[at].im),
        ];
        let first = (iw as usize + at) * VALUES;
        for (value, sum) in (first..).zip(values) {
            *partials.add(value * grid.blocks() as usize + grid.slot(block) as usize) = sum;
        }
    }
}

/// The second stage for one value of one group, over the sums of the group's blocks by slot.
pub fn second_stage(partials: &[f64]) -> f64 {
    reduction::block_sum((0..THREADS).map(|thread| {
        // SAFETY: the slice holds as many values as it is long.
        unsafe { reduction::strided_sum(partials.as_ptr(), partials.len() as u32, thread, THREADS) }
    }))
}
