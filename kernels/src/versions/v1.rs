//! v1: divisions become reciprocals.
//!
//! A complex division ends in two `div.rn.f64`; `a / b = a · conj(b) · (1 / |b|²)` needs one
//! `rcp.rn.f64` and multiplications instead ([`reciprocal`]). Three sites: `delw` and `ssx` in either branch
//! (paper, section III, v1).
//!
//! Lines of the nest: 6, 7, 8.

use num_complex::Complex64;

use super::v0::{self, Roots, collapse3, three_ways};
use crate::arrays::Arrays;
use crate::entries::entries;
use crate::grid::Thread;
use crate::kernel::{Gpu, Kernel, Version};
use crate::layout::Original;
use crate::quotient::{Quotients, reciprocal};
use crate::sums::Sums;

/// What v1 is.
pub static VERSION: Version =
    Version { id: "v1", change: "reciprocals for divisions", source: "paper III, v1" };

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[KERNEL], beyond: None };

/// Its kernel.
pub const KERNEL: Kernel = Kernel {
    flops_per_term: Some(96.3),
    entries: entries!(
        body:
        gpp_v1_nw1 = 1,
        gpp_v1_nw2 = 2,
        gpp_v1_nw3 = 3,
    ),
    ..v0::KERNEL
};

/// Quotients by reciprocals.
pub struct Reciprocals;

impl Quotients for Reciprocals {
    #[inline(always)]
    fn delw(wtilde: Complex64, wdiff: Complex64, wdiffr: f64) -> Complex64 {
        let rden = 1.0 / wdiffr;
        wtilde * wdiff.conj() * rden
    }

    #[inline(always)]
    fn over(a: Complex64, b: Complex64) -> Complex64 {
        a * reciprocal(b)
    }
}

/// # Safety
/// The [launch contract](crate::contract).
#[inline(always)]
unsafe fn body<const NW: usize>(a: &Arrays, iw: u32, thread: Thread) -> Sums<NW> {
    // SAFETY: the launch contract.
    unsafe { collapse3::<Original, NW>(a, iw, thread, three_ways::<Reciprocals, Roots>) }
}
