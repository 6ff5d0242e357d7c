//! What the build scripts of cust call. The driver's functions are defined by
//! `core/src/devices/gpu/driver/library.rs`, so that no toolkit is looked for and `libcuda.so` is not linked.

/// Finds nothing, and has nothing linked.
pub fn include_cuda() {}
