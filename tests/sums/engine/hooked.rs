//! A worker of the CPU that a test looks at, and has fail.

use std::collections::VecDeque;

use gpp::catalogue::Version;
use gpp::devices::cpu::CpuDevice;
use gpp::devices::{Control, Device, SlabSums, Worker};
use gpp::error::Result;
use gpp::problem::{Batch, Problem, SlabView};

pub struct Hooked<'a> {
    pub worker: Box<dyn Worker + 'a>,
    pub under_way: VecDeque<SlabSums>,
    pub depth: usize,
    pub begins: Box<dyn FnMut(std::ops::Range<usize>) -> Result<()> + Send + 'a>,
    pub finishes: Box<dyn FnMut(SlabSums) -> Result<SlabSums> + Send + 'a>,
}

impl<'a> Hooked<'a> {
    pub fn of(device: &'a CpuDevice, problem: &'a Problem) -> Hooked<'a> {
        Hooked {
            worker: device.worker(problem).unwrap(),
            under_way: VecDeque::new(),
            depth: 1,
            begins: Box::new(|_| Ok(())),
            finishes: Box::new(Ok),
        }
    }
}

impl Worker for Hooked<'_> {
    fn depth(&self) -> usize {
        self.depth
    }

    fn begin(&mut self, slab: SlabView, batch: &Batch, kernel: Version, _: Control) -> Result<()> {
        assert!(self.under_way.len() < self.depth, "as many slabs are under way as may be");
        (self.begins)(slab.igp())?;
        self.worker.begin(slab, batch, kernel, Control::none())?;
        self.under_way.push_back(self.worker.finish()?);
        Ok(())
    }

    fn finish(&mut self) -> Result<SlabSums> {
        (self.finishes)(self.under_way.pop_front().expect("a slab was begun"))
    }
}
