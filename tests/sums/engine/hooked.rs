//! A worker of the CPU that a test looks at, and has fail.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use gpp::catalogue::Kernel;
use gpp::devices::host::Host;
use gpp::devices::{Device, Locked, SlabSums, Watch, Worker};
use gpp::error::Result;
use gpp::problem::{Batch, Matrix, Problem, SlabView};

pub struct Hooked<'a> {
    pub worker: Box<dyn Worker + 'a>,
    pub under_way: VecDeque<SlabSums>,
    pub depth: usize,
    pub streams: bool,
    /// Bytes that are locked, where they are counted.
    pub locked: Option<Arc<AtomicUsize>>,
    /// What comes before a slab of these igp is begun.
    pub begins: Box<dyn FnMut(Range<usize>) -> Result<()> + Send + 'a>,
    /// What is made of the sums of one that is finished.
    pub finishes: Box<dyn FnMut(SlabSums) -> Result<SlabSums> + Send + 'a>,
}

impl<'a> Hooked<'a> {
    pub fn of(device: &'a Host, problem: &'a Problem) -> Hooked<'a> {
        Hooked {
            worker: device.worker(problem).unwrap(),
            under_way: VecDeque::new(),
            depth: 1,
            streams: false,
            locked: None,
            begins: Box::new(|_| Ok(())),
            finishes: Box::new(Ok),
        }
    }
}

/// Bytes that are locked.
struct Counted(Arc<AtomicUsize>, usize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Relaxed);
    }
}

impl Worker for Hooked<'_> {
    fn depth(&self) -> usize {
        self.depth
    }

    fn streams(&self) -> bool {
        self.streams
    }

    fn lock(&self, memory: Arc<Matrix>) -> Option<Locked> {
        let (locked, bytes) = (self.locked.clone()?, size_of_val(&memory[..]));
        locked.fetch_add(bytes, Relaxed);
        Some(Box::new((memory, Counted(locked, bytes))))
    }

    fn begin(&mut self, slab: SlabView, batch: &Batch, kernel: Kernel, _: Watch) -> Result<()> {
        assert!(self.under_way.len() < self.depth, "as many slabs are under way as may be");
        (self.begins)(slab.igp())?;
        self.worker.begin(slab, batch, kernel, Watch::none())?;
        self.under_way.push_back(self.worker.finish()?);
        Ok(())
    }

    fn finish(&mut self) -> Result<SlabSums> {
        let sums = self.under_way.pop_front().expect("a slab was begun");
        (self.finishes)(sums)
    }

    fn forget(&mut self) {
        assert!(self.under_way.is_empty(), "nothing is under way");
        self.worker.forget();
    }
}
