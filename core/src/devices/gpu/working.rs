//! What a worker on a GPU does for the engine.

use std::sync::Arc;

use gpp_kernels::reduction;

use super::lane::Lane;
use super::worker::OnGpu;
use crate::catalogue;
use crate::devices::launch::entry;
use crate::devices::{Locked, SlabSums, Watch, Worker};
use crate::error::{Error, Result};
use crate::problem::memory::{Extents, Of};
use crate::problem::{Batch, Matrix, SlabView};

/// Lanes that slabs stream through: one's upload runs under the other's kernels.
const STREAMING: usize = 2;

/// Bytes of an array that is page-locked at least: smaller ones are soon copied, and share pages with others.
const LOCKED: usize = 1 << 20;

impl Worker for OnGpu<'_> {
    fn expect(&mut self, igp: usize, slabs: usize) -> Result<()> {
        let extents = Extents { ngpown: igp, ..self.problem.extents() };
        let (bands, slab) = (extents.device_bytes(Of::Bands), extents.device_bytes(Of::Slab));
        let (free, _) = self.gpu.context.memory()?;
        let room = free.saturating_sub(bands) / slab;
        let needed = bands + STREAMING as u64 * slab;
        if needed > free {
            let what =
                format!("bands and {STREAMING} slabs of {igp} igp of {}", self.problem.name());
            return Err(Error::Memory { place: "device", what, needed, free, limit: None });
        }
        // Where not all find room, none stays until its next turn.
        self.streams = room < slabs as u64;
        let lanes = if !self.streams { slabs.max(STREAMING) } else { STREAMING };
        while self.lanes.len() < lanes {
            self.turns.push_back(self.lanes.len());
            self.lanes.push(Lane::new(&self.gpu.context)?);
        }
        self.one_layout = true;
        Ok(())
    }

    fn device(&self) -> &str {
        &self.gpu.info.id
    }

    fn depth(&self) -> usize {
        self.lanes.len().min(STREAMING)
    }

    fn streams(&self) -> bool {
        self.streams
    }

    fn lock(&self, memory: Arc<Matrix>) -> Option<Locked> {
        if size_of_val(&memory[..]) < LOCKED {
            return None;
        }
        let registered = self.gpu.context.register(memory).ok()?;
        Some(Box::new(registered))
    }

    fn place(&mut self, slab: SlabView<'_>) -> Result<()> {
        self.placed(slab, None).map(drop)
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        _: Watch,
    ) -> Result<()> {
        self.begin_by_own(slab, batch, kernel.require_gpu()?)
    }

    fn ready(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
    ) -> Result<()> {
        let kernel = batch.plan().kernel(kernel.require_gpu()?);
        self.gpu.module(entry(kernel, batch.nw()).symbol)?;
        self.gpu.module(reduction::SYMBOL)?;
        let (at, _) = self.placed(slab, Some((kernel, batch)))?;
        self.lanes[at].stream.synchronize()
    }

    fn look_ahead(&mut self, slab: SlabView<'_>, batch: &Batch, kernel: catalogue::Kernel) {
        let Some(kernel) = kernel.gpu().map(|gpu| batch.plan().kernel(gpu)) else { return };
        self.pairs.look_ahead(self.problem, slab, (batch, kernel));
    }

    fn keep(&mut self, bytes: u64) {
        self.pairs.grant(bytes);
    }

    fn finish(&mut self) -> Result<SlabSums> {
        let first = self.turns.pop_front().expect("there is a lane");
        self.turns.push_back(first);
        self.under_way -= 1;
        self.lanes[first].finish()
    }

    fn forget(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.slab.forget());
    }
}
