//! The versions, by series: each a module of a file of this folder, and a name here.

use crate::kernel::{Entry, GpuVersion, Kernel};

/// What a version is, and how a GPU does it: `VERSION` and `GPU`. Its kernel is `KERNEL` if it names none.
macro_rules! version {
    (id: $id:literal, change: $change:literal, source: $source:literal) => {
        version! { id: $id, change: $change, source: $source, kernels: [KERNEL] }
    };
    (id: $id:literal, change: $change:literal, source: $source:literal, kernels: $kernels:expr
     $(, beyond: $beyond:expr, capability: $capability:expr)?) => {
        pub static VERSION: $crate::kernel::Label =
            $crate::kernel::Label { id: $id, change: $change, source: $source };

        pub static GPU: $crate::kernel::GpuVersion = $crate::kernel::GpuVersion {
            $(beyond: Some($beyond), capability: $capability,)?
            ..$crate::kernel::GpuVersion::new(&VERSION, &$kernels)
        };
    };
}

mod after_paper;
pub mod blog;
mod paper;
pub mod per_band;
mod sigma_alone;
pub mod single;
pub mod talk;

pub use after_paper::*;
pub use paper::*;
pub use sigma_alone::*;

/// Makes the list of each series, and that of all.
macro_rules! series {
    ($($(#[$about:meta])* $series:ident: $($($part:ident)::+),+;)+) => {
        $($(#[$about])* pub static $series: &[&GpuVersion] = &[$(&$($part::)+GPU,)+];)+

        /// All versions, series by series.
        pub static ALL: &[&GpuVersion] = &[$($(&$($part::)+GPU,)+)+];
    };
}

series! {
    /// The paper's, from the port of the reference to its fastest.
    PAPER: v0, v1, v2, v3, v4, v5, v6, v7, v8;
    /// After the paper.
    NEW: v9, v10, v11, v12, v13, v14, v15;
    /// The blog's steps.
    BLOG: blog::baseline, blog::step1, blog::step2, blog::step3, blog::step4;
    /// The talk's steps, and what they became in BerkeleyGW.
    TALK:
        talk::v1, talk::v2, talk::v3, talk::v4, talk::v5, talk::v6, talk::v7, talk::v8, talk::v9, talk::bgw;
    /// Σ alone in single precision.
    SINGLE: single::s1, single::s2, single::s3, single::s4;
    /// Any number of energies.
    SIGMA: blocks, blocks_alone;
}

pub mod blocks {
    //! sigma:blocks: pairs sorted by their poles, moments that serve all energies.
    //!
    //! All versions before take a term for each energy. Whatever the energy, a term is `c·M` times a function of
    //! the pole and of `w`, and for pairs whose poles lie close together that function is one and the same
    //! polynomial: sums of `c·M` times a few powers of the pole, taken once for a band, give the sums at any
    //! number of energies. A block's threads share them: for real poles of intervals (`sigma/real.rs`), for others
    //! of discs (`sigma/complex.rs`).
    //!
    //! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

    use crate::arrays::Layout;
    use crate::formula::VALUES;
    use crate::kernel::{Energies, Kernel, Loops, entries};
    use crate::plan::Poles;
    use crate::sigma::{BANDS, Disc, Interval, complex, max_energies, real};

    version! {
        id: "sigma:blocks", change: "pairs sorted by their poles, moments that serve all energies",
        source: "docs/many-energies.md", kernels: [REAL, ANY]
    }

    pub const REAL: Kernel = Kernel {
        poles: Poles::Real,
        energies: Energies::UpTo(max_energies(VALUES)),
        max_registers: Some(128),
        entries: entries!(clusters Interval, VALUES: gpp_sigma_blocks_real),
        ..Kernel::new(Loops::Clusters(real::BLOCKS), Layout::Clusters, BANDS)
    };

    pub const ANY: Kernel = Kernel {
        poles: Poles::Any,
        loops: Loops::Clusters(complex::BLOCKS),
        // With a cap of 168 registers, for six blocks, ptxas spills; without one four blocks fit.
        max_registers: None,
        entries: entries!(clusters Disc, VALUES: gpp_sigma_blocks_any),
        ..REAL
    };
}

pub mod blocks_alone {
    //! sigma:blocks-alone: Σ alone: one expansion for each band instead of two.
    //!
    //! A full band has only the poles `−ω̃`, which no energy above zero is near: clusters are larger, and few pairs are
    //! summed one by one. A launch has four times as many energies, so moments are summed less often.
    //!
    //! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

    use crate::kernel::{Energies, Kernel, entries};
    use crate::sigma::{ALONE, Disc, Interval, max_energies};
    use crate::versions::blocks;

    version! {
        id: "sigma:blocks-alone", change: "Σ alone: one expansion for each band instead of two",
        source: "docs/many-energies.md", kernels: [REAL, ANY]
    }

    pub const REAL: Kernel = Kernel {
        energies: Energies::UpTo(max_energies(ALONE)),
        is_sigma_alone: true,
        entries: entries!(clusters Interval, ALONE: gpp_sigma_blocks_alone_real),
        ..blocks::REAL
    };

    pub const ANY: Kernel = Kernel {
        energies: Energies::UpTo(max_energies(ALONE)),
        is_sigma_alone: true,
        entries: entries!(clusters Disc, ALONE: gpp_sigma_blocks_alone_any),
        ..blocks::ANY
    };
}

/// CH and static CH of each band, and Σ with its derivative, which are in no series.
pub static OTHERS: [&GpuVersion; 3] = [&per_band::CH, &per_band::STATIC_CH, &v15::DERIVATIVE];

/// The kernel and the version of an entry's symbol, [`OTHERS`] included.
pub fn find(symbol: &str) -> Option<(&'static GpuVersion, &'static Kernel, &'static Entry)> {
    ALL.iter().chain(&OTHERS).find_map(|gpu| {
        gpu.kernels.iter().find_map(|kernel| {
            let entry = kernel.entries.iter().find(|entry| entry.symbol == symbol)?;
            Some((*gpu, kernel, entry))
        })
    })
}
