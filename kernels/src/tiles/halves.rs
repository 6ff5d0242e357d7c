//! Purely real poles, energies from the constant memory, and one reciprocal for two energies where
//! no pole is near.
//!
//! `q = 1/(w − ω̃)` of a far band ([`crate::plan`]): with `x` between two energies, less `ω̃`, and half of
//! their difference, `h`, both are `1/(x ∓ h) = (x ± h)/(x² − h²)`, sums of `1/(x² − h²)` and of
//! `x/(x² − h²)`. `|x| ≥ 3h`, so neither the denominator nor the sums of the two cancel.

use core::array::{from_fn, from_mut};

use num_complex::Complex;

use super::real::{Pole, flushed};
use super::{Shape, add, odd_pair};
use crate::arrays::{Arrays, Sums};
use crate::grid::{Thread, each};
use crate::plan::Table;
use crate::quotient::reciprocal_unless;
use crate::real::Real;
use crate::target::each_staged_band;

/// Sums of `M/(w + c)` for each energy where no pole is near, two energies in one.
#[derive(Clone, Copy)]
struct Smooth<R, const NW: usize>([Complex<R>; NW]);

impl<R: Real, const NW: usize> Smooth<R, NW> {
    fn zero() -> Self {
        Smooth([Complex::new(R::zero(), R::zero()); NW])
    }

    /// Adds a band with these energies.
    #[inline(always)]
    fn add(&mut self, m: Complex<R>, w: &[R; NW], c: R, table: &Table) {
        let single = |e: usize| reciprocal_unless(false, w[e] + c);
        if NW == 1 {
            return add(&mut self.0, m, [single(0); NW]);
        }
        let x = w[0] + (c + R::of(table.half));
        let one = reciprocal_unless(false, x * x - R::of(table.square));
        add(
            &mut self.0,
            m,
            from_fn(|e| match e {
                0 => one,
                1 => x * one,
                _ => single(e),
            }),
        );
    }

    /// The sums.
    #[inline(always)]
    fn sums(&self, table: &Table) -> [Complex<R>; NW] {
        if NW == 1 {
            return self.0;
        }
        let (one, x) = (self.0[0] * R::of(table.half), self.0[1 % NW]);
        from_fn(|e| match e {
            0 => x + one,
            1 => x - one,
            _ => self.0[e],
        })
    }
}

/// One thread's sums over tiles of `T` columns, `W` warps a block.
///
/// # Safety
/// Arrays and plan valid for their extents, all poles that are not odd real and positive.
#[inline(always)]
pub unsafe fn body<R: Real, const NW: usize, const T: usize, const W: usize>(
    a: &Arrays,
    thread: Thread,
) -> Sums<R, NW> {
    let shape = Shape { tile: T as u32, warps: W as u32 };
    if shape.is_odd(a, thread) {
        // SAFETY: the caller's contract.
        return unsafe { odd_pair(a, thread.index) };
    }
    let place = shape.place(a, thread);
    let (plan, table) = (&a.plan, &a.plan.table);
    // SAFETY: the caller's contract.
    let energies = |n: u32| unsafe { table.energies::<R, NW>(n) };
    // SAFETY: the caller's contract.
    let poles: [Pole<R>; T] = from_fn(|t| unsafe { Pole::of(a, place, t) });
    // SAFETY: the caller's contract.
    let weight = |t: usize| unsafe { place.weight::<R>(a, t) } * poles[t].wtilde;
    let zero = [[Complex::new(R::zero(), R::zero()); NW]; T];
    let (mut q, mut y) = (zero, zero);

    // SAFETY: the caller's contract.
    unsafe {
        each_staged_band::<T, W, 0>(a, place, 0, plan.plain, |n, band| {
            let w = energies(n);
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                let both = w.map(|w| poles[t].quotients(w));
                add(&mut y[t], m, both.map(|(y, _)| y));
                add(&mut q[t], m, both.map(|(_, q)| q));
            });
        });
        each_staged_band::<T, W, 0>(a, place, plan.plain, plan.occupied, |n, band| {
            let (w, occ) = (energies(n), a.occ::<R>(n));
            each::<T>(|t| {
                let m = band.matngmatmgp(t);
                each::<NW>(|e| {
                    let (one, quotient) = poles[t].cut_quotients(a, w[e]);
                    add(from_mut(&mut y[t][e]), m, [one * occ]);
                    add(from_mut(&mut q[t][e]), m, [quotient]);
                });
            });
        });
    }
    let mut sums = Sums::zero();
    each::<T>(|t| {
        let omega2 = weight(t) * poles[t].wtilde;
        each::<NW>(|e| sums.asx[e] = sums.asx[e] - omega2 * y[t][e]);
    });
    let mut far = [Smooth::<R, NW>::zero(); T];
    // SAFETY: the caller's contract.
    unsafe {
        each_staged_band::<T, W, 0>(a, place, plan.occupied, plan.far, |n, band| {
            let w = energies(n);
            each::<T>(|t| add(&mut q[t], band.matngmatmgp(t), w.map(|w| poles[t].quotient(w))));
        });
        each_staged_band::<T, W, 0>(a, place, plan.far, a.nbands, |n, band| {
            let w = energies(n);
            each::<T>(|t| far[t].add(band.matngmatmgp(t), &w, -poles[t].wtilde, table));
        });
    }
    each::<T>(|t| {
        let (weight, far) = (weight(t) * R::of(0.5), far[t].sums(table));
        each::<NW>(|e| sums.ach[e] = sums.ach[e] + weight * (flushed(q[t][e]) + far[e]));
    });
    sums
}
