//! The odd poles of a slab on a GPU.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;

use super::driver::Buffer;
use super::uploads::{Uploads, pointer};
use crate::catalogue;
use crate::error::Result;
use crate::problem::{Batch, Frame, OddPoles, SlabView};

/// The odd poles of a problem's slabs, found once: they are much smaller than what they are of. Of a problem in
/// many batches there are as many of each slab, and those that find no room are found again.
#[derive(Default)]
pub struct FoundPoles {
    found: HashMap<Key, Arc<OddPoles>>,
    bytes: u64,
    /// Those that are needed next, whether they find room or not.
    next: Option<(Key, Arc<OddPoles>)>,
}

/// The igp of a slab, the energies of a batch, and what poles kernels take.
type Key = (Range<usize>, Range<usize>, usize);

/// Bytes of the host's memory that are taken for odd poles at a part of the energies.
const MOST_BYTES: u64 = 1 << 30;

impl FoundPoles {
    /// Bytes that are kept at most while these versions run.
    pub fn most(problem: &Frame, versions: &[catalogue::Kernel]) -> u64 {
        let of_version = |version: &catalogue::Kernel| {
            let batches = problem.batches_for(*version);
            let follows = batches.first().plan().kernel(version.gpu()?).layout == Layout::Planned;
            let all = problem.extents().odd_bytes();
            let of_parts = all.saturating_mul(batches.count() as u64).min(MOST_BYTES);
            follows.then_some(if batches.count() == 1 { all } else { of_parts })
        };
        versions.iter().filter_map(of_version).max().unwrap_or(0)
    }

    /// Finds those that are needed next.
    pub fn look_ahead(&mut self, problem: &Frame, batch: &Batch, slab: SlabView, takes: Poles) {
        let key = (slab.igp(), batch.energies(), takes as usize);
        if self.next.as_ref().is_none_or(|(of, _)| *of != key) {
            self.next = Some((key, self.of(problem, batch, slab, takes)));
        }
    }

    /// Those of a slab at a batch for kernels that take these.
    fn of(
        &mut self,
        problem: &Frame,
        batch: &Batch,
        slab: SlabView,
        takes: Poles,
    ) -> Arc<OddPoles> {
        let key = (slab.igp(), batch.energies(), takes as usize);
        let next = self.next.take_if(|(of, _)| *of == key).map(|(_, odd)| odd);
        if let Some(found) = next.or_else(|| self.found.get(&key).cloned()) {
            return found;
        }
        let odd = Arc::new(batch.plan().odd(slab, takes));
        let parts = [odd.mask(), odd.pairs(), odd.begins()].map(size_of_val);
        let bytes = parts.iter().sum::<usize>() as u64;
        let is_one = batch.nw() == problem.nw();
        if is_one || self.bytes + bytes <= MOST_BYTES {
            self.bytes += if is_one { 0 } else { bytes };
            self.found.insert(key, odd.clone());
        }
        odd
    }
}

/// The odd poles of a slab for some kernels, in memory that those of the next one take over.
#[derive(Default)]
pub struct OddBuffers {
    /// Those of the slab in place, at these energies.
    poles: Option<(Range<usize>, Arc<OddPoles>)>,
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

    /// Enqueues those of a slab at a batch for kernels that take these, where they are not in place.
    ///
    /// # Errors
    /// Those of [`Uploads::fill`].
    pub fn want(
        &mut self,
        to: &mut Uploads,
        found: &mut FoundPoles,
        (slab, batch): (SlabView, &Batch),
        takes: Poles,
    ) -> Result<()> {
        if self.poles.as_ref().is_some_and(|(at, _)| *at == batch.energies()) {
            return Ok(());
        }
        self.poles = None;
        let poles = found.of(to.problem, batch, slab, takes);
        to.fill("mask of odd poles", &mut self.mask, poles.mask(), 0)?;
        // The next slab may have some more.
        let pairs = poles.pairs();
        to.fill("odd pairs", &mut self.pairs, pairs, pairs.len() / 8)?;
        to.fill("begins of odd pairs", &mut self.begins, poles.begins(), 0)?;
        self.poles = Some((batch.energies(), poles));
        Ok(())
    }

    /// Those in place, on the host; none where none were wanted.
    pub fn poles(&self) -> Option<&OddPoles> {
        self.poles.as_ref().map(|(_, poles)| &**poles)
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
