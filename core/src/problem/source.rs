//! Sources of a problem's data, whole or slab by slab.

use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::plan::Poles;

use crate::error::Result;
use crate::problem::memory::{Extents, Of};
use crate::problem::slab::check_part;
use crate::problem::{Bands, Origin, Problem, Slab, SlabView, Sums, memory, range, wrong};

/// Gives the bands of a problem once, and slabs of it in any order. A slab holds the bits that the whole
/// problem has there.
pub trait Source: Sync {
    fn name(&self) -> &str;

    fn origin(&self) -> Origin;

    /// Extents of the whole problem, known before any array is made.
    fn extents(&self) -> Extents;

    /// `asxtemp` and `achtemp` before the kernel adds to them.
    fn start(&self) -> Sums {
        Sums::zero(self.extents().nw)
    }

    /// `asxtempref` and `achtempref`, where a file holds them.
    fn stored(&self) -> Option<Sums> {
        None
    }

    /// What all igp have in common.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) before anything is allocated,
    /// [`Error::Input`](crate::Error::Input), [`Error::Input`](crate::Error::Input).
    fn bands(&self) -> Result<Arc<Bands>>;

    /// The `igp` (0-based) of the problem with these bands. A source keeps none of the data that it makes or
    /// reads here; only what it holds already stays in memory.
    fn slab(&self, bands: &Bands, igp: Range<usize>) -> Result<Given<'_>>;

    /// The slabs that are in memory, as they are, and stay there for as long as the source is borrowed.
    fn held(&self) -> Vec<&Slab> {
        Vec::new()
    }

    /// The kind of the contributing poles of some `igp` (0-based): those whose `eps` is not zero. Without any
    /// igp it is real. Takes no more memory than a few columns.
    fn poles(&self, igp: Range<usize>) -> Result<Poles>;

    fn load(&self) -> Result<Problem> {
        memory::require(self.name(), self.extents().bytes())?;
        let bands = self.bands()?;
        let all = self.slab(&bands, 0..self.extents().ngpown)?;
        let slab = all.owned(self.name(), &bands)?;
        Problem::of(self.name(), self.origin(), bands, slab)?.with_sums(self.start(), self.stored())
    }
}

/// A slab as a source gives it.
pub enum Given<'a> {
    Made(Slab),
    Held(SlabView<'a>),
}

impl Given<'_> {
    pub fn view(&self) -> SlabView<'_> {
        match self {
            Given::Made(slab) => slab.view(),
            Given::Held(view) => *view,
        }
    }

    /// A slab of one's own, of the problem of this name with these bands: a copy where the source holds it.
    pub fn owned(self, name: &str, bands: &Bands) -> Result<Slab> {
        match self {
            Given::Made(slab) => Ok(slab),
            Given::Held(view) => view.copied(bands).map_err(|what| wrong(name, what)),
        }
    }
}

/// Fails where `igp` is no part of a source, or where host memory does not hold a slab of it.
pub(super) fn check_slab(source: &dyn Source, igp: &Range<usize>) -> Result<()> {
    let whole = source.extents();
    check_part(igp, whole.ngpown).map_err(|what| wrong(source.name(), what))?;
    let slab = Extents { ngpown: igp.len(), ..whole };
    memory::require(source.name(), slab.bytes_of(Of::Slab))
}

impl Source for Problem {
    fn name(&self) -> &str {
        self.frame.name()
    }

    fn origin(&self) -> Origin {
        self.frame.origin().clone()
    }

    fn extents(&self) -> Extents {
        self.frame.extents()
    }

    fn start(&self) -> Sums {
        self.frame.start().clone()
    }

    fn stored(&self) -> Option<Sums> {
        self.frame.stored().cloned()
    }

    fn bands(&self) -> Result<Arc<Bands>> {
        Ok(self.frame.shared_bands())
    }

    fn slab(&self, _: &Bands, igp: Range<usize>) -> Result<Given<'_>> {
        check_part(&igp, self.frame.extents().ngpown)
            .map_err(|what| wrong(self.frame.name(), what))?;
        Ok(Given::Held(self.slab.view().part(igp)))
    }

    fn held(&self) -> Vec<&Slab> {
        vec![&self.slab]
    }

    fn poles(&self, igp: Range<usize>) -> Result<Poles> {
        if igp.is_empty() {
            return Ok(Poles::Real);
        }
        let part = self.slab.view().part(igp);
        Ok(range::poles_of(part.wtilde(), part.eps()))
    }
}

// A source that holds some slabs in memory.

/// Another source, with its bands and one slab in memory. It gives parts of this slab as they are. It makes
/// or reads other slabs on request and keeps none of them, so its memory does not grow.
pub struct Kept<'a> {
    source: Box<dyn Source + 'a>,
    bands: Arc<Bands>,
    slab: Option<Slab>,
}

impl<'a> Kept<'a> {
    /// With these igp, which are made or read now, as the bands are.
    pub fn new(source: Box<dyn Source + 'a>, igp: Range<usize>) -> Result<Kept<'a>> {
        let bands = source.bands()?;
        Kept { source, bands, slab: None }.moved(igp)
    }

    /// This source with other igp in memory. Columns of both stay where they are; others are made or read.
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
