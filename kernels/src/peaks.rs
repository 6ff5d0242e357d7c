//! Kernels that measure the peaks of a device, the ceilings of the roofline: the rate of fused operations, and the
//! bandwidth of memory, L2 and L1.

use crate::arrays::arguments;
#[cfg(target_arch = "nvptx64")]
use crate::intrinsics::{load_from_l1, load_from_l2};
use crate::threads::Thread;

pub const THREADS: u32 = 256;

/// Independent chains of fused operations in a thread, enough to hide their latency.
pub const CHAINS: usize = 8;

/// Fused operations of each chain.
pub const FMA_STEPS: u32 = 4096;

pub const FMA_SYMBOL: &str = "gpp_ceiling_fma";

/// Symbols of the read kernels: each bypasses the caches nearer than the one it measures.
pub const READ_SYMBOLS: [&str; 2] = ["gpp_ceiling_read_l2", "gpp_ceiling_read_l1"];

arguments! {
    FmaArguments {
        /// Factor of each fused operation, below one so that the chains stay finite.
        factor: f64,
        term: f64,
        /// One number, written only if a sum is none.
        sink: *mut f64,
    }
    gpp_ceiling_fma = |arguments| fma(arguments);
}

arguments! {
    ReadArguments {
        /// The pairs that are read, in the L2 kernel by all threads of the grid together, in the L1
        /// kernel by those of each block.
        buffer: *const [f64; 2],
        count: u32,
        passes: u32,
        /// One number, written only if a sum is none.
        sink: *mut f64,
    }
    gpp_ceiling_read_l2 = |arguments| read_l2(arguments);
    gpp_ceiling_read_l1 = |arguments| read_l1(arguments);
}

/// Runs [`CHAINS`] chains of [`FMA_STEPS`] fused operations; the sum keeps them from being dropped.
#[inline(always)]
pub fn fma_chains(thread: Thread, factor: f64, term: f64) -> f64 {
    let mut chains = [0.0; CHAINS];
    for (at, chain) in chains.iter_mut().enumerate() {
        *chain = f64::from(thread.index) + at as f64;
    }
    let mut step = 0;
    while step < FMA_STEPS {
        for chain in &mut chains {
            *chain = *chain * factor + term;
        }
        step += 1;
    }
    chains.iter().sum()
}

/// Sums `count` pairs that are read, every `stride`-th from `first` on, `passes` times.
#[inline(always)]
pub unsafe fn read_passes(
    read: impl Fn(u32) -> [f64; 2],
    count: u32,
    first: u32,
    stride: u32,
    passes: u32,
) -> f64 {
    let mut sums = [0.0; 4];
    let mut pass = 0;
    while pass < passes {
        let mut index = first;
        // Four loads in flight before the first is used.
        while count - index > 3 * stride && index < count {
            let pairs = [
                read(index),
                read(index + stride),
                read(index + 2 * stride),
                read(index + 3 * stride),
            ];
            sums[0] += pairs[0][0] + pairs[0][1];
            sums[1] += pairs[1][0] + pairs[1][1];
            sums[2] += pairs[2][0] + pairs[2][1];
            sums[3] += pairs[3][0] + pairs[3][1];
            index += 4 * stride;
            if index >= count {
                break;
            }
        }
        while index < count {
            let pair = read(index);
            sums[0] += pair[0] + pair[1];
            index = if count - index > stride { index + stride } else { count };
        }
        pass += 1;
    }
    sums[0] + sums[1] + sums[2] + sums[3]
}

// The sums are stored only if they are NaN: so the compiler keeps their arithmetic.

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn fma(arguments: FmaArguments) {
    let FmaArguments { factor, term, sink } = arguments;
    let sum = fma_chains(Thread::calling(), factor, term);
    if sum.is_nan() {
        *sink = sum;
    }
}

/// The peak of L2, and of memory for a large buffer: all threads of the grid share the pairs.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn read_l2(arguments: ReadArguments) {
    let Thread { index, count, .. } = Thread::calling();
    read(arguments, index, count, |at| load_from_l2(arguments.buffer, at))
}

/// The peak of L1: every block reads the same pairs again and again.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn read_l1(arguments: ReadArguments) {
    let threads = crate::intrinsics::threads();
    let load = |at| load_from_l1(arguments.buffer, at);
    read(arguments, crate::intrinsics::thread_in_block(), threads, load)
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn read(arguments: ReadArguments, first: u32, stride: u32, load: impl Fn(u32) -> [f64; 2]) {
    let ReadArguments { count, passes, sink, .. } = arguments;
    let sum = read_passes(load, count, first, stride, passes);
    if sum.is_nan() {
        *sink = sum;
    }
}
