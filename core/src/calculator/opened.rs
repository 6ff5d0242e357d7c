//! The devices of a calculator.

use std::sync::{Arc, mpsc};
use std::{mem, panic, process, thread};

use gpp_cpu::pool::Room;
use gpp_cpu::pool::in_default_environment;
use gpp_cpu::pool::{MOST, Pool, Team, Threads, start_rayon};
use gpp_cpu::simd::Level;
use gpp_kernels::arrays::Layout;
use gpp_kernels::plan::Poles;

use crate::calculator::{Calculator, Formula, NAME, Progress, Tell};
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::Visit;
use crate::devices::host::Host;
use crate::devices::{Choice, Device, HostWorkspace, Watch, spawned};
use crate::error::{Error, Result};
use crate::problem::header::MOST_ENERGIES;
use crate::problem::memory::{AQSM_LOCAL, MOST_TOGETHER, Of, WTILDE, WX, partial_sums, require};
use crate::problem::plan::BySize;
use crate::problem::{Extents, Header, Id, Outline, Problem, wrong};

/// The CPU, or GPUs by their indices, and the threads of the CPU.
pub struct Opened {
    host: Option<Host>,
    gpus: Vec<(Gpu, usize)>,
    team: Arc<Team>,
    /// The process that has opened them.
    process: u32,
}

impl Opened {
    pub fn new(choice: &Choice) -> Result<Opened> {
        let team = Arc::new(Team::new(Room::here()));
        let open = |indices: &[usize]| -> Result<Vec<(Gpu, usize)>> {
            let open = |&index: &usize| Ok((Gpu::open(index)?, index));
            let opened = apart(|| indices.iter().map(open).collect::<Result<_>>(), || ())?.0?;
            // They make what is laid out for GPUs.
            start_rayon(None).map_err(Error::threads)?;
            Ok(opened)
        };
        let gpus = match choice {
            Choice::Cpu => Vec::new(),
            Choice::Auto => match open(&[0]) {
                Err(Error::NoGpu { .. }) => Vec::new(),
                gpu => gpu?,
            },
            Choice::Gpus(indices) => open(indices)?,
            Choice::AllGpus => {
                let count = apart(Gpu::count, || ())?.0?;
                open(&(0..count).collect::<Vec<_>>())?
            }
        };
        let host = gpus.is_empty().then(|| Host::with_team(Level::best(), team.clone()));
        Ok(Opened { host, gpus, team, process: process::id() })
    }

    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Does what the CPU computes, on its threads.
    pub fn computed<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.require_process()?;
        self.pool()?.install(work)
    }

    /// Does the work of a call: on the CPU's threads, or for GPUs on one of its own. The caller's thread tells
    /// how far it is meanwhile.
    pub fn called<R: Send>(
        &self,
        tell: Option<&Tell>,
        work: impl FnOnce(Watch) -> Result<R> + Send,
    ) -> Result<R> {
        self.require_process()?;
        let progress = &Progress::default();
        let watch = Watch { done: &|part| progress.done(part), stop: &progress.stop };
        let Some(tell) = tell else {
            let work = || work(watch);
            return if self.is_host() { self.computed(work) } else { apart(work, || ())?.0 };
        };
        progress.tell(tell);
        watch.check()?;
        let (ended, end) = mpsc::channel();
        // What it owns goes in a panic, and nobody waits for it.
        let work = move || _ = ended.send(work(watch));
        let wait = || progress.wait(tell, &end);
        let result =
            if self.is_host() { self.pool()?.beside(work, wait) } else { apart(work, wait)?.1 };
        result.expect("a panic goes on here")
    }

    /// Does work for a GPU on the caller's thread, whose context and floating-point environment stay his.
    pub fn here<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.require_process()?;
        let _visit = Visit::begin();
        in_default_environment(work)
    }

    fn pool(&self) -> Result<Arc<Pool>> {
        self.team.pool(Threads::All).map_err(Error::threads)
    }

    /// Fails in a process that was forked from that which has opened this: it has none of its threads.
    pub fn require_process(&self) -> Result<()> {
        let (opened, here) = (self.process, process::id());
        if opened == here {
            return Ok(());
        }
        Err(Error::Driver(format!(
            "the calculator was opened by process {opened}, and its threads are not in process {here}, which was \
             forked from it; open one here"
        )))
    }

    pub fn all(&self) -> impl Iterator<Item = &dyn Device> {
        let host = self.host.iter().map(|host| host as &dyn Device);
        host.chain(self.gpus.iter().map(|(gpu, _)| gpu as &dyn Device))
    }

    pub fn first(&self) -> &dyn Device {
        self.all().next().expect("one is open")
    }

    pub fn count(&self) -> usize {
        self.all().count()
    }

    /// The GPU with its index, if it is one alone.
    pub fn gpu(&self) -> Option<(&Gpu, usize)> {
        match &self.gpus[..] {
            [(gpu, index)] => Some((gpu, *index)),
            _ => None,
        }
    }

    /// The CPU, if it is that.
    pub fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    pub fn gpus(&self) -> Vec<&Gpu> {
        self.gpus.iter().map(|(gpu, _)| gpu).collect()
    }

    pub fn is_host(&self) -> bool {
        self.host.is_some()
    }
}

/// What the driver keeps of a thread, its current context above all, is the caller's own.
impl Drop for Opened {
    fn drop(&mut self) {
        let gpus = mem::take(&mut self.gpus);
        if self.require_process().is_err() {
            // Whoever holds a lock of theirs is not there to let it go.
            mem::forget((gpus, self.host.take(), self.team.clone()));
        } else if !gpus.is_empty() {
            // Without a thread they go here.
            let _ = apart(|| drop(gpus), || ());
        }
    }
}

/// Does work on a thread of its own, and something else meanwhile.
fn apart<R: Send, M>(
    work: impl FnOnce() -> R + Send,
    meanwhile: impl FnOnce() -> M,
) -> Result<(R, M)> {
    thread::scope(|scope| {
        let working = spawned(scope, work)?;
        let meanwhile = meanwhile();
        let done = working.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        Ok((done, meanwhile))
    })
}

// How many threads of the CPU compute.

impl Calculator {
    /// Computes on so many threads of the CPU from now on, 1 to 65535; 0 takes that back: then there are as
    /// many as `OMP_NUM_THREADS` said when this was opened, else as many as the mask and the cgroup of the thread
    /// that opened it have room for. Clones have the same threads. Sums have the same bits for any number.
    ///
    /// Threads have the mask of the thread that calls first, and are bound to no core. On a GPU they look at arrays;
    /// what is laid out for GPUs is made by rayon's own threads.
    ///
    /// # Errors
    /// [`Error::Input`] for another number; [`Error::Driver`].
    pub fn set_threads(&mut self, threads: usize) -> Result<()> {
        if threads > MOST {
            let what = format!(
                "needs 1 to {MOST}, or 0 for as many as there is room for; found {threads}"
            );
            return Err(Error::Input { origin: "threads".into(), what });
        }
        self.opened.require_process()?;
        self.opened.team().set(threads);
        Ok(())
    }

    /// This calculator with [`Calculator::set_threads`].
    ///
    /// # Errors
    /// Those of [`Calculator::set_threads`].
    pub fn with_threads(mut self, threads: usize) -> Result<Calculator> {
        self.set_threads(threads)?;
        Ok(self)
    }

    /// How many threads of the CPU a calculation has at most. cpu:threads to cpu:blocked run one on each core
    /// where nothing sets the number.
    pub fn threads(&self) -> usize {
        self.opened.team().count(Threads::All)
    }
}

// What the last call asked for: its identity, by which plans stay, and its problem if that refers to nobody's arrays.

/// Energies, occupations and limits of the last call.
#[derive(Default)]
pub struct Last {
    asked: Option<([Vec<f64>; 3], Formula, Id)>,
    problem: Option<Problem>,
}

impl Last {
    /// The identity of energies of bands, occupations, energies ω and limits: that of the last ones if they are the same.
    pub fn id(&mut self, given: [&[f64]; 3], formula: Formula) -> Id {
        if let Some((last, of_last, id)) = &self.asked
            && *last == given
            && *of_last == formula
        {
            return *id;
        }
        self.problem = None;
        let id = Id::unique();
        self.asked = Some((given.map(<[f64]>::to_vec), formula, id));
        id
    }

    /// The problem of the last call with [other elements](Problem::with_other_elements), if it was kept and no other
    /// identity was asked for since then.
    pub fn problem(&mut self) -> Option<Problem> {
        self.problem.take().map(Problem::with_other_elements)
    }

    /// Keeps a problem of the last identity, whose matrix elements are elsewhere.
    pub fn keep(&mut self, problem: Problem) {
        self.problem = Some(problem);
    }
}

// Errors in the words of the caller: his names of arrays, and indices from the base that he counts from.

/// How the caller of a function knows what it is given.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    /// The index of a first element.
    pub base: usize,
    /// The screening's, if `aqsm` has a row for each G.
    pub whole: Option<&'a Header>,
}

impl Words<'_> {
    /// This error with names and indices of the caller's.
    pub(super) fn say(self, error: Error) -> Error {
        match error {
            Error::Input { origin, what } if origin == NAME => {
                Error::Input { origin, what: self.put_into(&what) }
            }
            other => other,
        }
    }

    /// Indices are the numbers in parentheses, `(3)` or `(3,5)`.
    fn put_into(self, text: &str) -> String {
        let is_row = text.starts_with("aqsm_local");
        let mut said = String::new();
        for (at, part) in text.split('(').enumerate() {
            if at > 0 {
                said.push('(');
            }
            let indices = part.split_once(')').and_then(|(inner, rest)| {
                let indices: Option<Vec<usize>> =
                    inner.split(',').map(|i| i.parse().ok()).collect();
                Some((indices?, rest))
            });
            let Some((mut indices, rest)) = indices else {
                said.push_str(part);
                continue;
            };
            if let (true, Some(header)) = (is_row, self.whole) {
                indices[0] = header.row_of_column(indices[0] - 1).map_or(indices[0], |row| row + 1);
            }
            let indices: Vec<_> =
                indices.iter().map(|i| (i + self.base).saturating_sub(1).to_string()).collect();
            said += &format!("{}){rest}", indices.join(","));
        }
        let aqsm = if self.whole.is_some() { "aqsm(ig,n)" } else { "aqsm(igp,n)" };
        let said = said.replace("aqsm_local(igp,n)", aqsm);
        NAMES.iter().fold(said, |said, [name, own]| said.replace(name, own))
    }
}

/// Names of arrays and numbers in files, and those of the caller's.
const NAMES: [[&str; 2]; 12] = [
    ["wtilde_array(", "wtilde("],
    ["I_eps_array(", "eps("],
    ["aqsntemp(", "aqsn("],
    ["aqsmtemp(", "aqsm("],
    ["wfnkq_ekq", "e"],
    ["energies(", "omega("],
    ["sig_gamma", "gamma"],
    ["sig_ntband", "the length of e"],
    ["peinf_ntband_dist", "the length of e"],
    ["gvec_ng", "the length of indinv"],
    ["ncouls", "the length of vcoul"],
    ["ngpown", "the length of inv_igp_index"],
];

// How much memory a call takes, said before there are arrays.

/// What the memory of a call depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub ncouls: usize,
    pub ngpown: usize,
    pub nbands: usize,
    pub nw: usize,
    /// Whether `wtilde` and `eps` are on the GPU already.
    pub screening_on_gpu: bool,
    pub bands_on_gpu: bool,
}

/// Bytes that a call takes at most beside the caller's arrays, if no number has to be replaced and no column is
/// masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workspace {
    pub host: u64,
    /// On each GPU, for the whole problem at once; less is enough for arrays of the host, which go there in slabs.
    pub device: u64,
}

impl Calculator {
    /// The memory that a call takes for problems of these sizes, with any poles. It is computed: nothing is allocated.
    ///
    /// # Errors
    /// [`Error::Input`] for sizes that no problem has.
    pub fn workspace(&self, sizes: Sizes) -> Result<Workspace> {
        let Sizes { ncouls, ngpown, nbands, nw, screening_on_gpu, bands_on_gpu } = sizes;
        let extents = Extents { nbands, ngpown, ncouls, nw };
        check_omega(nw).and_then(|()| extents.check()).map_err(|what| wrong(NAME, what))?;
        if [ncouls, ngpown, nbands].contains(&0) {
            return Ok(Workspace { host: 0, device: 0 });
        }
        let laid = [Poles::Real, Poles::Any]
            .map(|poles| self.laid(Outline { extents, poles, keeps_order: false }));
        let on_gpu = if screening_on_gpu { 2 * WTILDE.bytes(extents, Layout::Original) } else { 0 };
        let rows = if bands_on_gpu { 0 } else { AQSM_LOCAL.bytes(extents, Layout::Original) };
        let copies = on_gpu + rows + BySize::bytes(extents) + small(extents);
        let on_gpu = if self.opened.is_host() { 0 } else { extents.device_bytes(Of::Bands) };
        let of_slab = if self.opened.is_host() { 0 } else { extents.device_bytes(Of::Slab) };
        let device = (on_gpu + of_slab).saturating_sub(on_gpu);
        Ok(Workspace { host: laid[0].max(laid[1]) + copies, device })
    }

    /// Fails if the host has no room for what is laid out and summed of such a problem.
    pub(super) fn require_laid(&self, problem: Outline) -> Result<()> {
        require("what versions lay out of the arrays", self.laid(problem))
    }

    fn laid(&self, problem: Outline) -> u64 {
        let (version, count) = (self.version_for(problem), self.opened.count());
        let kernels = self.kernels(version);
        let ngpown = problem.extents.ngpown.div_ceil(count);
        let slab = Extents { ngpown, ..problem.extents };
        let laid = self.opened.all().map(|device| device.workspace(problem, &kernels, slab));
        let HostWorkspace { bands, slab: of_slabs } =
            laid.fold(HostWorkspace::default(), |all, one| all + one);
        let is_emulated = self.opened.is_host() && version.gpu().is_some();
        let partials = if is_emulated { partial_sums(batch(slab)) } else { 0 };
        // Of batches, then of all energies.
        bands + of_slabs + partials + 2 * version.bytes_of_sums(problem)
    }
}

/// Fails without energies, and for more than a problem has.
pub(super) fn check_omega(nw: usize) -> Result<()> {
    let name = "the length of omega";
    match nw {
        0 => Err(Error::of(name, " must be at least 1, found 0")),
        1..=MOST_ENERGIES => Ok(()),
        _ => Err(Error::exceeds(name, nw, "the most energies", MOST_ENERGIES)),
    }
}

/// Fails if the host has no room for what calls have of such a problem beside the caller's matrices: small arrays, and
/// what its energies are in the problem and in its batches; `ng` is the length of `indinv`.
pub(super) fn require_small(extents: Extents, ng: usize) -> Result<()> {
    require(NAME, small(extents) + 8 * ng as u64)
}

fn small(extents: Extents) -> u64 {
    let Extents { nbands, ngpown, ncouls, nw } = extents;
    let energies = |of| WX.bytes(of, Layout::Original);
    let numbers = [nbands, ngpown, ncouls, nw].iter().fold(0, |all: u64, n| all + *n as u64);
    64 * numbers + 4 * energies(extents) + 12 * energies(batch(extents))
}

/// So many energies as a batch has at most.
fn batch(extents: Extents) -> Extents {
    Extents { nw: extents.nw.min(MOST_TOGETHER), ..extents }
}
