//! The versions, by journey: each a file and a line here.

use crate::kernel::{Entry, Gpu, Kernel};

/// Makes the modules of the versions and the lists of each journey and of all.
macro_rules! journeys {
    ($($(#[$about:meta])* $journey:ident: $($version:ident,)+;)+) => {
        $($(pub mod $version;)+)+

        $(
            $(#[$about])*
            pub static $journey: &[&Gpu] = &[$(&$version::GPU),+];
        )+

        /// All versions, journey by journey.
        pub static ALL: &[&Gpu] = &[$($(&$version::GPU),+),+];
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
        v8,;
    /// Past the paper, from its last version on.
    PAST:
        v9,
        v10,
        v11,
        v12,
        v13,;
}

/// The kernel and the version of an entry's symbol, other shapes included.
pub fn find(symbol: &str) -> Option<(&'static Gpu, &'static Kernel, &'static Entry)> {
    ALL.iter().find_map(|gpu| {
        gpu.all_kernels().find_map(|kernel| {
            let entry = kernel.entries.iter().find(|entry| entry.symbol == symbol)?;
            Some((*gpu, kernel, entry))
        })
    })
}
