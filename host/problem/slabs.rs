//! A problem as slabs of a size.

use std::ops::Range;

use super::{Frame, Part, Problem, Source};
use crate::error::Result;

/// A problem as slabs of so many igp, the last one smaller: its frame, and who gives the slabs.
#[derive(Clone, Copy)]
pub struct Slabs<'a> {
    frame: &'a Frame,
    source: &'a dyn Source,
    igp: usize,
}

impl<'a> Slabs<'a> {
    /// Slabs of `igp` numbers each, at least one, of a source with this frame.
    pub fn new(frame: &'a Frame, source: &'a dyn Source, igp: usize) -> Slabs<'a> {
        Slabs { frame, source, igp: igp.max(1) }
    }

    /// The same problem in slabs of another size.
    #[must_use]
    pub fn of_size(self, igp: usize) -> Slabs<'a> {
        Slabs::new(self.frame, self.source, igp)
    }

    /// What all slabs have in common.
    pub fn frame(self) -> &'a Frame {
        self.frame
    }

    /// The igp of a slab; the last one may have fewer.
    pub fn igp(self) -> usize {
        self.igp
    }

    /// How many slabs.
    pub fn count(self) -> usize {
        self.frame.header().ngpown.div_ceil(self.igp)
    }

    /// The igp of slab `at`; none past the last one.
    pub fn range(self, at: usize) -> Option<Range<usize>> {
        let ngpown = self.frame.header().ngpown;
        (at < self.count()).then(|| at * self.igp..ngpown.min((at + 1).saturating_mul(self.igp)))
    }

    /// The igp of each slab, in their order.
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> + 'a {
        (0..self.count()).filter_map(move |at| self.range(at))
    }

    /// A slab, made or read now where the source does not hold it.
    ///
    /// # Errors
    /// Those of [`Source::slab`].
    pub fn part(self, igp: Range<usize>) -> Result<Part<'a>> {
        self.source.slab(self.frame.bands(), igp)
    }
}

impl<'a> From<&'a Problem> for Slabs<'a> {
    /// One slab.
    fn from(problem: &'a Problem) -> Slabs<'a> {
        Slabs::new(problem.frame(), problem, problem.header().ngpown)
    }
}
