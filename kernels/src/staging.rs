//! Which elements each thread of a block brings to shared memory, and where each finds its own.
//!
//! A stage holds as many bands as the block has warps, each of elements of 16 bytes: `aqsn` of 32 `ig`,
//! `aqsm_local` of the block's `igp`, and `wx` in pairs. Warp `b` brings the `aqsn` of band `b`;
//! the rest is dealt out to the threads in turn.

use crate::intrinsics::WARP;
use crate::layout::Planned;
use crate::tiling::Place;

/// The stage of blocks of `W` warps with tiles of `T`.
pub struct Stage<const T: usize, const W: usize>;

/// An array that bands are staged from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// `aqsn(ig,n)`.
    Aqsn,
    /// `aqsm_local(igp,n)`, padded.
    AqsmLocal,
    /// `wx(:,n)`, padded, two energies an element.
    Wx,
}

/// One element of each stage, as one thread brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Where it is read.
    pub array: Array,
    /// Elements of the array for a band.
    pub stride: u32,
    /// Its place among these.
    pub at: u32,
    /// The stage's band that it is of.
    pub band: u32,
    /// Its place in the stage, in elements.
    pub slot: u32,
}

impl Share {
    /// The element's offset in its array for the stage that begins with band `first`; past the last
    /// band, that of the last.
    #[inline(always)]
    pub fn element(&self, first: u32, nbands: u32) -> u32 {
        (first + self.band).min(nbands - 1) * self.stride + self.at
    }
}

impl<const T: usize, const W: usize> Stage<T, W> {
    /// Bands of a stage.
    pub const BANDS: u32 = W as u32;

    /// `igp` of a block.
    pub const IGP: u32 = (W * T) as u32;

    /// Elements of a band; `wx` has its place in all, so that all stages are as long.
    pub const BAND: u32 = WARP + Self::IGP + Planned::ENERGIES / 2;

    /// Elements of a stage.
    pub const LENGTH: u32 = Self::BANDS * Self::BAND;

    /// What a thread of a block brings, with its place in the grid and the extents of the slab; of
    /// energies only if the bands are `with_energies`. A thread that has no second element to bring
    /// brings its first twice, so that none branches off.
    #[inline(always)]
    pub fn shares(
        thread: u32,
        place: Place,
        ngpown: u32,
        ncouls: u32,
        with_energies: bool,
    ) -> [Share; 2] {
        // Two elements a thread are enough, and the padding holds whole blocks.
        const { assert!(W * T + 2 <= 32 && (Planned::rows(1) as usize).is_multiple_of(W * T)) };
        let (warp, lane) = (thread / WARP, thread % WARP);
        let first = Share {
            array: Array::Aqsn,
            stride: ncouls,
            at: place.ig.min(ncouls - 1),
            band: warp,
            slot: warp * Self::BAND + lane,
        };
        let of_aqsm_local = Self::BANDS * Self::IGP;
        let left = thread - of_aqsm_local.min(thread);
        let second = if thread < of_aqsm_local {
            let (band, igp) = (thread / Self::IGP, thread % Self::IGP);
            Share {
                array: Array::AqsmLocal,
                stride: Planned::rows(ngpown),
                at: place.igp - warp * T as u32 + igp,
                band,
                slot: band * Self::BAND + WARP + igp,
            }
        } else if with_energies && left < 2 * Self::BANDS {
            let (band, pair) = (left / 2, left % 2);
            Share {
                array: Array::Wx,
                stride: Planned::ENERGIES / 2,
                at: pair,
                band,
                slot: band * Self::BAND + WARP + Self::IGP + pair,
            }
        } else {
            first
        };
        [first, second]
    }

    /// Where a thread finds `aqsn` in a band.
    #[inline(always)]
    pub fn aqsn(thread: u32) -> u32 {
        thread % WARP
    }

    /// Where a thread finds the `aqsm_local` of `igp` number `t` of its tile in a band.
    #[inline(always)]
    pub fn aqsm_local(thread: u32, t: usize) -> u32 {
        WARP + thread / WARP * T as u32 + t as u32
    }

    /// Where all threads find energies `2·pair` and `2·pair + 1` in a band.
    #[inline(always)]
    pub fn wx(pair: usize) -> u32 {
        WARP + Self::IGP + pair as u32
    }
}

/// `igp` of a tile at most, but for [`WIDE`] ones in blocks of four warps.
pub const MAX_TILE: usize = 3;

/// `igp` of a wide tile.
pub const WIDE: usize = 4;

/// Bytes of an element of a stage.
pub const ELEMENT: u32 = 16;

// Two stages each, and a variable for each number of warps, so that a kernel holds no more than it
// fills.
#[cfg(target_arch = "nvptx64")]
core::arch::global_asm!(
    ".shared .align 16 .b8 gpp_stage_4[{four}];",
    ".shared .align 16 .b8 gpp_stage_8[{eight}];",
    ".shared .align 16 .b8 gpp_stage_16[{sixteen}];",
    ".shared .align 16 .b8 gpp_stage_wide[{wide}];",
    four = const 2 * Stage::<MAX_TILE, 4>::LENGTH * ELEMENT,
    eight = const 2 * Stage::<MAX_TILE, 8>::LENGTH * ELEMENT,
    sixteen = const 2 * Stage::<1, 16>::LENGTH * ELEMENT,
    wide = const 2 * Stage::<WIDE, 4>::LENGTH * ELEMENT,
);

/// Shared-memory address of the two stages of blocks of `W` warps with tiles of `T`.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub fn stages<const T: usize, const W: usize>() -> u32 {
    use core::arch::asm;

    const { assert!(W == 4 || W == 8 || W == 16) };
    const { assert!(T <= MAX_TILE || T == WIDE && W == 4) };
    let base: u32;
    // SAFETY: takes an address.
    unsafe {
        match W {
            4 if T == WIDE => asm!("mov.u32 {}, gpp_stage_wide;", out(reg32) base,
                                   options(pure, nomem, nostack, preserves_flags)),
            4 => asm!("mov.u32 {}, gpp_stage_4;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
            8 => asm!("mov.u32 {}, gpp_stage_8;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
            _ => asm!("mov.u32 {}, gpp_stage_16;", out(reg32) base,
                      options(pure, nomem, nostack, preserves_flags)),
        }
    }
    base
}
