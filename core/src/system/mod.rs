//! The system: files that are read and written, and the memory that is free.

mod cgroup;
pub mod format;
pub mod input;
pub mod memory;
pub mod output;
