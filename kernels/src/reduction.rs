//! From the sums of threads to those of blocks, and from these, in a second stage, to the final ones,
//! all in a fixed order: a tree over the 32 lanes of each warp, then warp by warp.

use crate::arrays::arguments;

#[cfg(not(target_arch = "nvptx64"))]
pub use cpu::{BlockBody, run_block, second_stage, warp_sum};
#[cfg(target_arch = "nvptx64")]
pub use gpu::store_block_sums;

/// Threads of a second-stage block; one block sums one value of one group.
pub const THREADS: u32 = 512;

pub const SYMBOL: &str = "gpp_second_stage";

arguments! {
    SecondStageArguments {
        /// The first stage's sums, `(count, groups, values)`.
        partials: *const f64,
        /// How many of each group and value.
        count: u32,
        /// The final sums, `(groups, values)`: one for each block of the grid.
        sums: *mut f64,
    }
    gpp_second_stage = |arguments| gpu::second_stage(arguments);
}

/// The sum of one thread of the second stage: every `threads`-th of `count` block sums. It starts from
/// +0, so that no number of zeros at the end changes a bit of it.
#[inline(always)]
pub unsafe fn strided_sum(partials: *const f64, count: u32, thread: u32, threads: u32) -> f64 {
    let mut sum = 0.0;
    let mut index = thread;
    while index < count {
        sum += *partials.add(index as usize);
        index += threads;
    }
    sum
}

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use super::{SecondStageArguments, THREADS, strided_sum};
    use crate::formula::{MAX_VALUES, ThreadSums, VALUES};
    use crate::intrinsics::{
        WARP, barrier, block, blocks, load_shared, store_shared, thread_in_block, threads, warp_sum,
    };
    use crate::threads::each;

    const MAX_WARPS: usize = 16;

    shared_memory! { align 8 gpp_scratch: (MAX_WARPS * MAX_VALUES * 8) as u32 }

    /// Sums each of `sums` over the block and stores them as entries `slot` of `partials`,
    /// `(blocks, values)` with the values of energy `iw` from `iw · VALUES` on.
    #[inline(always)]
    pub unsafe fn store_block_sums<const NW: usize>(
        sums: &ThreadSums<NW>,
        iw: u32,
        slot: u32,
        partials: *mut f64,
    ) {
        // The first lane of each warp writes its own line of the scratch before the barrier; after it thread `value` alone
        // writes entry (slot, iw·VALUES + value).
        let thread = thread_in_block();
        let warps = threads() / WARP;
        let line = thread / WARP * MAX_VALUES as u32;
        each::<NW>(|e| {
            let index = line + (e * VALUES) as u32;
            store_warp_sum(index, sums.asx[e].re);
            store_warp_sum(index + 1, sums.asx[e].im);
            store_warp_sum(index + 2, sums.ach[e].re);
            store_warp_sum(index + 3, sums.ach[e].im);
        });
        barrier();
        if thread < (NW * VALUES) as u32 {
            let value = iw * VALUES as u32 + thread;
            *partials.add((value * blocks() + slot) as usize) = sum_of_warps(thread, warps);
        }
    }

    #[inline(always)]
    pub unsafe fn second_stage(arguments: SecondStageArguments) {
        let SecondStageArguments { partials, count, sums } = arguments;
        let thread = thread_in_block();
        let run = partials.add((block() * count) as usize);
        let sum = strided_sum(run, count, thread, THREADS);
        store_warp_sum(thread / WARP * MAX_VALUES as u32, sum);
        barrier();
        if thread == 0 {
            *sums.add(block() as usize) = sum_of_warps(0, THREADS / WARP);
        }
    }

    /// Sums `x` over the warp as a tree; its first lane stores the sum at `index` of the scratch.
    #[inline(always)]
    unsafe fn store_warp_sum(index: u32, x: f64) {
        let sum = warp_sum(x);
        if thread_in_block() % WARP == 0 {
            store_shared(scratch(index), sum)
        }
    }

    /// Adds up one number of each line of the scratch, warp by warp.
    #[inline(always)]
    unsafe fn sum_of_warps(index: u32, warps: u32) -> f64 {
        let mut sum = 0.0;
        for warp in 0..warps {
            sum += load_shared(scratch(warp * MAX_VALUES as u32 + index));
        }
        sum
    }

    #[inline(always)]
    fn scratch(index: u32) -> u32 {
        gpp_scratch() + index * 8
    }
}

/// Blocks on the CPU: the threads of a block run one after the other.
#[cfg(not(target_arch = "nvptx64"))]
mod cpu {
    use std::vec::Vec;

    use super::{THREADS, strided_sum};
    use crate::arrays::Arrays;
    use crate::formula::{ThreadSums, VALUES};
    use crate::intrinsics::WARP;
    use crate::threads::Thread;
    use crate::tiling::Grid;

    fn block_sum(threads: impl Iterator<Item = f64>) -> f64 {
        let mut threads: Vec<f64> = threads.collect();
        threads.chunks_mut(WARP as usize).map(warp_sum).sum()
    }

    /// The sum over the lanes of a warp, as a tree.
    pub fn warp_sum(lanes: &mut [f64]) -> f64 {
        let mut width = lanes.len() / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
            width /= 2;
        }
        lanes[0]
    }

    /// A block of an entry on the CPU: the address of its structure of arguments, the constant memory, the number of the
    /// block and the grid of the launch. It stores its sums as on the GPU.
    pub type BlockBody = unsafe fn(*const (), *const f64, u32, Grid);

    /// Runs a block: the body for each of its threads, then the tree of the GPU.
    pub unsafe fn run_block<const NW: usize>(
        arrays: &Arrays,
        iw: u32,
        partials: *mut f64,
        block: u32,
        grid: Grid,
        body: unsafe fn(&Arrays, u32, Thread) -> ThreadSums<NW>,
    ) {
        let threads: Vec<ThreadSums<NW>> = (0..grid.threads)
            .map(|thread_in_block| {
                body(arrays, iw, Thread::new(block, thread_in_block, grid.blocks(), grid.threads))
            })
            .collect();
        for at in 0..NW {
            let values = |sums: &ThreadSums<NW>| -> [f64; VALUES] {
                let (asx, ach) = (sums.asx[at], sums.ach[at]);
                [asx.re, asx.im, ach.re, ach.im]
            };
            for part in 0..VALUES {
                let value = (iw as usize + at) * VALUES + part;
                *partials.add(value * grid.blocks() as usize + grid.slot(block) as usize) =
                    block_sum(threads.iter().map(|sums| values(sums)[part]));
            }
        }
    }

    /// The second stage for one value of one group, over the sums of the group's blocks by slot.
    pub fn second_stage(partials: &[f64]) -> f64 {
        block_sum((0..THREADS).map(|thread| {
            // SAFETY: the slice holds as many values as it is long.
            unsafe { strided_sum(partials.as_ptr(), partials.len() as u32, thread, THREADS) }
        }))
    }
}
