//! v13's kernels in other shapes of tiles, for `gpp tune` and for devices where one is faster.

use super::{ANY, Any, REAL, Real, term};
use crate::entries::entries;
use crate::kernel::Kernel;
use crate::tiling::Shape;

macro_rules! shapes {
    ($($fraction:ident as $kernel:ident, $tile:literal x $warps:literal: $($symbol:ident),+;)+) => {
        /// All shapes that have kernels.
        pub const SHAPES: &[Kernel] = &[$(
            Kernel {
                flops_per_term: $kernel.flops_per_term,
                ..shapes!(@ $fraction, $tile, $warps, $($symbol),+)
            },
        )+];
    };
    (@ $fraction:ident, $tile:literal, $warps:literal, $one:ident, $two:ident, $three:ident) => {
        Kernel::tiled::<$fraction>(
            Shape { tile: $tile, warps: $warps },
            entries!(
                tiled $fraction, Shape { tile: $tile, warps: $warps }, term:
                $one = 1,
                $two = 2,
                $three = 3,
            ),
        )
    };
}

shapes! {
    Real as REAL, 1 x 8: gpp_v13_real_1_8_nw1, gpp_v13_real_1_8_nw2, gpp_v13_real_1_8_nw3;
    Real as REAL, 1 x 16: gpp_v13_real_1_16_nw1, gpp_v13_real_1_16_nw2, gpp_v13_real_1_16_nw3;
    Real as REAL, 2 x 4: gpp_v13_real_2_4_nw1, gpp_v13_real_2_4_nw2, gpp_v13_real_2_4_nw3;
    Real as REAL, 2 x 8: gpp_v13_real_2_8_nw1, gpp_v13_real_2_8_nw2, gpp_v13_real_2_8_nw3;
    Real as REAL, 3 x 4: gpp_v13_real_3_4_nw1, gpp_v13_real_3_4_nw2, gpp_v13_real_3_4_nw3;
    Real as REAL, 3 x 8: gpp_v13_real_3_8_nw1, gpp_v13_real_3_8_nw2, gpp_v13_real_3_8_nw3;
    Any as ANY, 1 x 4: gpp_v13_any_1_4_nw1, gpp_v13_any_1_4_nw2, gpp_v13_any_1_4_nw3;
    Any as ANY, 1 x 8: gpp_v13_any_1_8_nw1, gpp_v13_any_1_8_nw2, gpp_v13_any_1_8_nw3;
    Any as ANY, 1 x 16: gpp_v13_any_1_16_nw1, gpp_v13_any_1_16_nw2, gpp_v13_any_1_16_nw3;
    Any as ANY, 2 x 8: gpp_v13_any_2_8_nw1, gpp_v13_any_2_8_nw2, gpp_v13_any_2_8_nw3;
}
