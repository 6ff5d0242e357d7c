//! The versions, by journey: each a file and a line here.

use crate::kernel::{Entry, Gpu, Kernel};

pub mod static_ch;

/// Makes the modules of the versions and the lists of each journey and of all. The versions of a
/// journey are files of this folder, or of the one named after `in`.
macro_rules! journeys {
    ($($(#[$about:meta])* $journey:ident $(in $folder:ident)?: $($version:ident,)+;)+) => {
        $(journeys! { @modules $(#[$about])* [$($folder)?] $($version)+ })+

        $(
            $(#[$about])*
            pub static $journey: &[&Gpu] = journeys!(@list {} [$($folder)?: $($version)+]);
        )+

        /// All versions, journey by journey.
        pub static ALL: &[&Gpu] = journeys!(@list {} $([$($folder)?: $($version)+])+);
    };
    (@modules $(#[$about:meta])* [] $($version:ident)+) => {
        $(pub mod $version;)+
    };
    (@modules $(#[$about:meta])* [$folder:ident] $($version:ident)+) => {
        $(#[$about])*
        pub mod $folder {
            $(pub mod $version;)+
        }
    };
    (@list {$($done:tt)*}) => {
        &[$($done)*]
    };
    (@list {$($done:tt)*} [: $($version:ident)+] $($rest:tt)*) => {
        journeys!(@list {$($done)* $(&$version::GPU,)+} $($rest)*)
    };
    (@list {$($done:tt)*} [$folder:ident: $($version:ident)+] $($rest:tt)*) => {
        journeys!(@list {$($done)* $(&$folder::$version::GPU,)+} $($rest)*)
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
    /// The blog's steps: no blocks, no swapped indices.
    BLOG in blog:
        baseline,
        step1,
        step2,
        step3,
        step4,;
    /// The talk's steps, and what they became in BerkeleyGW.
    TALK in talk:
        v1,
        v2,
        v3,
        v4,
        v5,
        v6,
        v7,
        v8,
        v9,
        bgw,;
    /// Any number of energies.
    SIGMA in sigma:
        blocks,;
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
