//! The generalized plasmon-pole kernel for the SIMD units of CPUs, version by version.
//!
//! [`versions`] lists the versions, each with what it changes and its loops. Other modules build on those before them:
//!
//! - [`simd`]: the instruction sets, chosen when the program runs; numbers in vectors, the same operations at every level
//! - [`pool`]: the number of threads, and their floating-point environment
//! - [`problem`]: what is read, and in which order
//! - [`work`]: how threads share the work, and how a caller stops them; compensated sums
//! - [`definition`]: terms by the definition, and as matrices
//! - `planned`: terms of regular poles by the formulas of v9 to v13, and lists of pairs with bands in the vectors
//! - `sigma_alone`: the same for Σ alone
//! - `single`: that in single precision
//! - `expansion`, `sigma`: many energies, by moments of clusters of poles

#![allow(
    missing_docs,
    reason = "fields and functions with the reference's names say what they are"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "an index of energies or moments is that of several arrays, in loops that are unrolled"
)]
#![cfg_attr(test, allow(dead_code, reason = "versions use it"))]

pub mod definition;
mod expansion;
mod per_band;
mod planned;
pub mod pool;
pub mod problem;
mod rounded;
mod sigma;
mod sigma_alone;
pub mod simd;
mod single;
// Tests of the other modules need no versions, which take minutes to compile.
#[cfg(not(test))]
pub mod versions;
pub mod work;
