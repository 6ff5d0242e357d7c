//! How a kernel runs on a slab: what emulator and GPU have to agree on.

use gpp_kernels::extents::{Exceeded, Extents};
use gpp_kernels::kernel::{Entry, Gpu, Kernel};
use gpp_kernels::tiling::Grid;

use crate::error::{DataError, Error, Result};
use crate::problem::layout::Pairs;
use crate::problem::{Batch, Frame, SlabView};

/// A kernel, its entry for so many energies, and the grid of each launch.
pub struct Launch<'a> {
    /// The kernel that sums problems of these poles.
    pub kernel: &'a Kernel,
    /// Its entry.
    pub entry: &'static Entry,
    /// The grid for this slab.
    pub grid: Grid,
    /// See [`Kernel::units`].
    pub units: Option<u64>,
}

impl<'a> Launch<'a> {
    /// Of the kernels of `gpu` at some energies, with what they read of the slab's pairs.
    ///
    /// # Errors
    /// [`Error::Problem`] where an extent is too large for the kernel.
    ///
    /// # Panics
    /// Where slab or batch are of another problem.
    pub fn of(
        gpu: &'a Gpu,
        problem: &Frame,
        batch: &Batch,
        slab: SlabView,
        pairs: &dyn Pairs,
    ) -> Result<Launch<'a>> {
        let kernel = batch.plan().kernel(gpu);
        let (header, nw) = (problem.header(), batch.nw());
        // Neither kernel nor driver would notice.
        assert!(
            slab.igp().end <= header.ngpown
                && slab.ncouls() == header.ncouls
                && slab.nbands() == header.nbands,
            "the slab is of the problem"
        );
        assert_eq!(batch.id().0, problem.bands().id(), "the batch is of the problem");
        let extents = pairs.counted(Extents {
            nbands: header.nbands as u32,
            ngpown: slab.len() as u32,
            ncouls: slab.ncouls() as u32,
            nw: nw as u32,
            odd_begins: &[],
            parts: 0,
        });
        let refused = |what| {
            let origin = format!("{} on {}", gpu.id(), problem.name());
            Error::Problem { origin, what }
        };
        if let Some(Exceeded { what, count, below }) = kernel.exceeded(&extents) {
            return Err(refused(DataError::Exceeded { what, count, below }));
        }
        let (grid, units) = (kernel.grid(&extents), kernel.units(&extents));
        Ok(Launch { kernel, entry: entry(kernel, nw), grid, units })
    }
}

/// The entry of `kernel` for `nw` energies.
///
/// # Panics
/// Never: a batch has no more energies than a kernel holds, and that an entry for each number of them.
pub fn entry(kernel: &Kernel, nw: usize) -> &'static Entry {
    kernel.entry(nw).expect("every kernel has an entry for every number of energies")
}
