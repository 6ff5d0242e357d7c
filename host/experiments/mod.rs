//! Experiments: what measures, and returns records.
//!
//! Each takes its options, what it runs on, and a function that is called with the record so far
//! whenever a part of it is done; the record that it returns is complete.

pub mod ceilings;
pub mod golden;
pub mod inventory;
pub mod measure;
pub mod offdiag;
pub mod parting;
pub mod profile;
pub mod room;
pub mod run;
pub mod setting;
pub mod sizes;
pub mod source;
mod static_ch;
