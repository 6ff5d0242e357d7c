//! Kernels that measure what the device can do: the rate of fused operations, and the bandwidth of
//! memory, L2 and L1. They are the ceilings of the roofline.

use crate::grid::Thread;
use crate::target;

/// Threads of a block of either kernel.
pub const THREADS: u32 = 256;

/// Independent chains of fused operations in a thread, enough to hide their latency.
pub const CHAINS: usize = 8;

/// Fused operations of each chain.
pub const FMA_STEPS: u32 = 4096;

/// Symbol of the FMA kernel.
pub const FMA_SYMBOL: &str = "gpp_ceiling_fma";

/// Symbols of the read kernels: each bypasses the caches nearer than the one it measures.
pub const READ_SYMBOLS: [&str; 2] = ["gpp_ceiling_read_l2", "gpp_ceiling_read_l1"];

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

/// Where in the hierarchy reads are served from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// L2, and memory behind it where the buffer is larger.
    L2,
    /// L1, for a tile that fits.
    L1,
}

/// Sums `count` 16-byte pairs of `tile`, every `stride`-th from `first` on, `passes` times.
///
/// # Safety
/// `tile` holds `count` pairs and is 16-byte aligned on the GPU.
#[inline(always)]
pub unsafe fn read_passes(
    tile: *const [f64; 2],
    count: u32,
    first: u32,
    stride: u32,
    passes: u32,
    level: Level,
) -> f64 {
    let mut sums = [0.0; 4];
    let mut pass = 0;
    while pass < passes {
        let mut at = first;
        // Four loads in flight before the first is used.
        while count - at > 3 * stride && at < count {
            // SAFETY: the last index is below count.
            let pairs = unsafe {
                [
                    target::read(tile, at, level),
                    target::read(tile, at + stride, level),
                    target::read(tile, at + 2 * stride, level),
                    target::read(tile, at + 3 * stride, level),
                ]
            };
            sums[0] += pairs[0][0] + pairs[0][1];
            sums[1] += pairs[1][0] + pairs[1][1];
            sums[2] += pairs[2][0] + pairs[2][1];
            sums[3] += pairs[3][0] + pairs[3][1];
            at += 4 * stride;
            if at >= count {
                break;
            }
        }
        while at < count {
            // SAFETY: at < count.
            let pair = unsafe { target::read(tile, at, level) };
            sums[0] += pair[0] + pair[1];
            at = if count - at > stride { at + stride } else { count };
        }
        pass += 1;
    }
    sums[0] + sums[1] + sums[2] + sums[3]
}
