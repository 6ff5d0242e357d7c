//! The threads of a block that work together: at once on the GPU, one after the other on the host.

use crate::formula::VALUES;

/// The threads of a block and the numbers that they share.
pub trait Team {
    /// Runs `each` for each thread, then a barrier.
    fn all(&self, each: impl FnMut(u32));

    /// Runs `each` for each warp, then a barrier.
    fn warps(&self, each: impl FnMut(u32));

    /// Runs `each` for each thread of a warp, then a barrier of the warp; within [`Team::warps`].
    fn lanes(&self, each: impl FnMut(u32));

    /// A bit of each thread of a warp; within [`Team::warps`].
    fn ballot(&self, each: impl FnMut(u32) -> bool) -> u32;

    /// Sums over the threads of a warp, as a tree, for [`Team::first`]; within [`Team::warps`].
    fn sum(&self, each: impl FnMut(u32) -> [f64; VALUES]) -> [f64; VALUES];

    /// Runs `once` for the first thread of a warp, which alone reads what it stores; within [`Team::warps`].
    fn first(&self, once: impl FnMut());

    fn get(&self, at: u32) -> f64;

    fn set(&self, at: u32, value: f64);

    /// Two shared numbers, the first of them even.
    fn pair(&self, at: u32) -> [f64; 2];

    fn set_pair(&self, at: u32, values: [f64; 2]);
}

#[cfg(target_arch = "nvptx64")]
pub use gpu::Block;

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use num_complex::Complex64;

    use super::Team;
    use crate::formula::VALUES;
    use crate::intrinsics::{
        WARP, barrier, lane, load_shared, load_shared_pair, shuffle_down, store_shared,
        store_shared_pair, vote, warp_barrier,
    };

    /// The block of the calling thread, all of whose threads do the same with it, and its shared numbers.
    pub struct Block {
        base: u32,
    }

    impl Block {
        /// With shared numbers from this address on. All threads of a block of whole warps come here, once a launch.
        #[inline(always)]
        pub unsafe fn at(base: u32) -> Self {
            Block { base }
        }

        #[inline(always)]
        fn address(&self, at: u32) -> u32 {
            self.base + at * 8
        }
    }

    impl Team for Block {
        #[inline(always)]
        fn all(&self, mut each: impl FnMut(u32)) {
            each(lane());
            // SAFETY: all threads are here, by `Block::at`.
            unsafe { barrier() }
        }

        #[inline(always)]
        fn warps(&self, mut each: impl FnMut(u32)) {
            each(lane() / WARP);
            // SAFETY: all threads are here, by `Block::at`.
            unsafe { barrier() }
        }

        #[inline(always)]
        fn lanes(&self, mut each: impl FnMut(u32)) {
            each(lane() % WARP);
            // SAFETY: the whole warp is here, by `Block::at`.
            unsafe { warp_barrier() }
        }

        #[inline(always)]
        fn ballot(&self, mut each: impl FnMut(u32) -> bool) -> u32 {
            // SAFETY: the whole warp is here, by `Block::at`.
            unsafe { vote(each(lane() % WARP)) }
        }

        #[inline(always)]
        fn sum(&self, mut each: impl FnMut(u32) -> [f64; VALUES]) -> [f64; VALUES] {
            each(lane() % WARP).map(|mut sum| {
                let mut width = WARP / 2;
                while width > 0 {
                    // SAFETY: the whole warp is here, by `Block::at`.
                    sum += unsafe { shuffle_down(sum, width) };
                    width /= 2;
                }
                sum
            })
        }

        #[inline(always)]
        fn first(&self, mut once: impl FnMut()) {
            if lane() % WARP == 0 {
                once();
            }
        }

        #[inline(always)]
        fn get(&self, at: u32) -> f64 {
            // SAFETY: within the shared numbers of a cluster.
            unsafe { load_shared(self.address(at)) }
        }

        #[inline(always)]
        fn set(&self, at: u32, value: f64) {
            // SAFETY: within the shared numbers of a cluster.
            unsafe { store_shared(self.address(at), value) }
        }

        #[inline(always)]
        fn pair(&self, at: u32) -> [f64; 2] {
            // SAFETY: within the shared numbers of a cluster, aligned.
            let pair = unsafe { load_shared_pair(self.address(at)) };
            [pair.re, pair.im]
        }

        #[inline(always)]
        fn set_pair(&self, at: u32, [re, im]: [f64; 2]) {
            // SAFETY: within the shared numbers of a cluster, aligned.
            unsafe { store_shared_pair(self.address(at), Complex64::new(re, im)) }
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::Emulated;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use core::cell::Cell;
    use std::vec;
    use std::vec::Vec;

    use super::super::BANDS;
    use super::Team;
    use crate::formula::VALUES;
    use crate::intrinsics::WARP;

    /// A block whose threads run in turn, forwards and backwards, so that a missing barrier shows.
    pub struct Emulated {
        shared: Vec<Cell<f64>>,
        backwards: Cell<bool>,
    }

    impl Emulated {
        /// A block whose shared numbers are NaN at first.
        pub fn new(numbers: u32) -> Emulated {
            let nothing = Cell::new(f64::NAN);
            Emulated { shared: vec![nothing; numbers as usize], backwards: Cell::new(false) }
        }

        fn in_turn(&self, count: u32, each: impl FnMut(u32)) {
            match self.backwards.replace(!self.backwards.get()) {
                false => (0..count).for_each(each),
                true => (0..count).rev().for_each(each),
            }
        }
    }

    impl Team for Emulated {
        fn all(&self, each: impl FnMut(u32)) {
            self.in_turn(BANDS, each);
        }

        fn warps(&self, each: impl FnMut(u32)) {
            self.in_turn(BANDS / WARP, each);
        }

        fn lanes(&self, each: impl FnMut(u32)) {
            self.in_turn(WARP, each);
        }

        fn ballot(&self, mut each: impl FnMut(u32) -> bool) -> u32 {
            (0..WARP).fold(0, |bits, lane| bits | u32::from(each(lane)) << lane)
        }

        fn sum(&self, each: impl FnMut(u32) -> [f64; VALUES]) -> [f64; VALUES] {
            let mut lanes: Vec<[f64; VALUES]> = (0..WARP).map(each).collect();
            let mut width = WARP as usize / 2;
            while width > 0 {
                for lane in 0..width {
                    let other = lanes[lane + width];
                    lanes[lane].iter_mut().zip(other).for_each(|(sum, x)| *sum = *sum + x);
                }
                width /= 2;
            }
            lanes[0]
        }

        fn first(&self, mut once: impl FnMut()) {
            once();
        }

        fn get(&self, at: u32) -> f64 {
            self.shared[at as usize].get()
        }

        fn set(&self, at: u32, value: f64) {
            self.shared[at as usize].set(value);
        }

        fn pair(&self, at: u32) -> [f64; 2] {
            assert!(at.is_multiple_of(2), "pairs are aligned");
            [self.get(at), self.get(at + 1)]
        }

        fn set_pair(&self, at: u32, [one, other]: [f64; 2]) {
            assert!(at.is_multiple_of(2), "pairs are aligned");
            self.set(at, one);
            self.set(at + 1, other);
        }
    }
}
