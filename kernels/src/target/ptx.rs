//! The GPU's side: the device intrinsics, all of them here.

use core::arch::{asm, global_asm, nvptx};

use num_complex::Complex64;

use super::WARP;
use crate::arrays::{Arrays, Sums};
use crate::ceilings::{self, Level};
use crate::grid::{Thread, each};
use crate::plan::Table;
use crate::reduce::{self, MAX_VALUES, VALUES, strided_sum};
use crate::tiles::staging::{Array, Stage};
use crate::tiles::{Place, RawBand};

const MAX_WARPS: usize = 16;

global_asm!(
    ".shared .align 8 .b8 gpp_scratch[{bytes}];",
    bytes = const MAX_WARPS * MAX_VALUES * 8,
);

/// Square root, correctly rounded.
#[inline(always)]
pub fn sqrt(x: f64) -> f64 {
    let root;
    // SAFETY: a pure instruction on registers.
    unsafe {
        asm!("sqrt.rn.f64 {}, {};", out(reg64) root, in(reg64) x,
             options(pure, nomem, nostack, preserves_flags));
    }
    root
}

/// `1 / x` to 20 bits, from the upper word of `x`.
#[inline(always)]
pub fn approximate_reciprocal(x: f64) -> f64 {
    let approximate;
    // SAFETY: a pure instruction on registers.
    unsafe {
        asm!("rcp.approx.ftz.f64 {}, {};", out(reg64) approximate, in(reg64) x,
             options(pure, nomem, nostack, preserves_flags));
    }
    approximate
}

/// The upper word of `|x|`: the sign goes with the comparison that follows.
#[inline(always)]
pub fn upper(x: f64) -> f32 {
    let upper;
    // SAFETY: pure instructions on registers.
    unsafe {
        asm!("{{ .reg .f32 lower; mov.b64 {{lower, {0}}}, {1}; abs.f32 {0}, {0}; }}",
             out(reg32) upper, in(reg64) x, options(pure, nomem, nostack, preserves_flags));
    }
    upper
}

/// Has `x` computed here. Without it LLVM sinks the last step of a product into the branch that
/// uses it, and its factors, twice as many registers, stay live across the one before.
#[inline(always)]
pub fn settle(x: f64) -> f64 {
    let mut settled = x;
    // SAFETY: an empty instruction.
    unsafe {
        asm!("// {}", inout(reg64) settled, options(nomem, nostack, preserves_flags));
    }
    settled
}

/// As [`settle`]: some releases of LLVM sink the remainder that an index comes from into the loop that
/// uses it, a division for each iteration.
#[inline(always)]
pub fn settle_index(x: u32) -> u32 {
    let mut settled = x;
    // SAFETY: an empty instruction.
    unsafe {
        asm!("// {}", inout(reg32) settled, options(nomem, nostack, preserves_flags));
    }
    settled
}

#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned(f64, f64);

/// Reads element `at` in one 16-byte load.
///
/// # Safety
/// `array` is 16-byte aligned, as device allocations are, and holds more than `at` elements.
#[inline(always)]
pub unsafe fn load(array: *const Complex64, at: u32) -> Complex64 {
    // SAFETY: in range and aligned by the caller's contract.
    let Aligned(re, im) = unsafe { *array.cast::<Aligned>().add(at as usize) };
    Complex64::new(re, im)
}

global_asm!(
    ".const .align 8 .b8 gpp_table[{bytes}];",
    bytes = const Table::CONSTANT * 8,
);

/// Reads number `at` of the constant memory, which holds the table too. Where `at` is the same for
/// the whole grid the number is an operand of arithmetic and takes no register.
///
/// # Safety
/// The constant memory holds it.
#[inline(always)]
pub unsafe fn constant(_: *const f64, at: u32) -> f64 {
    let number;
    // SAFETY: in range by the caller's contract; nothing writes it while a kernel runs.
    unsafe {
        asm!("{{ .reg .b32 at; mov.b32 at, gpp_table; add.u32 at, at, {1}; ld.const.f64 {0}, [at]; }}",
             out(reg64) number, in(reg32) at * 8,
             options(pure, readonly, nostack, preserves_flags));
    }
    number
}

/// Reads pair `at` at the level named; never merged with another read.
///
/// # Safety
/// `tile` is 16-byte aligned device memory and holds more than `at` pairs.
#[inline(always)]
pub unsafe fn read(tile: *const [f64; 2], at: u32, level: Level) -> [f64; 2] {
    let (low, high);
    // SAFETY: in range and aligned by the caller's contract; the level is a constant after inlining.
    unsafe {
        let address = tile.add(at as usize);
        match level {
            Level::L2 => asm!("ld.global.cg.v2.f64 {{{}, {}}}, [{}];",
                out(reg64) low, out(reg64) high, in(reg64) address,
                options(readonly, nostack, preserves_flags)),
            Level::L1 => asm!("ld.global.ca.v2.f64 {{{}, {}}}, [{}];",
                out(reg64) low, out(reg64) high, in(reg64) address,
                options(readonly, nostack, preserves_flags)),
        }
    }
    [low, high]
}

/// The FMA ceiling: every thread's chains, kept if their sum were not a number.
///
/// # Safety
/// `sink` holds one element.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn gpp_ceiling_fma(factor: f64, term: f64, sink: *mut f64) {
    let sum = ceilings::fma_chains(thread(), factor, term);
    if sum.is_nan() {
        // SAFETY: the caller's contract.
        unsafe { *sink = sum };
    }
}

/// The L2 ceiling, and the memory's for a large buffer: all threads of the grid share `count` pairs.
///
/// # Safety
/// `buffer` holds `count` pairs, `sink` one element.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn gpp_ceiling_read_l2(
    buffer: *const [f64; 2],
    count: u32,
    passes: u32,
    sink: *mut f64,
) {
    let Thread { index, count: threads, .. } = thread();
    // SAFETY: the caller's contract.
    unsafe {
        let sum = ceilings::read_passes(buffer, count, index, threads, passes, Level::L2);
        if sum.is_nan() {
            *sink = sum;
        }
    }
}

/// The L1 ceiling: every block reads the same tile of `count` pairs again and again.
///
/// # Safety
/// `tile` holds `count` pairs, `sink` one element.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn gpp_ceiling_read_l1(
    tile: *const [f64; 2],
    count: u32,
    passes: u32,
    sink: *mut f64,
) {
    // SAFETY: special registers; the caller's contract.
    unsafe {
        let thread = nvptx::_thread_idx_x() as u32;
        let threads = nvptx::_block_dim_x() as u32;
        let sum = ceilings::read_passes(tile, count, thread, threads, passes, Level::L1);
        if sum.is_nan() {
            *sink = sum;
        }
    }
}

/// The calling thread.
#[inline(always)]
pub fn thread() -> Thread {
    // SAFETY: reading special registers has no precondition.
    unsafe {
        Thread::of(
            nvptx::_block_idx_x() as u32,
            nvptx::_thread_idx_x() as u32,
            nvptx::_grid_dim_x() as u32,
            nvptx::_block_dim_x() as u32,
        )
    }
}

/// Columns of a tile at most.
const MAX_TILE: usize = 3;

/// Bytes of an element of a stage.
const ELEMENT: u32 = 16;

// One for each number of warps, so that a kernel holds no more than it fills.
global_asm!(
    ".shared .align 16 .b8 gpp_stage_4[{four}];",
    ".shared .align 16 .b8 gpp_stage_8[{eight}];",
    ".shared .align 16 .b8 gpp_stage_16[{sixteen}];",
    four = const 2 * Stage::<MAX_TILE, 4, 0>::LENGTH * ELEMENT,
    eight = const 2 * Stage::<MAX_TILE, 8, 0>::LENGTH * ELEMENT,
    sixteen = const 2 * Stage::<1, 16, 0>::LENGTH * ELEMENT,
);

/// Calls `step` with each band of `begin..end`.
///
/// A block stages as many bands at a time as it has warps ([`crate::tiles::staging`]), in two buffers in
/// shared memory: the next ones are on their way from global memory while these are summed.
///
/// # Safety
/// Called by all threads of a block of `W` warps alike, with places of one tile; arrays valid for
/// their extents in the planned order, `end <= nbands`.
#[inline(always)]
pub unsafe fn each_staged_band<const T: usize, const W: usize, const E: usize>(
    a: &Arrays,
    place: Place,
    begin: u32,
    end: u32,
    mut step: impl FnMut(u32, &RawBand<T, E>),
) {
    const { assert!((W == 4 || W == 8 || W == 16) && T <= MAX_TILE) };
    if begin >= end {
        return;
    }
    let bands = Stage::<T, W, E>::BANDS;
    let row_bytes = Stage::<T, W, E>::ROW * ELEMENT;
    // SAFETY: special registers; global elements are clamped to the arrays' extents, shared ones are
    // within the buffers by their slot; a buffer is written only after the barrier that all its readers
    // have passed.
    unsafe {
        let thread = nvptx::_thread_idx_x() as u32;
        let [first, second] = Stage::<T, W, E>::shares(thread, place, a.ngpown, a.ncouls);
        let array = match second.array {
            Array::Aqsn => a.aqsn,
            Array::AqsmLocal => a.aqsm_local,
            Array::Wx => a.wx.cast(),
        };
        let fetch = |n: u32| {
            (load(a.aqsn, first.element(n, a.nbands)), load(array, second.element(n, a.nbands)))
        };
        let base = stage::<W>();
        let put = |buffer: u32, (one, other): (Complex64, Complex64)| {
            store_shared(base + buffer + first.slot * ELEMENT, one);
            store_shared(base + buffer + second.slot * ELEMENT, other);
        };

        let read = |row: u32| {
            let element = |slot: u32| load_shared(row + slot * ELEMENT);
            let pairs: [Complex64; 2] = core::array::from_fn(|pair| {
                if E > 0 { element(Stage::<T, W, E>::wx(pair)) } else { Complex64::ZERO }
            });
            RawBand {
                aqsn: element(Stage::<T, W, E>::aqsn(thread)),
                aqsm: core::array::from_fn(|t| element(Stage::<T, W, E>::aqsm_local(thread, t))),
                wx: core::array::from_fn(|e| {
                    if e % 2 == 0 { pairs[e / 2].re } else { pairs[e / 2].im }
                }),
            }
        };

        let buffer_bytes = bands * row_bytes;
        let mut buffer = 0;
        put(buffer, fetch(begin));
        nvptx::_syncthreads();
        let mut n = begin;
        loop {
            let more = end - n > bands;
            // The last time too, for nothing: without a branch.
            let next = fetch(n + bands);
            let stop = (n + bands).min(end);
            let mut row = base + buffer;
            // Two bands at a time leave ptxas more to choose from.
            while n + 1 < stop {
                let (first, second) = (read(row), read(row + row_bytes));
                step(n, &first);
                step(n + 1, &second);
                row += 2 * row_bytes;
                n += 2;
            }
            if n < stop {
                step(n, &read(row));
                n += 1;
            }
            if !more {
                break;
            }
            buffer = buffer_bytes - buffer;
            put(buffer, next);
            nvptx::_syncthreads();
        }
        // Before the first buffer is filled again.
        nvptx::_syncthreads();
    }
}

/// Shared-memory address of the stage.
#[inline(always)]
fn stage<const W: usize>() -> u32 {
    let base: u32;
    // SAFETY: takes an address.
    unsafe {
        match W {
            4 => asm!("mov.u32 {}, gpp_stage_4;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
            8 => asm!("mov.u32 {}, gpp_stage_8;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
            _ => asm!("mov.u32 {}, gpp_stage_16;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
        }
    }
    base
}

/// Stores 16 bytes to shared memory.
///
/// # Safety
/// The address is aligned and within a shared variable.
#[inline(always)]
unsafe fn store_shared(address: u32, value: Complex64) {
    // SAFETY: the caller's contract.
    unsafe {
        asm!("st.shared.v2.f64 [{}], {{{}, {}}};",
             in(reg32) address, in(reg64) value.re, in(reg64) value.im,
             options(nostack, preserves_flags));
    }
}

/// Loads 16 bytes from shared memory.
///
/// # Safety
/// The address is aligned and within a shared variable.
#[inline(always)]
unsafe fn load_shared(address: u32) -> Complex64 {
    let (re, im);
    // SAFETY: the caller's contract.
    unsafe {
        asm!("ld.shared.v2.f64 {{{}, {}}}, [{}];",
             out(reg64) re, out(reg64) im, in(reg32) address,
             options(readonly, nostack, preserves_flags));
    }
    Complex64::new(re, im)
}

/// Sums each of `sums` over the block and stores them as this block's entries of `partials`,
/// `(blocks, values)` with the values of energy `iw` from `iw · VALUES` on.
///
/// # Safety
/// Called once by all threads of a block of whole warps, `MAX_WARPS` at most; `partials` holds
/// `blocks · VALUES` values for each energy up to `iw + NW`.
#[inline(always)]
pub unsafe fn store_block_sums<const NW: usize>(sums: &Sums<f64, NW>, iw: u32, partials: *mut f64) {
    // SAFETY: special registers; the shared scratch holds MAX_WARPS rows of MAX_VALUES and each
    // warp's first lane writes its own row before the barrier; after it thread `value` alone
    // writes entry (block, iw·VALUES + value), which exists by the caller's contract.
    unsafe {
        let thread = nvptx::_thread_idx_x() as u32;
        let block = nvptx::_block_idx_x() as u32;
        let blocks = nvptx::_grid_dim_x() as u32;
        let warps = nvptx::_block_dim_x() as u32 / WARP;
        let row = thread / WARP * MAX_VALUES as u32;
        each::<NW>(|e| {
            let at = row + (e * VALUES) as u32;
            store_warp_sum(at, sums.asx[e].re);
            store_warp_sum(at + 1, sums.asx[e].im);
            store_warp_sum(at + 2, sums.ach[e].re);
            store_warp_sum(at + 3, sums.ach[e].im);
        });
        nvptx::_syncthreads();
        if thread < (NW * VALUES) as u32 {
            let value = iw * VALUES as u32 + thread;
            *partials.add((value * blocks + block) as usize) = sum_of_warps(thread, warps);
        }
    }
}

/// Second stage: block `value` sums that value over all blocks of the first stage.
///
/// # Safety
/// `partials` is `(count, values)`, `sums` has one element for each block of this grid.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn gpp_second_stage(
    partials: *const f64,
    count: u32,
    sums: *mut f64,
) {
    // SAFETY: this block reads its own column of `partials` and its first thread writes its own
    // element of `sums`; the scratch is used as in `store_block_sums`.
    unsafe {
        let thread = nvptx::_thread_idx_x() as u32;
        let value = nvptx::_block_idx_x() as u32;
        let column = partials.add((value * count) as usize);
        let sum = strided_sum(column, count, thread, reduce::THREADS);
        store_warp_sum(thread / WARP * MAX_VALUES as u32, sum);
        nvptx::_syncthreads();
        if thread == 0 {
            *sums.add(value as usize) = sum_of_warps(0, reduce::THREADS / WARP);
        }
    }
}

/// Sums `x` over the warp as a tree; its first lane stores the sum at `at` of the scratch.
#[inline(always)]
unsafe fn store_warp_sum(at: u32, x: f64) {
    let mut sum = x;
    let mut width = WARP / 2;
    while width > 0 {
        // SAFETY: all lanes of the warp are here.
        sum += unsafe { shuffle_down(sum, width) };
        width /= 2;
    }
    // SAFETY: `at` is inside the scratch by the callers' bounds.
    unsafe {
        if nvptx::_thread_idx_x() as u32 % WARP == 0 {
            asm!("st.shared.f64 [{}], {};", in(reg32) scratch(at), in(reg64) sum,
                 options(nostack, preserves_flags));
        }
    }
}

/// Adds up one column of the scratch, warp by warp.
#[inline(always)]
unsafe fn sum_of_warps(column: u32, warps: u32) -> f64 {
    let mut sum = 0.0;
    for warp in 0..warps {
        let x: f64;
        // SAFETY: inside the scratch, and written before the caller's barrier.
        unsafe {
            asm!("ld.shared.f64 {}, [{}];", out(reg64) x,
                 in(reg32) scratch(warp * MAX_VALUES as u32 + column),
                 options(nostack, preserves_flags));
        }
        sum += x;
    }
    sum
}

/// Shared-memory address of scratch element `at`.
#[inline(always)]
fn scratch(at: u32) -> u32 {
    let base: u32;
    // SAFETY: takes an address.
    unsafe {
        asm!("mov.u32 {}, gpp_scratch;", out(reg32) base,
             options(pure, nomem, nostack, preserves_flags));
    }
    base + at * 8
}

/// The value that the lane `width` further up holds.
#[inline(always)]
unsafe fn shuffle_down(x: f64, width: u32) -> f64 {
    let bits = x.to_bits();
    let (low, high): (u32, u32);
    // SAFETY: the whole warp takes part, by the callers' contract.
    unsafe {
        asm!("shfl.sync.down.b32 {}, {}, {}, 31, 0xffffffff;",
             out(reg32) low, in(reg32) bits as u32, in(reg32) width,
             options(nostack, preserves_flags));
        asm!("shfl.sync.down.b32 {}, {}, {}, 31, 0xffffffff;",
             out(reg32) high, in(reg32) (bits >> 32) as u32, in(reg32) width,
             options(nostack, preserves_flags));
    }
    f64::from_bits(u64::from(high) << 32 | u64::from(low))
}
