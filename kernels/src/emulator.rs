//! The host's side of a launch: the threads of a block run one after the other.

use std::vec::Vec;

use crate::arguments::CellsArguments;
use crate::arrays::Arrays;
use crate::grid::Thread;
use crate::reduction::{self, THREADS};
use crate::sums::{MAX_VALUES, Sums, VALUES};
use crate::tiling::Grid;

/// The sums of one thread or block, `VALUES` for each energy, the rest zero.
pub type ThreadValues = [f64; MAX_VALUES];

/// A body for one number of energies, as the host calls it, with the first energy of the launch.
pub type HostBody = unsafe fn(&Arrays, u32, Thread) -> ThreadValues;

/// A `HostBody` that counts its operations; the sums are dropped.
pub type CountedBody = unsafe fn(&Arrays, u32, Thread);

/// A block of a kernel whose threads work together: it stores its sums itself.
pub type BlockBody = unsafe fn(&CellsArguments, u32, u32);

/// The body of an entry on the host, and the same with its operations counted.
#[derive(Clone, Copy)]
pub enum Body {
    /// Of a thread on its own.
    Thread {
        /// As it runs.
        host: HostBody,
        /// Counted.
        counted: CountedBody,
    },
    /// Of a block: its arguments, its number and how many blocks there are.
    Block {
        /// As it runs.
        host: BlockBody,
        /// Counted; the sums it stores are of no use.
        counted: BlockBody,
    },
}

/// The values of `sums` in the order in which blocks store them.
pub fn values<const NW: usize>(sums: &Sums<f64, NW>) -> ThreadValues {
    let mut values = [0.0; MAX_VALUES];
    for iw in 0..NW {
        let (asx, ach) = (sums.asx[iw], sums.ach[iw]);
        values[iw * VALUES..][..VALUES].copy_from_slice(&[asx.re, asx.im, ach.re, ach.im]);
    }
    values
}

/// One block's sums: the body for each of its threads, then the tree of the GPU. They belong to
/// [`Grid::slot`] of the block.
///
/// # Safety
/// The [launch contract](crate::contract), `block` one of the grid's.
pub unsafe fn run_block(
    body: HostBody,
    arrays: &Arrays,
    iw: u32,
    block: u32,
    grid: Grid,
) -> ThreadValues {
    let each: Vec<ThreadValues> = (0..grid.threads)
        .map(|lane| {
            let thread = Thread::of(block, lane, grid.blocks(), grid.threads);
            // SAFETY: the launch contract.
            unsafe { body(arrays, iw, thread) }
        })
        .collect();
    let mut sums = [0.0; MAX_VALUES];
    for (value, sum) in sums.iter_mut().enumerate() {
        *sum = reduction::block_sum(each.iter().map(|values| values[value]));
    }
    sums
}

/// The second stage for one value of one group, over the sums of the group's blocks by slot.
pub fn second_stage(partials: &[f64]) -> f64 {
    reduction::block_sum((0..THREADS).map(|thread| {
        // SAFETY: the slice holds as many values as are named.
        unsafe { reduction::strided_sum(partials.as_ptr(), partials.len() as u32, thread, THREADS) }
    }))
}
