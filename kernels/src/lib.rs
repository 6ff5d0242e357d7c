//! The General Plasmon Pole (GPP) self-energy kernel of BerkeleyGW, version by version.
//!
//! For each energy `iw` the kernel sums, over bands `n`, rows `igp` (G′) and columns `ig` (G),
//!
//! ```text
//! asx(iw) −= vcoul_loc(igp) · occ(n) · ssx · M
//! ach(iw) += vcoul_loc(igp) ·   ½    · sch · M        M = conj(aqsm_local(igp,n)) · aqsn(ig,n)
//! ```
//!
//! where `ssx` and `sch` depend on the plasmon-pole mode `wtilde(ig,igp)`, on `eps(ig,igp)` and on
//! the band's energy `wx(iw,n)`; [`formula`] has the definition.
//!
//! The same source builds twice: for `nvptx64`, where every version is a kernel entry, and for the
//! host, where the same bodies run one emulated thread after the other. [`registry::VERSIONS`] lists
//! the versions; each has a file of its own in [`versions`] that holds exactly what it changes.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx, asm_experimental_arch))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;

pub mod arrays;
pub mod ceilings;
#[cfg(not(target_arch = "nvptx64"))]
pub mod counted;
pub mod formula;
pub mod grid;
pub mod plan;
pub mod quotient;
pub mod real;
pub mod reduce;
pub mod registry;
pub mod target;
pub mod tiles;
pub mod versions;

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
