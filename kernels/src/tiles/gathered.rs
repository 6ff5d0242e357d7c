//! Bands for pairs of lists.

use super::bands::{Band, Bands};
use super::energies::Energies;
use crate::arrays::Arrays;
use crate::layout::Planned;
use crate::lists::Listed;

/// A block stages the `aqsn` of its `ig` and the `aqsm_local` of its window ([`crate::lists`]) for four bands at a time,
/// in two buffers, one element of a band a thread; each lane reads those of its own `igp`.
pub struct Gathered;

#[cfg(not(target_arch = "nvptx64"))]
impl Bands for Gathered {
    type Tile<const T: usize> = Listed<T>;

    /// The threads of a block run in turn here: each reads its own.
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        listed: Listed<T>,
        begin: u32,
        end: u32,
        mut step: impl FnMut(u32, &Band<T, E>),
    ) {
        use crate::intrinsics::load;

        for n in begin..end {
            let first = n * Planned::rows(a.ngpown) + listed.first;
            // SAFETY: the launch contract: n and ig are in range, and so is the window's first igp and those of pairs.
            let band = unsafe {
                Band {
                    aqsn: load(a.aqsn, n * a.ncouls + listed.ig),
                    aqsm: core::array::from_fn(|t| load(a.aqsm_local, first + listed.place(t))),
                    energies: E::read(a, n),
                }
            };
            step(n, &band);
        }
    }
}

#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(
    ".shared .align 16 .b8 gpp_windows[{bytes}];",
    bytes = const 2 * BUFFER,
);

/// Bytes of a band.
#[cfg(target_arch = "nvptx64")]
const BAND: u32 = crate::lists::SHAPE.threads() * crate::staging::ELEMENT;

/// Bytes of a buffer.
#[cfg(target_arch = "nvptx64")]
const BUFFER: u32 = 4 * BAND;

#[cfg(target_arch = "nvptx64")]
impl Bands for Gathered {
    type Tile<const T: usize> = Listed<T>;

    #[inline(always)]
    unsafe fn each<const T: usize, const W: usize, E: Energies>(
        a: &Arrays,
        listed: Listed<T>,
        begin: u32,
        end: u32,
        mut step: impl FnMut(u32, &Band<T, E>),
    ) {
        use crate::grid::each;
        use crate::intrinsics::{WARP, barrier, copied, copy_to_shared, lane, load_shared_pair};
        use crate::staging::ELEMENT;
        use crate::table::EnergiesFrom;

        const { assert!(matches!(E::FROM, EnergiesFrom::ConstantMemory)) };
        if begin >= end {
            return;
        }
        let base: u32;
        // SAFETY: the launch contract; global elements are clamped to the arrays' extents, shared ones are within the
        // buffers; a buffer is written only after the barrier that all its readers have passed.
        unsafe {
            core::arch::asm!("mov.u32 {}, gpp_windows;", out(reg32) base,
                options(pure, nomem, nostack, preserves_flags));
            let thread = lane();
            let (array, stride, element) = if thread < WARP {
                (a.aqsn, a.ncouls, listed.ig)
            } else {
                let igp = (listed.first + thread - WARP).min(listed.last);
                (a.aqsm_local, Planned::rows(a.ngpown), igp)
            };
            // Past the last band, that of the last.
            let copy = |n: u32, at: u32| {
                each::<4>(|band| {
                    let from = (n + band as u32).min(a.nbands - 1) * stride + element;
                    copy_to_shared(base + at + band as u32 * BAND + thread * ELEMENT, array, from);
                });
            };
            let aqsn = base + thread % WARP * ELEMENT;
            let aqsm: [u32; T] =
                core::array::from_fn(|t| base + (WARP + listed.place(t)) * ELEMENT);
            let read = |at: u32| Band {
                aqsn: load_shared_pair(aqsn + at),
                aqsm: aqsm.map(|slot| load_shared_pair(slot + at)),
                energies: E::of_pairs(|_| load_shared_pair(base)),
            };

            copy(begin, 0);
            let (mut n, mut at) = (begin, 0);
            loop {
                copied();
                barrier();
                let stop = (n + 4).min(end);
                if stop < end {
                    copy(stop, at ^ BUFFER);
                }
                let mut band = at;
                while n + 1 < stop {
                    let (first, second) = (read(band), read(band + BAND));
                    step(n, &first);
                    step(n + 1, &second);
                    band += 2 * BAND;
                    n += 2;
                }
                if n < stop {
                    step(n, &read(band));
                    n += 1;
                }
                if n >= end {
                    break;
                }
                at ^= BUFFER;
            }
            // Before the first buffer is filled again.
            barrier();
        }
    }
}
