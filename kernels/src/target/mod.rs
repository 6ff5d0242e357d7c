//! What differs between the GPU and the host: loads, square root, the sum over a block.
//!
//! Both sum a block in the same order: a tree over the 32 lanes of each warp, then warp by warp.

#[cfg(not(target_arch = "nvptx64"))]
mod host;
#[cfg(target_arch = "nvptx64")]
mod ptx;

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;
#[cfg(target_arch = "nvptx64")]
pub use ptx::*;

/// Lanes of a warp.
pub const WARP: u32 = 32;
