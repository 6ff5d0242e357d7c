//! BerkeleyGW's generalized plasmon-pole (GPP) self-energy on GPUs and CPUs. The library installs no
//! signal handlers, never exits, and prints only after an internal error.
//!
//! Begin with [`Calculator`]: arrays in, self-energies out. Building needs
//! no CUDA toolkit; without `rust-src` there are no GPU kernels.
//!
//! This page lists what callers use; returned structures and errors may gain fields and variants. The modules
//! themselves are for the program `gpp` and change with it (docs/internals.md).

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
pub mod os {
    pub mod memory;
    pub mod output;
}
#[doc(hidden)]
pub mod problem;
#[doc(hidden)]
pub mod progress {
    /// A bar of long work on the host, called after each step; dropping it ends the work.
    pub type StepBar = Box<dyn Fn() + Send + Sync>;

    /// Makes a [`StepBar`] with a name and a number of steps, if bars are shown.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct Bars(pub Option<fn(&str, u64) -> StepBar>);

    impl Bars {
        pub const NONE: Bars = Bars(None);

        pub fn bar(self, what: &str, steps: u64) -> StepBar {
            self.0.map_or_else(|| Box::new(|| ()) as StepBar, |make| make(what, steps))
        }
    }
}
#[doc(hidden)]
pub mod ranks;
#[doc(hidden)]
pub mod reference;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod session;

#[doc(hidden)]
pub use gpp_cpu::work::Stop;
#[doc(hidden)]
pub use gpp_kernels as kernels;
pub use num_complex::{Complex32, Complex64};

#[doc(inline)]
pub use crate::calculator::placed::{FoundMatrix, MatrixBands, Placed};
#[doc(inline)]
pub use crate::calculator::{
    Bands, Calculator, Formula, Found, MatrixRef, Precision, Screening, State, on_gpu,
};
#[doc(inline)]
pub use crate::devices::DeviceInfo;
#[doc(inline)]
pub use crate::error::{Error, Result};
#[doc(inline)]
pub use crate::offdiag::MatrixSums;
#[doc(inline)]
pub use crate::problem::Sums;

/// The compiler that built this library.
#[doc(hidden)]
pub const BUILT_BY: Option<&str> = option_env!("GPP_RUSTC");
