//! The library as its callers have it: arrays in, sums out; a crate elsewhere; libraries that it loads.

mod calculator;
#[path = "../common/mod.rs"]
mod common;
mod formula;
mod nvml;
mod outside;
