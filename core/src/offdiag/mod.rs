//! Σ as a matrix: `SX_lm` and `CH_lm` of many bands l, m.
//!
//! With `A_l(ig,n)` the matrix elements of band l, `A_m(igp,n)` those of band m at the G of igp, and `ssx`, `sch` of
//! (ig, igp) at `wx(iw,n)` as in [`gpp_kernels::formula`]:
//!
//! ```text
//! SX_lm(iw) = − Σ_n occ(n) Σ_igp vcoul_loc(igp) conj(A_m(igp,n)) Σ_ig A_l(ig,n) ssx(ig,igp)
//! CH_lm(iw) = + ½ Σ_n      Σ_igp vcoul_loc(igp) conj(A_m(igp,n)) Σ_ig A_l(ig,n) sch(ig,igp)
//! ```
//!
//! `l = m` is the sum of [`crate::engine`]. Bands n are summed in parts of [`GROUP`], cut by the problem alone. The
//! sums of each part begin with zero and are added in the order of parts ([`Workers`]), so bits do not depend on who
//! sums which part.

pub mod cpu;
pub mod gpu;
pub mod images;
mod task;

use std::ops::AddAssign;
use std::sync::OnceLock;

use gpp_cpu::work::Stop;
use num_complex::Complex64;

use crate::devices::Done;
use crate::devices::cpu::CpuDevice;
use crate::devices::gpu::Gpu;
use crate::error::{Error, Result};
use crate::offdiag::cpu::OnCpu;
use crate::offdiag::gpu::{Needs, OnGpu, version_for};
pub use crate::offdiag::task::{At, Elements, GROUP, Sums, Task, Worker};
use crate::os::memory;
use crate::problem::System;
use crate::problem::range::LARGEST_FACTOR;
use crate::problem::synthesis::{self, Stream};
use crate::ranks::{Alone, Ranks};
use crate::schedule::{self, Homes, Run};

/// More bands l and m than any matrix has.
pub const MOST_BANDS: usize = 8192;

/// Energies of bands, each once from the lowest on, and for each band the number of its own: of [`At::Bands`].
pub fn once_each(of_bands: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let mut each = of_bands.to_vec();
    each.sort_by(f64::total_cmp);
    each.dedup();
    let numbers = of_bands.iter().map(|own| each.partition_point(|other| other < own)).collect();
    (each, numbers)
}

#[derive(Clone, Debug, PartialEq)]
pub struct Summed {
    pub sums: Sums,
    /// Seconds of the products, by the device's clock if it has one; with several devices, of the slowest.
    pub seconds: f64,
}

/// The elements of a built-in system: any l and n by the seed alone, falling with |G| as `aqsn` does.
pub struct Synthesised<'a> {
    system: &'a System,
    seed: u64,
    rows: Vec<f64>,
    bands: usize,
}

impl<'a> Synthesised<'a> {
    pub fn new(system: &'a System, seed: u64, bands: usize) -> Synthesised<'a> {
        Synthesised { system, seed, rows: synthesis::rows(system), bands }
    }
}

impl Elements for Synthesised<'_> {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let at = l * self.system.nbands + n;
        synthesis::matrix_elements(self.seed, Stream::Bands, at, &self.rows, column);
    }
}

/// `a(ncouls, nbands, bands)` of a caller's, column-major. Its numbers are checked when they are read.
pub struct Borrowed<'a> {
    a: &'a [Complex64],
    nbands: usize,
    bands: usize,
    index_base: usize,
    wrong: OnceLock<String>,
    stop: &'a Stop,
}

impl<'a> Borrowed<'a> {
    /// Of so many G and bands n, one at least of each. A number that is not finite or too large has a calculation stop.
    pub fn new(
        a: &'a [Complex64],
        [ncouls, nbands]: [usize; 2],
        index_base: usize,
        stop: &'a Stop,
    ) -> Result<Borrowed<'a>> {
        let bands = a.len().checked_div(ncouls * nbands).unwrap_or(0);
        if bands * ncouls * nbands != a.len() || !(1..=MOST_BANDS).contains(&bands) {
            return Err(wrong(format!(
                "needs {ncouls} * {nbands} elements for each of 1 to {MOST_BANDS} bands, has {}",
                a.len()
            )));
        }
        Ok(Borrowed { a, nbands, bands, index_base, wrong: OnceLock::new(), stop })
    }

    /// Fails if such a number was read.
    pub fn check(&self) -> Result<()> {
        self.wrong.get().map_or(Ok(()), |what| Err(wrong(what.clone())))
    }
}

impl Elements for Borrowed<'_> {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let begin = (l * self.nbands + n) * column.len();
        column.copy_from_slice(&self.a[begin..begin + column.len()]);
        let is_right = |part: f64| part.abs() <= LARGEST_FACTOR;
        if let Some(ig) = column.iter().position(|z| !(is_right(z.re) && is_right(z.im))) {
            let ([i, j, k], found) = ([ig, n, l].map(|at| at + self.index_base), column[ig]);
            let most = format!("real and imaginary part must be at most {LARGEST_FACTOR:e}");
            self.wrong.get_or_init(|| format!("is {found:e} at ({i},{j},{k}); {most}"));
            self.stop.ask(0);
        }
    }
}

fn wrong(what: String) -> Error {
    Error::Input { origin: "a(ig,n,l)".into(), what }
}

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

    /// For several calculations: parts stay where their A is, shared out by their operations.
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

    /// Sums all parts, dealt to ranks one after the other; rank 0 adds them in order and has the sums. Collective.
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

/// Adds the parts of a round to the total of rank 0, in the order of ranks; returns how many. Collective.
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

/// Sums it on GPUs, each by its fastest version, all with the same bits; the name is that of the first GPU's.
pub fn on_gpus(gpus: &[&Gpu], task: &Task, done: Done) -> Result<(Summed, &'static str)> {
    let version = |gpu: &&Gpu| version_for(gpu, None, task.bands());
    let versions = gpus.iter().map(version).collect::<Result<Vec<_>>>()?;
    let name = task.problem.name();
    let needs: Vec<Needs> = versions.iter().map(|version| Needs::of(task, version)).collect();
    gpus.iter().zip(&needs).try_for_each(|(gpu, needs)| needs.require_on(*gpu, name))?;
    memory::require(name, needs.iter().map(|needs| needs.host).sum())?;
    let on_gpu = |(gpu, version)| Ok(Box::new(OnGpu::new(gpu, *task, version)?) as Box<dyn Worker>);
    let workers = gpus.iter().copied().zip(versions.iter().copied()).map(on_gpu);
    let summed = Workers::new(*task, workers.collect::<Result<_>>()?, &Alone).sum(done)?;
    Ok((summed, versions[0].id))
}

/// Sums it on a CPU, with the host's threads and vectors.
pub fn on_cpu(host: &CpuDevice, task: &Task, done: Done) -> Result<Summed> {
    let on_cpu = OnCpu::new(host, *task)?;
    memory::require(task.problem.name(), on_cpu.needs())?;
    Workers::new(*task, vec![Box::new(on_cpu)], &Alone).sum(done)
}
