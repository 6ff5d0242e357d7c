//! Single precision: copies of matrix elements in FP32, and how a block stages their bands.
//!
//! A copy follows its array in the same memory: a row of each `ig` or `igp`, padded to whole tiles, for each band, then the
//! rows' scales. The elements of a row are scaled by a power of two, so that the largest is between 2¹⁹ and 2²⁰:
//! neither their products, nor these times a quotient, nor sums of those leave the range of FP32.

use core::array::from_fn;
use core::ops::Range;

use num_complex::{Complex32, Complex64};

use crate::arrays::{Arrays, Planned, arguments};
use crate::intrinsics::WARP;
use crate::threads::Thread;
use crate::tiling::{TilePlace, TileShape};

/// Four `igp` of each warp: 32 of a block, as many as it has `ig`.
pub const SHAPE: TileShape = TileShape { tile: 4, warps: 8 };

pub const TILE: usize = SHAPE.tile as usize;

/// Largest exponent of a scaled element.
const EXPONENT: i32 = 19;

/// Rows of a copy, padding included.
#[inline(always)]
pub const fn rows(of: u32) -> u32 {
    of.next_multiple_of(WARP)
}

/// Elements of FP64 that a copy takes, of a matrix of so many rows and bands.
pub const fn elements(of: u64, bands: u64) -> u64 {
    let rows = of.next_multiple_of(WARP as u64);
    rows * bands / 2 + rows / 4
}

/// A copy: where it is, and its rows.
#[derive(Clone, Copy)]
pub struct SingleCopy {
    pub elements: *const Complex32,
    pub rows: u32,
    nbands: u32,
}

impl SingleCopy {
    /// Of `aqsn`.
    #[inline(always)]
    pub unsafe fn of_aqsn(a: &Arrays) -> SingleCopy {
        SingleCopy::behind(a.aqsn, a.ncouls, a.ncouls, a.nbands)
    }

    /// Of `aqsm_local`.
    #[inline(always)]
    pub unsafe fn of_aqsm_local(a: &Arrays) -> SingleCopy {
        SingleCopy::behind(a.aqsm_local, Planned::rows(a.ngpown), a.ngpown, a.nbands)
    }

    /// Behind a matrix of this height, of whose rows the first `of` are copied.
    #[inline(always)]
    pub unsafe fn behind(
        matrix: *const Complex64,
        height: u32,
        of: u32,
        nbands: u32,
    ) -> SingleCopy {
        let end = matrix.add(height as usize * nbands as usize);
        SingleCopy { elements: end.cast(), rows: rows(of), nbands }
    }

    /// What an element of a row is divided by.
    #[inline(always)]
    pub unsafe fn scale(self, row: u32) -> f64 {
        let scales = self.elements.add(self.rows as usize * self.nbands as usize).cast::<f32>();
        (*scales.add(row as usize)).into()
    }
}

/// Threads of a block that make copies.
pub const COPY_THREADS: u32 = 256;

pub const COPY_SYMBOL: &str = "gpp_single_copy";

arguments! {
    SingleCopyArguments {
        /// The matrix, column-major, with room for its copy.
        matrix: *mut Complex64,
        height: u32,
        /// Rows that are copied.
        of: u32,
        nbands: u32,
    }
    gpp_single_copy = |arguments| copy(Thread::calling(), &arguments);
}

/// Makes a thread's share of the rows of a copy, its padding included.
#[inline(always)]
pub unsafe fn copy(thread: Thread, arguments: &SingleCopyArguments) {
    let SingleCopyArguments { matrix, height, of, nbands } = *arguments;
    let copy = SingleCopy::behind(matrix, height, of, nbands);
    for row in thread.strided(copy.rows) {
        let element = |n: u32| match row < of {
            true => *matrix.add(n as usize * height as usize + row as usize),
            false => Complex64::new(0.0, 0.0),
        };
        let mut largest = 0.0;
        for n in 0..nbands {
            let Complex64 { re, im } = element(n);
            let part = if re.abs() > im.abs() { re.abs() } else { im.abs() };
            largest = if part > largest { part } else { largest };
        }
        let (times, scale) = scales(largest);
        let to = copy.elements.cast_mut();
        for n in 0..nbands {
            let scaled = element(n) * times;
            *to.add(n as usize * copy.rows as usize + row as usize) =
                Complex32::new(scaled.re as f32, scaled.im as f32);
        }
        *to.add(copy.rows as usize * nbands as usize).cast::<f32>().add(row as usize) = scale;
    }
}

/// What a row with this largest element is multiplied with, and its inverse, which FP32 holds.
#[inline(always)]
pub fn scales(largest: f64) -> (f64, f32) {
    const BIAS: i32 = 1023;
    let power = |exponent: i32| f64::from_bits(((BIAS + exponent) as u64) << 52);
    let exponent = (largest.to_bits() >> 52) as i32 - BIAS;
    let exponent = exponent.clamp(-LARGEST_SCALE, LARGEST_SCALE) - EXPONENT;
    (power(-exponent), power(exponent) as f32)
}

/// The rows that are copied have largest elements within 2 to ± this.
pub const LARGEST_SCALE: i32 = 100;

/// One band: elements of the copies of `aqsn(ig,n)` and `aqsm_local(igp,n)`.
#[derive(Clone, Copy)]
pub struct SingleElements {
    pub aqsn: Complex32,
    pub aqsm: [Complex32; TILE],
}

impl SingleElements {
    #[inline(always)]
    pub fn matngmatmgp(&self, t: usize) -> Complex32 {
        self.aqsm[t].conj() * self.aqsn
    }
}

/// What a thread does with a band. A closure would become a function of its own that the three calls share.
pub trait BandStep {
    /// Bands of a part.
    const PART: u32;

    unsafe fn step(&mut self, n: u32, band: &SingleElements);

    /// Ends a part.
    fn end(&mut self);
}

/// Writes a block once for each `igp` of a tile.
macro_rules! unrolled {
    ($t:ident => $block:block) => {
        const { assert!($crate::single::TILE == 4) };
        $crate::single::unrolled! { [0 1 2 3] $t => $block }
    };
    ([$($at:literal)+] $t:ident => $block:block) => {
        $({
            let $t = $at;
            $block
        })+
    };
}
pub(crate) use unrolled;

/// A thread's tile, whose bands the block stages in shared memory; all of its threads call [`SinglePairs::bands`] alike.
#[derive(Clone, Copy)]
pub struct SinglePairs(pub TilePlace);

impl SinglePairs {
    /// Each thread reads its own.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    pub unsafe fn bands<S: BandStep>(self, a: &Arrays, range: Range<u32>, step: &mut S) {
        let (aqsn, aqsm) = (SingleCopy::of_aqsn(a), SingleCopy::of_aqsm_local(a));
        for n in range.clone() {
            let at = |copy: SingleCopy, row: u32| {
                *copy.elements.add(n as usize * copy.rows as usize + row as usize)
            };
            let band = SingleElements {
                aqsn: at(aqsn, self.0.ig),
                aqsm: from_fn(|t| at(aqsm, self.0.igp + t as u32)),
            };
            step.step(n, &band);
            if n + 1 == range.end || (n + 1 - range.start).is_multiple_of(S::PART) {
                step.end();
            }
        }
    }

    /// A block copies eight bands at a time to shared memory, two stages ahead of the one that it sums: 16 bytes
    /// each thread, one half of each warp of `aqsn`, the other of `aqsm_local`.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub unsafe fn bands<S: BandStep>(self, a: &Arrays, range: Range<u32>, step: &mut S) {
        use crate::intrinsics::{
            barrier, commit_copies, copied, copy_to_shared, load_shared_single,
            load_shared_singles, thread_in_block,
        };

        let (begin, end) = (range.start, range.end);
        if begin >= end {
            return;
        }
        let thread = thread_in_block();
        let (warp, lane) = (thread / WARP, thread % WARP);
        let (copy, first) = match lane < WARP / 2 {
            true => (SingleCopy::of_aqsn(a), self.0.ig - lane),
            false => (SingleCopy::of_aqsm_local(a), self.0.igp - warp * SHAPE.tile),
        };
        let row = first + lane % (WARP / 2) * 2;
        let base = gpp_single();
        // A stage past the end is committed empty, so that as many are under way whatever the range.
        let fetch = |n: u32, stage: u32| {
            let n = n + warp;
            if n < end {
                let from = copy.elements.add((n * copy.rows + row) as usize);
                copy_to_shared(base + stage + thread * PIECE, from);
            }
            commit_copies();
        };
        let own = [base + lane * PIECE / 2, base + BAND / 2 + warp * SHAPE.tile * PIECE / 2];
        let read = |band: u32| {
            let [first, second] = load_shared_singles(own[1] + band);
            let [third, fourth] = load_shared_singles(own[1] + band + PIECE);
            SingleElements {
                aqsn: load_shared_single(own[0] + band),
                aqsm: [first, second, third, fourth],
            }
        };
        fetch(begin, 0);
        fetch(begin + BANDS, STAGE);
        let (mut n, mut stage) = (begin, 0);
        const { assert!(S::PART.is_multiple_of(BANDS)) };
        // The copies go on from part to part.
        while n < end {
            let rest = end - n;
            let part = n + if rest < S::PART { rest } else { S::PART };
            while n < part {
                copied::<1>();
                // The stage that is filled now is the one that all threads have summed before this barrier.
                barrier();
                fetch(n + 2 * BANDS, if stage == 0 { 2 * STAGE } else { stage - STAGE });
                let stop = (n + BANDS).min(part);
                let mut band = stage;
                while n + 3 < stop {
                    let (first, second) = (read(band), read(band + BAND));
                    step.step(n, &first);
                    step.step(n + 1, &second);
                    let (first, second) = (read(band + 2 * BAND), read(band + 3 * BAND));
                    step.step(n + 2, &first);
                    step.step(n + 3, &second);
                    band += 4 * BAND;
                    n += 4;
                }
                while n < stop {
                    step.step(n, &read(band));
                    band += BAND;
                    n += 1;
                }
                stage = if stage == 2 * STAGE { 0 } else { stage + STAGE };
            }
            step.end();
        }
        // Before the first stage is filled again.
        barrier();
    }
}

/// Bytes that a thread copies at once: two elements.
const PIECE: u32 = 16;

/// Bands of a stage: one for each warp.
const BANDS: u32 = SHAPE.warps;

/// Bytes of a band: a piece for each lane.
const BAND: u32 = WARP * PIECE;

const STAGE: u32 = BANDS * BAND;

const _: () = assert!(SHAPE.igp() == WARP && TILE == 4);

shared_memory! { align 16 gpp_single: 3 * STAGE }
