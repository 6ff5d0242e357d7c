//! One reciprocal for two energies of a far band.
//!
//! `q = 1/(w − ω̃)` of a far band ([`crate::plan`]): with `x` between two energies, less `ω̃`, and half of
//! their difference, `h`, both are `1/(x ∓ h) = (x ± h)/(x² − h²)`, sums of `1/(x² − h²)` and of
//! `x/(x² − h²)`. `|x| ≥ 3h`, so neither the denominator nor the sums of the two cancel.

use core::array::from_fn;

use num_complex::Complex;

use super::add;
use super::far::FarBands;
use super::real_poles::FarSums;
use crate::arrays::Arrays;
use crate::quotient::reciprocal_unless;
use crate::real::Real;
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
    type Of<R: Real, const NW: usize> = [Complex<R>; NW];

    #[inline(always)]
    fn zero<R: Real, const NW: usize>() -> [Complex<R>; NW] {
        [Complex::new(R::zero(), R::zero()); NW]
    }

    #[inline(always)]
    fn add<R: Real, const NW: usize>(
        sums: &mut [Complex<R>; NW],
        m: Complex<R>,
        w: &[R; NW],
        wtilde: R,
        table: &Table,
    ) {
        let c = -wtilde;
        let single = |e: usize| reciprocal_unless(false, w[e] + c);
        if NW == 1 {
            return add(sums, m, [single(0); NW]);
        }
        let x = w[0] + (c + R::of(table.half));
        let one = reciprocal_unless(false, x * x - R::of(table.square));
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
    fn join<R: Real, const NW: usize>(
        q: [Complex<R>; NW],
        sums: &[Complex<R>; NW],
        table: &Table,
    ) -> [Complex<R>; NW] {
        if NW == 1 {
            return from_fn(|e| q[e] + sums[e]);
        }
        let (one, x) = (sums[0] * R::of(table.half), sums[1 % NW]);
        from_fn(|e| {
            q[e] + match e {
                0 => x + one,
                1 => x - one,
                _ => sums[e],
            }
        })
    }
}
