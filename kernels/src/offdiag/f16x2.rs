//! Σ alone in single precision: the first product on FP16 matrix instructions, `mma.sync.m16n8k16` of sm_80 with sums of
//! FP32. All else is as in FP64: the second product, fallback pairs, and items that these kernels do not make.
//!
//! A number is two of FP16, `x = hi + lo`, and a real product three: `lo·hi + hi·lo + hi·hi`. P, of real poles, is made
//! in FP32 in the registers of the instruction's first operand, its 16 rows are igp; A is the second operand, its 8
//! columns are l. Both are scaled by powers of two, A for each l and n, P for each igp.
//!
//! Matrix instructions do not round their sums but cut them off. So the products of one *step*, 16 ig, are summed from zero
//! and then added by an ordinary addition; after [`PART`] steps sums are added to U in FP64.
//!
//! # The bound of the error
//!
//! With `u = 2⁻²⁴`, of a real part or an imaginary one, relative to `Σ_ig |Re·Re| + |Im·Im|` of A and P:
//!
//! - 4u of A in two numbers of 11 bits each, 4u of P, 4u of `lo·lo`, which is left out
//! - 6u of P itself: 2u of `w ∓ ω̃`, from two numbers of 24 bits each, 1.65u of `rcp.approx.ftz.f32`, u of ω̃·eps, u of
//!   the product
//! - 68u of the instructions of a step: each cuts 16 products and what it adds them to off at 2⁻²³ of the largest, at
//!   worst. The four with a `lo` come first, and are 2⁻¹¹ of the two that follow: u more
//! - [`PART`]·u of the additions of a part
//!
//! That is [`LOST`], which has √2 for the two parts and all products of roundings. Numbers of FP16 below 2⁻¹⁴ are
//! off by up to [`FLOOR`] of the largest of A of the l or of P of the igp.

#[cfg(not(target_arch = "nvptx64"))]
use core::array::from_fn;
use core::hint::select_unpredictable;

use crate::arrays::arguments;
use crate::intrinsics::{as_halves, from_halves, opt_barrier_u32, single_reciprocal};
use crate::offdiag::mma::{LANES, PerLane, ROWS, lane, position_c};
use crate::offdiag::pack::{A_FRAGMENT, THREADS, packed_a};
use crate::threads::each;

/// Steps whose sum is in FP32.
pub const PART: u32 = 64;

/// What the first product may lose of Σ|terms|: see above.
pub const LOST: f64 = 1.4143 * (4.0 + 4.0 + 4.0 + 6.0 + 69.0 + PART as f64) / (1u64 << 24) as f64;

/// What a number of FP16 may be off, of the bound that it is scaled by: half of 2⁻²⁴, of 2¹³ at least.
pub const FLOOR: f64 = 1.0 / (1u64 << 38) as f64;

/// ig of a step.
pub const DEPTH: u32 = 16;

/// Fragments of 16 l, and of 16 igp, of a block; a warp has one of igp, and all l.
pub const FRAGMENTS: u32 = 8;

/// igp of a block.
pub const IGP: u32 = FRAGMENTS * ROWS;

pub const PRODUCT_THREADS: u32 = 32 * FRAGMENTS;

/// Words of a fragment of packed halves and of packed poles.
pub const HALVES: usize = 4 * 128;
pub const POLES: usize = 4 * 256;

/// Bytes of shared memory of a block: two stages of a step's operands.
pub const SHARED: u32 = 2 * (A_STAGE + POLE_STAGE);
const A_STAGE: u32 = FRAGMENTS * HALVES as u32 * 4;
const POLE_STAGE: u32 = FRAGMENTS * POLES as u32 * 4;

pub const KERNELS: [(&str, u32); 3] =
    [(PackHalves::SYMBOL, THREADS), (SYMBOLS[0], PRODUCT_THREADS), (SYMBOLS[1], PRODUCT_THREADS)];

/// Of `sch` of an empty band and of `sch − 2·ssx` of a full one with `w ≥ 0`.
pub const SYMBOLS: [&str; 2] = ["gpp_offdiag_f16x2_hole", "gpp_offdiag_f16x2_occupied"];

/// The power of two that brings a bound of numbers to between 2¹³ and 2¹⁴, and its inverse.
#[inline(always)]
pub fn scales(bound: f64) -> [f64; 2] {
    const BIAS: i32 = 1023;
    let exponent = ((bound.to_bits() >> 52) as i32 - BIAS).clamp(-1000, 1000) - 13;
    [-exponent, exponent].map(|exponent| f64::from_bits(((BIAS + exponent) as u64) << 52))
}

/// Word of the first number of packed poles of (ig, igp) in its step, of `fragments` of igp: the element is
/// `w` of two numbers, then ω̃·eps.
pub const fn packed_pole(ig: usize, igp: usize) -> usize {
    let (k, row) = (ig % 16, igp % 16);
    let element = 2 * (row / 8 + k / 8 * 2) + k % 2;
    igp / 16 * POLES + (element * 32 + row % 8 * 4 + k % 8 / 2) * 4
}

arguments! {
    /// Packs A of a group in pieces of FP16: `[step][8 l][re, im][lane]` of `hi` of four ig, then `lo`.
    PackHalves {
        /// Packed A, and behind it, from `norms` on, a bound of the numbers of each l.
        a: *const f64,
        norms: *const f64,
        halves: *mut u32,
        /// k-tiles of packed A.
        steps: u32,
        group: u32,
    }
    gpp_offdiag_f16x2_pack = |pack| pack.thread(crate::intrinsics::block(), crate::intrinsics::thread_in_block());
}

impl PackHalves {
    pub const SYMBOL: &str = "gpp_offdiag_f16x2_pack";

    pub fn blocks(&self) -> u32 {
        self.steps.div_ceil(2) * self.group
    }

    /// A fragment of 16 l: 16 bytes of each thread.
    #[inline(always)]
    unsafe fn thread(&self, block: u32, thread: u32) {
        let group = self.group.max(1);
        let (step, fragment) = (block / group, block % group);
        let (eight, part, lane) = (thread / 64, thread / 32 % 2, thread % 32);
        let l = (fragment * ROWS + eight * 8 + lane / 4) as usize;
        let [times, _] = scales(*self.norms.add(l));
        let mut words = [0; 4];
        for half in 0..2 {
            let tile = 2 * step + half;
            if tile < self.steps {
                let k = tile * 8 + lane % 4 * 2;
                let pair = [0, 1].map(|next| {
                    let at = packed_a(l, (k + next) as usize, group as usize);
                    times * *self.a.add(at + part as usize * A_FRAGMENT as usize / 2)
                });
                let hi = as_halves(pair.map(|x| x as f32));
                let [first, second] = from_halves(hi).map(f64::from);
                words[half as usize] = hi;
                words[half as usize + 2] =
                    as_halves([(pair[0] - first) as f32, (pair[1] - second) as f32]);
            }
        }
        *self.halves.cast::<[u32; 4]>().add((block * THREADS + thread) as usize) = words;
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub unsafe fn run(&self) {
        for block in 0..self.blocks() {
            (0..THREADS).for_each(|thread| self.thread(block, thread));
        }
    }
}

arguments! {
    /// `U = A · P` of items of one kind. Fields of the same names are those of
    /// [`ProductU`](crate::offdiag::product::ProductU).
    ProductF16x2 {
        /// A in pieces of FP16, and what the numbers of each l are bounded by.
        halves: *const u32,
        norms: *const f64,
        /// Packed poles, `[step][16 igp][element][lane]`: see [`packed_pole`].
        poles: *const f32,
        /// What P of each igp is multiplied with to be that of the poles.
        unscale: *const f64,
        w: *const f64,
        u: *mut f64,
        /// Steps of 16 ig.
        steps: u32,
        count: u32,
        fragments: u32,
        group: u32,
        right: u32,
        /// The smallest `|w − ω̃|` of the first branch.
        first: f32,
    }
    gpp_offdiag_f16x2_hole = |product| product.warp::<Hole>(crate::intrinsics::block(), 0);
    gpp_offdiag_f16x2_occupied = |product| product.warp::<Occupied>(crate::intrinsics::block(), 0);
}

/// What an item's P is: `1/(w − ω̃)` or `1/(w + ω̃)`, times ω̃·eps.
trait Kind {
    fn inverse(w: [f32; 2], wtilde: [f32; 2], first: f32) -> f32;
}

struct Hole;

struct Occupied;

impl Kind for Hole {
    #[inline(always)]
    fn inverse(w: [f32; 2], wtilde: [f32; 2], first: f32) -> f32 {
        let wdiff = (w[0] - wtilde[0]) + (w[1] - wtilde[1]);
        select_unpredictable(wdiff.abs() < first, 0.0, single_reciprocal(wdiff))
    }
}

impl Kind for Occupied {
    #[inline(always)]
    fn inverse(w: [f32; 2], wtilde: [f32; 2], _: f32) -> f32 {
        single_reciprocal((w[0] + wtilde[0]) + (w[1] + wtilde[1]))
    }
}

/// `x` to 2⁻⁴⁸ of it.
#[inline(always)]
pub fn in_two_floats(x: f64) -> [f32; 2] {
    let upper = x as f32;
    [upper, (x - f64::from(upper)) as f32]
}

/// A warp's first operand of a step: real part, imaginary part, and its negative, each in pieces `hi` and `lo`.
type OperandP = [[[PerLane<u32>; 4]; 2]; 3];

/// Real and imaginary part of 16 igp by 8 l.
type Sums = [[PerLane<f32>; 4]; 2];

impl ProductF16x2 {
    /// Tiles of igp and of l, those of an item next to each other.
    #[expect(clippy::manual_div_ceil, reason = "that of a variable takes a branch")]
    #[inline(always)]
    fn tiles(&self) -> [u32; 2] {
        let of_item = (self.fragments + FRAGMENTS - 1) / FRAGMENTS;
        [(self.right * 8).div_ceil(IGP), of_item.max(1)]
    }

    pub fn blocks(&self) -> u32 {
        let [igp, of_item] = self.tiles();
        igp * of_item * self.count
    }

    /// Tile of igp, item and tile of its l of a block: blocks that run at once read few poles and few A.
    #[inline(always)]
    #[expect(
        clippy::manual_clamp,
        reason = "of a clamped width the compiler does not see that it is not zero"
    )]
    fn tile(&self, block: u32) -> [u32; 3] {
        const NEIGHBOURS: u32 = 12;
        let [tiles, of_item] = self.tiles();
        let columns = (of_item * self.count).max(1);
        let before = block / columns / NEIGHBOURS * NEIGHBOURS;
        let (at, width) = (block - before * columns, (tiles - before).min(NEIGHBOURS).max(1));
        let column = at / width;
        [before + at % width, column / of_item, column % of_item]
    }

    #[inline(always)]
    unsafe fn warp<K: Kind>(&self, block: u32, index: u32) {
        let [igp, item, l] = self.tile(block);
        let l = l * FRAGMENTS;
        let first = (item * self.fragments + l) as usize * HALVES;
        let mut operands = Operands {
            a: self.halves.wrapping_add(first).cast(),
            poles: self.poles.wrapping_add((igp * FRAGMENTS) as usize * POLES).cast(),
            a_stride: self.group as usize * HALVES / 4,
            pole_stride: (self.tiles()[0] * FRAGMENTS) as usize * POLES / 4,
            steps: self.steps,
            place: Place::new(index),
        };
        let w = in_two_floats(*self.w.add(item as usize));
        operands.start();
        let mut held = [[[[0; LANES]; 4]; 2]; 3];
        each::<4>(|at| self.make::<K>(&operands, 0, at, w, &mut held));
        let mut step = 0;
        while step < self.steps {
            let end = self.steps.min(step + PART);
            let is_first = step == 0;
            let mut sums: [[Sums; 4]; 4] = [[[[[0.0; LANES]; 4]; 2]; 4]; 4];
            while step < end {
                operands.consume(step);
                let p = held.map(|pieces| {
                    pieces.map(|registers| registers.map(|lanes| lanes.map(opt_barrier_u32)))
                });
                let mut next = p;
                each::<4>(|at| {
                    // On the CPU those that are not stored are left out.
                    if cfg!(target_arch = "nvptx64") || l + 2 * (at as u32) < self.fragments {
                        each::<4>(|eight| {
                            let a =
                                [0, 1].map(|part| operands.a(step, (4 * at + eight) as u32, part));
                            let products = multiplied(&p, a);
                            each::<2>(|part| {
                                each::<4>(|element| {
                                    for of in 0..LANES {
                                        let sum = &mut sums[at][eight][part][element][of];
                                        *sum = *sum + products[part][element][of];
                                    }
                                });
                            });
                        });
                    }
                    // Of the next step: while one warp makes it, the instructions of others run, and its own.
                    self.make::<K>(&operands, step + 1, at, w, &mut next);
                });
                held = next;
                step += 1;
            }
            each::<4>(|at| {
                each::<2>(|half| {
                    let fragment = l + 2 * at as u32 + half as u32;
                    if fragment < self.fragments {
                        let both = [&sums[at][2 * half], &sums[at][2 * half + 1]];
                        let igp = igp * IGP + operands.place.warp * ROWS;
                        self.add(both, item, fragment, igp, is_first);
                    }
                });
            });
        }
    }

    /// Makes register `at` of the first operand of a step: two elements of P.
    #[inline(always)]
    unsafe fn make<K: Kind>(
        &self,
        operands: &Operands,
        step: u32,
        at: usize,
        w: [f32; 2],
        p: &mut OperandP,
    ) {
        let poles = [0, 1].map(|next| operands.pole(step, 2 * at as u32 + next));
        for of in 0..LANES {
            let elements = [0, 1].map(|next: usize| {
                let [upper, lower, re, im] = poles[next][of].map(f32::from_bits);
                let inverse = K::inverse(w, [upper, lower], self.first);
                [re * inverse, im * inverse]
            });
            each::<2>(|part| {
                let pair = [elements[0][part], elements[1][part]];
                let hi = as_halves(pair);
                let [first, second] = from_halves(hi);
                let lo = as_halves([pair[0] - first, pair[1] - second]);
                p[part][0][at][of] = hi;
                p[part][1][at][of] = lo;
                if part == 1 {
                    p[2][0][at][of] = hi ^ 0x8000_8000;
                    p[2][1][at][of] = lo ^ 0x8000_8000;
                }
            });
        }
    }

    /// Adds the sums of 16 igp by 16 l to U, or stores the first.
    #[expect(clippy::needless_range_loop, reason = "a lane has a place too")]
    #[inline(always)]
    unsafe fn add(&self, sums: [&Sums; 2], item: u32, fragment: u32, igp: u32, is_first: bool) {
        let fragments = self.fragments as usize;
        let u = self.u.add((item * self.right) as usize * fragments * A_FRAGMENT as usize);
        let norms = self.norms.add((item as usize * fragments + fragment as usize) * ROWS as usize);
        each::<4>(|element| {
            for of in 0..LANES {
                let (row, column) = position_c(lane(of), element as u32);
                let igp = igp + row;
                if igp < self.right * 8 {
                    let of_p = *self.unscale.add(igp as usize);
                    let at = packed_a((fragment * ROWS + column) as usize, igp as usize, fragments);
                    each::<2>(|half| {
                        let [_, of_a] = scales(*norms.add(column as usize + 8 * half));
                        each::<2>(|part| {
                            let to = u.add(at + half + part * A_FRAGMENT as usize / 2);
                            let sum = f64::from(sums[half][part][element][of]) * of_p * of_a;
                            *to = if is_first { sum } else { *to + sum };
                        });
                    });
                }
            }
        });
    }

    /// All warps of all blocks on the CPU.
    #[cfg(not(target_arch = "nvptx64"))]
    pub unsafe fn run(&self, is_occupied: bool) {
        for block in 0..self.blocks() {
            // Those whose igp are stored.
            let first = self.tile(block)[0] * FRAGMENTS;
            for warp in (0..FRAGMENTS).filter(|warp| (first + warp) * ROWS < self.right * 8) {
                match is_occupied {
                    true => self.warp::<Occupied>(block, warp),
                    false => self.warp::<Hole>(block, warp),
                }
            }
        }
    }
}

/// The products of a step with 8 l, from zero: those with a `lo` first.
#[inline(always)]
unsafe fn multiplied(p: &OperandP, a: [[[PerLane<u32>; 2]; 2]; 2]) -> Sums {
    let [re, im, minus] = p;
    let mut sums = [[[0.0; LANES]; 4]; 2];
    // Re·Re − Im·Im, and Re·Im + Im·Re.
    let pieces = [(1, 0), (0, 1), (0, 0)];
    each::<3>(|at| {
        let (of_p, of_a) = pieces[at];
        multiply(&mut sums[0], &re[of_p], &a[0][of_a]);
        multiply(&mut sums[1], &re[of_p], &a[1][of_a]);
        multiply(&mut sums[0], &minus[of_p], &a[1][of_a]);
        multiply(&mut sums[1], &im[of_p], &a[0][of_a]);
    });
    sums
}

/// `c += a · b`, 16 × 16 by 16 × 8.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn multiply(c: &mut [PerLane<f32>; 4], a: &[PerLane<u32>; 4], b: &[PerLane<u32>; 2]) {
    core::arch::asm!(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
        inout(reg32) c[0][0], inout(reg32) c[1][0], inout(reg32) c[2][0], inout(reg32) c[3][0],
        in(reg32) a[0][0], in(reg32) a[1][0], in(reg32) a[2][0], in(reg32) a[3][0],
        in(reg32) b[0][0], in(reg32) b[1][0],
        options(pure, nomem, nostack, preserves_flags),
    );
}

/// The same for all lanes: products are exact, their sum is cut off.
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn multiply(c: &mut [PerLane<f32>; 4], a: &[PerLane<u32>; 4], b: &[PerLane<u32>; 2]) {
    let a = a.map(|register| register.map(from_halves));
    let b = b.map(|register| register.map(from_halves));
    for (at, lane) in (0..4).flat_map(|at| (0..LANES).map(move |lane| (at, lane))) {
        let (row, column) = position_c(lane as u32, at as u32);
        let (row, column) = (row as usize, column as usize);
        let products: [f64; 16] = from_fn(|k| {
            let (half, of, next) = (k / 8, k % 8 / 2, k % 2);
            let a = a[row / 8 + 2 * half][row % 8 * 4 + of][next];
            f64::from(a) * f64::from(b[half][column * 4 + of][next])
        });
        let exact = f64::from(c[at][lane]) + products.iter().sum::<f64>();
        let rounded = exact as f32;
        let is_above = f64::from(rounded).abs() > exact.abs();
        c[at][lane] = f32::from_bits(rounded.to_bits() - u32::from(is_above));
    }
}

/// The operands of a block's steps: on the GPU copied to shared memory, A one step ahead, poles two.
struct Operands {
    a: *const [u32; 4],
    poles: *const [u32; 4],
    a_stride: usize,
    pole_stride: usize,
    steps: u32,
    place: Place,
}

#[cfg(not(target_arch = "nvptx64"))]
struct Place {
    warp: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Place {
    unsafe fn new(index: u32) -> Place {
        Place { warp: crate::offdiag::mma::warp(index) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Operands {
    unsafe fn start(&self) {}

    unsafe fn consume(&mut self, _: u32) {}

    /// `hi` and `lo` of 8 l and the 16 ig of a step.
    unsafe fn a(&self, step: u32, eight: u32, part: u32) -> [[PerLane<u32>; 2]; 2] {
        let first = step as usize * self.a_stride + ((2 * eight + part) * 32) as usize;
        let words: PerLane<[u32; 4]> = from_fn(|of| *self.a.add(first + of));
        [0, 2].map(|piece| [0, 1].map(|half| from_fn(|of| words[of][piece + half])))
    }

    /// Element `at` of a lane's poles of a step.
    unsafe fn pole(&self, step: u32, at: u32) -> PerLane<[u32; 4]> {
        let step = step.min(self.steps - 1) as usize;
        let first = step * self.pole_stride + ((self.place.warp * 8 + at) * 32) as usize;
        from_fn(|of| *self.poles.add(first + of))
    }
}

#[cfg(target_arch = "nvptx64")]
struct Place {
    warp: u32,
    thread: u32,
    /// Addresses of the calling lane's first 16 bytes of A and of poles.
    a: u32,
    poles: u32,
    base: u32,
}

#[cfg(target_arch = "nvptx64")]
impl Place {
    #[inline(always)]
    unsafe fn new(_: u32) -> Place {
        let base: u32;
        core::arch::asm!("mov.u32 {}, gpp_offdiag_stages;", out(reg32) base, options(pure, nomem, nostack));
        let thread = crate::intrinsics::thread_in_register();
        let (warp, a) = (thread / 32, base + thread % 32 * 16);
        let poles = a + 2 * A_STAGE + warp * POLES as u32 * 4;
        Place { warp, thread, a, poles, base }
    }
}

#[cfg(target_arch = "nvptx64")]
impl Operands {
    /// Copies poles of step 0, then what the first step needs.
    #[inline(always)]
    unsafe fn start(&self) {
        self.fetch_poles(0);
        self.fetch(0);
        crate::intrinsics::copied::<0>();
        crate::intrinsics::barrier();
    }

    /// Waits for A of a step and poles of the next; what was read before is filled again.
    #[inline(always)]
    unsafe fn consume(&mut self, step: u32) {
        crate::intrinsics::copied::<0>();
        crate::intrinsics::barrier();
        self.fetch(step + 1);
    }

    #[inline(always)]
    unsafe fn fetch(&self, step: u32) {
        if step < self.steps {
            let from = self.a.wrapping_add(step as usize * self.a_stride);
            self.copy::<4>(self.place.base + step % 2 * A_STAGE, from);
        }
        self.fetch_poles(step + 1);
        crate::intrinsics::commit_copies();
    }

    #[inline(always)]
    unsafe fn fetch_poles(&self, step: u32) {
        if step < self.steps {
            let from = self.poles.wrapping_add(step as usize * self.pole_stride);
            let to = self.place.base + 2 * A_STAGE + step % 2 * POLE_STAGE;
            self.copy::<4>(to, from);
            self.copy::<4>(to + POLE_STAGE / 2, from.wrapping_add(POLE_STAGE as usize / 32));
        }
    }

    /// 16 bytes of each thread, `N` times.
    #[inline(always)]
    unsafe fn copy<const N: usize>(&self, to: u32, from: *const [u32; 4]) {
        let thread = self.place.thread;
        each::<N>(|at| {
            let at = at as u32 * PRODUCT_THREADS + thread;
            crate::intrinsics::copy_to_shared(to + 16 * at, from.cast(), at);
        });
    }

    #[inline(always)]
    unsafe fn a(&self, step: u32, eight: u32, part: u32) -> [[PerLane<u32>; 2]; 2] {
        let at = self.place.a + step % 2 * A_STAGE + (2 * eight + part) * 512;
        let [hi, lo] = crate::intrinsics::load_shared_singles(at);
        [hi, lo].map(|pair| [[pair.re.to_bits()], [pair.im.to_bits()]])
    }

    #[inline(always)]
    unsafe fn pole(&self, step: u32, at: u32) -> PerLane<[u32; 4]> {
        let at = self.place.poles + step % 2 * POLE_STAGE + at * 512;
        let [first, second] = crate::intrinsics::load_shared_singles(at);
        [[first.re, first.im, second.re, second.im].map(f32::to_bits)]
    }
}
