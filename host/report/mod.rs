//! The record of a run, as JSON and as a table.

pub mod json;
pub mod table;
