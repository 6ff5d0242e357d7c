//! A problem as slabs of a size.

use std::ops::Range;

use super::{Frame, Given, Id, Problem, Slab, Source};
use crate::error::Result;

/// How many slabs of `igp` numbers each, at least one, `ngpown` are.
pub fn count(ngpown: usize, igp: usize) -> usize {
    ngpown.div_ceil(igp.max(1))
}

/// The igp of slab `at`; none past the last slab, which may be smaller than the others.
pub fn range(ngpown: usize, igp: usize, at: usize) -> Option<Range<usize>> {
    let size = igp.max(1);
    (at < count(ngpown, size))
        .then(|| at * size..ngpown.min(at.saturating_add(1).saturating_mul(size)))
}

/// A problem as slabs of so many igp, the last one smaller: its frame, and who gives the slabs.
#[derive(Clone, Copy)]
pub struct Slabs<'a> {
    frame: &'a Frame,
    source: &'a dyn Source,
    /// Of the slabs that the source makes.
    id: Id,
    igp: usize,
}

impl<'a> Slabs<'a> {
    /// Slabs of `igp` numbers each, at least one and no more than there are, of a source with this frame.
    pub fn new(frame: &'a Frame, source: &'a dyn Source, igp: usize) -> Slabs<'a> {
        Slabs { frame, source, id: Id::unique(), igp: 1 }.of_size(igp)
    }

    /// This problem in slabs of another size.
    #[must_use]
    pub fn of_size(self, igp: usize) -> Slabs<'a> {
        Slabs { igp: igp.min(self.frame.header().ngpown).max(1), ..self }
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
        count(self.frame.header().ngpown, self.igp)
    }

    /// The igp of slab `at`; none past the last one.
    pub fn range(self, at: usize) -> Option<Range<usize>> {
        range(self.frame.header().ngpown, self.igp, at)
    }

    /// The igp of each slab, in their order.
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> + 'a {
        (0..self.count()).filter_map(move |at| self.range(at))
    }

    /// A slab, made or read now where the source does not hold it.
    ///
    /// # Errors
    /// Those of [`Source::slab`].
    pub fn part(self, igp: Range<usize>) -> Result<Given<'a>> {
        Ok(match self.source.slab(self.frame.bands(), igp)? {
            Given::Made(slab) => Given::Made(slab.of(self.id)),
            held => held,
        })
    }

    /// The slabs that stay in memory as they are.
    pub fn held(self) -> Vec<&'a Slab> {
        self.source.held()
    }
}

impl<'a> From<&'a Problem> for Slabs<'a> {
    /// One slab.
    fn from(problem: &'a Problem) -> Slabs<'a> {
        Slabs::new(problem.frame(), problem, problem.header().ngpown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_cover_every_igp_once_and_in_order() {
        for (ngpown, igp) in [(1, 1), (7, 16), (16, 16), (33, 16), (1385, 48), (5, usize::MAX)] {
            let slabs: Vec<_> = (0..).map_while(|at| range(ngpown, igp, at)).collect();
            assert_eq!(slabs.len(), count(ngpown, igp));
            let all: Vec<usize> = slabs.iter().flat_map(Clone::clone).collect();
            assert_eq!(all, (0..ngpown).collect::<Vec<_>>());
            let last = slabs.len() - 1;
            assert!(slabs[..last].iter().all(|slab| slab.len() == igp));
        }
    }
}
