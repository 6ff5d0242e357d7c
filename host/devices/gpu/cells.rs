//! The pairs of a slab sorted by their poles, on a GPU.

use gpp_kernels::pairs::{Part, Pole};

use super::driver::Buffer;
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::Cells;

/// The sorted pairs of a slab, in memory that those of the next one take over.
#[derive(Default)]
pub struct CellBuffers {
    /// How many parts the slab in place has.
    count: Option<u32>,
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
        self.count = None;
    }

    /// Enqueues those of the slab in place.
    ///
    /// # Errors
    /// Those of [`Uploads::fill`].
    pub fn fill(&mut self, to: &mut Uploads, cells: &Cells) -> Result<()> {
        let (poles, parts) = cells.words();
        // The next slab may have some more.
        to.fill("sorted pairs", &mut self.poles, poles, poles.len() / 64)?;
        to.fill("parts of sorted pairs", &mut self.parts, parts, parts.len() / 8)?;
        self.count = Some(parts.len() as u32);
        Ok(())
    }

    /// How many parts are in place; none where none were wanted.
    pub fn count(&self) -> Option<u32> {
        self.count
    }

    /// Those in place.
    ///
    /// # Panics
    /// Where they were not wanted.
    pub fn pointers(&self) -> CellPointers {
        let count = self.count.expect("they were wanted");
        CellPointers {
            poles: pointer(&self.poles).cast(),
            parts: pointer(&self.parts).cast(),
            count,
        }
    }
}
