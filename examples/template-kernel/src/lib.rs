//! A minimal GPU kernel in Rust: y ← a·x + y, one element per thread.
//!
//! Built for `nvptx64`, this is PTX with the entry `axpy`. On the host the same body is a plain function, which the
//! test below calls. docs/internals.md of gpp explains the source and has the command that builds it.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx))]

/// What one thread does: element `at`, if there is one.
///
/// # Safety
/// `x` and `y` hold `count` numbers each, and no other thread has this `at`.
#[inline(always)]
pub unsafe fn axpy_at(at: usize, count: usize, a: f64, x: *const f64, y: *mut f64) {
    if at < count {
        // SAFETY: `at` is below `count`; the element is this thread's alone.
        unsafe { *y.add(at) += a * *x.add(at) }
    }
}

/// The entry: finds its thread and calls the body.
///
/// # Safety
/// `x` and `y` are device memory for `count` numbers each. The grid has at least `count` threads.
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn axpy(count: u32, a: f64, x: *const f64, y: *mut f64) {
    use core::arch::nvptx;
    // SAFETY: reading special registers has no precondition; the rest is the entry's own contract.
    unsafe {
        let [block, threads, thread] =
            [nvptx::_block_idx_x(), nvptx::_block_dim_x(), nvptx::_thread_idx_x()];
        let at = block as usize * threads as usize + thread as usize;
        axpy_at(at, count as usize, a, x, y);
    }
}

/// A failed bounds check would end here; the body has none.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[cfg(test)]
mod tests {
    use super::axpy_at;

    #[test]
    fn every_thread_has_its_element() {
        let (x, mut y) = ([1.0, 2.0, 3.0], [10.0; 3]);
        for at in 0..4 {
            // SAFETY: three numbers each; threads run one after the other.
            unsafe { axpy_at(at, x.len(), 0.5, x.as_ptr(), y.as_mut_ptr()) }
        }
        assert_eq!(y, [10.5, 11.0, 11.5]);
    }
}
