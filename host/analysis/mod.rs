//! Statements about records.

pub mod bounds;
pub mod by_energies;
pub mod changes;
pub mod explain;
pub mod found;
pub mod levels;
pub mod matrices;
pub mod noise;
pub mod outcomes;
pub mod peaks;
pub mod published;
pub mod roofline;
pub mod sigma;
pub mod speed_ups;
pub mod stalls;
pub mod steps;
pub mod table1;
pub mod two_runs;
