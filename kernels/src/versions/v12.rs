//! v12: purely real poles have kernels of their own.
//!
//! BerkeleyGW's default makes every ω̃ real. Then both quotients are real, an accumulation is two
//! fused operations, not four, and one reciprocal gives both: see [`crate::tiles::real_poles`]. A thread
//! has two `igp`. gpp finds out whether all poles are real when it loads the problem, and sums other
//! problems as in v11.
//!
//! Lines of the nest: 6, 7, 8, 10.

use super::v3::term;
use super::v11;
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::tiles::bands::Staged;
use crate::tiles::energies::WithBand;
use crate::tiles::far::LikeEmpty;
use crate::tiles::near::UpperWord;
use crate::tiles::real_poles::RealPoles;
use crate::tiling::Shape;

/// What v12 is.
pub static VERSION: Version = Version {
    id: "v12",
    change: "kernels for purely real poles",
    source: "docs/past-the-paper.md",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[REAL, ANY], beyond: None };

type Real = RealPoles<Staged, WithBand, UpperWord, LikeEmpty>;

const SHAPE: Shape = Shape { tile: 2, warps: 8 };

/// For purely real poles.
pub const REAL: Kernel = Kernel {
    max_registers: Some(128),
    flops_per_term: Some(17.9),
    ..Kernel::tiled::<Real>(
        SHAPE,
        entries!(
            tiled Real, SHAPE, term:
            gpp_v12_real_nw1 = 1,
            gpp_v12_real_nw2 = 2,
            gpp_v12_real_nw3 = 3,
        ),
    )
};

/// For any poles: v11's body.
pub const ANY: Kernel = Kernel {
    entries: entries!(
        tiled v11::Fraction, v11::SHAPE, term:
        gpp_v12_nw1 = 1,
        gpp_v12_nw2 = 2,
        gpp_v12_nw3 = 3,
    ),
    ..v11::ANY
};
