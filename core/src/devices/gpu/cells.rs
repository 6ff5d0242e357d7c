//! The pairs of a slab sorted by their poles, on a GPU.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::pairs::{Part, Pole};

use super::driver::Buffer;
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::{Cells, Evaluator, Frame, SlabView};

/// The sorted pairs of a problem's slabs on the host, which stay for the next calculation where there is room; they
/// take as much as what they are of.
#[derive(Default)]
pub struct SortedPairs {
    sorted: HashMap<Range<usize>, Arc<Cells>>,
    bytes: u64,
    room: u64,
}

impl SortedPairs {
    /// Takes so many bytes.
    pub fn keep(&mut self, bytes: u64) {
        self.room = bytes;
    }

    /// Those of a slab, sorted now where they are not there.
    pub fn of(&mut self, problem: &Frame, slab: SlabView) -> Arc<Cells> {
        if let Some(cells) = self.sorted.get(&slab.igp()) {
            return cells.clone();
        }
        let cells = Arc::new(problem.cells(slab, Evaluator::Gpu));
        let (poles, parts) = cells.words();
        let bytes = (size_of_val(poles) + size_of_val(parts)) as u64;
        if self.bytes + bytes <= self.room {
            self.bytes += bytes;
            self.sorted.insert(slab.igp(), cells.clone());
        }
        cells
    }
}

/// The sorted pairs of a slab, in memory that those of the next one take over.
#[derive(Default)]
pub struct CellBuffers {
    /// How many parts the slab in place has.
    count: Option<u32>,
    poles: Option<Buffer<u64>>,
    parts: Option<Buffer<u64>>,
}

/// What kernels read of them: pairs and parts, which those for any poles take for what they are.
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
        self.count = Some(cells.count());
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
