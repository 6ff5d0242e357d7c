//! The GPU's side: registers, barriers and memory spaces.

use core::arch::{asm, nvptx};

use num_complex::{Complex32, Complex64};

pub const WARP: u32 = 32;

macro_rules! special_registers {
    ($($(#[$about:meta])* $name:ident: $register:ident;)+) => {$(
        $(#[$about])*
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reading a special register has no precondition.
            unsafe { nvptx::$register() as u32 }
        }
    )+};
}

special_registers! {
    /// The calling thread of its block.
    thread_in_block: _thread_idx_x;
    /// The calling thread's block.
    block: _block_idx_x;
    /// Threads of a block.
    threads: _block_dim_x;
    /// Blocks of the grid.
    blocks: _grid_dim_x;
}

/// As [`thread_in_block`], held in a register: ptxas reads that one again in a loop, and waits some 20 cycles. All lanes of
/// the warp come here.
#[inline(always)]
pub unsafe fn thread_in_register() -> u32 {
    let value;
    asm!("shfl.sync.idx.b32 {0}, {1}, {1}, 31, 0xffffffff;", out(reg32) value, in(reg32) thread_in_block(),
        options(pure, nomem, nostack, preserves_flags));
    value
}

/// Waits for all threads of the block; what they stored to shared memory before is visible after.
#[inline(always)]
pub unsafe fn barrier() {
    nvptx::_syncthreads()
}

/// Waits for all lanes of the warp; what they stored to shared memory before is visible after.
#[inline(always)]
pub unsafe fn warp_barrier() {
    asm!("bar.warp.sync 0xffffffff;", options(nostack, preserves_flags))
}

macro_rules! shuffles {
    ($($(#[$about:meta])* $name:ident: $mode:literal, $lane:ident;)+) => {$(
        $(#[$about])*
        #[inline(always)]
        pub unsafe fn $name(x: f64, $lane: u32) -> f64 {
            let bits = x.to_bits();
            let (low, high): (u32, u32);
            // SAFETY: the launch contract: all lanes of the warp come here.
            unsafe {
                asm!(concat!("shfl.sync.", $mode, ".b32 {}, {}, {}, 31, 0xffffffff;"),
                     out(reg32) low, in(reg32) bits as u32, in(reg32) $lane,
                     options(nostack, preserves_flags));
                asm!(concat!("shfl.sync.", $mode, ".b32 {}, {}, {}, 31, 0xffffffff;"),
                     out(reg32) high, in(reg32) (bits >> 32) as u32, in(reg32) $lane,
                     options(nostack, preserves_flags));
            }
            f64::from_bits(u64::from(high) << 32 | u64::from(low))
        }
    )+};
}

shuffles! {
    /// The value that the lane `width` further up holds.
    shuffle_down: "down", width;
    /// The value that a lane holds.
    shuffle: "idx", lane;
}

/// The sum over the lanes of the warp, as a tree, for the first lane.
#[inline(always)]
pub unsafe fn warp_sum(x: f64) -> f64 {
    let mut sum = x;
    let mut width = WARP / 2;
    while width > 0 {
        sum += shuffle_down(sum, width);
        width /= 2;
    }
    sum
}

/// A bit of each lane of the warp.
#[inline(always)]
pub unsafe fn vote(holds: bool) -> u32 {
    let bits;
    asm!("{{ .reg .pred holds; setp.ne.u32 holds, {}, 0; vote.sync.ballot.b32 {}, holds, 0xffffffff; }}",
         in(reg32) u32::from(holds), out(reg32) bits, options(nostack, preserves_flags));
    bits
}

/// `holds`, in a form that tells ptxas that it is the same in all lanes of the warp.
///
/// # Safety
/// All lanes of the warp call this with the same value.
#[inline(always)]
pub unsafe fn uniform(holds: bool) -> bool {
    vote(holds) != 0
}

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

/// An optimization barrier: `x` is computed here. Without it LLVM sinks the last step of a product into the branch that
/// uses it, and its factors, twice as many registers, stay live across the one before.
#[inline(always)]
pub fn opt_barrier(x: f64) -> f64 {
    let mut value = x;
    // SAFETY: an empty instruction.
    unsafe {
        asm!("// {}", inout(reg64) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// As [`opt_barrier`]: some releases of LLVM sink the remainder of an index into a loop, a division for each iteration.
#[inline(always)]
pub fn opt_barrier_u32(x: u32) -> u32 {
    let mut value = x;
    // SAFETY: an empty instruction.
    unsafe {
        asm!("// {}", inout(reg32) value, options(nomem, nostack, preserves_flags));
    }
    value
}

#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned(f64, f64);

/// Reads element `index` in one 16-byte load.
#[inline(always)]
pub unsafe fn load(array: *const Complex64, index: u32) -> Complex64 {
    let Aligned(re, im) = *array.cast::<Aligned>().add(index as usize);
    Complex64::new(re, im)
}

/// Reads pair `index` through L2 only; never merged with another read.
#[inline(always)]
pub unsafe fn load_from_l2(tile: *const [f64; 2], index: u32) -> [f64; 2] {
    let (low, high);
    asm!("ld.global.cg.v2.f64 {{{}, {}}}, [{}];",
         out(reg64) low, out(reg64) high, in(reg64) tile.add(index as usize),
         options(readonly, nostack, preserves_flags));
    [low, high]
}

/// Reads pair `index` through L1; never merged with another read.
#[inline(always)]
pub unsafe fn load_from_l1(tile: *const [f64; 2], index: u32) -> [f64; 2] {
    let (low, high);
    asm!("ld.global.ca.v2.f64 {{{}, {}}}, [{}];",
         out(reg64) low, out(reg64) high, in(reg64) tile.add(index as usize),
         options(readonly, nostack, preserves_flags));
    [low, high]
}

/// Reads a number of the constant memory. If the address is the same for the whole grid it is an operand of
/// arithmetic and takes no register.
#[inline(always)]
pub unsafe fn load_const(address: u32) -> f64 {
    let number;
    asm!("ld.const.f64 {}, [{}];", out(reg64) number, in(reg32) address,
         options(pure, readonly, nostack, preserves_flags));
    number
}

#[inline(always)]
pub unsafe fn store_shared(address: u32, value: f64) {
    asm!("st.shared.f64 [{}], {};", in(reg32) address, in(reg64) value,
         options(nostack, preserves_flags));
}

#[inline(always)]
pub unsafe fn load_shared(address: u32) -> f64 {
    let value;
    asm!("ld.shared.f64 {}, [{}];", out(reg64) value, in(reg32) address,
         options(nostack, preserves_flags));
    value
}

#[inline(always)]
pub unsafe fn store_shared_pair(address: u32, value: Complex64) {
    asm!("st.shared.v2.f64 [{}], {{{}, {}}};",
         in(reg32) address, in(reg64) value.re, in(reg64) value.im,
         options(nostack, preserves_flags));
}

/// Begins to copy 16 bytes to shared memory, without a register for them.
///
/// # Safety
/// As [`store_shared_pair`] and [`load`]; both addresses are multiples of 16, and 16 bytes are there. They are read after
/// [`copied`] of the thread that copies.
#[inline(always)]
pub unsafe fn copy_to_shared<T>(address: u32, from: *const T) {
    asm!("cp.async.cg.shared.global [{}], [{}], 16;", in(reg32) address, in(reg64) from,
         options(nostack, preserves_flags));
}

/// Ends a group of what the thread copies.
#[inline(always)]
pub fn commit_copies() {
    // SAFETY: it has no precondition.
    unsafe { asm!("cp.async.commit_group;", options(nostack, preserves_flags)) }
}

/// Waits for all groups that the thread copies but the last `AHEAD`.
#[inline(always)]
pub fn copied<const AHEAD: u32>() {
    // SAFETY: it has no precondition.
    unsafe { asm!("cp.async.wait_group {};", const AHEAD, options(nostack, preserves_flags)) }
}

#[inline(always)]
pub unsafe fn load_shared_pair(address: u32) -> Complex64 {
    let (re, im);
    asm!("ld.shared.v2.f64 {{{}, {}}}, [{}];",
         out(reg64) re, out(reg64) im, in(reg32) address,
         options(readonly, nostack, preserves_flags));
    Complex64::new(re, im)
}

/// `1 / x`, off by 1.65 roundings at most, and zero if that is subnormal.
#[inline(always)]
pub fn single_reciprocal(x: f32) -> f32 {
    let one;
    // SAFETY: a pure instruction on registers.
    unsafe {
        asm!("rcp.approx.ftz.f32 {}, {};", out(reg32) one, in(reg32) x,
             options(pure, nomem, nostack, preserves_flags));
    }
    one
}

/// As [`load_const`].
#[inline(always)]
pub unsafe fn load_const_single(address: u32) -> f32 {
    let number;
    asm!("ld.const.f32 {}, [{}];", out(reg32) number, in(reg32) address,
         options(pure, readonly, nostack, preserves_flags));
    number
}

#[inline(always)]
pub unsafe fn load_shared_single(address: u32) -> Complex32 {
    let (re, im);
    asm!("ld.shared.v2.f32 {{{}, {}}}, [{}];",
         out(reg32) re, out(reg32) im, in(reg32) address,
         options(readonly, nostack, preserves_flags));
    Complex32::new(re, im)
}

#[inline(always)]
pub unsafe fn load_shared_singles(address: u32) -> [Complex32; 2] {
    let (re, im, second_re, second_im);
    asm!("ld.shared.v4.f32 {{{}, {}, {}, {}}}, [{}];",
         out(reg32) re, out(reg32) im, out(reg32) second_re, out(reg32) second_im,
         in(reg32) address, options(readonly, nostack, preserves_flags));
    [Complex32::new(re, im), Complex32::new(second_re, second_im)]
}
