//! The static CH: sums of `M` over all bands, each times `−½·vcoul·eps` of its pair. Poles, energies and
//! occupations have no part in it.

use core::marker::PhantomData;

use num_complex::Complex;

use super::Fraction;
use super::bands::Bands;
use super::energies::Unread;
use crate::arrays::Arrays;
use crate::grid::each;
use crate::plan::Poles;
use crate::real::Real;
use crate::sums::Sums;
use crate::table::EnergiesFrom;
use crate::tiling::Place;

/// The static CH, as the `ach` of one energy.
pub struct StaticCh<B>(PhantomData<B>);

impl<B: Bands> Fraction for StaticCh<B> {
    const POLES: Poles = Poles::Unread;
    const ENERGIES: EnergiesFrom = EnergiesFrom::Nowhere;

    #[inline(always)]
    unsafe fn sums<R: Real, const NW: usize, const T: usize, const W: usize>(
        a: &Arrays,
        place: Place,
    ) -> Sums<R, NW> {
        let mut of_pairs = [Complex::new(R::zero(), R::zero()); T];
        // SAFETY: the launch contract.
        unsafe {
            B::each::<T, W, Unread>(a, place, 0, a.nbands, |_, band| {
                each::<T>(|t| band.add_matngmatmgp(t, &mut of_pairs[t]));
            });
        }
        let mut sums = Sums::zero();
        each::<T>(|t| {
            // SAFETY: the launch contract.
            let weight = unsafe { place.weight::<R>(a, t) } * R::of(-0.5);
            sums.ach[0] = sums.ach[0] + weight * of_pairs[t];
        });
        sums
    }
}
