//! From the sums of threads to those of blocks, and from these, in a second stage, to the final ones,
//! all in a fixed order: a tree over the 32 lanes of each warp, then warp by warp.

use crate::arguments::arguments;

#[cfg(target_arch = "nvptx64")]
pub use gpu::store_block_sums;

/// Threads of a second-stage block; one block sums one value of one group.
pub const THREADS: u32 = 512;

/// The second stage's kernel symbol.
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
    let mut at = thread;
    while at < count {
        sum += *partials.add(at as usize);
        at += threads;
    }
    sum
}

/// Sum over the threads of a block in the GPU's order.
#[cfg(not(target_arch = "nvptx64"))]
pub fn block_sum(threads: impl Iterator<Item = f64>) -> f64 {
    let mut threads: std::vec::Vec<f64> = threads.collect();
    threads.chunks_mut(crate::intrinsics::WARP as usize).map(warp_sum).sum()
}

/// Sum over the lanes of a warp, as a tree.
#[cfg(not(target_arch = "nvptx64"))]
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

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use super::{SecondStageArguments, THREADS, strided_sum};
    use crate::formula::{MAX_VALUES, Sums, VALUES};
    use crate::grid::each;
    use crate::intrinsics::{
        WARP, barrier, block, blocks, lane, load_shared, shuffle_down, store_shared, threads,
    };

    const MAX_WARPS: usize = 16;

    shared_memory! { align 8 gpp_scratch: (MAX_WARPS * MAX_VALUES * 8) as u32 }

    /// Sums each of `sums` over the block and stores them as entries `slot` of `partials`,
    /// `(blocks, values)` with the values of energy `iw` from `iw · VALUES` on.
    #[inline(always)]
    pub unsafe fn store_block_sums<const NW: usize>(
        sums: &Sums<NW>,
        iw: u32,
        slot: u32,
        partials: *mut f64,
    ) {
        // The first lane of each warp writes its own line of the scratch before the barrier; after it thread `value` alone
        // writes entry (slot, iw·VALUES + value).
        let thread = lane();
        let warps = threads() / WARP;
        let line = thread / WARP * MAX_VALUES as u32;
        each::<NW>(|e| {
            let at = line + (e * VALUES) as u32;
            store_warp_sum(at, sums.asx[e].re);
            store_warp_sum(at + 1, sums.asx[e].im);
            store_warp_sum(at + 2, sums.ach[e].re);
            store_warp_sum(at + 3, sums.ach[e].im);
        });
        barrier();
        if thread < (NW * VALUES) as u32 {
            let value = iw * VALUES as u32 + thread;
            *partials.add((value * blocks() + slot) as usize) = sum_of_warps(thread, warps);
        }
    }

    /// Second stage: each block sums its run of `partials`.
    #[inline(always)]
    pub unsafe fn second_stage(arguments: SecondStageArguments) {
        let SecondStageArguments { partials, count, sums } = arguments;
        let thread = lane();
        let run = partials.add((block() * count) as usize);
        let sum = strided_sum(run, count, thread, THREADS);
        store_warp_sum(thread / WARP * MAX_VALUES as u32, sum);
        barrier();
        if thread == 0 {
            *sums.add(block() as usize) = sum_of_warps(0, THREADS / WARP);
        }
    }

    /// Sums `x` over the warp as a tree; its first lane stores the sum at `at` of the scratch.
    #[inline(always)]
    unsafe fn store_warp_sum(at: u32, x: f64) {
        let mut sum = x;
        let mut width = WARP / 2;
        while width > 0 {
            sum += shuffle_down(sum, width);
            width /= 2;
        }
        if lane() % WARP == 0 {
            store_shared(scratch(at), sum)
        }
    }

    /// Adds up one number of each line of the scratch, warp by warp.
    #[inline(always)]
    unsafe fn sum_of_warps(at: u32, warps: u32) -> f64 {
        let mut sum = 0.0;
        for warp in 0..warps {
            sum += load_shared(scratch(warp * MAX_VALUES as u32 + at));
        }
        sum
    }

    /// Shared-memory address of scratch element `at`.
    #[inline(always)]
    fn scratch(at: u32) -> u32 {
        gpp_scratch() + at * 8
    }
}
