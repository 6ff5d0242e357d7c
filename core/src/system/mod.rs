//! The system: files that are read and written, and the memory that is free.

pub mod memory;
pub mod output;
