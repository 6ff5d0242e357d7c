//! v9: all energies in one pass over the bands, with the pair's own factors outside the loop.
//!
//! A thread has one `(ig, igp)` and all bands; `M` is computed once for all energies. Factors that depend
//! on the pair alone (Ω², the bound between the branches, the cutoff, vcoul) are computed before the
//! loop or applied to the sums after it. Empty bands come last and have a loop without `ssx`.
//!
//! Lines of the nest: 1, 4, 5, 7, 8, 9, 10.

use super::v3::term;
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::tiles::bands::Direct;
use crate::tiles::branches::Branches;
use crate::tiles::energies::WithBand;
use crate::tiles::near::Exact;
use crate::tiling::Shape;

/// What v9 is.
pub static VERSION: Version = Version {
    id: "v9",
    change: "one pass for all energies, pair constants out of the loop, empty bands apart",
    source: "docs/past-the-paper.md",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[ANY], beyond: None };

/// What its body is composed of: see [`crate::tiles`].
type Fraction = Branches<Direct, WithBand, Exact>;

/// One `igp` a thread, eight warps a block.
const SHAPE: Shape = Shape { tile: 1, warps: 8 };

/// For any poles.
pub const ANY: Kernel = Kernel {
    max_registers: Some(128),
    flops_per_term: Some(42.9),
    ..Kernel::tiled::<Fraction>(
        SHAPE,
        entries!(tiled Fraction, SHAPE, term: gpp_v9_nw1 = 1, gpp_v9_nw2 = 2, gpp_v9_nw3 = 3),
    )
};
