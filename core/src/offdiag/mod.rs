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

use std::ops::{AddAssign, Range};
use std::sync::OnceLock;

use gpp_cpu::work::{NEVER, Stop};
use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::devices::Done;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::error::{Error, Result};
use crate::offdiag::cpu::OnCpu;
use crate::offdiag::gpu::{Needs, OnGpu, version_for};
use crate::os::memory;
use crate::problem::range::LARGEST_FACTOR;
use crate::problem::{Problem, System, synthesis};
use crate::ranks::{Alone, Ranks};
use crate::schedule::{self, Homes, Pipeline, Run};

/// More bands l and m than any matrix has.
pub const MOST_BANDS: usize = 8192;

/// Bands n of a part: their A are adjacent in memory, and tiles may cross from one band to the next.
pub const GROUP: usize = 24;

#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// ω̃, eps, vcoul and the map of igp, bands n and energies; its own matrix elements are not read.
    pub problem: &'a Problem,
    /// `A_l(ig,n)` of all bands l.
    pub elements: &'a dyn Elements,
    pub at: At<'a>,
    /// Ends the calculation, within a part too.
    pub stop: &'a Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At<'a> {
    /// All elements at all energies of the problem: a matrix for each.
    Energies,
    /// `Σ_lm(E_l)` and `Σ_lm(E_m)`: two matrices, the first of rows at the energies of their bands, the second of
    /// columns. It has the number of each band's energy (0-based), `bands` of them.
    Bands(&'a [usize]),
}

impl At<'_> {
    /// In which of a task's matrices an element at an energy is.
    pub fn planes(self, l: usize, m: usize, iw: usize) -> impl Iterator<Item = usize> {
        let planes = match self {
            At::Energies => [Some(iw), None],
            At::Bands(of) => [(of[l] == iw).then_some(0), (of[m] == iw).then_some(1)],
        };
        planes.into_iter().flatten()
    }
}

impl<'a> Task<'a> {
    /// All elements at all energies of a problem.
    pub fn new(problem: &'a Problem, elements: &'a dyn Elements) -> Task<'a> {
        Task { problem, elements, at: At::Energies, stop: &NEVER }
    }

    pub fn planes(&self) -> usize {
        match self.at {
            At::Energies => self.nw(),
            At::Bands(_) => 2,
        }
    }

    /// Bands l and m.
    pub fn bands(&self) -> usize {
        self.elements.bands()
    }

    pub fn nw(&self) -> usize {
        self.problem.nw()
    }

    /// Operations of some bands n: eight a complex product and addition, of both products.
    pub fn operations_of(&self, n: Range<usize>) -> f64 {
        let (extents, occ) = (self.problem.extents(), &self.problem.occ()[n]);
        let occupied = occ.iter().filter(|&&occ| occ != 0.0).count();
        let items = (self.nw() * (occ.len() + occupied)) as f64;
        let (bands, ngpown) = (self.bands() as f64, extents.ngpown as f64);
        8.0 * items * ngpown * bands * (extents.ncouls as f64 + bands)
    }

    pub fn parts(&self) -> usize {
        self.problem.extents().nbands.div_ceil(GROUP)
    }

    pub fn part(&self, part: usize) -> Range<usize> {
        part * GROUP..self.problem.extents().nbands.min((part + 1) * GROUP)
    }

    pub fn limits(&self) -> Limits {
        self.problem.limits()
    }
}

fn ranges(all: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(most).map(move |begin| begin..end.min(begin + most))
}

/// The matrices of all energies, in the unit of the sums of [`crate::problem::Sums`]: element (l, m) at energy iw is entry
/// `l + bands · (m + bands · iw)`. Of [`At::Bands`] rows come first, then columns, as of two energies.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// Bands l and m.
    pub bands: usize,
    /// Screened exchange.
    pub sx: Vec<Complex64>,
    /// Coulomb hole.
    pub ch: Vec<Complex64>,
}

impl Sums {
    pub fn zero(bands: usize, nw: usize) -> Sums {
        let zeros = vec![Complex64::ZERO; bands * bands * nw];
        Sums { bands, sx: zeros.clone(), ch: zeros }
    }

    pub fn nw(&self) -> usize {
        self.sx.len() / (self.bands * self.bands)
    }

    /// Takes what a task keeps of `SX_lm` and `CH_lm` at one of the problem's energies.
    fn take(&mut self, at: At, iw: usize, of: impl Fn(usize, usize) -> [Complex64; 2]) {
        let bands = self.bands;
        let mut set = |l, m, plane| {
            let at = self.at(l, m, plane);
            [self.sx[at], self.ch[at]] = of(l, m);
        };
        match at {
            At::Energies => (0..bands * bands).for_each(|at| set(at % bands, at / bands, iw)),
            At::Bands(energies) => {
                for own in (0..bands).filter(|&own| energies[own] == iw) {
                    (0..bands).for_each(|m| set(own, m, 0));
                    (0..bands).for_each(|l| set(l, own, 1));
                }
            }
        }
    }

    fn add(&mut self, other: &Sums) {
        self.sx.iter_mut().zip(&other.sx).for_each(|(to, from)| to.add_assign(from));
        self.ch.iter_mut().zip(&other.ch).for_each(|(to, from)| to.add_assign(from));
    }

    /// The index of element (l, m) at an energy.
    pub fn at(&self, l: usize, m: usize, iw: usize) -> usize {
        l + self.bands * (m + self.bands * iw)
    }
}

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

/// What sums parts: a CPU or a GPU, with a task in place. It can be used again and again.
pub trait Worker: Pipeline<Sums> {
    /// Begins a calculation, with nothing in flight, whatever became of an earlier one.
    fn start(&mut self) -> Result<()>;

    /// How many parts may be dealt to it before the first of them is added: their matrices wait in memory.
    fn ahead(&self) -> usize;

    /// Seconds of the products since the start.
    fn seconds(&self) -> f64;
}

/// `A_l(ig,n)` of bands l.
pub trait Elements: Sync {
    fn bands(&self) -> usize;

    /// Fills in `A_l(:,n)`, all ig of a band l and an n (0-based).
    fn column(&self, l: usize, n: usize, column: &mut [Complex64]);
}

/// The elements of a built-in system: any l and n by the seed alone, falling with |G| as `aqsn` does.
pub struct Synthesised<'a> {
    columns: synthesis::Elements<'a>,
    bands: usize,
}

impl<'a> Synthesised<'a> {
    pub fn new(system: &'a System, seed: u64, bands: usize) -> Synthesised<'a> {
        Synthesised { columns: synthesis::Elements::new(system, seed), bands }
    }
}

impl Elements for Synthesised<'_> {
    fn bands(&self) -> usize {
        self.bands
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        self.columns.column(l, n, column);
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
            let most = format!("its parts must be at most {LARGEST_FACTOR:e}");
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

    /// Sums all parts. Parts are dealt to ranks one after the other; rank 0 adds them in order and has the sums. Collective.
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
