//! Where bands come from.

use num_complex::{Complex, Complex64};

use super::energies::Energies;
use crate::arrays::Arrays;
use crate::intrinsics::load;
use crate::layout::Planned;
use crate::real::Real;
use crate::tiling::Place;

/// One band as memory holds it: `aqsn(ig,n)`, `aqsm_local(igp,n)` of the tile, and its energies.
#[derive(Clone, Copy)]
pub struct Band<const T: usize, E> {
    /// Matrix element of G.
    aqsn: Complex64,
    /// Matrix elements of G′.
    aqsm: [Complex64; T],
    /// What memory holds of the energies.
    energies: E,
}

impl<const T: usize, E: Energies> Band<T, E> {
    /// `M` of pair `t` of the tile.
    #[inline(always)]
    pub fn matngmatmgp<R: Real>(&self, t: usize) -> Complex<R> {
        R::complex(self.aqsm[t]).conj() * R::complex(self.aqsn)
    }

    /// Adds `M` of pair `t` of the tile, in four fused operations.
    #[inline(always)]
    pub fn add_matngmatmgp<R: Real>(&self, t: usize, sum: &mut Complex<R>) {
        let (aqsm, aqsn) = (R::complex(self.aqsm[t]), R::complex(self.aqsn));
        sum.re = sum.re + aqsm.re * aqsn.re;
        sum.im = sum.im + aqsm.re * aqsn.im;
        sum.im = sum.im - aqsm.im * aqsn.re;
        sum.re = sum.re + aqsm.im * aqsn.im;
    }

    /// `wx(:,n)`, for band number `n`.
    ///
    /// # Safety
    /// As [`Energies::of`].
    #[inline(always)]
    pub unsafe fn wx<R: Real, const NW: usize>(&self, a: &Arrays, n: u32) -> [R; NW] {
        // SAFETY: as this function's own.
        unsafe { self.energies.of(a, n) }
    }
}

/// How the bands of a class are gone through.
pub trait Bands {
    /// Calls `step` with the number and the elements of each band of `begin..end`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) and `end <= nbands`; called by all threads of a block of
    /// `W` warps alike, with the places of one block.
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        step: impl FnMut(u32, &Band<T, E>),
    );
}

/// Each thread reads its own from global memory.
pub struct Direct;

impl Bands for Direct {
    #[inline(always)]
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        mut step: impl FnMut(u32, &Band<T, E>),
    ) {
        let ig = place.ig.min(a.ncouls - 1);
        let mut n = begin;
        while n < end {
            let first = n * Planned::rows(a.ngpown) + place.igp;
            // SAFETY: the launch contract: n and ig are in range, and the padding holds whole tiles.
            let band = unsafe {
                Band {
                    aqsn: load(a.aqsn, n * a.ncouls + ig),
                    aqsm: core::array::from_fn(|t| load(a.aqsm_local, first + t as u32)),
                    energies: E::read(a, n),
                }
            };
            step(n, &band);
            n += 1;
        }
    }
}

/// A block stages as many bands at a time as it has warps ([`crate::staging`]), in two buffers in
/// shared memory: the next ones are on their way from global memory while these are summed.
pub struct Staged;

#[cfg(not(target_arch = "nvptx64"))]
impl Bands for Staged {
    /// The threads of a block run in turn here: each reads its own.
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        step: impl FnMut(u32, &Band<T, E>),
    ) {
        // SAFETY: as this function's own.
        unsafe { Direct::each::<T, W, E>(a, place, begin, end, step) }
    }
}

#[cfg(target_arch = "nvptx64")]
impl Bands for Staged {
    #[inline(always)]
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        mut step: impl FnMut(u32, &Band<T, E>),
    ) {
        use crate::intrinsics::{barrier, lane, load_shared_pair, store_shared_pair};
        use crate::staging::{Array, ELEMENT, Stage, stages};
        use crate::table::EnergiesFrom;

        if begin >= end {
            return;
        }
        let bands = Stage::<T, W>::BANDS;
        let band_bytes = Stage::<T, W>::BAND * ELEMENT;
        // SAFETY: the launch contract; global elements are clamped to the arrays' extents, shared ones are
        // within the buffers by their slot; a buffer is written only after the barrier that all its
        // readers have passed.
        unsafe {
            let thread = lane();
            let with_energies = matches!(E::FROM, EnergiesFrom::Arrays);
            let [first, second] =
                Stage::<T, W>::shares(thread, place, a.ngpown, a.ncouls, with_energies);
            let array = match second.array {
                Array::Aqsn => a.aqsn,
                Array::AqsmLocal => a.aqsm_local,
                Array::Wx => a.wx.cast(),
            };
            let fetch = |n: u32| {
                (load(a.aqsn, first.element(n, a.nbands)), load(array, second.element(n, a.nbands)))
            };
            let base = stages::<T, W>();
            let put = |buffer: u32, (one, other): (Complex64, Complex64)| {
                store_shared_pair(base + buffer + first.slot * ELEMENT, one);
                store_shared_pair(base + buffer + second.slot * ELEMENT, other);
            };
            let read = |band: u32| {
                let element = |slot: u32| load_shared_pair(band + slot * ELEMENT);
                Band {
                    aqsn: element(Stage::<T, W>::aqsn(thread)),
                    aqsm: core::array::from_fn(|t| element(Stage::<T, W>::aqsm_local(thread, t))),
                    energies: E::of_pairs(|pair| element(Stage::<T, W>::wx(pair))),
                }
            };

            let buffer_bytes = bands * band_bytes;
            let mut buffer = 0;
            put(buffer, fetch(begin));
            barrier();
            let mut n = begin;
            loop {
                let more = end - n > bands;
                // The last time too, for nothing: without a branch.
                let next = fetch(n + bands);
                let stop = (n + bands).min(end);
                let mut band = base + buffer;
                // Two bands at a time leave ptxas more to choose from.
                while n + 1 < stop {
                    let (first, second) = (read(band), read(band + band_bytes));
                    step(n, &first);
                    step(n + 1, &second);
                    band += 2 * band_bytes;
                    n += 2;
                }
                if n < stop {
                    step(n, &read(band));
                    n += 1;
                }
                if !more {
                    break;
                }
                buffer = buffer_bytes - buffer;
                put(buffer, next);
                barrier();
            }
            // Before the first buffer is filled again.
            barrier();
        }
    }
}
