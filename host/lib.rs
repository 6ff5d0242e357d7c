//! The program `gpp`: BerkeleyGW's GPP kernel in Rust, run on GPUs and CPUs, timed, verified and explained.
//!
//! What calculates is the crate `gpp_core`; the kernels are in `gpp_kernels` and `gpp_cpu`. The modules of the
//! commands are [`run`], [`offdiag`], [`table`], [`list`], [`profile`], [`explain`] and [`report`]; `main.rs`
//! alone imports them all, and no modules import each other in a circle, which a test in `tests/code` checks.
//! A run goes `main.rs` → [`cli`] → [`run`] → [`setup`] (devices, problem, slabs) → [`measure`] → the core's
//! engine → [`mod@reference`] (verification) → [`record`] (JSON) → [`summary`] (words).

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    reason = "a program's own modules: comments say why, names say what"
)]

pub mod chart;
pub mod cli;
pub mod explain;
pub mod list;
pub mod measure;
pub mod offdiag;
pub mod output;
pub mod profile;
pub mod ranks;
pub mod record;
pub mod reference;
pub mod report;
pub mod run;
pub mod setup;
pub mod summary;
pub mod table;
pub mod terminal;

pub use gpp_core::error::{self, Error, Result};
pub use gpp_core::{catalogue, devices, engine, kernels, problem, session};
