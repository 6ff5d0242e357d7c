//! The processor's journey: each version a file and a line here.

use crate::version::Cpu;

pub mod static_ch;

/// Makes the modules of the versions of a journey and their list.
macro_rules! journey {
    ($(#[$doc:meta])+ $list:ident: $($version:ident,)+) => {
        $(pub mod $version;)+

        $(#[$doc])+
        pub static $list: &[&Cpu] = &[$(&$version::CPU),+];
    };
}

journey! {
    /// The processor's journey, in order.
    CPU:
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

journey! {
    /// Any number of energies.
    SIGMA:
    cells,
}
