//! `gpp`: BerkeleyGW's General Plasmon Pole kernel in Rust, run on a GPU or on the host, timed and
//! verified, version by version.
//!
//! What calculates is the crate `gpp_core`, whose folders are here by their names: [`catalogue`], [`problem`],
//! [`devices`], [`engine`]. Of those of the program one uses only those listed before it:
//!
//! - [`error`]: what goes wrong beside the core's errors
//! - [`process`]: output, progress, interruption
//! - [`ranks`]: the processes that MPI's launcher started
//! - [`mod@reference`]: the sums that a run is compared with, and the comparison
//! - [`record`]: what is recorded
//! - [`experiments`]: what measures
//! - [`analysis`]: statements about records
//! - [`render`]: records and statements shown
//! - [`cli`]: the command line
//!
//! The kernels themselves are in the crate `gpp_kernels`.

pub mod analysis;
pub mod cli;
pub mod error;
pub mod experiments;
pub mod process;
pub mod ranks;
pub mod record;
pub mod reference;
pub mod render;

pub use error::{Error, Result};
pub use gpp_core::{catalogue, devices, engine, kernels, problem};
