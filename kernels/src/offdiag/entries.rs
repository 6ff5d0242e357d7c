//! The kernels: a block's place, its rows and what it stores.

use super::fragment::{COLUMNS, ROWS, sum};
use super::image::{LEFT, RIGHT, left, right};
use super::lanes::{LANES, lane, unrolled};
use super::poles::{Given, Limits, Make, Odd};
use super::products::{complex, products};
use super::stages::{Extent, Rows, Stages};
use crate::arguments::arguments;
use crate::arrays;
use crate::intrinsics::WARP;

/// The tile of a block: fragments of a warp, and warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Fragments of 16 l of a warp.
    pub m: u32,
    /// Fragments of 8 igp of a warp.
    pub n: u32,
    /// Warps along l.
    pub across: u32,
    /// Warps along igp.
    pub along: u32,
}

impl Tile {
    /// Warps of a block.
    pub const fn warps(self) -> u32 {
        self.across * self.along
    }

    /// Threads of a block.
    pub const fn threads(self) -> u32 {
        self.warps() * WARP
    }

    /// Where a warp is along l and along igp: a scheduler, which has every fourth warp, has all along l.
    #[inline(always)]
    pub const fn of_warp(self, warp: u32) -> (u32, u32) {
        (warp / self.along, warp % self.along)
    }

    /// Left fragments of a block.
    pub const fn left(self) -> u32 {
        self.m * self.across
    }

    /// Right fragments of a block.
    pub const fn right(self) -> u32 {
        self.n * self.along
    }

    /// What a stage holds, of right images of so many words.
    pub const fn extent(self, words: u32) -> Extent {
        Extent::filling(self.left(), self.right(), words)
    }
}

arguments! {
    /// What kernels of the first product take; U is left for the second as a left image for each item.
    First {
        /// A of items in groups: left images whose rows hold the fragments of one item after the other.
        a: *const f64,
        /// Right image of poles.
        poles: *const f64,
        /// `w` of the items, of n that follow each other.
        w: *const f64,
        /// Left images of U, one for each item.
        u: *mut f64,
        /// Steps of ig.
        steps: u32,
        /// Items.
        count: u32,
        /// Left fragments of an item, two or more.
        fragments: u32,
        /// Left fragments of a group, a multiple of a block's.
        group: u32,
        /// Right fragments of the poles, which are steps of U, a multiple of a block's.
        right: u32,
        /// See [`Limits::first`].
        first: u64,
        /// See [`Limits::sexcut`].
        sexcut: u64,
    }
    gpp_offdiag_hole = gpu::hole;
    gpp_offdiag_exchange = gpu::exchange;
    gpp_offdiag_complex_hole = gpu::complex_hole;
    gpp_offdiag_complex_exchange = gpu::complex_exchange;
}

arguments! {
    /// What the kernel of odd pairs takes, which adds them to U.
    OddPairs {
        /// See [`First::a`].
        a: *const f64,
        /// The pairs, those of an igp beside each other.
        pairs: *const Odd,
        /// Where those of each igp that has any begin, and the end.
        begins: *const u32,
        /// See [`First::w`].
        w: *const f64,
        /// See [`First::u`].
        u: *mut f64,
        /// How many igp have any.
        columns: u32,
        /// See [`First::steps`].
        steps: u32,
        /// See [`First::count`].
        count: u32,
        /// See [`First::fragments`].
        fragments: u32,
        /// See [`First::group`].
        group: u32,
        /// See [`First::right`].
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

arguments! {
    /// What the kernel that makes V of A takes.
    Gather {
        /// See [`First::a`].
        a: *const f64,
        /// The row of A of each igp, none where it is [`NO_ROW`].
        rows: *const u32,
        /// Coulomb interaction of each igp.
        vcoul: *const f64,
        /// What the items' terms are weighed by.
        weights: *const f64,
        /// Right images of V, one for each item.
        v: *mut f64,
        /// See [`First::steps`].
        steps: u32,
        /// Items.
        count: u32,
        /// See [`First::fragments`].
        fragments: u32,
        /// See [`First::group`].
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

/// Threads of a block of [`OddPairs`] and [`Gather`].
pub const THREADS: u32 = 128;

arguments! {
    /// What the kernel of the second product takes.
    Second {
        /// Left images of U, one for each item.
        u: *const f64,
        /// Right images of V, one for each item.
        v: *const f64,
        /// Sums, `[slot][m][l]` of real and imaginary part, to which are added those of the slot's items.
        sums: *mut f64,
        /// Items; item i is of slot `i % slots`.
        items: u32,
        /// Slots.
        slots: u32,
        /// Steps of igp.
        steps: u32,
        /// Left fragments of U, a multiple of a block's.
        left: u32,
        /// Right fragments of V, a multiple of a block's.
        right: u32,
    }
    gpp_offdiag_second = gpu::second;
}

/// Tile of the first product: 96 l by 64 igp.
pub const TILE: Tile = Tile { m: 3, n: 2, across: 2, along: 4 };
/// Of the second.
pub const TILE_SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4 };

/// Symbols of the first product's kernels: of real poles and of complex ones, for `sch` and for `ssx`.
pub const FIRST: [[&str; 2]; 2] = [
    ["gpp_offdiag_hole", "gpp_offdiag_exchange"],
    ["gpp_offdiag_complex_hole", "gpp_offdiag_complex_exchange"],
];

/// Words of a right image of real poles and of complex ones.
pub const WORDS: [u32; 2] = [3, 4];

/// Symbol of the kernel of odd pairs.
pub const ODD: &str = "gpp_offdiag_odd";

/// Symbol of the kernel that makes V.
pub const GATHER: &str = "gpp_offdiag_gather";

/// Symbol of the second product's kernel.
pub const SECOND: &str = "gpp_offdiag_second";

/// Tiles of igp whose blocks are neighbours: blocks that run at once then read few poles and few A.
const NEIGHBOURS: u32 = 12;

/// Threads of a block of a kernel by its symbol, none of others.
#[cfg(not(target_arch = "nvptx64"))]
pub fn threads(symbol: &str) -> Option<u32> {
    match symbol {
        ODD | GATHER => Some(THREADS),
        SECOND => Some(TILE_SECOND.threads()),
        _ => FIRST.as_flattened().contains(&symbol).then_some(TILE.threads()),
    }
}

/// Rows that follow each other.
struct InOrder {
    left: *const f64,
    right: *const f64,
    left_stride: usize,
    right_stride: usize,
}

impl Rows for InOrder {
    #[inline(always)]
    fn next(&mut self) -> (*const f64, *const f64) {
        let now = (self.left, self.right);
        self.left = self.left.wrapping_add(self.left_stride);
        self.right = self.right.wrapping_add(self.right_stride);
        now
    }
}

/// Rows of every so manyth item.
struct OfSlot {
    rows: InOrder,
    step: u32,
    steps: u32,
    left_jump: usize,
    right_jump: usize,
}

impl Rows for OfSlot {
    #[inline(always)]
    fn next(&mut self) -> (*const f64, *const f64) {
        if self.step == self.steps {
            self.step = 0;
            self.rows.left = self.rows.left.wrapping_add(self.left_jump);
            self.rows.right = self.rows.right.wrapping_add(self.right_jump);
        }
        self.step += 1;
        self.rows.next()
    }
}

/// A block's tile, column and item; no counts are zero, which the compiler does not know.
#[inline(always)]
fn split(block: u32, tiles: u32, columns: u32) -> (u32, u32, u32) {
    let (tiles, columns) = (tiles.max(1), columns.max(1));
    (block % tiles, block / tiles % columns, block / tiles / columns)
}

impl First {
    /// Blocks of a launch.
    pub fn blocks(&self) -> u32 {
        self.right / TILE.right() * self.columns()
    }

    /// Tiles of l, of all items.
    #[inline(always)]
    fn columns(&self) -> u32 {
        (self.count * self.fragments).div_ceil(TILE.left())
    }

    /// Tile of igp and tile of l of a block.
    #[inline(always)]
    #[expect(
        clippy::manual_clamp,
        reason = "of a clamped width the compiler does not see that it is not zero"
    )]
    fn place(&self, block: u32) -> (u32, u32) {
        let (tiles, columns) = (self.right / TILE.right(), self.columns().max(1));
        let before = block / columns / NEIGHBOURS * NEIGHBOURS;
        let (at, width) = (block - before * columns, (tiles - before).min(NEIGHBOURS).max(1));
        (before + at % width, at / width)
    }

    /// The rows of a block.
    #[inline(always)]
    fn rows(&self, words: u32, block: u32) -> impl Rows {
        let (igp, column) = self.place(block);
        let (first, row) = (column * TILE.left(), self.group.max(1));
        let before = (first / row) as usize * self.steps as usize * row as usize;
        InOrder {
            left: self.a.wrapping_add((before + (first % row) as usize) * LEFT as usize),
            right: self.poles.wrapping_add((igp * TILE.right() * words * RIGHT) as usize),
            left_stride: (self.group * LEFT) as usize,
            right_stride: (self.right * words * RIGHT) as usize,
        }
    }

    /// Sums and stores the tile of one warp of a block.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) of these kernels; all lanes of the warp come here, with stages of the
    /// block's rows.
    #[inline(always)]
    unsafe fn warp<P: Make<WORDS>, const WORDS: usize>(
        &self,
        stages: &mut impl Stages,
        block: u32,
        warp: u32,
    ) {
        const M: usize = TILE.m as usize;
        const N: usize = TILE.n as usize;
        let (igp, column) = self.place(block);
        let (across, along) = TILE.of_warp(warp);
        let (m0, n0) = (across * TILE.m, along * TILE.n);
        let first = column * TILE.left() + m0;
        let each = self.fragments.max(1);
        // What is behind the last item is summed with its poles, and not stored.
        let of = |fragment: u32| (fragment / each).min(self.count - 1) as usize;
        // SAFETY: this function's own contract.
        unsafe {
            let w = [*self.w.add(of(first)), *self.w.add(of(first + TILE.m - 1))];
            let limits = Limits { first: self.first, sexcut: self.sexcut };
            let (steps, cuts) = (self.steps, P::CUTS && (w[0] < 0.0 || w[1] < 0.0));
            let sums = match (each - first % each, cuts) {
                (1, true) => products::<P, WORDS, M, N, 1>(stages, steps, limits, w, m0, n0),
                (2, true) => products::<P, WORDS, M, N, 2>(stages, steps, limits, w, m0, n0),
                (_, true) => products::<P, WORDS, M, N, M>(stages, steps, limits, w, m0, n0),
                (1, false) => {
                    products::<P::Uncut, WORDS, M, N, 1>(stages, steps, limits, w, m0, n0)
                }
                (2, false) => {
                    products::<P::Uncut, WORDS, M, N, 2>(stages, steps, limits, w, m0, n0)
                }
                (_, false) => {
                    products::<P::Uncut, WORDS, M, N, M>(stages, steps, limits, w, m0, n0)
                }
            };
            let igp = (igp * TILE.right() + n0) * COLUMNS;
            unrolled::<M>(|m| {
                let fragment = first + m as u32;
                let item = fragment / each;
                if item < self.count {
                    let image = (item * self.right) as usize * (each * LEFT) as usize;
                    let l = fragment % each * ROWS;
                    unrolled::<N>(|n| {
                        unrolled::<4>(|element| {
                            for of in 0..LANES {
                                let (row, column) = sum(lane(of), element as u32);
                                let igp = igp + n as u32 * COLUMNS + column;
                                let at = left((l + row) as usize, igp as usize, each as usize);
                                let to = self.u.add(image + at);
                                let [re, im] = complex(&sums[m][n], element, of);
                                *to = re;
                                *to.add(LEFT as usize / 2) = im;
                            }
                        });
                    });
                }
            });
        }
    }
}

impl Second {
    /// Blocks of a launch.
    pub fn blocks(&self, tile: Tile) -> u32 {
        self.right / tile.right() * (self.left / tile.left()) * self.slots
    }

    /// Tile of m, tile of l, and slot of a block.
    #[inline(always)]
    fn place(&self, tile: Tile, block: u32) -> (u32, u32, u32) {
        split(block, self.right / tile.right(), self.left / tile.left())
    }

    /// The steps of a slot.
    #[inline(always)]
    fn steps(&self, slot: u32) -> u32 {
        (self.items + self.slots - 1 - slot).checked_div(self.slots).unwrap_or(0) * self.steps
    }

    /// The rows of a block.
    #[inline(always)]
    fn rows(&self, tile: Tile, block: u32) -> impl Rows {
        let (m, l, slot) = self.place(tile, block);
        let (left, right) = ((self.left * LEFT) as usize, (self.right * 2 * RIGHT) as usize);
        let first = slot as usize * self.steps as usize;
        let skipped = (self.slots as usize - 1) * self.steps as usize;
        OfSlot {
            rows: InOrder {
                left: self.u.wrapping_add(first * left + (l * tile.left() * LEFT) as usize),
                right: self.v.wrapping_add(first * right + (m * tile.right() * 2 * RIGHT) as usize),
                left_stride: left,
                right_stride: right,
            },
            step: 0,
            steps: self.steps,
            left_jump: skipped * left,
            right_jump: skipped * right,
        }
    }

    /// Sums the tile of one warp of a block, and adds it to what is stored.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) of these kernels; all lanes of the warp come here, with stages of the
    /// block's rows.
    #[inline(always)]
    unsafe fn warp<const M: usize, const N: usize>(
        &self,
        tile: Tile,
        stages: &mut impl Stages,
        block: u32,
        warp: u32,
    ) {
        let (m, l, slot) = self.place(tile, block);
        let (across, along) = tile.of_warp(warp);
        let (m0, n0) = (across * M as u32, along * N as u32);
        let none = Limits { first: 0, sexcut: 0 };
        // SAFETY: this function's own contract.
        unsafe {
            let sums =
                products::<Given, 2, M, N, M>(stages, self.steps(slot), none, [0.0; 2], m0, n0);
            let (ls, ms) = ((self.left * ROWS) as usize, (self.right * COLUMNS) as usize);
            let to = self.sums.add(slot as usize * ls * ms * 2);
            let (l, m) = ((l * tile.left() + m0) * ROWS, (m * tile.right() + n0) * COLUMNS);
            unrolled::<M>(|i| {
                unrolled::<N>(|j| {
                    unrolled::<4>(|element| {
                        for of in 0..LANES {
                            let (row, column) = sum(lane(of), element as u32);
                            let l = (l + i as u32 * ROWS + row) as usize;
                            let m = (m + j as u32 * COLUMNS + column) as usize;
                            let to = to.add(2 * (m * ls + l));
                            let [re, im] = complex(&sums[i][j], element, of);
                            *to += re;
                            *to.add(1) += im;
                        }
                    });
                });
            });
        }
    }
}

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
    use super::super::poles::{ComplexExchange, ComplexHole, Exchange, Hole};
    use super::super::stages::Ring;
    use super::*;
    use crate::intrinsics::{block, lane};

    macro_rules! first {
        ($($name:ident: $make:ty, $words:literal;)+) => {$(
            /// An entry's block.
            ///
            /// # Safety
            /// The launch contract.
            #[inline(always)]
            pub unsafe fn $name(arguments: First) {
                // SAFETY: the launch contract.
                unsafe {
                    let (rows, steps) = (arguments.rows($words, block()), arguments.steps);
                    let mut ring = Ring::new(rows, const { TILE.extent($words) }, steps, TILE.warps());
                    arguments.warp::<$make, $words>(&mut ring, block(), lane() / WARP);
                }
            }
        )+};
    }

    first! {
        hole: Hole, 3;
        exchange: Exchange<true>, 3;
        complex_hole: ComplexHole, 4;
        complex_exchange: ComplexExchange<true>, 4;
    }

    /// A thread of the kernel of odd pairs.
    ///
    /// # Safety
    /// The launch contract.
    #[inline(always)]
    pub unsafe fn odd(arguments: OddPairs) {
        // SAFETY: the launch contract.
        unsafe { arguments.thread(block(), lane()) }
    }

    /// A thread of the kernel that makes V.
    ///
    /// # Safety
    /// The launch contract.
    #[inline(always)]
    pub unsafe fn gather(arguments: Gather) {
        // SAFETY: the launch contract.
        unsafe { arguments.element(block() * THREADS + lane()) }
    }

    /// The second product's block.
    ///
    /// # Safety
    /// The launch contract.
    #[inline(always)]
    pub unsafe fn second(arguments: Second) {
        const TILE: Tile = super::TILE_SECOND;
        // SAFETY: the launch contract.
        unsafe {
            let rows = arguments.rows(TILE, block());
            let (_, _, slot) = arguments.place(TILE, block());
            let steps = arguments.steps(slot);
            let mut ring = Ring::new(rows, TILE.extent(2), steps, TILE.warps());
            arguments.warp::<{ TILE.m as usize }, { TILE.n as usize }>(
                TILE,
                &mut ring,
                block(),
                lane() / WARP,
            );
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use super::super::stages::InPlace;
    use super::*;

    impl First {
        /// Runs the kernel here, block by block and warp by warp.
        ///
        /// # Safety
        /// The launch contract, with pointers of the host.
        pub unsafe fn run<P: Make<WORDS>, const WORDS: usize>(&self) {
            for block in 0..self.blocks() {
                for warp in 0..TILE.warps() {
                    let stages = &mut InPlace::new(self.rows(WORDS as u32, block));
                    // SAFETY: this function's own contract.
                    unsafe { self.warp::<P, WORDS>(stages, block, warp) };
                }
            }
        }
    }

    impl OddPairs {
        /// As [`First::run`].
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

    impl Gather {
        /// As [`First::run`].
        ///
        /// # Safety
        /// As there.
        pub unsafe fn run(&self) {
            // SAFETY: this function's own contract.
            (0..self.blocks() * THREADS).for_each(|index| unsafe { self.element(index) });
        }
    }

    impl Second {
        /// As [`First::run`].
        ///
        /// # Safety
        /// As there.
        pub unsafe fn run(&self) {
            let tile = TILE_SECOND;
            for block in 0..self.blocks(tile) {
                for warp in 0..tile.warps() {
                    // SAFETY: this function's own contract.
                    unsafe {
                        let stages = &mut InPlace::new(self.rows(tile, block));
                        self.warp::<{ TILE_SECOND.m as usize }, { TILE_SECOND.n as usize }>(
                            tile, stages, block, warp,
                        );
                    }
                }
            }
        }
    }
}
