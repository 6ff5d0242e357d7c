//! The sums of all slots, added up.

use crate::arguments::arguments;

arguments! {
    /// What the kernel that adds up slots takes.
    Fold {
        /// Sums `[sum][slot][number]`, as [`super::second::Second::sums`] has those of each; all zero afterwards.
        sums: *mut f64,
        /// Sums `[sum][number]`.
        folded: *mut f64,
        /// Numbers of a slot.
        each: u32,
        /// Slots.
        slots: u32,
        /// Sums.
        count: u32,
    }
    gpp_offdiag_fold = gpu::fold;
}

/// Threads of a block.
pub const THREADS: u32 = 128;

/// Symbol.
pub const SYMBOL: &str = "gpp_offdiag_fold";

impl Fold {
    /// Blocks of a launch.
    pub fn blocks(&self) -> u32 {
        (self.count * self.each).div_ceil(THREADS)
    }

    /// One number of a sum.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) of these kernels.
    #[inline(always)]
    unsafe fn number(&self, index: u32) {
        let each = self.each.max(1);
        if index / each >= self.count {
            return;
        }
        let first =
            (index / each) as usize * (self.slots * each) as usize + (index % each) as usize;
        // SAFETY: this function's own contract.
        unsafe {
            let mut from = self.sums.add(first);
            let mut sum = 0.0;
            for _ in 0..self.slots {
                sum += *from;
                *from = 0.0;
                from = from.wrapping_add(each as usize);
            }
            *self.folded.add(index as usize) = sum;
        }
    }
}

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use super::*;
    use crate::intrinsics::{block, lane};

    /// A thread of the kernel that adds up slots.
    ///
    /// # Safety
    /// The launch contract.
    #[inline(always)]
    pub unsafe fn fold(arguments: Fold) {
        // SAFETY: the launch contract.
        unsafe { arguments.number(block() * THREADS + lane()) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Fold {
    /// As the first product.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn run(&self) {
        // SAFETY: this function's own contract.
        (0..self.blocks() * THREADS).for_each(|index| unsafe { self.number(index) });
    }
}
