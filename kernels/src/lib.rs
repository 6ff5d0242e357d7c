//! The generalized plasmon-pole (GPP) self-energy kernel of BerkeleyGW, version by version.
//!
//! For each energy `iw` the kernel sums, over bands `n`, over `igp` (G′) and over `ig` (G),
//!
//! ```text
//! asx(iw) −= vcoul_loc(igp) · occ(n) · ssx · M
//! ach(iw) += vcoul_loc(igp) ·   ½    · sch · M        M = conj(aqsm_local(igp,n)) · aqsn(ig,n)
//! ```
//!
//! where `ssx` and `sch` depend on the plasmon-pole mode `wtilde(ig,igp)`, on `eps(ig,igp)` and on
//! the band's energy `wx(iw,n)`; [`formula`] has the definition.
//!
//! This source builds twice: for `nvptx64`, where every version has kernel entries, one for each number
//! of energies or one for all, and for the CPU, where the bodies run one emulated thread after the other ([`reduction`]).
//!
//! Read `versions/paper.rs` first: v0 to v8 in order, each a whole loop. `versions/after_paper.rs` has the faster ones, from v9
//! on, which share the tiles of [`tiling`]. [`sigma`] sums any number of energies, [`offdiag`] has Σ as a matrix.
//! "Lines of the nest" in a header are those of the loop nest in docs/kernel.md.
//!
//! # The launch contract
//!
//! Conditions of every kernel launch, on the GPU or in the emulator. The code that launches a kernel keeps them, and all
//! unsafe functions of this crate rely on them: they are kernels or parts of kernels, called by all threads of a block,
//! or of a warp, alike if they meet at a barrier or exchange values, with indices within the dimensions.
//!
//! 1. **Arrays.** Every pointer of the arguments ([`arrays`]) is valid for the dimensions passed with it, in the
//!    kernel's [`arrays::Layout`], on the GPU aligned to 16 bytes. Nobody writes the arrays that are read while the
//!    launch runs, and nobody else touches those that are written.
//! 2. **Dimensions.** `nbands`, `ngpown`, `ncouls` and `nw` are positive and [`kernel::Kernel::exceeded`] finds
//!    nothing: no array holds 2³² elements or more, padding included, no collapsed loop has 2³² iterations or more, and
//!    no grid 2³² threads.
//! 3. **Energies.** `iw` plus the energies of the entry is at most `nw`; a kernel of [`kernel::Energies::Together`] has
//!    `iw = 0` and the entry of `nw` energies. One of [`kernel::Energies::UpTo`] has one entry, which sums all `nw`;
//!    they are no more than it names.
//! 4. **Grid.** The grid has [`tiling::Grid::blocks`] blocks of [`tiling::Grid::threads`] threads, both
//!    one-dimensional, as [`kernel::Kernel::grid`] says for the dimensions; a block is 16 whole warps at most. All
//!    threads of a block are launched, and what a body does for all of them alike (barriers, stages, the sum of the
//!    block) it reaches with all of them.
//! 5. **Constant memory.** A kernel with [`plan::EnergiesFrom::ConstantMemory`] finds the energies of all bands,
//!    [`plan::CONSTANT`] at most, in the variable [`plan::SYMBOL`] of its own module; in the emulator behind
//!    [`plan::Plan::energies`].
//! 6. **Plan.** A kernel of [`arrays::Layout::Planned`] takes the plan of these bands and of these poles ([`plan`]):
//!    `plain ≤ occupied ≤ far_begin ≤ nbands`. Its mask and its fallback pairs are those for the kernel's kind of poles
//!    ([`kernel::Kernel::poles`]); every other pole is of that kind. `fallback_begins` holds `ngpown + 1` ascending
//!    offsets into `fallback_pairs`, and `fallback_blocks` is the number that the grid has. A kernel of
//!    [`arrays::Layout::Listed`] takes the same with [`lists`] of all other pairs that contribute instead of the mask.
//! 7. **Clusters.** A kernel of [`arrays::Layout::Clusters`] takes clusters of its pairs, none of them empty; `ig` and
//!    `igp` of the pairs are in range, and poles within the bounds of their cluster, if it has any. For a kernel for
//!    any poles `poles` and `clusters` point to [`sigma::Pole`]s of complex numbers and to [`sigma::Disc`]s.
//! 8. **Sums.** `partials` holds [`tiling::Grid::blocks`]` · `[`kernel::Kernel::values`] numbers; the second stage has
//!    one block of [`reduction::THREADS`] threads for each value of each group, `partials` of as many runs of `count`,
//!    and `sums` of as many numbers.
//! 9. **Kernels.** The kernel is one of [`versions::ALL`] or [`versions::OTHERS`], or one of these with
//!    another cap on its registers. Its layout, loops and threads are those that its entries were written for.
#![no_std]
#![allow(clippy::assign_op_pattern, reason = "sums are written as in the formula")]
#![allow(missing_docs, reason = "fields and functions have the reference's names")]
#![allow(
    unsafe_op_in_unsafe_fn,
    clippy::missing_safety_doc,
    reason = "all unsafe functions have the launch contract, above"
)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx, asm_experimental_arch))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

/// A variable in the shared memory of a block, of so many bytes, and its address as a function of the same name.
macro_rules! shared_memory {
    (align $align:literal $name:ident: $bytes:expr) => {
        #[cfg(not(target_arch = "nvptx64"))]
        const _: u32 = $bytes;

        #[cfg(target_arch = "nvptx64")]
        core::arch::global_asm!(
            concat!(".shared .align ", $align, " .b8 ", stringify!($name), "[{bytes}];"),
            bytes = const $bytes,
        );

        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        fn $name() -> u32 {
            let base: u32;
            // SAFETY: takes an address.
            unsafe {
                core::arch::asm!(
                    concat!("mov.u32 {}, ", stringify!($name), ";"),
                    out(reg32) base,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            base
        }
    };
}

/// Instructions of the GPU for which Rust has no word, and the same on the CPU.
#[cfg_attr(target_arch = "nvptx64", path = "intrinsics/ptx.rs")]
#[cfg_attr(not(target_arch = "nvptx64"), path = "intrinsics/cpu.rs")]
pub mod intrinsics;

pub mod arrays;
pub mod formula;
pub mod kernel;
pub mod lists;
pub mod offdiag;
pub mod peaks;
pub mod plan;
pub mod reduction;
pub mod sigma;
pub mod single;
pub mod threads;
pub mod tiling;
pub mod versions;

/// The folder of this crate, for the build script that compiles it to PTX.
pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
