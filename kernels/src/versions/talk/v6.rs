//! V6: simpler code.
//!
//! What does not depend on the band is computed before the loop over bands: the cutoff `sexcut·|eps|`,
//! its square root with it. `eps`, `vcoul_loc` and the powers of ω̃ stand there in every version here. The
//! branch goes from three ways to two, as in v2 (talk, V6).
//!
//! Lines of the nest: 7, 8, 9.

use core::marker::PhantomData;

use super::v5;
use crate::arrays::{Arrays, Limits};
use crate::entries::entries;
use crate::formula::{Factors, Pair, Size, Term};
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Swapped;
use crate::quotient::Quotients;
use crate::sums::Sums;
use crate::versions::v0::{Divisions, Roots};
use crate::versions::v2::two_ways;
use crate::versions::v4::collapse2;

/// What talk:V6 is.
pub static VERSION: Version = Version {
    id: "talk:V6",
    change: "the cutoff out of the band loop; a two-way branch",
    source: "talk, V6",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(136.2),
    entries: entries!(
        body:
        gpp_talk_v6 = 1,
    ),
    ..v5::KERNEL
};

/// A pair with the bound on its `ssx`, as `S` writes it.
pub struct Bounded<S> {
    pair: Pair,
    ssxcutoff: f64,
    size: PhantomData<S>,
}

impl<S: Size> Factors for Bounded<S> {
    #[inline(always)]
    unsafe fn load(arrays: &Arrays, ig: u32, igp: u32) -> Self {
        // SAFETY: the launch contract, the pair in range.
        let pair = unsafe { Pair::load(arrays, ig, igp) };
        let ssxcutoff = S::ssxcutoff(arrays.limits.sexcut, pair.eps);
        Bounded { pair, ssxcutoff, size: PhantomData }
    }
}

/// One term with a two-way branch and the bound that is there already.
#[inline(always)]
pub fn term<Q: Quotients, S: Size>(bounded: &Bounded<S>, w: f64, limits: &Limits) -> Term {
    two_ways::<Q>(&bounded.pair, w, limits).cut::<S>(w, bounded.ssxcutoff)
}

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
pub unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse2::<Swapped, _, NW>(a, iw, thread, term::<Divisions, Roots>) }
}
