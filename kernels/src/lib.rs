//! The General Plasmon Pole (GPP) self-energy kernel of BerkeleyGW, version by version.
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
//! of energies, and for the host, where the bodies run one emulated thread after the other ([`emulator`]).
//! [`versions`] lists the versions; each is a module that holds exactly what it changes.
//! [`contract`] lists the conditions of every launch.
//!
//! Read [`versions::v0`] first: a loop, a term, a kernel and its entries. [`versions::v3`] changes the term,
//! [`versions::v4`] the loop, [`versions::v8`] the launch. [`versions::v9`] and later are composed of types
//! ([`tiling`]). `entries.rs` makes the entries. "Lines of the nest" in a header are those of the loop nest in
//! docs/kernel.md.
//!
//! [`offdiag`] has the kernels of Σ as a matrix.
//!
//! The modules stand below in groups: a module uses only its own group and those before it, and no
//! two modules use each other.
#![no_std]
#![allow(clippy::assign_op_pattern, reason = "sums stand as the formula has them")]
#![allow(
    missing_docs,
    reason = "fields and functions with the reference's names say what they are"
)]
#![allow(
    unsafe_op_in_unsafe_fn,
    clippy::missing_safety_doc,
    reason = "the launch contract is that of every unsafe function"
)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx, asm_experimental_arch))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod contract;

/// What the GPU's instructions do and Rust has no word for, on the GPU and here. Nothing of this project is used by it.
#[cfg_attr(target_arch = "nvptx64", path = "intrinsics/ptx.rs")]
#[cfg_attr(not(target_arch = "nvptx64"), path = "intrinsics/host.rs")]
pub mod intrinsics;

pub mod arguments;
pub mod arrays;
pub mod formula;
pub mod grid;
pub mod layout;
pub mod plan;

pub use formula as sums;
pub use plan as table;

pub mod ceilings;
pub mod cells;
pub mod discs;
pub mod lists;
pub mod pairs;
pub mod reduction;
pub mod relaid;
pub mod tiling;

#[cfg(not(target_arch = "nvptx64"))]
pub mod emulator;
mod entries;
pub mod extents;
pub mod kernel;
pub mod versions;

pub mod offdiag;

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
