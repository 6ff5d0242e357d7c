//! Statements about records.

pub mod roofline;
pub mod table1;
