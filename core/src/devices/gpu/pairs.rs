//! What layouts make of a slab's pairs: on the host, and in place on a GPU.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;

use super::driver::Buffer;
use super::uploads::{Uploads, pointer};
use crate::catalogue;
use crate::error::Result;
use crate::problem::layout::{self, Pairs, PairsAt, preparation};
use crate::problem::{Batch, Frame, Id, Outline, SlabView};

/// What it is made of: a slab's pairs, energies, and what it depends on beside.
type Key = ((Id, Range<usize>), Id, Layout, Option<PairsAt>);

/// What was made of a problem's slabs, which stays for the next calculation where there is room; what finds none
/// is made again.
#[derive(Default)]
pub struct PairsCache {
    made: HashMap<Key, Arc<dyn Pairs>>,
    /// Bytes of each layout.
    bytes: HashMap<Layout, u64>,
    /// That which is needed next, whether it finds room or not.
    next: Option<(Key, Arc<dyn Pairs>)>,
    granted: u64,
}

impl PairsCache {
    /// Bytes that are kept at most while these versions run, but for those that are granted.
    pub fn most(problem: Outline, versions: &[catalogue::Kernel]) -> u64 {
        let of_version = |version: &catalogue::Kernel| {
            let ((kernel, _), batches) = (problem.kernel(*version)?, problem.batches(*version));
            Some(preparation(kernel.layout).bytes_kept(problem.extents, batches.count(), 0))
        };
        versions.iter().filter_map(of_version).max().unwrap_or(0)
    }

    /// Grants so many bytes to layouts that take as much as the slabs themselves.
    pub fn grant(&mut self, bytes: u64) {
        self.granted = bytes;
    }

    /// Makes that of a slab which a kernel needs at the next batch, where it depends on the batch.
    pub fn look_ahead(
        &mut self,
        problem: &Frame,
        slab: SlabView,
        (batch, kernel): (&Batch, &Kernel),
    ) {
        let at = preparation(kernel.layout).pairs_at(batch, kernel);
        let key = (slab.pairs_id(), problem.bands().id(), kernel.layout, at);
        if key.3.is_some() && self.next.as_ref().is_none_or(|(of, _)| *of != key) {
            let made = self.of(problem, slab, (batch, kernel));
            self.next = Some((key, made));
        }
    }

    /// That of a slab which a kernel needs at a batch, made now where it is not there.
    pub fn of(
        &mut self,
        problem: &Frame,
        slab: SlabView,
        (batch, kernel): (&Batch, &Kernel),
    ) -> Arc<dyn Pairs> {
        let (layout, prepared) = (kernel.layout, preparation(kernel.layout));
        let at = prepared.pairs_at(batch, kernel);
        let key = (slab.pairs_id(), problem.bands().id(), layout, at);
        let next = self.next.take_if(|(of, _)| *of == key).map(|(_, made)| made);
        if let Some(made) = next.or_else(|| self.made.get(&key).cloned()) {
            return made;
        }
        let made = prepared.pairs(problem, slab, batch, kernel);
        let bytes: usize = made.arrays().iter().map(|array| size_of_val(array.words)).sum();
        let batches = if batch.nw() == problem.nw() { 1 } else { usize::MAX };
        let most = prepared.bytes_kept(problem.extents(), batches, self.granted);
        let kept = self.bytes.entry(layout).or_default();
        if *kept + bytes as u64 <= most {
            *kept += bytes as u64;
            self.made.insert(key, made.clone());
        }
        made
    }
}

/// What a layout made of a slab's pairs, in memory that that of the next slab takes over.
#[derive(Default)]
pub struct PlacedPairs {
    /// That in place, and what it depends on beside the slab; the energies first.
    made: Option<(Id, layout::MadePairs)>,
    arrays: Vec<Option<Buffer<u32>>>,
}

impl PlacedPairs {
    /// Forgets whose they are.
    pub fn forget(&mut self) {
        self.made = None;
    }

    /// Whether that which a kernel needs at a batch is in place.
    pub fn is_of(&self, batch: &Batch, kernel: &Kernel) -> bool {
        let at = preparation(kernel.layout).pairs_at(batch, kernel);
        let (energies, _) = batch.id();
        self.made.as_ref().is_some_and(|(of, (made_at, _))| *of == energies && *made_at == at)
    }

    /// Enqueues that which a kernel needs at a batch.
    ///
    /// # Errors
    /// Those of [`Uploads::fill`].
    pub fn fill(
        &mut self,
        to: &mut Uploads,
        (batch, kernel): (&Batch, &Kernel),
        made: Arc<dyn Pairs>,
    ) -> Result<()> {
        self.made = None;
        let arrays = made.arrays();
        self.arrays.resize_with(arrays.len(), || None);
        for (array, room) in arrays.into_iter().zip(&mut self.arrays) {
            to.fill(array.name, room, array.words, array.spare)?;
        }
        let at = preparation(kernel.layout).pairs_at(batch, kernel);
        self.made = Some((batch.id().0, (at, made)));
        Ok(())
    }

    /// That in place.
    ///
    /// # Panics
    /// Where none was wanted.
    pub fn made(&self) -> &dyn Pairs {
        let (_, (_, made)) = self.made.as_ref().expect("it was wanted");
        &**made
    }

    /// Where its arrays are.
    pub fn pointers(&self) -> Vec<*const c_void> {
        self.arrays.iter().map(|array| pointer(array).cast()).collect()
    }
}
