//! v10: no branch and no division.
//!
//! In partial fractions both branches are `½ω̃·eps·(q − p)` with `q = 1/(w − ω̃)`, zero near the pole,
//! and `p = 1/(w + ω̃)`: see [`crate::tiles::partial_fractions`]. A reciprocal is the hardware's
//! approximation and one cubic correction, three fused operations: see [`crate::quotient`].
//!
//! Lines of the nest: 6, 7, 8.

use super::v3::term;
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::tiles::bands::Direct;
use crate::tiles::energies::WithBand;
use crate::tiles::far::LikeEmpty;
use crate::tiles::near::UpperWord;
use crate::tiles::partial_fractions::PartialFractions;
use crate::tiling::Shape;

/// What v10 is.
pub static VERSION: Version = Version {
    id: "v10",
    change: "partial fractions without a branch, approximate reciprocals corrected once",
    source: "docs/past-the-paper.md",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[ANY], beyond: None };

type Fraction = PartialFractions<Direct, WithBand, UpperWord, LikeEmpty>;

const SHAPE: Shape = Shape { tile: 1, warps: 8 };

/// For any poles.
pub const ANY: Kernel = Kernel {
    max_registers: Some(128),
    flops_per_term: Some(32.5),
    ..Kernel::tiled::<Fraction>(
        SHAPE,
        entries!(tiled Fraction, SHAPE, term: gpp_v10_nw1 = 1, gpp_v10_nw2 = 2, gpp_v10_nw3 = 3),
    )
};
