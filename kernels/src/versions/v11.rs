//! v11: bands staged in shared memory.
//!
//! v10 waits for `aqsn` half of its time. A block brings eight bands to shared memory while it sums
//! the eight before, so no load is waited for, and `aqsn` leaves L2 once for the eight warps that
//! share its `ig`.
//!
//! Lines of the nest: 5, 6.

use super::v3::term;
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::tiles::bands::Staged;
use crate::tiles::energies::WithBand;
use crate::tiles::far::LikeEmpty;
use crate::tiles::near::UpperWord;
use crate::tiles::partial_fractions::PartialFractions;
use crate::tiling::Shape;

/// What v11 is.
pub static VERSION: Version = Version {
    id: "v11",
    change: "bands staged in shared memory, eight at a time",
    source: "docs/past-the-paper.md",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[ANY], beyond: None };

/// The fraction of any poles.
pub type Fraction = PartialFractions<Staged, WithBand, UpperWord, LikeEmpty>;

/// The shape of its tiles.
pub const SHAPE: Shape = Shape { tile: 1, warps: 8 };

/// For any poles.
pub const ANY: Kernel = Kernel {
    max_registers: Some(128),
    flops_per_term: Some(32.5),
    ..Kernel::tiled::<Fraction>(
        SHAPE,
        entries!(tiled Fraction, SHAPE, term: gpp_v11_nw1 = 1, gpp_v11_nw2 = 2, gpp_v11_nw3 = 3),
    )
};
