//! The core of `gpp`: BerkeleyGW's General Plasmon Pole kernel in Rust, its versions, and what runs them on
//! GPUs and processors. It prints nothing, listens to no signal and ends no process.
//!
//! Begin with [`Calculator`]: a caller's arrays in, sums out. A program outside this repository depends on
//! `gpp-core` by its path. To build cust without a CUDA toolkit it needs the two variables of this
//! repository's `.cargo/config.toml`.
//!
//! A folder uses only those listed before it:
//!
//! - [`error`]: all that can go wrong here
//! - [`progress`]: what a caller is told meanwhile
//! - [`system`]: files and free memory
//! - [`ranks`]: the processes that share a run
//! - [`catalogue`]: versions, journeys, shapes, published figures
//! - [`problem`]: the input, synthesised or read from the reference mini-app's format
//! - [`devices`]: where the kernels run
//! - [`engine`]: slabs → workers → sums
//! - [`offdiag`]: Σ as a matrix
//! - [`mod@reference`]: the sums by the definition, and how far others may be from them
//! - [`calculator`]: a caller's arrays in, sums out
//!
//! The kernels themselves are in the crate `gpp_kernels`.

pub mod calculator;
pub mod catalogue;
pub mod devices;
pub mod engine;
pub mod error;
pub mod offdiag;
pub mod problem;
pub mod progress;
pub mod ranks;
pub mod reference;
pub mod system;

pub use calculator::{
    Aqsm, Bands, Calculator, Formula, Found, FoundMatrix, MatrixBands, Placed, Screening, Sizes,
    Workspace, lent,
};
pub use error::{Error, Result};
pub use gpp_cpu::stop;
pub use gpp_kernels as kernels;

/// The compiler that built this library.
pub const BUILT_BY: Option<&str> = option_env!("GPP_RUSTC");
