//! The static CH, which BerkeleyGW's static remainder takes: of no journey, since it is another sum.
//!
//! A thread sums `M` of four `igp` over all bands, four fused operations a pair and band, and multiplies by eps
//! once. Four `igp` for each `aqsn` that is read keep shared memory and the FP64 pipe equally busy.

use super::v3::term;
use crate::entries::entries;
use crate::kernel::{Gpu, Kernel, Version};
use crate::staging::WIDE;
use crate::tiles::bands::Staged;
use crate::tiles::static_ch::StaticCh;
use crate::tiling::Shape;

/// What it is.
pub static VERSION: Version = Version {
    id: "static_ch",
    change: "the static CH of all bands, beside the sums of a version",
    source: "docs/sigma.md",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// As many `igp` in a block as v13 has.
const SHAPE: Shape = Shape { tile: WIDE as u32, warps: 4 };

/// Its kernel. No pair is odd, so that `term` is never taken.
pub const KERNEL: Kernel = Kernel {
    max_registers: Some(128),
    ..Kernel::tiled::<StaticCh<Staged>>(
        SHAPE,
        entries!(tiled StaticCh<Staged>, SHAPE, term: gpp_static_ch = 1),
    )
};
