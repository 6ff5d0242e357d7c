//! Bands for pairs of lists.

use super::bands::{Band, Bands};
use super::energies::Energies;
use crate::arrays::Arrays;
use crate::grid::Thread;
use crate::layout::Layout;
use crate::lists::{self, Listed};
use crate::tiling::Shape;

/// A block stages the `aqsn` of its `ig` and the `aqsm_local` of its window ([`crate::lists`]) for half as many bands
/// at a time as it has warps, in two buffers; each lane reads those of its own `igp`.
pub struct Gathered;

/// The pairs of the lists.
macro_rules! listed {
    () => {
        const LAYOUT: Layout = Layout::Listed;
        const SHARING: (u32, u32) = (lists::SHAPE.sharing, lists::SHAPE.lists);
        type Tile<const T: usize> = Listed<T>;

        #[inline(always)]
        unsafe fn tile<const T: usize>(a: &Arrays, _: Shape, thread: Thread) -> Option<Listed<T>> {
            // SAFETY: as this function's own.
            unsafe { Listed::of(a, thread) }
        }
    };
}

#[cfg(not(target_arch = "nvptx64"))]
impl Bands for Gathered {
    listed!();

    /// The threads of a block run in turn here: each reads its own.
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        listed: Listed<T>,
        begin: u32,
        end: u32,
        mut step: impl FnMut(u32, &Band<T, E>),
    ) {
        use crate::intrinsics::load;
        use crate::layout::Planned;

        let ig = listed.ig.min(a.ncouls - 1);
        for n in begin..end {
            let first = n * Planned::rows(a.ngpown) + listed.first;
            // SAFETY: the launch contract: n and ig are in range, and so is the window's first igp and those of pairs.
            let band = unsafe {
                Band {
                    aqsn: load(a.aqsn, n * a.ncouls + ig),
                    aqsm: core::array::from_fn(|t| load(a.aqsm_local, first + listed.place(t))),
                    energies: E::read(a, n),
                }
            };
            step(n, &band);
        }
    }
}

#[cfg(target_arch = "nvptx64")]
impl Bands for Gathered {
    listed!();

    #[inline(always)]
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        listed: Listed<T>,
        begin: u32,
        end: u32,
        step: impl FnMut(u32, &Band<T, E>),
    ) {
        use super::bands::Buffers;
        use crate::intrinsics::{WARP, lane, load, load_shared_pair, store_shared_pair};
        use crate::layout::Planned;
        use crate::lists::WINDOW;
        use crate::staging::{ELEMENT, windows};
        use crate::table::EnergiesFrom;

        // Elements of a band, and bytes; two elements a thread make half as many bands as there are warps.
        const BAND: u32 = WARP + WINDOW;
        const BAND_BYTES: u32 = BAND * ELEMENT;
        const { assert!(W as u32 == lists::SHAPE.warps && BAND == 4 * WARP) };
        const { assert!(matches!(E::FROM, EnergiesFrom::ConstantMemory)) };
        if begin >= end {
            return;
        }
        let bands = W as u32 / 2;
        // SAFETY: the launch contract; global elements are clamped to the arrays' extents, shared ones are
        // within the buffers by their slot.
        unsafe {
            let thread = lane();
            let (of_band, at) = (thread / BAND, thread % BAND);
            let (array, stride, element) = match at < WARP {
                true => (a.aqsn, a.ncouls, listed.ig.min(a.ncouls - 1)),
                false => {
                    let igp = (listed.first + at - WARP).min(a.ngpown - 1);
                    (a.aqsm_local, Planned::rows(a.ngpown), igp)
                }
            };
            let fetch = |n: u32| {
                [0, bands / 2].map(|more| {
                    load(array, (n + of_band + more).min(a.nbands - 1) * stride + element)
                })
            };
            let base = windows();
            let own = base + thread * ELEMENT;
            let put = |buffer: u32, [one, other]: [_; 2]| {
                store_shared_pair(own + buffer, one);
                store_shared_pair(own + buffer + bands / 2 * BAND_BYTES, other);
            };
            let aqsn = thread % WARP * ELEMENT;
            let aqsm: [u32; T] = core::array::from_fn(|t| (WARP + listed.place(t)) * ELEMENT);
            let read = |band: u32| Band {
                aqsn: load_shared_pair(band + aqsn),
                aqsm: aqsm.map(|slot| load_shared_pair(band + slot)),
                energies: E::of_pairs(|_| load_shared_pair(band)),
            };

            let buffers = Buffers { base, bands, band_bytes: BAND_BYTES };
            buffers.each(begin, end, fetch, put, read, step);
        }
    }
}
