//! Experiments: what measures, and returns records.

pub mod counting;
pub mod measure;
pub mod profile;
