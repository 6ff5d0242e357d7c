//! What the GPU's instructions do and Rust has no word for, on the GPU and here. Nothing of this
//! project is used by it.

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
