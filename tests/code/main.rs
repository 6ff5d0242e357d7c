//! The kernels as code: their lists and grids, how a block stages bands, and what tells one's code from another's.

mod hash;
mod lists;
mod staging;
