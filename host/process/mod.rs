//! What concerns the process: what it writes, what it shows of its progress, how it is stopped, and
//! when it began.

pub mod interrupt;
pub mod output;
pub mod progress;
pub mod startup;
pub mod terminal;
