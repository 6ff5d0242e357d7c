//! v13: energies as operands, one reciprocal for two of them.
//!
//! v12 waits for reads of registers. The energies of a band are equal for all threads. An addition can
//! take one straight from the constant memory: no register holds it, and none is read. Where the constant
//! memory does not hold all energies, v12's kernels run.
//!
//! Two energies differ by one amount for all bands. So for *far* bands, to which no pole is near
//! ([`crate::plan`]), two real quotients share a reciprocal ([`crate::tiles::paired_reciprocal`]), and no test
//! for the branch is needed.
//!
//! Lines of the nest: 6, 7.

use super::v3::term;
use super::v12;
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::tiles::bands::Staged;
use crate::tiles::energies::FromConstant;
use crate::tiles::far::WithoutNearTest;
use crate::tiles::near::UpperWord;
use crate::tiles::paired_reciprocal::PairedReciprocal;
use crate::tiles::partial_fractions::PartialFractions;
use crate::tiles::real_poles::RealPoles;
use crate::tiling::Shape;

/// What v13 is.
pub static VERSION: Version = Version {
    id: "v13",
    change: "energies from constant memory, one reciprocal for two of them",
    source: "docs/past-the-paper.md",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[REAL, ANY], beyond: Some(&v12::GPU) };

/// What the body for real poles is composed of: see [`crate::tiles`].
type Real = RealPoles<Staged, FromConstant, UpperWord, PairedReciprocal>;

/// What the body for any poles is composed of.
type Any = PartialFractions<Staged, FromConstant, UpperWord, WithoutNearTest>;

const SHAPE: Shape = Shape { tile: 2, warps: 8 };

/// For purely real poles.
pub const REAL: Kernel = Kernel {
    max_registers: Some(128),
    flops_per_term: Some(17.3),
    ..Kernel::tiled::<Real>(
        SHAPE,
        entries!(
            tiled Real, SHAPE, term:
            gpp_v13_real_nw1 = 1,
            gpp_v13_real_nw2 = 2,
            gpp_v13_real_nw3 = 3 spills { in_loop: 6, bytes: 512 },
        ),
    )
};

/// For any poles.
pub const ANY: Kernel = Kernel {
    max_registers: Some(128),
    flops_per_term: Some(32.5),
    ..Kernel::tiled::<Any>(
        SHAPE,
        entries!(
            tiled Any, SHAPE, term:
            gpp_v13_nw1 = 1,
            gpp_v13_nw2 = 2 spills { in_loop: 16, bytes: 1024 },
            gpp_v13_nw3 = 3 spills { in_loop: 96, bytes: 3200 },
        ),
    )
};
