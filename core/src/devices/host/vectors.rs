//! Versions made for processors, on the threads and with the vectors of this one.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use gpp_cpu::cells::Chunks;
use gpp_cpu::problem::Task;
use gpp_cpu::relaid::Relaid;
use gpp_cpu::version::{Cpu, Needs};
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::Host;
use crate::catalogue;
use crate::devices::beside::Beside;
use crate::devices::{SlabSums, Upload, Watch};
use crate::error::Result;
use crate::problem::layout::preparation;
use crate::problem::memory::AQSM_LOCAL;
use crate::problem::vectors::{self, Order, SortedSlab};
use crate::problem::{Batch, Extents, Frame, Id, OddPoles, Outline, SlabView};

/// The matrix elements of G as vectors read them, of one order of bands at a time.
#[derive(Default)]
pub struct OfBands {
    relaid: Option<(Order, Relaid)>,
    /// Chunk by chunk, for pairs sorted by their poles.
    chunks: Option<Chunks>,
}

/// What was made of a slab.
#[derive(Default)]
pub struct OfSlab {
    /// Matrix elements of G′, bands fastest.
    aqsm: Option<Vec<Complex64>>,
    /// For kernels that take any poles, and for those that take real ones: at these energies.
    odd: HashMap<Poles, ((Id, Range<usize>), OddPoles)>,
    /// Its pairs sorted by their poles, with the bands in chunks.
    sorted: Option<SortedSlab>,
}

/// What versions made for processors hold beside a problem's arrays.
pub fn beside(problem: Outline, versions: &[catalogue::Kernel], slab: Extents) -> Beside {
    let Extents { nbands, ncouls, .. } = slab;
    let cpus = || versions.iter().filter_map(|version| version.cpu());
    let of_sums = |cpu: &'static Cpu| {
        let nw = problem.batches(catalogue::Kernel::Cpu(cpu)).next().map_or(0, |batch| batch.len());
        cpu.bytes_of_sums([nbands, slab.ngpown, ncouls], nw)
    };
    let mut beside = Beside::default();
    if cpus().any(|cpu| cpu.needs.sorted) {
        let slab = SortedSlab::bytes_while_made(slab, problem.poles);
        beside = beside + Beside { bands: Chunks::bytes(nbands, ncouls), slab };
    }
    if cpus().any(|cpu| cpu.needs.relaid) {
        // Of both there is one at a time.
        beside = beside.or(Beside { bands: Relaid::bytes(ncouls, nbands), slab: 0 });
    }
    if cpus().any(|cpu| cpu.needs.aqsm) {
        let swapped = AQSM_LOCAL.bytes(slab, Layout::Swapped);
        beside.slab = beside.slab.saturating_add(swapped + OddPoles::bytes_while_made(slab));
    }
    beside.slab = beside.slab.saturating_add(cpus().map(of_sums).max().unwrap_or(0));
    beside
}

impl OfSlab {
    /// Makes what a version needs of it, with the odd poles at a batch of those that kernels take.
    fn want(
        &mut self,
        (problem, batch): (&Frame, &Batch),
        slab: SlabView<'_>,
        needs: Needs,
        poles: Poles,
    ) -> Result<()> {
        if needs.aqsm && self.aqsm.is_none() {
            let swapped = preparation(Layout::Swapped).aqsm_local(slab, problem.order())?;
            self.aqsm = Some(swapped.into_owned());
        }
        if needs.plan && self.odd.get(&poles).is_none_or(|(at, _)| *at != batch.id()) {
            self.odd.insert(poles, (batch.id(), problem.odd(slab, batch, poles)));
        }
        if needs.sorted {
            self.sorted.get_or_insert_with(|| SortedSlab::of(problem, slab));
        }
        Ok(())
    }
}

impl OfBands {
    /// Sums a slab at a batch of energies by a version.
    pub fn sum(
        &mut self,
        host: &Host,
        (problem, batch): (&Frame, &Batch),
        slab: SlabView<'_>,
        made: &mut OfSlab,
        cpu: &Cpu,
        watch: Watch,
    ) -> Result<SlabSums> {
        let (plan, needs) = (batch.plan(), cpu.needs);
        let poles = cpu.poles(plan.poles());
        let pool = host.pool(cpu.threads)?;
        pool.install(|| -> Result<()> {
            self.want(problem, needs)?;
            made.want((problem, batch), slab, needs, poles)
        })?;
        let aqsm = made.aqsm.as_deref().filter(|_| needs.aqsm).unwrap_or_default();
        let relaid = self.relaid.as_ref().filter(|_| needs.relaid);
        let odd = made.odd.get(&poles).filter(|_| needs.plan);
        let sorted = made.sorted.as_ref().zip(self.chunks.as_ref()).filter(|_| needs.sorted);
        let task = Task {
            bands: vectors::bands(problem.bands(), batch),
            relaid: relaid.map(|(_, relaid)| relaid),
            slab: vectors::slab(slab, aqsm),
            plan: odd.map(|(_, odd)| vectors::plan(plan, odd)),
            sorted: sorted
                .map(|(sorted, aqsn)| sorted.task((problem, batch), aqsn, slab, watch.stop)),
            stop: watch.stop,
        };
        let begin = Instant::now();
        let values = cpu.sum(&task, host.level(), &pool, watch.done);
        let seconds = begin.elapsed().as_secs_f64();
        let groups = cpu.igp_of_group().map_or(1, |igp| slab.len().div_ceil(igp));
        Ok(SlabSums { values, groups, seconds, blocks: None, upload: Upload::default() })
    }

    /// Has the matrix elements of G as a version needs them; in another order, they go before.
    fn want(&mut self, problem: &Frame, needs: Needs) -> Result<()> {
        let order = Order::of(problem.order(), needs.plan);
        if needs.relaid && self.relaid.as_ref().is_none_or(|(of, _)| *of != order) {
            (self.relaid, self.chunks) = (None, None);
            self.relaid = Some((order, vectors::relaid(problem, order)?));
        }
        if needs.sorted && self.chunks.is_none() {
            self.relaid = None;
            self.chunks = Some(vectors::chunks(problem));
        }
        Ok(())
    }
}
