//! The hierarchical roofline: ceilings, points, charts.

pub mod ceilings;
