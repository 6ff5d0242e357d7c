//! The core of `gpp`: BerkeleyGW's General Plasmon Pole kernel in Rust, its versions, and what runs them on
//! GPUs and processors. It prints nothing, listens to no signal and ends no process.
//!
//! Begin with [`Calculator`]: a caller's arrays in, sums out. A program outside this repository depends on
//! `gpp-core` by its path. To build cust without a CUDA toolkit its manifest needs the line that
//! docs/library.md shows.
//!
//! What is named on this page is for callers; structures that a call returns, and errors, may grow. The modules
//! themselves are for the program `gpp`, and change with it: docs/internals.md says what is in each.

// Documentation is complete where it is for callers.
#![allow(missing_docs, clippy::missing_errors_doc, clippy::missing_panics_doc)]

#[doc(hidden)]
#[warn(missing_docs, clippy::missing_errors_doc, clippy::missing_panics_doc)]
pub mod calculator;
#[doc(hidden)]
pub mod catalogue;
#[doc(hidden)]
pub mod devices;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
#[warn(missing_docs, clippy::missing_errors_doc, clippy::missing_panics_doc)]
pub mod error;
#[doc(hidden)]
pub mod offdiag;
#[doc(hidden)]
pub mod problem;
#[doc(hidden)]
pub mod progress;
#[doc(hidden)]
pub mod ranks;
#[doc(hidden)]
pub mod reference;
#[doc(hidden)]
pub mod system;

#[doc(hidden)]
pub use gpp_cpu::stop;
#[doc(hidden)]
pub use gpp_kernels as kernels;
pub use num_complex::Complex64;

#[doc(inline)]
pub use crate::calculator::{
    Aqsm, Bands, Calculator, Formula, Found, FoundMatrix, MatrixBands, Placed, Screening, Sizes,
    Workspace, on_gpu,
};
#[doc(inline)]
pub use crate::devices::DeviceInfo;
#[doc(inline)]
pub use crate::error::{Error, Result};
#[doc(inline)]
pub use crate::offdiag::Sums as MatrixSums;
#[doc(inline)]
pub use crate::problem::Sums;

/// The compiler that built this library.
#[doc(hidden)]
pub const BUILT_BY: Option<&str> = option_env!("GPP_RUSTC");
