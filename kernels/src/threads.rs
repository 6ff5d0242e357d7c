//! The threads of a grid, and the iterations of a collapsed loop that each has.

/// Most blocks of a grid, the reference compiler's limit; longer loops stride.
pub const MAX_BLOCKS: u32 = 65_535;

/// One thread of a one-dimensional grid.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    pub index: u32,
    /// Threads in the grid, the stride of a collapsed loop.
    pub count: u32,
    pub block: u32,
    /// Its number in the block.
    pub thread_in_block: u32,
}

impl Thread {
    #[inline(always)]
    pub fn new(block: u32, thread_in_block: u32, blocks: u32, threads: u32) -> Thread {
        Thread {
            index: block * threads + thread_in_block,
            count: blocks * threads,
            block,
            thread_in_block,
        }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub fn calling() -> Thread {
        use crate::intrinsics::{block, blocks, thread_in_block, threads};
        Thread::new(block(), thread_in_block(), blocks(), threads())
    }

    #[inline(always)]
    pub fn strided(self, items: u32) -> impl Iterator<Item = u32> {
        let mut next = Some(self.index).filter(|&first| first < items);
        core::iter::from_fn(move || {
            let index = next?;
            next = if items - index > self.count { Some(index + self.count) } else { None };
            Some(index)
        })
    }
}

/// Splits a collapsed index into the outer index and the inner one, of `inner` iterations.
#[inline(always)]
pub fn split(index: u32, inner: u32) -> (u32, u32) {
    // A dimension is positive; saying so keeps the division's panic out of the kernels.
    let inner = inner.max(1);
    (index / inner, index % inner)
}

pub fn blocks(items: u64, threads: u32) -> u32 {
    items.div_ceil(u64::from(threads)).clamp(1, u64::from(MAX_BLOCKS)) as u32
}

/// A position in three collapsed loops, in digits; `inner` runs fastest. Advancing adds with carry and divides nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collapsed {
    /// Outermost loop; past its end the thread is done.
    pub outer: u32,
    pub middle: u32,
    pub inner: u32,
}

impl Collapsed {
    #[inline(always)]
    pub fn split(index: u32, middle: u32, inner: u32) -> Self {
        let (rest, inner) = split(index, inner);
        let (outer, middle) = split(rest, middle);
        Collapsed { outer, middle, inner }
    }

    #[inline(always)]
    pub fn advance(self, stride: Collapsed, middle: u32, inner: u32) -> Self {
        let mut next = Collapsed {
            outer: self.outer + stride.outer,
            middle: self.middle + stride.middle,
            inner: self.inner + stride.inner,
        };
        if next.inner >= inner {
            next.inner -= inner;
            next.middle += 1;
        }
        if next.middle >= middle {
            next.middle -= middle;
            next.outer += 1;
        }
        next
    }
}

/// Calls `at` for each of `N` energies or `igp` of a tile, four at most. Unrolled by hand because an array that is indexed
/// by a loop variable goes to local memory if the compiler keeps the loop.
#[inline(always)]
pub fn each<const N: usize>(mut at: impl FnMut(usize)) {
    const { assert!(N >= 1 && N <= 4) };
    at(0);
    if N > 1 {
        at(1);
    }
    if N > 2 {
        at(2);
    }
    if N > 3 {
        at(3);
    }
}
