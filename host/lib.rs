//! `gpp`: BerkeleyGW's General Plasmon Pole kernel in Rust, run on a GPU or on the host, timed and
//! verified, version by version.
//!
//! - [`problem`]: the input, synthesised or read from the reference mini-app's format
//! - [`devices`]: where the kernels run
//! - [`mod@reference`]: the sums that a run is compared with
//! - [`verify`]: the comparison
//! - [`measure`]: running a version and what is recorded of it
//! - [`counting`]: operations counted by running the source
//! - [`profile`]: what a profiler measured of each version
//! - [`roofline`]: ceilings, points, charts
//! - [`report`]: the record as a table and as JSON
//! - [`startup`]: how long the first calculation takes to begin
//! - [`figures`]: the texts' figures, filled in from the archived runs
//! - [`cli`]: the command line
//!
//! The kernels themselves and the registry of versions are in the crate `gpp_kernels`.

pub mod cli;
pub mod counting;
pub mod devices;
pub mod error;
pub mod figures;
pub mod interrupt;
pub mod measure;
pub mod output;
pub mod problem;
pub mod profile;
pub mod progress;
pub mod provenance;
pub mod reference;
pub mod report;
pub mod roofline;
pub mod startup;
pub mod tuning;
pub mod verify;

pub use error::{Error, Result};
pub use gpp_kernels as kernels;
