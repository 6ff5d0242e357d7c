//! The General Plasmon Pole kernel in the vectors of processors, version by version.
//!
//! [`versions`] lists the processor's journey; each version has a file that says what it changes and names
//! what it is composed of:
//!
//! - [`level`]: the instruction sets, chosen when the program runs
//! - [`lanes`]: numbers in vectors, the same operations at every level
//! - [`topology`], [`pool`], [`work`]: cores, how many threads there are, and how these share the work
//! - [`caller`], [`stop`]: what threads do not take over from a caller's, and how he stops them
//! - [`problem`], [`relaid`]: what is read, and in which order
//! - [`definition`], [`odd`]: terms by the definition
//! - [`place`], [`planned`], [`fractions`], [`quotients`], [`running`]: terms of regular
//!   poles with what the GPU's later versions do
//! - [`poles`]: terms as matrices
//! - [`version`]: a version, its kernels and its counts
//!
//! Whatever runs for each term is `#[inline(always)]`: a function of its own would be compiled without the
//! instructions that the level switches on.

pub mod caller;
pub mod cells;
pub mod compensated;
pub mod definition;
pub mod dispatch;
pub mod fractions;
pub mod lanes;
pub mod level;
pub mod odd;
pub mod place;
pub mod planned;
pub mod poles;
pub mod pool;
pub mod prefetch;
pub mod problem;
pub mod quotients;
pub mod relaid;
pub mod running;
pub mod stop;
pub mod topology;
pub mod version;
pub mod versions;
pub mod work;
