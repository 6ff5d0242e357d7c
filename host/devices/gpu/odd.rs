//! The odd poles of a slab on a GPU.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::plan::Poles;

use super::driver::Buffer;
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::{Frame, OddPoles, SlabView};

/// The odd poles of a problem's slabs, found once: they are much smaller than what they are of.
#[derive(Default)]
pub struct FoundPoles(HashMap<(Range<usize>, usize), Arc<OddPoles>>);

impl FoundPoles {
    /// Those of a slab for kernels that take these.
    fn of(&mut self, problem: &Frame, slab: SlabView, takes: Poles) -> Arc<OddPoles> {
        let found = self.0.entry((slab.igp(), takes as usize));
        found.or_insert_with(|| problem.plan().odd(slab, takes).into()).clone()
    }
}

/// The odd poles of a slab for some kernels, in memory that those of the next one take over.
#[derive(Default)]
pub struct OddBuffers {
    /// Those of the slab in place.
    poles: Option<Arc<OddPoles>>,
    mask: Option<Buffer<u32>>,
    pairs: Option<Buffer<u32>>,
    begins: Option<Buffer<u32>>,
}

/// What kernels read of its odd poles.
pub struct OddPointers<'a> {
    pub poles: &'a OddPoles,
    pub mask: *const u32,
    pub pairs: *const u32,
    pub begins: *const u32,
}

impl OddBuffers {
    /// Forgets whose they are.
    pub fn forget(&mut self) {
        self.poles = None;
    }

    /// Enqueues those of a slab for kernels that take these, where they are not in place.
    ///
    /// # Errors
    /// Those of [`Uploads::fill`].
    pub fn want(
        &mut self,
        to: &mut Uploads,
        found: &mut FoundPoles,
        slab: SlabView,
        takes: Poles,
    ) -> Result<()> {
        if self.poles.is_some() {
            return Ok(());
        }
        let poles = found.of(to.problem, slab, takes);
        to.fill("mask of odd poles", &mut self.mask, poles.mask(), 0)?;
        // The next slab may have some more.
        let pairs = poles.pairs();
        to.fill("odd pairs", &mut self.pairs, pairs, pairs.len() / 8)?;
        to.fill("begins of odd pairs", &mut self.begins, poles.begins(), 0)?;
        self.poles = Some(poles);
        Ok(())
    }

    /// Those in place, on the host; none where none were wanted.
    pub fn poles(&self) -> Option<&OddPoles> {
        self.poles.as_deref()
    }

    /// Those in place.
    ///
    /// # Panics
    /// Where they were not wanted.
    pub fn pointers(&self) -> OddPointers<'_> {
        OddPointers {
            poles: self.poles().expect("they were wanted"),
            mask: pointer(&self.mask),
            pairs: pointer(&self.pairs),
            begins: pointer(&self.begins),
        }
    }
}
