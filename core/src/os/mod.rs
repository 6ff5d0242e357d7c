//! The operating system: files, and free memory.

pub mod memory;
pub mod output;
