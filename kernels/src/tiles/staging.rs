//! Which elements each thread of a block brings to shared memory, and where each finds its own.
//!
//! A stage holds as many bands as the block has warps, a row each, of elements of 16 bytes: `aqsn` of 32
//! `ig`, `aqsm_local` of the block's `igp`, and `wx` in pairs. Warp `r` brings the `aqsn` of row `r`;
//! the rest is dealt out to the threads in turn.

use super::Place;
use crate::arrays::Planned;
use crate::target::WARP;

/// The stage of blocks of `W` warps with tiles of `T`; its rows hold energies for `E > 0`.
pub struct Stage<const T: usize, const W: usize, const E: usize>;

/// An array that bands are staged from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Array {
    /// `aqsn(ig,n)`.
    Aqsn,
    /// `aqsm_local(igp,n)`, rows padded.
    AqsmLocal,
    /// `wx(:,n)`, rows padded, two energies an element.
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
    /// The stage's row that it is of.
    pub row: u32,
    /// Its place in the stage, in elements.
    pub slot: u32,
}

impl Share {
    /// The element's offset in its array for the stage that begins with band `first`; past the last
    /// band, that of the last.
    #[inline(always)]
    pub fn element(&self, first: u32, nbands: u32) -> u32 {
        (first + self.row).min(nbands - 1) * self.stride + self.at
    }
}

impl<const T: usize, const W: usize, const E: usize> Stage<T, W, E> {
    /// Bands of a stage.
    pub const BANDS: u32 = W as u32;

    /// `igp` of a block.
    pub const COLUMNS: u32 = (W * T) as u32;

    /// Elements of a row; `wx` has its place in all, so that rows are as long.
    pub const ROW: u32 = WARP + Self::COLUMNS + Planned::ENERGIES / 2;

    /// Elements of a stage.
    pub const LENGTH: u32 = Self::BANDS * Self::ROW;

    /// What a thread of a block brings, with its place in the grid and the extents of the problem. A
    /// thread that has no second element to bring brings its first twice, so that none branches off.
    #[inline(always)]
    pub fn shares(thread: u32, place: Place, ngpown: u32, ncouls: u32) -> [Share; 2] {
        // Two elements a thread are enough, and the padded rows hold whole blocks.
        const { assert!(W * T + 2 <= 32 && (Planned::rows(1) as usize).is_multiple_of(W * T)) };
        let (warp, lane) = (thread / WARP, thread % WARP);
        let first = Share {
            array: Array::Aqsn,
            stride: ncouls,
            at: place.ig.min(ncouls - 1),
            row: warp,
            slot: warp * Self::ROW + lane,
        };
        let of_aqsm_local = Self::BANDS * Self::COLUMNS;
        let left = thread - of_aqsm_local.min(thread);
        let second = if thread < of_aqsm_local {
            let (row, column) = (thread / Self::COLUMNS, thread % Self::COLUMNS);
            Share {
                array: Array::AqsmLocal,
                stride: Planned::rows(ngpown),
                at: place.igp - warp * T as u32 + column,
                row,
                slot: row * Self::ROW + WARP + column,
            }
        } else if E > 0 && left < 2 * Self::BANDS {
            let (row, pair) = (left / 2, left % 2);
            Share {
                array: Array::Wx,
                stride: Planned::ENERGIES / 2,
                at: pair,
                row,
                slot: row * Self::ROW + WARP + Self::COLUMNS + pair,
            }
        } else {
            first
        };
        [first, second]
    }

    /// Where a thread finds `aqsn` in a row.
    #[inline(always)]
    pub fn aqsn(thread: u32) -> u32 {
        thread % WARP
    }

    /// Where a thread finds the `aqsm_local` of column `t` in a row.
    #[inline(always)]
    pub fn aqsm_local(thread: u32, t: usize) -> u32 {
        WARP + thread / WARP * T as u32 + t as u32
    }

    /// Where all threads find energies `2·pair` and `2·pair + 1` in a row.
    #[inline(always)]
    pub fn wx(pair: usize) -> u32 {
        WARP + Self::COLUMNS + pair as u32
    }
}
