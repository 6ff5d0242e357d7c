//! v14: pairs without terms are not gone through, and static ones are summed without quotients.
//!
//! Where a mode is invalid BerkeleyGW leaves its pole or its weight zero, and the pair has no terms. v13's tiles go
//! through such pairs with a harmless pole. Here each lane has a [list](crate::lists) of the `igp` that it sums; the
//! block stages the window of `igp` that these stand in, and each lane reads its own
//! ([`crate::tiles::gathered`]). The arithmetic is v13's, but for pairs with the one pole of other invalid modes
//! ([`crate::tiles::static_poles`]), which have lists of their own.
//!
//! Lines of the nest: 2, 5.

use super::v3::term;
use super::{v12, v13};
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::tiles::energies::FromConstant;
use crate::tiles::far::WithoutNearTest;
use crate::tiles::gathered::Gathered;
use crate::tiles::near::UpperWord;
use crate::tiles::paired_reciprocal::PairedReciprocal;
use crate::tiles::partial_fractions::PartialFractions;
use crate::tiles::real_poles::RealPoles;

/// What v14 is.
pub static VERSION: Version = Version {
    id: "v14",
    change: "lists of the pairs that have terms, static ones apart",
    source: "docs/past-the-paper.md",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[REAL, ANY], beyond: Some(&v12::GPU) };

/// What the body for real poles is composed of: see [`crate::tiles`].
type Real = RealPoles<Gathered, FromConstant, UpperWord, PairedReciprocal>;

/// What the body for any poles is composed of.
type Any = PartialFractions<Gathered, FromConstant, UpperWord, WithoutNearTest>;

/// For purely real poles.
pub const REAL: Kernel = Kernel {
    max_registers: v13::REAL.max_registers,
    ..Kernel::listed::<Real>(entries!(
        listed Real, term:
        gpp_v14_real_nw1 = 1,
        gpp_v14_real_nw2 = 2,
        gpp_v14_real_nw3 = 3 spills { in_loop: 6, bytes: 512 },
    ))
};

/// For any poles.
pub const ANY: Kernel = Kernel {
    max_registers: v13::ANY.max_registers,
    ..Kernel::listed::<Any>(entries!(
        listed Any, term:
        gpp_v14_nw1 = 1,
        gpp_v14_nw2 = 2 spills { in_loop: 16, bytes: 1024 },
        gpp_v14_nw3 = 3 spills { in_loop: 96, bytes: 3200 },
    ))
};
