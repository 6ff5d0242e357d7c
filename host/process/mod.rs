//! The process: its input and output, its free memory, progress, interruption, and start.

pub mod allocation;
pub mod files;
pub mod interrupt;
pub mod kept;
pub mod output;
pub mod progress;
pub mod startup;
pub mod terminal;

pub use gpp_core::system::memory;
pub use gpp_core::system::output as input;
