//! A worker's slabs under way, for which every path out waits.

use crate::catalogue::Kernel;
use crate::devices::{SlabSums, Watch, Worker};
use crate::error::Result;
use crate::problem::{Batch, SlabView};

/// A worker and the number of its slabs under way. Dropping it, after an error or in a panic, waits for these
/// and discards their sums: the next run of the worker begins with none under way.
pub struct UnderWay<'w> {
    worker: &'w mut dyn Worker,
    slabs: usize,
}

impl<'w> UnderWay<'w> {
    /// Nothing yet.
    pub fn of(worker: &'w mut dyn Worker) -> UnderWay<'w> {
        UnderWay { worker, slabs: 0 }
    }

    /// Whether another slab can be begun.
    pub fn has_room(&self) -> bool {
        self.slabs < self.worker.depth()
    }

    /// Begins a slab.
    ///
    /// # Errors
    /// Those of [`Worker::begin`].
    pub fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: Kernel,
        watch: Watch,
    ) -> Result<()> {
        watch.check()?;
        self.worker.begin(slab, batch, kernel, watch)?;
        self.slabs += 1;
        Ok(())
    }

    /// See [`Worker::look_ahead`].
    pub fn look_ahead(&mut self, slab: SlabView<'_>, batch: &Batch, kernel: Kernel) {
        self.worker.look_ahead(slab, batch, kernel);
    }

    /// The sums of the slab that was begun first.
    ///
    /// # Errors
    /// Those of [`Worker::finish`].
    pub fn finish(&mut self) -> Result<SlabSums> {
        self.slabs -= 1;
        self.worker.finish()
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        while self.slabs > 0 {
            // What went wrong first is what the caller is told.
            let _ = self.finish();
        }
    }
}
