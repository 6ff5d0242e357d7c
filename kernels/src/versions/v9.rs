//! v9: all energies in one pass over the bands, and nothing of the pair in it.
//!
//! A thread has one `(ig, igp)` and all bands; `M` is computed once for all energies. What depends
//! on the pair alone (Ω², the bound between the branches, the cutoff, vcoul) is computed before the
//! loop or applied to the sums after it. Empty bands come last and have a loop without `ssx`.

use super::{kernels, v8};
use crate::arrays::{Arrays, Sums};
use crate::grid::Thread;
use crate::real::Real;
use crate::registry::{Energies, Layout, Loops, Version};
use crate::tiles::branches;

/// What the registry knows of v9.
pub const VERSION: Version = Version {
    id: "v9",
    change: "one pass for all energies, pair constants out of the loop, empty bands apart",
    source: "docs/past-the-paper.md",
    loops: Loops::Tiled(branches::SHAPE),
    energies: Energies::Together,
    layout: Layout::Planned,
    threads: branches::SHAPE.threads(),
    max_registers: Some(128),
    flops_per_term: 42.9,
    bodies: BODIES,
    ..v8::VERSION
};

kernels!(planned BODIES = body: gpp_v9_nw1 = 1, gpp_v9_nw2 = 2, gpp_v9_nw3 = 3);

/// # Safety
/// As [`branches::body`].
#[inline(always)]
unsafe fn body<R: Real, const NW: usize>(a: &Arrays, _: u32, thread: Thread) -> Sums<R, NW> {
    // SAFETY: the caller's contract.
    unsafe { branches::body(a, thread) }
}
