//! Versions made for processors, on the threads and with the vectors of this one.

use std::time::Instant;

use gpp_cpu::cells::{self, Chunks};
use gpp_cpu::problem::Task;
use gpp_cpu::relaid::Relaid;
use gpp_cpu::version::Cpu;
use gpp_kernels::layout::Layout;

use super::{Host, OfSlab};
use crate::catalogue;
use crate::devices::beside::Beside;
use crate::devices::{Done, SlabSums, Upload};
use crate::error::Result;
use crate::problem::memory::AQSM_LOCAL;
use crate::problem::vectors::{self, Order, Sorted};
use crate::problem::{Batch, Extents, Frame, OddPoles, SlabView};

/// The matrix elements of G as vectors read them, of one order of bands at a time.
#[derive(Default)]
pub struct Bands {
    relaid: Option<(Order, Relaid)>,
    /// Chunk by chunk, for pairs sorted by their poles.
    chunks: Option<Chunks>,
}

/// What versions made for processors hold beside a problem's arrays.
pub fn beside(problem: &Frame, versions: &[catalogue::Kernel], slab: Extents) -> Beside {
    let Extents { nbands, ncouls, .. } = slab;
    let cpus = || versions.iter().filter_map(|version| version.cpu());
    let mut beside = Beside::default();
    if cpus().any(|cpu| cpu.sorts) {
        let slab = Sorted::bytes_while_made(slab, problem.poles());
        beside = beside + Beside { bands: Chunks::bytes(nbands, ncouls), slab };
    }
    if cpus().any(|cpu| !cpu.sorts && cpu.needs.relaid) {
        // Of both there is one at a time.
        beside = beside.or(Beside { bands: Relaid::bytes(ncouls, nbands), slab: 0 });
    }
    if cpus().any(|cpu| !cpu.sorts) {
        let swapped = AQSM_LOCAL.bytes(slab, Layout::Swapped);
        beside.slab = beside.slab.saturating_add(swapped + OddPoles::bytes_while_made(slab));
    }
    beside
}

impl Bands {
    /// Sums a slab at a batch of energies by a version; each `igp` is a group.
    pub fn sum(
        &mut self,
        host: &Host,
        (problem, batch): (&Frame, &Batch),
        slab: SlabView<'_>,
        made: &mut OfSlab,
        cpu: &Cpu,
        done: Done,
    ) -> Result<SlabSums> {
        let plan = batch.plan();
        if cpu.sorts {
            return self.of_cells(host, (problem, batch), slab, made, cpu, done);
        }
        let pool = host.pool(cpu.threads)?;
        let poles = cpu.needs.plan.then(|| cpu.poles(plan.poles()));
        pool.install(|| {
            made.want(problem, batch, slab, Layout::Swapped, poles);
            if cpu.needs.relaid { self.want(problem, cpu.needs.plan) } else { Ok(()) }
        })?;
        let task = Task {
            bands: vectors::bands(problem.bands(), batch),
            relaid: self.relaid.as_ref().map(|(_, relaid)| relaid).filter(|_| cpu.needs.relaid),
            slab: vectors::slab(slab, made.aqsm_local(slab, Layout::Swapped)),
            plan: poles.map(|poles| vectors::plan(plan, made.odd(poles))),
        };
        let begin = Instant::now();
        let values = cpu.sum(&task, host.level(), pool, done);
        let seconds = begin.elapsed().as_secs_f64();
        let upload = Upload::default();
        Ok(SlabSums { values, groups: slab.len(), seconds, blocks: None, upload })
    }

    /// Sums a slab whose pairs are sorted by their poles; the slab is a group.
    fn of_cells(
        &mut self,
        host: &Host,
        (problem, batch): (&Frame, &Batch),
        slab: SlabView<'_>,
        made: &mut OfSlab,
        cpu: &Cpu,
        done: Done,
    ) -> Result<SlabSums> {
        let pool = host.pool(cpu.threads)?;
        let task = pool.install(|| {
            // One other layout is there at a time.
            self.relaid = None;
            let aqsn = self.chunks.get_or_insert_with(|| vectors::chunks(problem));
            let sorted = made.sorted.get_or_insert_with(|| Sorted::of(problem, slab));
            sorted.task((problem, batch), aqsn, slab)
        });
        let begin = Instant::now();
        let values = cells::sum(&task, host.level(), pool, done);
        let seconds = begin.elapsed().as_secs_f64();
        let upload = Upload::default();
        Ok(SlabSums { values, groups: 1, seconds, blocks: None, upload })
    }

    /// Has them in the order of a version that follows the plan or not; those in the other one go before.
    fn want(&mut self, problem: &Frame, follows: bool) -> Result<()> {
        let order = Order::of(problem.order(), follows);
        if self.relaid.as_ref().is_none_or(|(of, _)| *of != order) {
            (self.relaid, self.chunks) = (None, None);
            self.relaid = Some((order, vectors::relaid(problem, order)?));
        }
        Ok(())
    }
}
