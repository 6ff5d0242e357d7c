//! The pairs of a slab sorted by their poles, on a GPU.

use gpp_kernels::pairs::{Part, Pole};

use super::driver::Buffer;
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::{Cells, SlabView};

/// The sorted pairs of a slab, in memory that those of the next one take over.
#[derive(Default)]
pub struct CellBuffers {
    /// Those of the slab in place.
    cells: Option<Cells>,
    poles: Option<Buffer<[u64; 4]>>,
    parts: Option<Buffer<[u64; 3]>>,
}

/// What kernels read of them.
pub struct CellPointers {
    pub poles: *const Pole,
    pub parts: *const Part,
    pub count: u32,
}

impl CellBuffers {
    /// Lets the memory go.
    pub fn clear(&mut self) {
        *self = CellBuffers::default();
    }

    /// Forgets whose they are.
    pub fn forget(&mut self) {
        self.cells = None;
    }

    /// Enqueues those of a slab, where they are not in place.
    ///
    /// # Errors
    /// Those of [`Uploads::fill`].
    pub fn want(&mut self, to: &mut Uploads, slab: SlabView) -> Result<()> {
        if self.cells.is_some() {
            return Ok(());
        }
        let cells = to.problem.cells(slab);
        let (poles, parts) = cells.words();
        // The next slab may have some more.
        to.fill("sorted pairs", &mut self.poles, poles, poles.len() / 64)?;
        to.fill("parts of sorted pairs", &mut self.parts, parts, parts.len() / 8)?;
        self.cells = Some(cells);
        Ok(())
    }

    /// Those in place, on the host; none where none were wanted.
    pub fn cells(&self) -> Option<&Cells> {
        self.cells.as_ref()
    }

    /// Those in place.
    ///
    /// # Panics
    /// Where they were not wanted.
    pub fn pointers(&self) -> CellPointers {
        let count = self.cells().expect("they were wanted").parts().len() as u32;
        CellPointers {
            poles: pointer(&self.poles).cast(),
            parts: pointer(&self.parts).cast(),
            count,
        }
    }
}
