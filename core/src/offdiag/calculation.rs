//! A calculation: groups of bands n → workers → matrices.

use std::ops::AddAssign;

use num_complex::Complex64;

use crate::devices::Done;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::error::{Error, Result};
use crate::offdiag::cpu::OnCpu;
use crate::offdiag::gpu::{Needs, OnGpu};
use crate::offdiag::{Summed, Sums, Task, Worker, versions};
use crate::os::memory;
use crate::ranks::{Alone, Ranks};
use crate::schedule::{self, Homes, Run};

/// The workers of this process, one of several or alone, with a task.
pub struct Workers<'a> {
    task: Task<'a>,
    workers: Vec<Box<dyn Worker + 'a>>,
    ranks: &'a dyn Ranks,
    homes: Homes,
}

/// Bytes of a message between ranks, of all ranks together.
const MESSAGE: usize = 256 << 20;

impl<'a> Workers<'a> {
    pub fn new(
        task: Task<'a>,
        workers: Vec<Box<dyn Worker + 'a>>,
        ranks: &'a dyn Ranks,
    ) -> Workers<'a> {
        let homes = Homes { of: vec![None; task.parts()], moves: false };
        Workers { task, workers, ranks, homes }
    }

    /// For several calculations: parts stay where their A is, so they are shared out by their operations and not by who
    /// is free first.
    #[must_use]
    pub fn for_several(mut self) -> Workers<'a> {
        let mut operations = vec![0.0_f64; self.workers.len()];
        for part in (self.ranks.rank()..self.task.parts()).step_by(self.ranks.size()) {
            let by_operations = |a: &usize, b: &usize| operations[*a].total_cmp(&operations[*b]);
            let least = (0..operations.len()).min_by(by_operations).unwrap_or(0);
            operations[least] += self.task.operations_of(self.task.part(part));
            self.homes.of[part] = Some(least);
        }
        self
    }

    /// Sums all parts. Ranks take parts in turn; rank 0 has the sums, and adds each part in its turn. Collective.
    pub fn sum(&mut self, done: Done) -> Result<Summed> {
        let Workers { task, workers, ranks, homes } = self;
        let (all, ranks) = (task.parts(), *ranks);
        let items: Vec<usize> = (ranks.rank()..all).step_by(ranks.size()).collect();
        let is_in_last_round = items.len() == all.div_ceil(ranks.size());
        let (mut sums, mut summed) = (Sums::zero(task.bands(), task.planes()), 0);
        // Adds a part of each rank, unless one of them is stopped: all learn of it.
        let mut round = |own: Option<&Sums>, stop: Option<i32>| {
            let stop = ranks.first_code(stop);
            if stop.is_none() {
                summed += add(ranks, own, &mut sums);
            }
            stop
        };
        workers.iter_mut().try_for_each(|worker| worker.start())?;
        let ahead = workers.iter().map(|worker| worker.ahead()).sum();
        let run = Run { items, homes, ahead, done, stop: task.stop };
        let stopped = |code, done| Error::Stopped { code, done, all, of: "parts" };
        let mut of_others = None;
        let pipelines = workers.iter_mut().map(|worker| worker.as_mut() as _).collect();
        let own = schedule::each(pipelines, run, &mut |part: Sums| {
            of_others = round(Some(&part), None);
            of_others.map_or(Ok(()), |code| Err(stopped(code, 0)))
        })?;
        let code = match (of_others, own) {
            (None, None) if is_in_last_round => None,
            (None, own) => round(None, own),
            (code, _) => code,
        };
        if let Some(code) = code {
            return Err(stopped(code, summed));
        }
        let own = workers.iter().map(|worker| worker.seconds()).fold(0.0, f64::max);
        let seconds = ranks.gather(&own.to_ne_bytes()).unwrap_or_default();
        let read = |bytes: Vec<u8>| bytes.try_into().map_or(own, f64::from_ne_bytes);
        let seconds = seconds.into_iter().map(read).fold(own, f64::max);
        Ok(Summed { sums, seconds })
    }
}

/// Adds the parts of a round to the total of rank 0, in the order of ranks, and says how many there were.
/// Collective.
fn add(ranks: &dyn Ranks, own: Option<&Sums>, total: &mut Sums) -> usize {
    if ranks.size() == 1 {
        own.into_iter().for_each(|own| total.add(own));
        return own.into_iter().count();
    }
    let each = (MESSAGE / ranks.size() / size_of::<Complex64>()).max(1);
    let mut count = 0;
    let both = [(&mut total.sx, own.map(|own| &own.sx)), (&mut total.ch, own.map(|own| &own.ch))];
    for (total, own) in both {
        for (at, to) in total.chunks_mut(each).enumerate() {
            let own = own.map_or(&[][..], |own| &own[at * each..][..to.len()]);
            let mut messages = ranks.gather(bytemuck::cast_slice(own)).unwrap_or_default();
            messages.retain(|message| !message.is_empty());
            for message in &messages {
                let (values, _) = message.as_chunks::<{ size_of::<Complex64>() }>();
                for (to, value) in to.iter_mut().zip(values) {
                    to.add_assign(bytemuck::pod_read_unaligned::<Complex64>(value));
                }
            }
            count = messages.len();
        }
    }
    count
}

// A task on the devices of a library's caller, from the first look at memory on.

/// Sums it on GPUs, one at least, each by its fastest version. All versions have the same bits. The name is that of
/// the first GPU's.
pub fn on_gpus(gpus: &[&Gpu], task: &Task, done: Done) -> Result<(Summed, &'static str)> {
    let version = |gpu: &&Gpu| versions::on(gpu, None, task.bands());
    let versions = gpus.iter().map(version).collect::<Result<Vec<_>>>()?;
    let name = task.problem.name();
    let mut host = 0;
    for (gpu, version) in gpus.iter().zip(&versions) {
        let needs = Needs::of(task, version);
        needs.require_on(*gpu, name)?;
        host += needs.host;
    }
    memory::require(name, host)?;
    let mut workers: Vec<Box<dyn Worker>> = Vec::new();
    for (gpu, version) in gpus.iter().zip(&versions) {
        workers.push(Box::new(OnGpu::new(gpu, *task, version)?));
    }
    let summed = Workers::new(*task, workers, &Alone).sum(done)?;
    Ok((summed, versions[0].id))
}

/// Sums it on a CPU, with the host's threads and vectors.
pub fn on_cpu(host: &Host, task: &Task, done: Done) -> Result<Summed> {
    let on_cpu = OnCpu::new(host, *task)?;
    memory::require(task.problem.name(), on_cpu.needs())?;
    Workers::new(*task, vec![Box::new(on_cpu)], &Alone).sum(done)
}
