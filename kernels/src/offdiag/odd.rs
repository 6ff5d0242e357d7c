//! Pairs that the definition sums: what they add to U.

use super::fragment::ROWS;
use super::image::{LEFT, left};
use super::poles::Odd;
use crate::arguments::arguments;
use crate::arrays;

arguments! {
    /// What the kernel of odd pairs takes, which adds them to U.
    OddPairs {
        /// See [`super::first::First::a`].
        a: *const f64,
        /// The pairs, those of an igp beside each other.
        pairs: *const Odd,
        /// Where those of each igp that has any begin, and the end.
        begins: *const u32,
        /// See [`super::first::First::w`].
        w: *const f64,
        /// See [`super::first::First::u`].
        u: *mut f64,
        /// How many igp have any.
        columns: u32,
        /// See [`super::first::First::steps`].
        steps: u32,
        /// See [`super::first::First::count`].
        count: u32,
        /// See [`super::first::First::fragments`].
        fragments: u32,
        /// See [`super::first::First::group`].
        group: u32,
        /// See [`super::first::First::right`].
        right: u32,
        /// One for `ssx`, zero for `sch`.
        exchange: u32,
        /// See [`arrays::Limits::limittwo`].
        limittwo: f64,
        /// See [`arrays::Limits::limitone`].
        limitone: f64,
        /// See [`arrays::Limits::sexcut`].
        sexcut: f64,
    }
    gpp_offdiag_odd = gpu::odd;
}

/// Threads of a block.
pub const THREADS: u32 = 128;

/// Symbol.
pub const SYMBOL: &str = "gpp_offdiag_odd";

impl OddPairs {
    /// Blocks of a launch.
    pub fn blocks(&self) -> u32 {
        self.columns * self.count
    }

    /// Adds the odd pairs of an igp to a thread's l of U.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) of these kernels.
    #[inline(always)]
    unsafe fn thread(&self, block: u32, thread: u32) {
        let (columns, each, row) = (self.columns.max(1), self.fragments.max(1), self.group.max(1));
        let (at, item) = (block % columns, block / columns);
        let limits = arrays::Limits {
            limittwo: self.limittwo,
            limitone: self.limitone,
            sexcut: self.sexcut,
        };
        let first = item * each;
        let before = (first / row) as usize * self.steps as usize * (row * LEFT) as usize;
        let mut l = thread;
        while l < each * ROWS {
            let column = (first % row) * ROWS + l;
            let mut sum = [0.0, 0.0];
            // SAFETY: this function's own contract.
            unsafe {
                let (mut pair, end) =
                    (*self.begins.add(at as usize), *self.begins.add(at as usize + 1));
                let igp = (*self.pairs.add(pair as usize)).igp;
                while pair < end {
                    let odd = &*self.pairs.add(pair as usize);
                    let p = odd.element(self.exchange != 0, *self.w.add(item as usize), &limits);
                    let at = before + left(column as usize, odd.ig as usize, row as usize);
                    let (re, im) = (*self.a.add(at), *self.a.add(at + LEFT as usize / 2));
                    sum[0] += re * p.re - im * p.im;
                    sum[1] += re * p.im + im * p.re;
                    pair += 1;
                }
                let image = (item * self.right) as usize * (each * LEFT) as usize;
                let to = self.u.add(image + left(l as usize, igp as usize, each as usize));
                *to += sum[0];
                *to.add(LEFT as usize / 2) += sum[1];
            }
            l += THREADS;
        }
    }
}

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use super::*;
    use crate::intrinsics::{block, lane};

    /// A thread of the kernel of odd pairs.
    ///
    /// # Safety
    /// The launch contract.
    #[inline(always)]
    pub unsafe fn odd(arguments: OddPairs) {
        // SAFETY: the launch contract.
        unsafe { arguments.thread(block(), lane()) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl OddPairs {
    /// As the first product.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn run(&self) {
        for block in 0..self.blocks() {
            // SAFETY: this function's own contract.
            (0..THREADS).for_each(|thread| unsafe { self.thread(block, thread) });
        }
    }
}
