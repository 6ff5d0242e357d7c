//! The generalized plasmon-pole kernel for the SIMD units of CPUs, version by version.
//!
//! [`versions`] lists the versions, each with what it changes and its loops. Each module builds on
//! those before it:
//!
//! - [`simd`]: instruction sets, chosen at run time; the same operations at every level
//! - [`pool`], [`stop`]: the threads and their number, and how a caller stops them
//! - [`problem`]: the input arrays and their layouts
//! - [`work`]: distribution of the work over threads; compensated sums
//! - `definition`: terms by the definition
//! - `planned`, `fractions`: terms of regular poles with the formulas of v9 to v13
//! - `lists`: the same for lists of pairs, with SIMD over bands
//! - `expansion`, `sigma`: many energies, by moments of clusters of poles
//! - [`poles`]: terms as matrices

#![allow(
    missing_docs,
    reason = "fields and functions with the reference's names say what they are"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "an index of energies or moments is that of several arrays, in loops that are unrolled"
)]

mod definition;
mod expansion;
mod fractions;
mod lists;
mod planned;
pub mod poles;
pub mod pool;
pub mod problem;
mod sigma;
pub mod simd;
pub mod stop;
pub mod versions;
pub mod work;
