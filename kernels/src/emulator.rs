//! The host's side of a launch: the threads of a block run one after the other.

use std::vec::Vec;

use crate::arguments::{PaperArguments, PlannedArguments};
use crate::arrays::Arrays;
use crate::formula::{Sums, VALUES};
use crate::grid::Thread;
use crate::reduction;
use crate::reduction::THREADS;
use crate::tiling::Grid;

/// A block of an entry as the host runs it: where its structure of arguments stands
/// ([`Arguments::address`](crate::arguments::Arguments::address)), what is in the constant memory, the block's
/// number and the grid of the launch, of which a kernel of units may have any. It stores its sums as on the GPU.
pub type BlockBody = unsafe fn(*const (), *const f64, u32, Grid);

/// Arguments of bodies that are of a thread.
pub trait OfThreads {
    /// The arrays as the bodies see them, with this in the constant memory.
    fn arrays(&self, constant: *const f64) -> Arrays;

    /// The arguments that all such kernels take.
    fn common(&self) -> PaperArguments;
}

impl OfThreads for PaperArguments {
    fn arrays(&self, _: *const f64) -> Arrays {
        PaperArguments::arrays(self)
    }

    fn common(&self) -> PaperArguments {
        *self
    }
}

impl OfThreads for PlannedArguments {
    fn arrays(&self, constant: *const f64) -> Arrays {
        PlannedArguments::arrays(self, constant)
    }

    fn common(&self) -> PaperArguments {
        self.paper()
    }
}

/// Runs a block: the body for each of its threads, then the tree of the GPU.
///
/// # Safety
/// The [launch contract](crate::contract), `block` one of the grid's; the body is one of these arguments.
pub unsafe fn run_block<const NW: usize>(
    arguments: &impl OfThreads,
    constant: *const f64,
    block: u32,
    grid: Grid,
    body: unsafe fn(&Arrays, u32, Thread) -> Sums<NW>,
) {
    let PaperArguments { iw, partials, .. } = arguments.common();
    let arrays = arguments.arrays(constant);
    let of_threads: Vec<Sums<NW>> = (0..grid.threads)
        .map(|lane| {
            let thread = Thread::of(block, lane, grid.blocks(), grid.threads);
            body(&arrays, iw, thread)
        })
        .collect();
    for at in 0..NW {
        let each = |of: fn(&Sums<NW>, usize) -> f64| {
            reduction::block_sum(of_threads.iter().map(|sums| of(sums, at)))
        };
        let values: [f64; VALUES] = [
            each(|sums, at| sums.asx[at].re),
            each(|sums, at| sums.asx[at].im),
            each(|sums, at| sums.ach[at].re),
            each(|sums, at| sums.ach[at].im),
        ];
        let first = (iw as usize + at) * VALUES;
        for (value, sum) in (first..).zip(values) {
            let place = value * grid.blocks() as usize + grid.slot(block) as usize;
            // Room for the values of all blocks, this slot is the block's own.
            *partials.add(place) = sum
        }
    }
}

/// The second stage for one value of one group, over the sums of the group's blocks by slot.
pub fn second_stage(partials: &[f64]) -> f64 {
    reduction::block_sum((0..THREADS).map(|thread| {
        // SAFETY: the slice holds as many values as are named.
        unsafe { reduction::strided_sum(partials.as_ptr(), partials.len() as u32, thread, THREADS) }
    }))
}
