//! The kernels as code: their lists and grids, how a block stages bands, what tells one's code from another's, and
//! the vectors of CPU versions.

mod hash;
mod lists;
mod staging;
#[cfg(target_arch = "x86_64")]
mod vectors;
