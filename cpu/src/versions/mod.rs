//! The processor's journey: each version a file and a line here.

use crate::version::Cpu;

/// Makes the modules of the versions and their list.
macro_rules! journey {
    ($($version:ident,)+) => {
        $(pub mod $version;)+

        /// The processor's journey, in order.
        pub static CPU: &[&Cpu] = &[$(&$version::CPU),+];
    };
}

journey! {
    threads,
    simd,
    blocked,
    reciprocal,
    smt,
    hoisted,
    energies,
    fractions,
    classes,
    real,
    paired,
}
