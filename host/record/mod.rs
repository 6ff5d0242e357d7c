//! What is recorded of a run: all that is shown reads it.

pub mod ceilings;
pub mod provenance;
pub mod run;
