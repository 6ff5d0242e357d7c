//! The process: its input and output, its free memory, progress, interruption, and start.

pub mod allocation;
mod cgroup;
pub mod files;
pub mod format;
pub mod input;
pub mod interrupt;
pub mod kept;
pub mod memory;
pub mod output;
pub mod progress;
pub mod startup;
pub mod terminal;
