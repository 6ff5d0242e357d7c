//! `gpp`: BerkeleyGW's General Plasmon Pole kernel in Rust, run on a GPU or on the host, timed and
//! verified, version by version.
//!
//! What calculates is the crate `gpp_core`, whose folders are here by their names: [`catalogue`], [`problem`],
//! [`devices`], [`engine`]. A command is a module: [`run`], [`sigma`], [`offdiag`], [`table`], [`list`], [`profile`],
//! [`roofline`], [`explain`], [`diff`], [`report`]. What they share:
//!
//! - [`cli`]: arguments and exit codes; [`setup`], [`memory`]: devices, problem and slabs of a calculation
//! - [`measure`]: timed runs; [`mod@reference`]: the sums that they are compared with, and the comparison
//! - [`record`]: what is written as JSON; [`outcomes`]: what follows from it
//! - [`terminal`], [`chart`]: tables, pictures
//! - [`output`], [`progress`], [`interrupt`], [`ranks`], [`error`]: files, bars, signals, MPI, what goes wrong
//!
//! The kernels themselves are in the crate `gpp_kernels`.

#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    reason = "a program's own modules: comments say why, names say what"
)]

pub mod chart;
pub mod cli;
pub mod diff;
pub mod error;
pub mod explain;
pub mod interrupt;
pub mod list;
pub mod measure;
pub mod memory;
pub mod offdiag;
pub mod outcomes;
pub mod output;
pub mod profile;
pub mod progress;
pub mod ranks;
pub mod record;
pub mod reference;
pub mod report;
pub mod roofline;
pub mod run;
pub mod setup;
pub mod sigma;
pub mod table;
pub mod terminal;

pub use error::{Error, Result};
pub use gpp_core::{catalogue, devices, engine, kernels, problem};
