//! Where bands come from.

use num_complex::{Complex, Complex64};

use super::energies::Energies;
use crate::arrays::Arrays;
use crate::grid::Thread;
use crate::intrinsics::load;
use crate::layout::{Layout, Planned};
use crate::real::Real;
use crate::tiling::{Place, Shape, Tile};

/// One band as memory holds it: `aqsn(ig,n)`, `aqsm_local(igp,n)` of the tile, and its energies.
#[derive(Clone, Copy)]
pub struct Band<const T: usize, E> {
    /// Matrix element of G.
    pub(super) aqsn: Complex64,
    /// Matrix elements of G′.
    pub(super) aqsm: [Complex64; T],
    /// What memory holds of the energies.
    pub(super) energies: E,
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

/// Which pairs a thread has, and how the bands of a class are gone through.
pub trait Bands {
    /// The order of the arrays and what is known of their pairs.
    const LAYOUT: Layout;

    /// Blocks that share the `igp` of a group, and its lists: [`Shape::sharing`], [`Shape::lists`].
    const SHARING: (u32, u32);

    /// The pairs of a thread.
    type Tile<const T: usize>: Tile;

    /// Those of a thread in a block that sums no odd pairs, or none in all threads of the block alike.
    ///
    /// # Safety
    /// The [launch contract](crate::contract).
    unsafe fn tile<const T: usize>(
        a: &Arrays,
        shape: Shape,
        thread: Thread,
    ) -> Option<Self::Tile<T>>;

    /// Calls `step` with the number and the elements of each band of `begin..end`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) and `end <= nbands`; called by all threads of a block of
    /// `W` warps alike, with the places of one block.
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Self::Tile<T>,
        begin: u32,
        end: u32,
        step: impl FnMut(u32, &Band<T, E>),
    );
}

/// The tile that has its place in the grid.
macro_rules! placed {
    () => {
        const LAYOUT: Layout = Layout::Planned;
        const SHARING: (u32, u32) = (1, 1);
        type Tile<const T: usize> = Place;

        #[inline(always)]
        unsafe fn tile<const T: usize>(a: &Arrays, shape: Shape, thread: Thread) -> Option<Place> {
            Some(shape.place(a, thread))
        }
    };
}

/// Each thread reads its own from global memory.
pub struct Direct;

impl Bands for Direct {
    placed!();

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
    placed!();

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
    placed!();

    #[inline(always)]
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        place: Place,
        begin: u32,
        end: u32,
        step: impl FnMut(u32, &Band<T, E>),
    ) {
        use crate::intrinsics::{lane, load_shared_pair, store_shared_pair};
        use crate::staging::{Array, ELEMENT, Stage, stages};
        use crate::table::EnergiesFrom;

        if begin >= end {
            return;
        }
        let bands = Stage::<T, W>::BANDS;
        let band_bytes = Stage::<T, W>::BAND * ELEMENT;
        // SAFETY: the launch contract; global elements are clamped to the arrays' extents, shared ones are
        // within the buffers by their slot.
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

            let buffers = Buffers { base, bands, band_bytes };
            buffers.each(begin, end, fetch, put, read, step);
        }
    }
}

/// Two buffers in shared memory: the next bands are on their way from global memory to one while those of the other
/// are summed.
#[cfg(target_arch = "nvptx64")]
pub(super) struct Buffers {
    /// Shared-memory address of the first; the second is behind it.
    pub base: u32,
    /// Bands of each.
    pub bands: u32,
    /// Bytes of a band.
    pub band_bytes: u32,
}

#[cfg(target_arch = "nvptx64")]
impl Buffers {
    /// Calls `step` for each band of `begin..end`, of which there are some. `fetch` has what a thread brings of the
    /// bands from one on, past the last band something; `put` stores it in the buffer so many bytes behind the first;
    /// `read` reads the band at an address.
    ///
    /// # Safety
    /// Called by all threads of a block alike; `put` and `read` stay in the buffer and the band that they are told.
    #[inline(always)]
    pub(super) unsafe fn each<const T: usize, E: Energies, F>(
        self,
        begin: u32,
        end: u32,
        fetch: impl Fn(u32) -> F,
        put: impl Fn(u32, F),
        read: impl Fn(u32) -> Band<T, E>,
        mut step: impl FnMut(u32, &Band<T, E>),
    ) {
        use crate::intrinsics::barrier;

        let Buffers { base, bands, band_bytes } = self;
        // SAFETY: this function's own contract; a buffer is written only after the barrier that all its readers have
        // passed.
        unsafe {
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
