//! One reciprocal for two energies of a far band.
//!
//! `q = 1/(w − ω̃)` of a far band ([`crate::plan`]): with `x` between two energies, less `ω̃`, and half of
//! their difference, `h`, both are `1/(x ∓ h) = (x ± h)/(x² − h²)`, sums of `1/(x² − h²)` and of
//! `x/(x² − h²)`. `|x| ≥ 3h`, so neither the denominator nor the sums of the two cancel.

use core::array::from_fn;

use num_complex::{Complex, Complex64};

use super::add;
use super::far::FarBands;
use super::real_poles::FarSums;
use crate::arrays::Arrays;
use crate::quotient::reciprocal_unless;
use crate::table::Table;

/// Far bands have a loop of their own, without the test for the second branch and with one reciprocal
/// for the first two energies.
pub struct PairedReciprocal;

impl FarBands for PairedReciprocal {
    #[inline(always)]
    fn begin(a: &Arrays) -> u32 {
        a.plan.far_begin
    }
}

impl FarSums for PairedReciprocal {
    /// Of `M/(x² − h²)` and `M·x/(x² − h²)`, then of `M/(w − ω̃)` for a third energy; or of
    /// `M/(w − ω̃)` for a single one.
    type Of<const NW: usize> = [Complex64; NW];

    #[inline(always)]
    fn zero<const NW: usize>() -> [Complex64; NW] {
        [Complex::new(0.0, 0.0); NW]
    }

    #[inline(always)]
    fn add<const NW: usize>(
        sums: &mut [Complex64; NW],
        m: Complex64,
        w: &[f64; NW],
        wtilde: f64,
        table: &Table,
    ) {
        let c = -wtilde;
        let single = |e: usize| reciprocal_unless(false, w[e] + c);
        if NW == 1 {
            return add(sums, m, [single(0); NW]);
        }
        let x = w[0] + (c + table.half);
        let one = reciprocal_unless(false, x * x - table.square);
        add(
            sums,
            m,
            from_fn(|e| match e {
                0 => one,
                1 => x * one,
                _ => single(e),
            }),
        );
    }

    #[inline(always)]
    fn join<const NW: usize>(
        q: [Complex64; NW],
        sums: &[Complex64; NW],
        table: &Table,
    ) -> [Complex64; NW] {
        if NW == 1 {
            return from_fn(|e| q[e] + sums[e]);
        }
        let (one, x) = (sums[0] * table.half, sums[1 % NW]);
        from_fn(|e| {
            q[e] + match e {
                0 => x + one,
                1 => x - one,
                _ => sums[e],
            }
        })
    }
}
