//! The best version's kernels in other shapes, for `gpp tune` and for devices where one is faster.

use crate::arrays::{Arrays, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::{Body, Energies, Layout, Loops, Poles, Version};
use crate::tiles::{Shape, complex, halves};
use crate::versions::kernels;

/// Start of the symbols of candidates.
pub const PREFIX: &str = "gpp_tile_";

/// A shape that has kernels.
pub struct Candidate {
    /// The poles that they sum.
    pub poles: Poles,
    /// Extents of a block's tile.
    pub shape: Shape,
    /// The kernels.
    pub bodies: &'static [Body],
}

impl Candidate {
    /// `version` in this shape, with at most so many registers.
    pub fn of(&self, version: &Version, max_registers: Option<u32>) -> Version {
        Version {
            loops: Loops::Tiled(self.shape),
            energies: Energies::Together,
            layout: Layout::Planned,
            threads: self.shape.threads(),
            max_registers,
            bodies: self.bodies,
            flops_per_term: version.of(self.poles).flops_per_term,
            poles: self.poles,
            real: None,
            ..*version
        }
    }
}

macro_rules! candidates {
    ($($module:ident: $poles:ident, $tile:literal, $warps:literal, $bodies_of:ident :: $body:ident,
       $nw1:ident, $nw2:ident, $nw3:ident;)+) => {
        $(
            mod $module {
                use super::*;

                kernels!(planned BODIES = body: $nw1 = 1, $nw2 = 2, $nw3 = 3);

                /// # Safety
                /// As that of the tiles.
                #[inline(always)]
                unsafe fn body<R: Real, const NW: usize>(
                    a: &Arrays, _: u32, thread: Thread,
                ) -> Sums<R, NW> {
                    // SAFETY: the caller's contract.
                    unsafe { $bodies_of::$body::<R, NW, $tile, $warps>(a, thread) }
                }
            }
        )+

        /// All shapes that have kernels.
        pub static CANDIDATES: &[Candidate] = &[$(
            Candidate {
                poles: Poles::$poles,
                shape: Shape { tile: $tile, warps: $warps },
                bodies: $module::BODIES,
            },
        )+];
    };
}

candidates! {
    real_1_8: Real, 1, 8, halves::body,
        gpp_tile_real_1_8_nw1, gpp_tile_real_1_8_nw2, gpp_tile_real_1_8_nw3;
    real_1_16: Real, 1, 16, halves::body,
        gpp_tile_real_1_16_nw1, gpp_tile_real_1_16_nw2, gpp_tile_real_1_16_nw3;
    real_2_4: Real, 2, 4, halves::body,
        gpp_tile_real_2_4_nw1, gpp_tile_real_2_4_nw2, gpp_tile_real_2_4_nw3;
    real_2_8: Real, 2, 8, halves::body,
        gpp_tile_real_2_8_nw1, gpp_tile_real_2_8_nw2, gpp_tile_real_2_8_nw3;
    real_3_4: Real, 3, 4, halves::body,
        gpp_tile_real_3_4_nw1, gpp_tile_real_3_4_nw2, gpp_tile_real_3_4_nw3;
    real_3_8: Real, 3, 8, halves::body,
        gpp_tile_real_3_8_nw1, gpp_tile_real_3_8_nw2, gpp_tile_real_3_8_nw3;
    any_1_4: Any, 1, 4, complex::constant,
        gpp_tile_any_1_4_nw1, gpp_tile_any_1_4_nw2, gpp_tile_any_1_4_nw3;
    any_1_8: Any, 1, 8, complex::constant,
        gpp_tile_any_1_8_nw1, gpp_tile_any_1_8_nw2, gpp_tile_any_1_8_nw3;
    any_1_16: Any, 1, 16, complex::constant,
        gpp_tile_any_1_16_nw1, gpp_tile_any_1_16_nw2, gpp_tile_any_1_16_nw3;
    any_2_8: Any, 2, 8, complex::constant,
        gpp_tile_any_2_8_nw1, gpp_tile_any_2_8_nw2, gpp_tile_any_2_8_nw3;
}
