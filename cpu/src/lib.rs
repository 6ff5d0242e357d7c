//! The General Plasmon Pole kernel in the vectors of processors, version by version.
//!
//! [`versions`] has the processor's journey; each version is a module that says what it changes and names
//! what it is composed of:
//!
//! - [`level`]: the instruction sets, chosen when the program runs
//! - [`lanes`]: numbers in vectors, the same operations at every level
//! - [`pool`], [`work`]: cores, how many threads there are, and how these share the work; compensated sums
//! - [`caller`]: what threads do not take over from a caller's, and how he stops them
//! - [`problem`]: what is read, and in which order
//! - [`definition`]: terms by the definition, and odd poles
//! - [`planned`], [`fractions`]: terms of regular poles with what the GPU's later versions do
//! - [`cells`]: pairs sorted by their poles
//! - [`poles`]: terms as matrices
//! - [`version`]: a version, its kernels and its counts
//!
//! Whatever runs for each term is `#[inline(always)]`: a function of its own would be compiled without the
//! instructions that the level switches on.

#![allow(
    missing_docs,
    reason = "fields and functions with the reference's names say what they are"
)]

pub mod caller;
pub mod cells;
pub mod definition;
pub mod fractions;
pub mod lanes;
pub mod level;
pub mod planned;
pub mod poles;
pub mod pool;
pub mod problem;
pub mod version;
pub mod versions;
pub mod work;

pub use caller as stop;
pub use pool as topology;
pub use problem as relaid;
pub use work as compensated;
