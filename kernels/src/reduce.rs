//! The second stage of the reduction: block sums to the final sums, in a fixed order.

/// Threads of the second-stage block; one block sums one value.
pub const THREADS: u32 = 512;

/// The second stage's kernel symbol.
pub const SYMBOL: &str = "gpp_second_stage";

/// Values that one energy contributes: the two parts of `asx` and of `ach`.
pub const VALUES: usize = 4;

/// Most values of a launch: three energies.
pub const MAX_VALUES: usize = 3 * VALUES;

/// What one thread of the second stage adds up: every `threads`-th of `count` block sums.
///
/// # Safety
/// `partials` holds `count` values.
#[inline(always)]
pub unsafe fn strided_sum(partials: *const f64, count: u32, thread: u32, threads: u32) -> f64 {
    let mut sum = 0.0;
    let mut at = thread;
    while at < count {
        // SAFETY: at < count.
        sum += unsafe { *partials.add(at as usize) };
        at += threads;
    }
    sum
}
