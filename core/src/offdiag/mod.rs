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
//! sums of each part begin with zero and are added in the order of parts ([`MatrixWorkers`]), so bits do not depend on who
//! sums which part.

pub mod cpu;
pub mod gpu;
pub mod images;

use std::ops::{AddAssign, Range};
use std::sync::OnceLock;

use gpp_cpu::work::{NEVER, Stop};
use num_complex::Complex64;

use crate::devices::gpu::Gpu;
use crate::devices::{Advance, Control, HOST};
use crate::error::{Error, Fault, Owner, Quantity, Result, invalid};
use crate::offdiag::cpu::MatrixOnCpu;
use crate::offdiag::gpu::{MatrixOnGpu, MatrixVersion, host_bytes, version_for};
use crate::problem::range::LARGEST_FACTOR;
use crate::problem::synthesis::{self, RandomStream};
use crate::problem::{Problem, System};
use crate::ranks::Ranks;
use crate::schedule::{self, Affinity, Dispatch, StepPipeline};
use crate::session::Session;

/// Bands n of a part: their A are adjacent in memory, and tiles may cross from one band to the next.
pub const GROUP: usize = 24;

#[derive(Clone, Copy)]
pub struct MatrixTask<'a> {
    /// ω̃, eps, vcoul and the map of igp, bands n and energies; its own matrix elements are not read.
    pub problem: &'a Problem,
    /// `A_l(ig,n)` of all bands l.
    pub elements: &'a dyn Elements,
    pub at: MatrixEnergies<'a>,
    /// Whether only Σ is wanted: it is in the place of CH, and SX is zero.
    pub sigma_alone: bool,
    /// Ends the calculation, within a part too.
    pub stop: &'a Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixEnergies<'a> {
    /// All elements at all energies of the problem: a matrix for each.
    Energies,
    /// `Σ_lm(E_l)` and `Σ_lm(E_m)`: two matrices, the first of rows at the energies of their bands, the second of
    /// columns. It has the number of each band's energy (0-based), `bands` of them.
    Bands(&'a [usize]),
}

impl MatrixEnergies<'_> {
    /// In which of a task's matrices an element at an energy is.
    pub fn planes(self, l: usize, m: usize, iw: usize) -> impl Iterator<Item = usize> {
        let planes = match self {
            MatrixEnergies::Energies => [Some(iw), None],
            MatrixEnergies::Bands(of) => [(of[l] == iw).then_some(0), (of[m] == iw).then_some(1)],
        };
        planes.into_iter().flatten()
    }
}

impl<'a> MatrixTask<'a> {
    pub fn new(problem: &'a Problem, elements: &'a dyn Elements) -> MatrixTask<'a> {
        let at = MatrixEnergies::Energies;
        MatrixTask { problem, elements, at, sigma_alone: false, stop: &NEVER }
    }

    pub fn planes(&self) -> usize {
        match self.at {
            MatrixEnergies::Energies => self.nw(),
            MatrixEnergies::Bands(_) => 2,
        }
    }

    pub fn bands(&self) -> usize {
        self.elements.bands()
    }

    pub fn nw(&self) -> usize {
        self.problem.nw()
    }

    /// Operations of some bands n: eight a complex product and addition, of both products, for Σ alone of one P a band.
    pub fn operations_of(&self, n: Range<usize>) -> f64 {
        let (extents, occ) = (self.problem.extents(), &self.problem.occ()[n]);
        let exchange = occ.iter().filter(|&&occ| occ != 0.0 && !self.sigma_alone).count();
        let items = (self.nw() * (occ.len() + exchange)) as f64;
        let (bands, ngpown) = (self.bands() as f64, extents.ngpown as f64);
        8.0 * items * ngpown * bands * (extents.ncouls as f64 + bands)
    }

    pub fn parts(&self) -> usize {
        self.problem.extents().nbands.div_ceil(GROUP)
    }

    pub fn part(&self, part: usize) -> Range<usize> {
        part * GROUP..self.problem.extents().nbands.min((part + 1) * GROUP)
    }
}

fn ranges(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(most).map(move |begin| begin..end.min(begin + most))
}

/// The matrices of all energies, in the unit of the sums of [`crate::problem::Sums`]: element (l, m) at energy iw is entry
/// `l + bands · (m + bands · iw)`. Of [`MatrixEnergies::Bands`] rows come first, then columns, as of two energies.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixSums {
    /// Bands l and m.
    pub bands: usize,
    /// Screened exchange.
    pub sx: Vec<Complex64>,
    /// Coulomb hole, or Σ of a task for Σ alone.
    pub ch: Vec<Complex64>,
}

impl MatrixSums {
    pub fn zero(bands: usize, nw: usize) -> MatrixSums {
        let zeros = vec![Complex64::ZERO; bands * bands * nw];
        MatrixSums { bands, sx: zeros.clone(), ch: zeros }
    }

    pub fn nw(&self) -> usize {
        self.sx.len() / (self.bands * self.bands)
    }

    /// Takes what a task keeps of `SX_lm` and `CH_lm` at one of the problem's energies.
    fn take(
        &mut self,
        energies: MatrixEnergies,
        iw: usize,
        of: impl Fn(usize, usize) -> [Complex64; 2],
    ) {
        let bands = self.bands;
        let mut set = |l, m, plane| {
            let element = self.at(l, m, plane);
            [self.sx[element], self.ch[element]] = of(l, m);
        };
        match energies {
            MatrixEnergies::Energies => {
                (0..bands * bands).for_each(|at| set(at % bands, at / bands, iw))
            }
            MatrixEnergies::Bands(numbers) => {
                for own in (0..bands).filter(|&own| numbers[own] == iw) {
                    (0..bands).for_each(|m| set(own, m, 0));
                    (0..bands).for_each(|l| set(l, own, 1));
                }
            }
        }
    }

    fn add(&mut self, other: &MatrixSums) {
        self.sx.iter_mut().zip(&other.sx).for_each(|(to, from)| to.add_assign(from));
        self.ch.iter_mut().zip(&other.ch).for_each(|(to, from)| to.add_assign(from));
    }

    /// The index of element (l, m) at an energy.
    pub fn at(&self, l: usize, m: usize, iw: usize) -> usize {
        l + self.bands * (m + self.bands * iw)
    }
}

/// What sums parts: a CPU or a GPU, with a task in place. It can be used again and again.
pub trait MatrixWorker: StepPipeline<MatrixSums> {
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

/// More bands l and m than any matrix has.
pub const MOST_BANDS: usize = 8192;

/// Energies of bands, each once from the lowest on, and for each band the number of its own: of [`MatrixEnergies::Bands`].
pub fn once_each(of_bands: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let mut each = of_bands.to_vec();
    each.sort_by(f64::total_cmp);
    each.dedup();
    let numbers = of_bands.iter().map(|own| each.partition_point(|other| other < own)).collect();
    (each, numbers)
}

/// The elements of some bands of a built-in system: any l and n by the seed alone, falling with |G| as `aqsn` does.
pub struct Synthesised<'a> {
    system: &'a System,
    seed: u64,
    rows: Vec<f64>,
    bands: Range<usize>,
}

impl<'a> Synthesised<'a> {
    pub fn new(system: &'a System, seed: u64, bands: Range<usize>) -> Synthesised<'a> {
        Synthesised { system, seed, rows: synthesis::rows(system), bands }
    }
}

impl Elements for Synthesised<'_> {
    fn bands(&self) -> usize {
        self.bands.len()
    }

    fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let (stream, at) = (RandomStream::Bands, (self.bands.start + l) * self.system.nbands + n);
        synthesis::matrix_elements(self.seed, stream, at, &self.rows, column);
    }
}

/// `a(ncouls, nbands, bands)` of a caller's, column-major. Its numbers are checked when they are read.
pub struct Borrowed<'a> {
    a: &'a [Complex64],
    nbands: usize,
    bands: usize,
    index_base: usize,
    wrong: OnceLock<Fault>,
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
            let needs = format!("needs {ncouls} * {nbands} elements for each of 1 to {MOST_BANDS}");
            return Err(invalid("a(ig,n,l)", format!("{needs} bands, has {}", a.len())));
        }
        Ok(Borrowed { a, nbands, bands, index_base, wrong: OnceLock::new(), stop })
    }

    /// Fails if such a number was read.
    pub fn check(&self) -> Result<()> {
        let Some(fault) = self.wrong.get() else { return Ok(()) };
        let owner = Owner::Caller { index_base: self.index_base };
        Err(Error::data(Quantity::A, fault.clone()).owned_by(owner))
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
            let (index, found) = (vec![ig, n, l], column[ig]);
            let bounds = [-LARGEST_FACTOR, LARGEST_FACTOR];
            self.wrong.get_or_init(|| Fault::Value { index, found, bounds });
            self.stop.ask(0);
        }
    }
}

/// The workers of this process, one of several or alone, with a task.
pub struct MatrixWorkers<'a> {
    task: MatrixTask<'a>,
    workers: Vec<Box<dyn MatrixWorker + 'a>>,
    ranks: &'a dyn Ranks,
    homes: Affinity,
}

/// Bytes of a message between ranks, of all ranks together.
const MESSAGE: usize = 256 << 20;

impl<'a> MatrixWorkers<'a> {
    pub fn new(
        task: MatrixTask<'a>,
        workers: Vec<Box<dyn MatrixWorker + 'a>>,
        ranks: &'a dyn Ranks,
    ) -> MatrixWorkers<'a> {
        let homes = Affinity { of: vec![None; task.parts()], moves: false };
        MatrixWorkers { task, workers, ranks, homes }
    }

    /// For several calculations: parts stay where their A is, shared out by their operations.
    #[must_use]
    pub fn for_several(mut self) -> MatrixWorkers<'a> {
        let mut operations = vec![0.0_f64; self.workers.len()];
        for part in (self.ranks.rank()..self.task.parts()).step_by(self.ranks.size()) {
            let by_operations = |a: &usize, b: &usize| operations[*a].total_cmp(&operations[*b]);
            let least = (0..operations.len()).min_by(by_operations).unwrap_or(0);
            operations[least] += self.task.operations_of(self.task.part(part));
            self.homes.of[part] = Some(least);
        }
        self
    }

    /// Sums all parts, dealt to ranks one after the other; rank 0 adds them in order and has the sums. Seconds of the products,
    /// by the device's clock if it has one; with several devices, of the slowest. Collective.
    pub fn sum(&mut self, advance: Advance) -> Result<(MatrixSums, f64)> {
        let MatrixWorkers { task, workers, ranks, homes } = self;
        let (total, ranks) = (task.parts(), *ranks);
        let items: Vec<usize> = (ranks.rank()..total).step_by(ranks.size()).collect();
        let is_in_last_round = items.len() == total.div_ceil(ranks.size());
        let (mut sums, mut summed) = (MatrixSums::zero(task.bands(), task.planes()), 0);
        // Adds a part of each rank, unless one of them is stopped: all learn of it.
        let mut round = |part: Option<&MatrixSums>, stop: Option<i32>| {
            let stop = ranks.first_code(stop);
            if stop.is_none() {
                summed += add(ranks, part, &mut sums);
            }
            stop
        };
        workers.iter_mut().try_for_each(|worker| worker.start())?;
        let ahead = workers.iter().map(|worker| worker.ahead()).sum();
        let control = Control { advance, stop: task.stop };
        let run = Dispatch { items, homes, ahead, control };
        let stopped = |code, done| Error::Stopped { code, done, total, unit: "parts" };
        let mut of_others = None;
        let pipelines = workers.iter_mut().map(Box::as_mut).collect();
        let stop = schedule::each(pipelines, run, &mut |part: MatrixSums| {
            of_others = round(Some(&part), None);
            of_others.map_or(Ok(()), |code| Err(stopped(code, 0)))
        })?;
        let code = match (of_others, stop) {
            (None, None) if is_in_last_round => None,
            (None, stop) => round(None, stop),
            (code, _) => code,
        };
        if let Some(code) = code {
            return Err(stopped(code, summed));
        }
        let longest = workers.iter().map(|worker| worker.seconds()).fold(0.0, f64::max);
        let seconds = ranks.gather(&longest.to_ne_bytes()).unwrap_or_default();
        let read = |bytes: Vec<u8>| bytes.try_into().map_or(longest, f64::from_ne_bytes);
        let seconds = seconds.into_iter().map(read).fold(longest, f64::max);
        Ok((sums, seconds))
    }
}

/// Adds the parts of a round to the total of rank 0, in the order of ranks; returns how many. Collective.
fn add(ranks: &dyn Ranks, part: Option<&MatrixSums>, total: &mut MatrixSums) -> usize {
    if ranks.size() == 1 {
        part.into_iter().for_each(|part| total.add(part));
        return part.into_iter().count();
    }
    let each = (MESSAGE / ranks.size() / size_of::<Complex64>()).max(1);
    let mut count = 0;
    let both =
        [(&mut total.sx, part.map(|part| &part.sx)), (&mut total.ch, part.map(|part| &part.ch))];
    for (total, part) in both {
        for (at, to) in total.chunks_mut(each).enumerate() {
            let part = part.map_or(&[][..], |part| &part[at * each..][..to.len()]);
            let mut messages = ranks.gather(bytemuck::cast_slice(part)).unwrap_or_default();
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

/// The workers of a session's devices with a task, all but A in place, and the version of the first GPU: the one that is
/// asked for, or the fastest; `cpu` on a CPU. All versions give the same bits. `told` gets the bytes of the host's memory
/// that they take in addition to the problem; fails if there are fewer. Collective.
pub fn workers<'a>(
    session: &'a Session,
    task: MatrixTask<'a>,
    asked: Option<&'static MatrixVersion>,
    told: &dyn Fn(u64),
) -> Result<(Vec<Box<dyn MatrixWorker + 'a>>, &'static str)> {
    let require = |needed| {
        told(needed);
        session.require_host(task.problem, needed)
    };
    if let Some(cpu) = session.cpu() {
        let on_cpu = MatrixOnCpu::new(cpu, task)?;
        require(on_cpu.needs())?;
        return Ok((vec![Box::new(on_cpu)], HOST));
    }
    if task.problem.limits().has_window() {
        return Err(invalid("window", "of matrices needs a CPU: use --device cpu"));
    }
    let version = |gpu: &Gpu| version_for(gpu, asked, task.bands());
    let versions = session.gpus().iter().map(version).collect::<Result<Vec<_>>>()?;
    require(versions.iter().map(|version| host_bytes(&task, version)).sum())?;
    let on_gpu = |(gpu, version)| {
        Ok(Box::new(MatrixOnGpu::new(gpu, task, version)?) as Box<dyn MatrixWorker>)
    };
    let workers = session.gpus().iter().zip(versions.iter().copied()).map(on_gpu);
    Ok((workers.collect::<Result<_>>()?, versions[0].id))
}
