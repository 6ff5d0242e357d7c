//! A source whose slabs stay in memory once they are made.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use gpp_kernels::plan::Poles;

use super::{Bands, Extents, Origin, Part, Slab, SlabView, Source, Sums, slabs};
use crate::error::Result;

/// Another source that keeps the slabs of so many igp which it has made, for later runs.
pub struct Kept<'a> {
    source: Box<dyn Source + 'a>,
    igp: usize,
    slabs: Vec<OnceLock<Slab>>,
}

impl<'a> Kept<'a> {
    /// With no slab made yet.
    pub fn new(source: Box<dyn Source + 'a>, igp: usize) -> Kept<'a> {
        let count = slabs::count(source.extents().ngpown, igp);
        Kept { source, igp, slabs: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// The slab that this range is, or is a part of, and where it is kept; none where it is of several.
    fn place(&self, igp: &Range<usize>) -> Option<(Range<usize>, &OnceLock<Slab>)> {
        let at = igp.start / self.igp.max(1);
        let range = slabs::range(self.source.extents().ngpown, self.igp, at)?;
        (igp.end <= range.end).then(|| (range, &self.slabs[at]))
    }
}

impl Source for Kept<'_> {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn origin(&self) -> Origin {
        self.source.origin()
    }

    fn extents(&self) -> Extents {
        self.source.extents()
    }

    fn start(&self) -> Sums {
        self.source.start()
    }

    fn stored(&self) -> Option<Sums> {
        self.source.stored()
    }

    fn bands(&self) -> Result<Arc<Bands>> {
        self.source.bands()
    }

    fn slab(&self, bands: &Bands, igp: Range<usize>) -> Result<Part<'_>> {
        let Some((whole, place)) = self.place(&igp) else { return self.source.slab(bands, igp) };
        let slab = match place.get() {
            Some(slab) => slab.view(),
            None => match self.source.slab(bands, whole)? {
                Part::Made(slab) => place.get_or_init(|| slab).view(),
                Part::Held(view) => view,
            },
        };
        Ok(Part::Held(slab.part(igp)))
    }

    fn held(&self) -> Vec<SlabView<'_>> {
        let kept = self.slabs.iter().filter_map(OnceLock::get).map(Slab::view);
        kept.chain(self.source.held()).collect()
    }

    fn poles(&self) -> Result<Poles> {
        self.source.poles()
    }
}
