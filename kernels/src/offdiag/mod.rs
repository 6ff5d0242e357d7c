//! Σ as a matrix: kernels for `SX_lm` and `CH_lm` of many bands l, m at once, on FP64 matrix instructions.
//!
//! With `A_l(ig,n)` the matrix elements of band l, `w = E − e(n)`, and `P(ig,igp)` either `ssx` or `sch` at `w`
//! (see [`crate::formula`]):
//!
//! ```text
//! U(l,igp)  = Σ_ig  A_l(ig,n) · P(ig,igp)                          the first product, nearly all of the work
//! Σ(l,m)   += Σ_igp U(l,igp) · V(igp,m)     V = vcoul · conj(A_m(igp,n))     the second
//! ```
//!
//! An *item* is one P: a band n, an energy and one of `ssx` and `sch`. P is never stored: a warp makes the elements
//! of its next product in the registers in which the matrix instruction wants them.
//!
//! - [`fragment`]: which lane holds which element, and the instruction; what a warp holds is on the host all its lanes
//!   at once, so that tests run this source.
//! - [`image`]: arrays in the order in which warps read them: fragment by fragment.
//! - [`poles`]: how an element of P is made.
//! - [`stages`]: how images come to shared memory while products run.
//! - [`products`]: the loop, the same for both products.
//! - [`first`], [`odd`], [`gather`], [`second`]: the kernels, in the order of their launches; [`fold`] ends a part.
//! - [`versions`]: what versions differ in; they, one idea each.

pub mod first;
pub mod fragment;
pub mod image;
pub mod poles;
pub mod products;
pub mod second;
pub mod stages;
mod steps;
pub mod versions;

pub use steps::*;
pub use versions as version;

/// Kernels that all versions have in common, with the threads of a block.
pub const COMMON: [(&str, u32); 3] =
    [(odd::SYMBOL, odd::THREADS), (gather::SYMBOL, gather::THREADS), (fold::SYMBOL, fold::THREADS)];

/// Symbols of all kernels, with the threads of a block.
pub fn symbols() -> impl Iterator<Item = (&'static str, u32)> {
    versions::ALL.into_iter().flat_map(versions::Version::kernels).chain(COMMON)
}
