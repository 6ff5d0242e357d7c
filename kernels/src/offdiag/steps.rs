//! The kernels beside the products.

use crate::arguments::arguments;
use crate::arrays;

pub mod odd {
    //! Pairs that the definition sums: what they add to U.

    use super::*;
    use crate::offdiag::fragment::ROWS;
    use crate::offdiag::image::{LEFT, left};
    use crate::offdiag::poles::Odd;

    arguments! {
        /// What the kernel of odd pairs takes, which adds them to U; what has no word is as in [`First`](crate::offdiag::first::First).
        OddPairs {
            a: *const f64,
            /// The pairs, those of an igp beside each other.
            pairs: *const Odd,
            /// Where those of each igp that has any begin, and the end.
            begins: *const u32,
            w: *const f64,
            u: *mut f64,
            /// How many igp have any.
            columns: u32,
            steps: u32,
            count: u32,
            fragments: u32,
            group: u32,
            right: u32,
            /// One for `ssx`, zero for `sch`.
            exchange: u32,
            limittwo: f64,
            limitone: f64,
            sexcut: f64,
        }
        gpp_offdiag_odd = |pairs| pairs.thread(crate::intrinsics::block(), crate::intrinsics::lane());
    }

    pub const THREADS: u32 = 128;

    pub const SYMBOL: &str = "gpp_offdiag_odd";

    impl OddPairs {
        pub fn blocks(&self) -> u32 {
            self.columns * self.count
        }

        /// Adds the odd pairs of an igp to a thread's l of U.
        #[inline(always)]
        unsafe fn thread(&self, block: u32, thread: u32) {
            let (columns, each, row) =
                (self.columns.max(1), self.fragments.max(1), self.group.max(1));
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
                l += THREADS;
            }
        }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    impl OddPairs {
        pub unsafe fn run(&self) {
            for block in 0..self.blocks() {
                (0..THREADS).for_each(|thread| self.thread(block, thread));
            }
        }
    }
}

pub mod gather {
    //! V, made of A.

    use super::*;
    use crate::offdiag::fragment::{COLUMNS, ROWS};
    use crate::offdiag::image::{LEFT, RIGHT, left, right};

    arguments! {
        /// What the kernel that makes V of A takes; what has no word is as in [`First`](crate::offdiag::first::First).
        Gather {
            a: *const f64,
            /// The row of A of each igp, none where it is [`NO_ROW`].
            rows: *const u32,
            /// Coulomb interaction of each igp.
            vcoul: *const f64,
            /// What the items' terms are weighed by.
            weights: *const f64,
            /// Right images of V, one for each item.
            v: *mut f64,
            steps: u32,
            /// Items.
            count: u32,
            fragments: u32,
            group: u32,
            /// Igp, a multiple of 8; `rows` and `vcoul` are as long.
            igp: u32,
            /// Right fragments of V.
            right: u32,
        }
        gpp_offdiag_gather = |gather| gather.element(crate::intrinsics::block() * THREADS + crate::intrinsics::lane());
    }

    /// The row of an igp that is no G.
    pub const NO_ROW: u32 = u32::MAX;

    pub const THREADS: u32 = 128;

    pub const SYMBOL: &str = "gpp_offdiag_gather";

    impl Gather {
        pub fn blocks(&self) -> u32 {
            (self.count * self.igp * self.right * COLUMNS).div_ceil(THREADS)
        }

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

    #[cfg(not(target_arch = "nvptx64"))]
    impl Gather {
        pub unsafe fn run(&self) {
            (0..self.blocks() * THREADS).for_each(|index| self.element(index));
        }
    }
}

pub mod fold {
    //! The sums of all slots, added up.

    use super::*;

    arguments! {
        /// What the kernel that adds up slots takes.
        Fold {
            /// Sums `[sum][slot][number]`, as [`crate::offdiag::second::Second::sums`] has those of each; all zero afterwards.
            sums: *mut f64,
            /// Sums `[sum][number]`.
            folded: *mut f64,
            /// Numbers of a slot.
            each: u32,
            slots: u32,
            /// Sums.
            count: u32,
        }
        gpp_offdiag_fold = |fold| fold.number(crate::intrinsics::block() * THREADS + crate::intrinsics::lane());
    }

    pub const THREADS: u32 = 128;

    pub const SYMBOL: &str = "gpp_offdiag_fold";

    impl Fold {
        pub fn blocks(&self) -> u32 {
            (self.count * self.each).div_ceil(THREADS)
        }

        #[inline(always)]
        unsafe fn number(&self, index: u32) {
            let each = self.each.max(1);
            if index / each >= self.count {
                return;
            }
            let first =
                (index / each) as usize * (self.slots * each) as usize + (index % each) as usize;
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

    #[cfg(not(target_arch = "nvptx64"))]
    impl Fold {
        pub unsafe fn run(&self) {
            (0..self.blocks() * THREADS).for_each(|index| self.number(index));
        }
    }
}
