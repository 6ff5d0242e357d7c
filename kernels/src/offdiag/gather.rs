//! V, made of A.

use super::fragment::{COLUMNS, ROWS};
use super::image::{LEFT, RIGHT, left, right};
use crate::arguments::arguments;

arguments! {
    /// What the kernel that makes V of A takes.
    Gather {
        /// See [`super::first::First::a`].
        a: *const f64,
        /// The row of A of each igp, none where it is [`NO_ROW`].
        rows: *const u32,
        /// Coulomb interaction of each igp.
        vcoul: *const f64,
        /// What the items' terms are weighed by.
        weights: *const f64,
        /// Right images of V, one for each item.
        v: *mut f64,
        /// See [`super::first::First::steps`].
        steps: u32,
        /// Items.
        count: u32,
        /// See [`super::first::First::fragments`].
        fragments: u32,
        /// See [`super::first::First::group`].
        group: u32,
        /// Igp, a multiple of 8; `rows` and `vcoul` are as long.
        igp: u32,
        /// Right fragments of V.
        right: u32,
    }
    gpp_offdiag_gather = gpu::gather;
}

/// The row of an igp that is no G.
pub const NO_ROW: u32 = u32::MAX;

/// Threads of a block.
pub const THREADS: u32 = 128;

/// Symbol.
pub const SYMBOL: &str = "gpp_offdiag_gather";

impl Gather {
    /// Blocks of a launch.
    pub fn blocks(&self) -> u32 {
        (self.count * self.igp * self.right * COLUMNS).div_ceil(THREADS)
    }

    /// One element of V.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) of these kernels.
    #[inline(always)]
    unsafe fn element(&self, index: u32) {
        let (each, row) = (self.fragments.max(1), self.group.max(1));
        let (ms, igps) = ((self.right * COLUMNS).max(1), self.igp.max(1));
        let (m, igp, item) = (index % ms, index / ms % igps, index / ms / igps);
        if item >= self.count {
            return;
        }
        let first = item * each;
        let before = (first / row) as usize * self.steps as usize * (row * LEFT) as usize;
        // SAFETY: this function's own contract.
        unsafe {
            let ig = *self.rows.add(igp as usize);
            let mut element = [0.0, 0.0];
            if ig != NO_ROW && m < each * ROWS {
                let column = (first % row) * ROWS + m;
                let at = before + left(column as usize, ig as usize, row as usize);
                let weight = *self.vcoul.add(igp as usize) * *self.weights.add(item as usize);
                element = [weight * *self.a.add(at), -weight * *self.a.add(at + LEFT as usize / 2)];
            }
            let image = item as usize * (igps / 8 * self.right * 2 * RIGHT) as usize;
            let to = self.v.add(image + right(igp as usize, m as usize, self.right as usize, 2));
            *to = element[0];
            *to.add(RIGHT as usize) = element[1];
        }
    }
}

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use super::*;
    use crate::intrinsics::{block, lane};

    /// A thread of the kernel that makes V.
    ///
    /// # Safety
    /// The launch contract.
    #[inline(always)]
    pub unsafe fn gather(arguments: Gather) {
        // SAFETY: the launch contract.
        unsafe { arguments.element(block() * THREADS + lane()) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Gather {
    /// As the first product.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn run(&self) {
        // SAFETY: this function's own contract.
        (0..self.blocks() * THREADS).for_each(|index| unsafe { self.element(index) });
    }
}
