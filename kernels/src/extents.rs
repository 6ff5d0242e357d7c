//! What the grid of a kernel follows from, and what is too large for it.

use crate::cells::BANDS;
use crate::formula::VALUES;
use crate::grid;
use crate::kernel::{Kernel, Loops};
use crate::layout::{Layout, Planned};
use crate::lists;
use crate::plan::Plan;
use crate::tiling::Grid;

/// What the size of a grid depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents<'a> {
    pub nbands: u32,
    /// `igp` of the slab.
    pub ngpown: u32,
    /// `ig`.
    pub ncouls: u32,
    pub nw: u32,
    /// Where the odd pairs of each `igp` begin and the last ones end, as in
    /// [`crate::plan::Plan::odd_begins`], of the poles that the kernel takes; unused by kernels
    /// without a plan.
    pub odd_begins: &'a [u32],
    /// Parts of the slab's pairs, of kernels of [`Loops::Cells`], or records, of those of
    /// [`Loops::Listed`].
    pub parts: u32,
}

/// An extent that is too large for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// What there would be too many of.
    pub what: &'static str,
    /// How many there would be.
    pub count: u64,
    /// Fewer than this can be.
    pub below: u64,
}

/// What a layout has of the arrays that depend on it, along each index, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Matrix elements of G.
    pub aqsn: [u64; 2],
    /// Matrix elements of G′.
    pub aqsm_local: [u64; 2],
    pub wx: [u64; 2],
    /// Pairs, as they are read: a sorted one by its halves.
    pub pairs: [u64; 2],
}

impl Layout {
    pub const ALL: [Layout; 5] =
        [Layout::Original, Layout::Swapped, Layout::Planned, Layout::Listed, Layout::Cells];

    /// Of so many bands, `igp`, `ig` and energies.
    pub fn sizes(self, [bands, igp, ig, nw]: [u64; 4]) -> Sizes {
        let original = Sizes {
            aqsn: [ig, bands],
            aqsm_local: [igp, bands],
            wx: [nw, bands],
            pairs: [ig, igp],
        };
        match self {
            Layout::Original => original,
            Layout::Swapped => Sizes { aqsm_local: [bands, igp], wx: [bands, nw], ..original },
            Layout::Planned | Layout::Listed => Sizes {
                aqsm_local: [igp.next_multiple_of(u64::from(Planned::rows(1))), bands],
                wx: [nw.max(u64::from(Planned::ENERGIES)), bands],
                ..original
            },
            Layout::Cells => {
                let rows = bands.next_multiple_of(u64::from(BANDS));
                Sizes {
                    aqsn: [rows, ig],
                    aqsm_local: [rows, igp],
                    pairs: [2 * ig, igp],
                    ..original
                }
            }
        }
    }
}

impl Kernel {
    /// The grid of each launch, for extents in which nothing is [`Kernel::exceeded`].
    pub fn grid(&self, extents: &Extents) -> Grid {
        let Extents { ngpown, ncouls, odd_begins, .. } = *extents;
        match self.loops {
            Loops::Tiled(shape) => shape.grid(ngpown, ncouls, shape.odd_blocks(odd_begins)),
            Loops::Listed => {
                let most = lists::records(ngpown.into(), ncouls.into());
                let records = u64::from(extents.parts).min(most) as u32;
                lists::grid(records, lists::odd_blocks(odd_begins))
            }
            Loops::Cells(blocks) => {
                let units = self.units(extents).unwrap_or(1);
                Grid::ungrouped(units.clamp(1, u64::from(blocks)) as u32, self.threads)
            }
            _ => Grid::ungrouped(grid::blocks(self.items(extents), self.threads), self.threads),
        }
    }

    /// Units that any number of blocks may share, where its work has such.
    pub fn units(&self, extents: &Extents) -> Option<u64> {
        matches!(self.loops, Loops::Cells(_)).then(|| self.items(extents) / u64::from(self.threads))
    }

    /// Iterations of the collapsed loops, or threads of the grid.
    fn items(&self, extents: &Extents) -> u64 {
        let Extents { nbands, ngpown, ncouls, odd_begins, .. } = *extents;
        let (bands, igp, ig) = (u64::from(nbands), u64::from(ngpown), u64::from(ncouls));
        match self.loops {
            Loops::Collapse3 => bands * igp * ig,
            Loops::Collapse2 => igp * ig,
            Loops::Blocked { n_blk, ig_blk } => u64::from(n_blk) * u64::from(ig_blk) * igp,
            Loops::Tiled(shape) => {
                let Grid { groups, ig_blocks, odd_blocks, threads, .. } =
                    shape.grid(ngpown, ncouls, shape.odd_blocks(odd_begins));
                u64::from(groups)
                    * (u64::from(ig_blocks) + u64::from(odd_blocks))
                    * u64::from(threads)
            }
            Loops::Listed => {
                (u64::from(extents.parts) + u64::from(lists::odd_blocks(odd_begins)))
                    * u64::from(self.threads)
            }
            Loops::Cells(_) => bands.next_multiple_of(u64::from(BANDS)) * u64::from(extents.parts),
        }
    }

    /// The first extent that is too large for it, which the launch contract excludes: offsets, numbers
    /// of iterations and numbers of threads are computed in 32 bits.
    pub fn exceeded(&self, extents: &Extents) -> Option<Exceeded> {
        let Extents { nbands, ngpown, ncouls, nw, .. } = *extents;
        let (bands, igp, ig) = (u64::from(nbands), u64::from(ngpown), u64::from(ncouls));
        let sizes = self.layout.sizes([bands, igp, ig, u64::from(nw)]);
        // Collapsed over three loops a position is kept in digits, not as one number.
        let items = if self.loops == Loops::Collapse3 { 0 } else { self.items(extents) };
        let blocks = match self.loops {
            Loops::Tiled(_) | Loops::Listed => items / u64::from(self.threads),
            Loops::Cells(blocks) => u64::from(blocks),
            _ => u64::from(grid::MAX_BLOCKS),
        };
        let words = u64::from(Plan::words(ncouls)) * igp;
        let listed = if self.loops == Loops::Listed { lists::words(igp, ig) } else { 0 };
        let elements = |[first, second]: [u64; 2]| first * second;
        [
            ("elements of wtilde", ig * igp),
            ("halves of sorted pairs", elements(sizes.pairs)),
            ("elements of aqsn", elements(sizes.aqsn)),
            ("elements of aqsm_local", elements(sizes.aqsm_local)),
            ("elements of wx", elements(sizes.wx)),
            ("words of the mask of odd poles", words),
            ("words of the lists of pairs", listed),
            ("iterations of the collapsed loops", items),
            ("partial sums", blocks * u64::from(nw) * VALUES as u64),
        ]
        .into_iter()
        .map(|(what, count)| Exceeded { what, count, below: 1 << 32 })
        .find(|extent| extent.count >= extent.below)
    }
}
