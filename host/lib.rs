//! `gpp`: BerkeleyGW's General Plasmon Pole kernel in Rust, run on a GPU or on the host, timed and
//! verified, version by version.
//!
//! A folder uses only those listed before it:
//!
//! - [`error`]: all that can go wrong
//! - [`process`]: output, progress, interruption
//! - [`ranks`]: the processes that share a run
//! - [`catalogue`]: versions, journeys, shapes, published figures
//! - [`problem`]: the input, synthesised or read from the reference mini-app's format
//! - [`mod@reference`]: the sums that a run is compared with, and the comparison
//! - [`devices`]: where the kernels run
//! - [`engine`]: slabs → workers → sums
//! - [`record`]: what is recorded
//! - [`experiments`]: what measures
//! - [`analysis`]: statements about records
//! - [`render`]: records and statements shown
//! - [`figures`]: the texts' figures, filled in from the archived runs
//! - [`cli`]: the command line
//!
//! The kernels themselves are in the crate `gpp_kernels`.

pub mod analysis;
pub mod catalogue;
pub mod cli;
pub mod devices;
pub mod engine;
pub mod error;
pub mod experiments;
pub mod figures;
pub mod problem;
pub mod process;
pub mod ranks;
pub mod record;
pub mod reference;
pub mod render;

pub use error::{Error, Result};
pub use gpp_kernels as kernels;
