//! Records and statements as text: shown, not computed.

pub mod chart;
pub mod charts;
pub mod columns;
pub mod explain;
mod heat;
pub mod html;
pub mod kernels;
pub mod matrices;
pub mod nest;
pub mod offdiag;
pub mod profiles;
pub mod results;
pub mod sigma;
pub mod steps;
pub mod table;
pub mod table1;
pub mod two_runs;
pub mod units;
pub mod work;
