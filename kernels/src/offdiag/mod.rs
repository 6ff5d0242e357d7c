//! Σ as a matrix: kernels for `SX_lm` and `CH_lm` of many bands l, m at once, on FP64 matrix instructions.
//!
//! With `A_l(ig,n)` the matrix elements of band l, `w = E − e(n)`, and `P(ig,igp)` either `ssx` or `sch` at `w`
//! (see [`crate::formula`]):
//!
//! ```text
//! U(l,igp)  = Σ_ig  A_l(ig,n) · P(ig,igp)                          nearly all of the work
//! Σ(l,m)   += Σ_igp U(l,igp) · V(igp,m)     V = vcoul · conj(A_m(igp,n))
//! ```
//!
//! An *item* is one P: a band n, an energy and one of `ssx` and `sch`. P is never stored: a warp makes the elements
//! of its next product in the registers in which the matrix instruction wants them. On the host a warp is all of its
//! lanes at once, so that tests run this source.
//!
//! - [`versions`]: the versions, and what they differ in.
//! - [`product`]: the kernels of both products and their main loop.
//! - [`pipeline`]: the tile of a block, and stages of operands in shared memory, with producers and consumers.
//! - [`poles`]: the elements of P.
//! - [`mma`]: which lane holds which element, and the instruction.
//! - [`pack`]: packed operands, and the kernels besides the products.

pub mod mma;
pub mod pack;
pub mod pipeline;
pub mod poles;
pub mod product;
pub mod versions;

use pack::{FallbackPairs, Fold, PackV, THREADS};

/// Symbols of all kernels, with the threads of a block.
pub fn symbols() -> impl Iterator<Item = (&'static str, u32)> {
    let common = [FallbackPairs::SYMBOL, PackV::SYMBOL, Fold::SYMBOL].map(|own| (own, THREADS));
    versions::ALL.into_iter().flat_map(versions::Version::kernels).chain(common)
}
