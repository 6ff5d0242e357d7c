//! The versions, by journey: each a module of a file of this folder, and a name here.

use crate::kernel::{Entry, Gpu, Kernel};

/// What a version is, and how a GPU does it: `VERSION` and `GPU`.
macro_rules! version {
    (id: $id:literal, change: $change:literal, source: $source:literal, kernels: $kernels:expr) => {
        version! { id: $id, change: $change, source: $source, kernels: $kernels, None, 7.0 }
    };
    (id: $id:literal, change: $change:literal, source: $source:literal, kernels: $kernels:expr,
     beyond: $beyond:expr, capability: $capability:literal) => {
        version! { id: $id, change: $change, source: $source, kernels: $kernels, Some($beyond), $capability }
    };
    (id: $id:literal, change: $change:literal, source: $source:literal, kernels: $kernels:expr,
     $beyond:expr, $capability:literal) => {
        pub static VERSION: $crate::kernel::Version =
            $crate::kernel::Version { id: $id, change: $change, source: $source };

        pub static GPU: $crate::kernel::Gpu = $crate::kernel::Gpu {
            version: &VERSION,
            kernels: &$kernels,
            beyond: $beyond,
            capability: $capability,
        };
    };
}

pub mod blog;
mod paper;
mod past;
pub mod sigma;
pub mod talk;

pub use paper::*;
pub use past::*;

/// Makes the list of each journey, and that of all.
macro_rules! journeys {
    ($($(#[$about:meta])* $journey:ident: $($($part:ident)::+),+;)+) => {
        $($(#[$about])* pub static $journey: &[&Gpu] = &[$(&$($part::)+GPU,)+];)+

        /// All versions, journey by journey.
        pub static ALL: &[&Gpu] = &[$($(&$($part::)+GPU,)+)+];
    };
}

journeys! {
    /// The paper's, from the port of the reference to its fastest.
    PAPER:
        v0,
        v1,
        v2,
        v3,
        v4,
        v5,
        v6,
        v7,
        v8;
    /// Past the paper, from its last version on.
    PAST:
        v9,
        v10,
        v11,
        v12,
        v13,
        v14;
    /// The blog's steps.
    BLOG:
        blog::baseline,
        blog::step1,
        blog::step2,
        blog::step3,
        blog::step4;
    /// The talk's steps, and what they became in BerkeleyGW.
    TALK:
        talk::v1,
        talk::v2,
        talk::v3,
        talk::v4,
        talk::v5,
        talk::v6,
        talk::v7,
        talk::v8,
        talk::v9,
        talk::bgw;
    /// Any number of energies.
    SIGMA:
        sigma::blocks;
}

/// The kernel and the version of an entry's symbol, [`static_ch`] included.
pub fn find(symbol: &str) -> Option<(&'static Gpu, &'static Kernel, &'static Entry)> {
    ALL.iter().chain([&&static_ch::GPU]).find_map(|gpu| {
        gpu.kernels.iter().find_map(|kernel| {
            let entry = kernel.entries.iter().find(|entry| entry.symbol == symbol)?;
            Some((*gpu, kernel, entry))
        })
    })
}
