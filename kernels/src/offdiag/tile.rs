//! The tile of a block.

use super::stages::Extent;
use crate::intrinsics::WARP;

/// The tile of a block: fragments of a warp, and warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Fragments of 16 l of a warp.
    pub m: u32,
    /// Fragments of 8 igp of a warp.
    pub n: u32,
    /// Warps along l.
    pub across: u32,
    /// Warps along igp.
    pub along: u32,
    /// Steps of the images that a product takes at a time.
    pub deep: u32,
}

impl Tile {
    /// Warps of a block.
    pub const fn warps(self) -> u32 {
        self.across * self.along
    }

    /// Threads of a block.
    pub const fn threads(self) -> u32 {
        self.warps() * WARP
    }

    /// Where a warp is along l and along igp: a scheduler, which has every fourth warp, has all along l.
    #[inline(always)]
    pub const fn of_warp(self, warp: u32) -> (u32, u32) {
        (warp / self.along, warp % self.along)
    }

    /// Left fragments of a block.
    pub const fn left(self) -> u32 {
        self.m * self.across
    }

    /// Right fragments of a block.
    pub const fn right(self) -> u32 {
        self.n * self.along
    }

    /// What a stage holds, of right images of so many words.
    pub const fn extent(self, words: u32) -> Extent {
        Extent::filling(self.left(), self.right(), words, self.deep)
    }
}
