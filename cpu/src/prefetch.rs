//! Memory that will be read soon.

/// Asks for the cache lines of a slice, where the processor has an instruction for that: neighbouring `igp`
/// are a whole column apart, farther than what a processor fetches by itself.
#[inline(always)]
pub fn prefetch<T>(soon: &[T]) {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        #[cfg(target_arch = "x86")]
        use core::arch::x86::{_MM_HINT_T0, _mm_prefetch};
        #[cfg(target_arch = "x86_64")]
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        /// Bytes of a line.
        const LINE: usize = 64;
        let first: *const i8 = soon.as_ptr().cast();
        for at in (0..size_of_val(soon)).step_by(LINE) {
            // SAFETY: a hint, which reads nothing that the program could see; within the slice besides.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.add(at)) };
        }
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    let _ = soon;
}
