//! A source that holds some slabs in memory.

use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::plan::Poles;

use super::{Bands, Extents, Given, Origin, Slab, SlabView, Source, Sums, range};
use crate::error::Result;

/// Another source, with its bands and one slab in memory. It gives parts of this slab as they are. It makes
/// or reads other slabs on request and keeps none of them, so its memory does not grow.
pub struct Kept<'a> {
    source: Box<dyn Source + 'a>,
    bands: Arc<Bands>,
    slab: Option<Slab>,
}

impl<'a> Kept<'a> {
    /// With these igp, which are made or read now, as the bands are.
    ///
    /// # Errors
    /// Those of [`Source::bands`] and [`Source::slab`].
    pub fn new(source: Box<dyn Source + 'a>, igp: Range<usize>) -> Result<Kept<'a>> {
        let bands = source.bands()?;
        Kept { source, bands, slab: None }.moved(igp)
    }

    /// This source with other igp in memory. Columns of both stay where they are; others are made or read.
    ///
    /// # Errors
    /// Those of [`Source::slab`].
    pub fn moved(self, igp: Range<usize>) -> Result<Kept<'a>> {
        let Kept { source, bands, slab } = self;
        let make = |igp: Range<usize>| -> Result<Slab> {
            source.slab(&bands, igp)?.owned(source.name(), &bands)
        };
        let slab = match slab {
            _ if igp.is_empty() => None,
            Some(slab) => Some(slab.moved(&bands, igp, make)?),
            None => Some(make(igp)?),
        };
        Ok(Kept { source, bands, slab })
    }

    /// The igp in memory.
    pub fn igp(&self) -> Range<usize> {
        self.slab.as_ref().map_or(0..0, |slab| slab.view().igp())
    }

    /// These igp, where they are in memory.
    fn part(&self, igp: &Range<usize>) -> Option<SlabView<'_>> {
        let own = self.igp();
        let is_part = !igp.is_empty() && own.start <= igp.start && igp.end <= own.end;
        self.slab.as_ref().filter(|_| is_part).map(|slab| slab.view().part(igp.clone()))
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
        Ok(self.bands.clone())
    }

    fn slab(&self, bands: &Bands, igp: Range<usize>) -> Result<Given<'_>> {
        self.part(&igp).map_or_else(|| self.source.slab(bands, igp), |view| Ok(Given::Held(view)))
    }

    fn held(&self) -> Vec<&Slab> {
        self.slab.iter().chain(self.source.held()).collect()
    }

    fn poles(&self, igp: Range<usize>) -> Result<Poles> {
        match self.part(&igp) {
            Some(view) => Ok(range::poles_of(view.wtilde(), view.eps())),
            None => self.source.poles(igp),
        }
    }
}
