//! The library's entry point: a caller's arrays in, self-energies out.
//!
//! ```
//! use gpp_core::{Bands, Calculator, Formula, MatrixRef, Screening};
//! use num_complex::Complex64;
//!
//! // Two G vectors, one G′ (the first of them), one occupied band.
//! let wtilde = [Complex64::new(10.0, 0.0), Complex64::new(12.0, 0.0)];
//! let eps = [Complex64::new(0.5, 0.0), Complex64::new(0.1, 0.0)];
//! let aqs = [Complex64::new(1.0, 0.0), Complex64::new(0.2, 0.1)];
//! let screening = Screening {
//!     wtilde: MatrixRef::Host(&wtilde),
//!     eps: MatrixRef::Host(&eps),
//!     vcoul: &[2.0, 1.0],
//!     inv_igp_index: &[1],
//!     indinv: &[1, 2],
//! };
//! let aqs = MatrixRef::Host(&aqs);
//! let bands = Bands { aqsn: aqs, aqsm: aqs, aqsm_local: false, e: &[-3.0], occ: &[1.0] };
//! let calculator = Calculator::open("cpu")?;
//! let found = calculator.sums(&screening, &bands, &[0.0, 1.0], Formula::default())?;
//! assert_eq!(found.sums.asx.len(), 2);
//! # Ok::<(), gpp_core::Error>(())
//! ```
//!
//! [`Calculator::place`] keeps ω̃ and eps in place while bands change. [`on_gpu`] is for arrays that are on a GPU
//! already. [`Calculator::matrix`] is for Σ between many bands.

mod arrays;
pub mod on_gpu;
pub(crate) mod placed;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{mem, panic, process, thread};

use gpp_cpu::pool::{MOST, Pool, Room, Team, Threads, in_default_environment, start_rayon};
use gpp_cpu::simd::Level;
use gpp_cpu::work::Stop;
use gpp_kernels::arrays::Layout;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

pub use crate::calculator::arrays::{Bands, Formula, MatrixRef, Screening};
use crate::calculator::arrays::{batch, check_omega, small, wrong};
use crate::catalogue;
use crate::catalogue::Kernel;
use crate::devices::cpu::CpuDevice;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::{ForeignStream, Visit};
use crate::devices::{Choice, Device, DeviceInfo, Watch, spawned};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::os::memory::require;
use crate::problem::arrays::{AQSM_LOCAL, Of, WTILDE, partial_sums};
use crate::problem::plan::BySize;
use crate::problem::{Extents, Outline, Problem, Sums};

/// One or more open devices and what is computed there. Clones share devices and threads, with settings of their own.
/// Several threads may call one at once; on a GPU each call needs memory for its own arrays.
#[derive(Clone)]
pub struct Calculator {
    opened: Arc<Opened>,
    /// The fastest for each problem if none is selected.
    version: Option<Kernel>,
    progress: Option<Tell>,
    stream: ForeignStream,
    static_ch: bool,
    ach_of_bands: Option<usize>,
    index_base: usize,
}

/// The result of a calculation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Screened exchange and Coulomb hole at each energy, summed over bands, G′ and G; to be summed over ranks.
    pub sums: Sums,
    /// The static CH of each band if [asked for](Calculator::with_static_ch), `(nbands)`; to be summed over ranks.
    pub static_ch: Option<Vec<Complex64>>,
    /// CH of each band at one energy if [asked for](Calculator::with_ach_of_bands), `(nbands)`; to be summed over ranks.
    pub ach_of_bands: Option<Vec<Complex64>>,
    /// The version that ran.
    pub version: &'static str,
    /// Kernel time in seconds, that of CH of each band included; on several devices of the one that takes longest.
    pub seconds: f64,
    /// Seconds of the whole call: with checks, lists of pairs and copies, and for [`Calculator::sums`] its placing.
    pub call_seconds: f64,
}

/// The dimensions and locations that determine the memory of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub ncouls: usize,
    pub ngpown: usize,
    pub nbands: usize,
    pub nw: usize,
    /// Whether the matrices are on the GPU already.
    pub on_gpu: bool,
}

/// Maximum additional memory in bytes of a call that changes no number and has no masked column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workspace {
    pub host: u64,
    /// On each GPU, for the whole problem at once; with less memory, host arrays are streamed.
    pub device: u64,
}

/// `igp` that are whole groups of any version.
const GROUPS: usize = 64;

/// Most slabs of a problem for each GPU if there is room for all, and least pairs of one.
const SLABS: usize = 6;
const LEAST_SLAB: usize = 1 << 20;

const BEST: &str = "best";

impl Calculator {
    /// Opens `auto`, `cpu`, `gpu` (the first GPU), `gpu:N`, `gpu:N,M,…` or `gpu:all`. `auto` is
    /// `gpu`, or `cpu` if there is no GPU. Several GPUs share the columns of each problem.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Input`] if one is named twice; [`Error::NoGpu`], [`Error::Driver`].
    pub fn open(device: &str) -> Result<Calculator> {
        let choice = device.parse()?;
        let opened = Arc::new(in_default_environment(|| Opened::new(&choice))?);
        Ok(Calculator {
            opened,
            version: None,
            progress: None,
            stream: ForeignStream::default(),
            static_ch: false,
            ach_of_bands: None,
            index_base: 0,
        })
    }

    /// Selects a version of `gpp list`. `best`, the default, depends on the problem.
    ///
    /// # Errors
    /// [`Error::Unknown`]; [`Error::Input`] for a version of other devices.
    pub fn with_version(self, id: &str) -> Result<Calculator> {
        if id == BEST {
            return Ok(Calculator { version: None, ..self });
        }
        let known = || catalogue::versions().map(|listed| listed.id()).chain([BEST]);
        let found = catalogue::find(id).ok_or_else(|| Error::unknown("version", id, known()))?;
        found.kernel.require_on(self.opened.first().back_end())?;
        Ok(Calculator { version: Some(found.kernel), ..self })
    }

    /// Sets the number of CPU threads of all clones, 1 to 65535. 0 restores the default: `OMP_NUM_THREADS` when this
    /// was opened, or else what affinity mask and cgroup of the opening thread allow. Threads inherit the mask of the
    /// thread that calls first, and are not pinned. With a GPU these threads check arrays, and rayon's global pool
    /// reorders arrays. Results do not depend on the number.
    ///
    /// # Errors
    /// [`Error::Input`] for another number; [`Error::Driver`].
    pub fn with_threads(self, threads: usize) -> Result<Calculator> {
        if threads > MOST {
            let what = format!("needs 1 to {MOST}, or 0 for the default; found {threads}");
            return Err(Error::Input { origin: "threads".into(), what });
        }
        self.opened.require_process()?;
        self.opened.team.set(threads);
        Ok(self)
    }

    /// Registers a progress callback. `tell` gets the fraction done, 0 to 1, about every 10 ms on the calling thread,
    /// and at the end. If it returns a number, the calculation ends with [`Error::Stopped`]: on a CPU within 50 ms, on
    /// a GPU after the kernels already launched, emulated after a block. Results do not depend on it.
    #[must_use]
    pub fn with_progress(
        self,
        tell: impl Fn(f64) -> Option<i32> + Send + Sync + 'static,
    ) -> Calculator {
        Calculator { progress: Some(Arc::new(tell)), ..self }
    }

    /// Removes the progress callback.
    #[must_use]
    pub fn without_progress(self) -> Calculator {
        Calculator { progress: None, ..self }
    }

    /// Whether results include the static CH of each band, `−½ Σ vcoul · eps · conj(aqsm) · aqsn` over G′ and G, as
    /// BerkeleyGW's `acc_static_ch` for `exact_static_ch 1`. Its bits depend on neither version nor energies.
    #[must_use]
    pub fn with_static_ch(self, is_wanted: bool) -> Calculator {
        Calculator { static_ch: is_wanted, ..self }
    }

    /// Whether results include CH of each band at the energy of index `iw` (0-based) of a call's `omega`. Their sum over
    /// bands is CH there, to rounding; their bits depend on neither version nor other energies.
    #[must_use]
    pub fn with_ach_of_bands(self, iw: Option<usize>) -> Calculator {
        Calculator { ach_of_bands: iw, ..self }
    }

    /// Sets the index of an array's first element in error messages: 0, the default, or 1.
    #[must_use]
    pub fn with_index_base(self, base: usize) -> Calculator {
        Calculator { index_base: base, ..self }
    }

    pub fn index_base(&self) -> usize {
        self.index_base
    }

    /// Sets the CUDA stream that produces the caller's arrays, not the default one; calls wait for its work.
    #[must_use]
    pub fn with_stream(self, stream: ForeignStream) -> Calculator {
        Calculator { stream, ..self }
    }

    /// The device, the first of several.
    pub fn device(&self) -> &DeviceInfo {
        self.opened.first().info()
    }

    /// Maximum number of CPU threads of a calculation; cpu:threads to cpu:blocked run one per core by default.
    pub fn threads(&self) -> usize {
        self.opened.team.count(Threads::All)
    }

    /// Maximum memory of a call for problems of these sizes, with any poles. Nothing is allocated.
    ///
    /// # Errors
    /// [`Error::Input`] for sizes that no problem has.
    pub fn workspace(&self, sizes: Sizes) -> Result<Workspace> {
        let Sizes { ncouls, ngpown, nbands, nw, on_gpu } = sizes;
        let extents = Extents { nbands, ngpown, ncouls, nw };
        let checked = check_omega(nw).and_then(|()| extents.check()).map_err(wrong);
        checked.map_err(|error| self.in_words_of_caller(error, None))?;
        if [ncouls, ngpown, nbands].contains(&0) {
            return Ok(Workspace { host: 0, device: 0 });
        }
        let laid = |poles, lists_once| {
            self.laid(Outline { extents, poles, keeps_order: false, lists_once })
        };
        let laid = [Poles::Real, Poles::Any].map(|poles| laid(poles, false).max(laid(poles, true)));
        let pairs = 2 * WTILDE.bytes(extents, Layout::Original);
        let rows_of_gp = AQSM_LOCAL.bytes(extents, Layout::Original);
        let copies = if on_gpu { pairs } else { rows_of_gp };
        let host = laid[0].max(laid[1]) + copies + BySize::bytes(extents) + small(extents);
        let arrays = extents.device_bytes(Of::Bands) + extents.device_bytes(Of::Slab);
        let device = match &self.opened.host {
            Some(_) => 0,
            None if on_gpu => arrays.saturating_sub(pairs),
            None => arrays,
        };
        Ok(Workspace { host, device })
    }

    fn require_laid(&self, problem: Outline) -> Result<()> {
        require("what versions lay out of the arrays", self.laid(problem))
    }

    fn laid(&self, problem: Outline) -> u64 {
        let version = self.version_for(problem);
        let of_bands = || self.of_bands().into_iter().flatten().map(|(kernel, _)| kernel);
        let kernels: Vec<Kernel> = [version].into_iter().chain(of_bands()).collect();
        let ngpown = problem.extents.ngpown.div_ceil(self.opened.all().count());
        let slab = Extents { ngpown, ..problem.extents };
        let laid = self.opened.all().map(|device| device.workspace(problem, &kernels, slab));
        let laid = laid.fold(0, u64::saturating_add);
        let is_emulated = self.opened.host.is_some() && version.gpu().is_some();
        let partials = if is_emulated { partial_sums(batch(slab)) } else { 0 };
        // Of batches, then of all energies.
        let sums = kernels.iter().map(|kernel| 2 * kernel.bytes_of_sums(problem)).max();
        laid.saturating_add(partials + sums.unwrap_or(0))
    }

    /// The sums of a problem on the host: in some slabs for each device, or in smaller ones until they find room.
    fn summed(&self, problem: &Problem, watch: Watch) -> Result<Found> {
        watch.check()?;
        self.require_laid(problem.outline())?;
        let Extents { ngpown, ncouls, .. } = problem.extents();
        // One is made and uploaded during the kernels of another, if sums do not depend on slabs.
        let kernel = self.version_for(problem.outline()).first(problem.outline());
        let has_groups = kernel.is_some_and(|(kernel, _)| kernel.igp_of_group().is_some());
        let slabs = match (&self.opened.host, has_groups) {
            (None, true) => (ngpown * ncouls / LEAST_SLAB).clamp(1, SLABS),
            _ => 1,
        };
        let mut igp = match self.opened.all().count() * slabs {
            1 => ngpown,
            slabs => ngpown.div_ceil(slabs).next_multiple_of(GROUPS).min(ngpown),
        };
        loop {
            match self.in_slabs(problem, igp, watch) {
                Err(error) if igp > GROUPS && error.is_of_device_memory() => {
                    igp = ((igp - 1) / 2 / GROUPS * GROUPS).max(GROUPS);
                }
                found => return found,
            }
        }
    }

    fn in_slabs(&self, problem: &Problem, igp: usize, watch: Watch) -> Result<Found> {
        let workers = self.opened.all().map(|device| device.worker(problem));
        let mut engine = Engine::new(problem, igp, workers.collect::<Result<_>>()?)?;
        let version = self.version_for(problem.outline());
        self.found(version, watch, |of_bands, watch| {
            let found = match of_bands {
                None => engine.run_with(version, watch)?,
                Some((kernel, iw)) => engine.run_at(&[iw], kernel, watch)?,
            };
            let kernels = found.workers.iter().map(|worker| worker.kernels_s);
            Ok((found.sums, kernels.fold(0.0, f64::max)))
        })
    }

    /// The kernels of the static CH and of CH of each band that are asked for, and at which energy (0-based).
    fn of_bands(&self) -> [Option<(Kernel, usize)>; 2] {
        let kernel = |is_static| catalogue::ch_of_bands(self.opened.first().back_end(), is_static);
        let static_ch = self.static_ch.then(|| (kernel(true), 0));
        [static_ch, self.ach_of_bands.map(|iw| (kernel(false), iw))]
    }

    /// What `run` computes of a version and of the kernels of bands, one after the other, with its seconds.
    fn found(
        &self,
        version: Kernel,
        watch: Watch,
        mut run: impl FnMut(Option<(Kernel, usize)>, Watch) -> Result<(Sums, f64)>,
    ) -> Result<Found> {
        let of_bands = self.of_bands();
        let parts = 1.0 + of_bands.iter().flatten().count() as f64;
        let mut finished = 0.0;
        let mut run = |of_bands| {
            let done = |part: f64| (watch.done)((finished + part) / parts);
            let found = run(of_bands, Watch { done: &done, ..watch });
            finished += 1.0;
            found
        };
        let (sums, mut seconds) = run(None)?;
        let [static_ch, ach_of_bands] = of_bands.map(|kernel| kernel.map(|of| run(Some(of))));
        let mut ach = |found: Option<Result<(Sums, f64)>>| -> Result<_> {
            let found = found.transpose()?;
            Ok(found.map(|(sums, more)| (seconds += more, sums.ach).1))
        };
        let (static_ch, ach_of_bands) = (ach(static_ch)?, ach(ach_of_bands)?);
        let (version, call_seconds) = (version.id(), 0.0);
        Ok(Found { sums, static_ch, ach_of_bands, version, seconds, call_seconds })
    }

    fn version_for(&self, problem: Outline) -> Kernel {
        let best = || catalogue::best_for(self.opened.first().back_end(), problem).kernel;
        self.version.unwrap_or_else(best)
    }
}

/// The CPU, or GPUs by their indices, and the threads of the CPU.
pub struct Opened {
    host: Option<CpuDevice>,
    gpus: Vec<(Gpu, usize)>,
    pub team: Arc<Team>,
    process: u32,
}

impl Opened {
    pub fn new(choice: &Choice) -> Result<Opened> {
        let team = Arc::new(Team::new(Room::here()));
        let open = |index: usize| -> Result<_> { Ok((Gpu::open(index)?, index)) };
        let open_gpus = || match choice {
            Choice::Cpu => Ok(Vec::new()),
            Choice::Auto => match open(0) {
                Err(Error::NoGpu { .. }) => Ok(Vec::new()),
                gpu => gpu.map(|gpu| vec![gpu]),
            },
            Choice::Gpus(indices) => indices.iter().copied().map(open).collect(),
            Choice::AllGpus => Gpu::count().and_then(|count| (0..count).map(open).collect()),
        };
        let gpus: Vec<(Gpu, usize)> = match choice {
            Choice::Cpu => Vec::new(),
            _ => on_own_thread(open_gpus, || ())?.0?,
        };
        if !gpus.is_empty() {
            // They make what is laid out for GPUs.
            start_rayon(None).map_err(Error::threads)?;
        }
        let host = gpus.is_empty().then(|| CpuDevice::with_team(Level::best(), team.clone()));
        Ok(Opened { host, gpus, team, process: process::id() })
    }

    /// Does what the CPU computes, on its threads.
    pub fn computed<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.require_process()?;
        self.pool()?.install(work)
    }

    /// Does a call's work on the CPU's threads, or for GPUs on one of its own; the caller's reports progress.
    pub fn called<R: Send>(
        &self,
        tell: Option<&Tell>,
        work: impl FnOnce(Watch) -> Result<R> + Send,
    ) -> Result<R> {
        self.require_process()?;
        let progress = &Progress::default();
        let done = &|part: f64| _ = progress.part.fetch_max(part.to_bits(), Ordering::Relaxed);
        let watch = Watch { done, stop: &progress.stop };
        let Some(tell) = tell else {
            let work = || work(watch);
            return match &self.host {
                Some(_) => self.computed(work),
                None => on_own_thread(work, || ())?.0,
            };
        };
        progress.report(tell);
        watch.check()?;
        let (ended, end) = mpsc::channel();
        // A panic drops the sender, which ends the wait.
        let work = move || _ = ended.send(work(watch));
        let wait = || progress.wait(tell, &end);
        let result = match &self.host {
            Some(_) => self.pool()?.beside(work, wait),
            None => on_own_thread(work, wait)?.1,
        };
        result.expect("a panic goes on here")
    }

    /// Does work for a GPU on the caller's thread, which has its context and floating-point environment afterwards.
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

    /// The only GPU, with its index.
    pub fn gpu(&self) -> Option<(&Gpu, usize)> {
        match &self.gpus[..] {
            [(gpu, index)] => Some((gpu, *index)),
            _ => None,
        }
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
            let _ = on_own_thread(|| drop(gpus), || ());
        }
    }
}

fn on_own_thread<R: Send, M>(
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

/// A caller's function: see [`Calculator::with_progress`](crate::Calculator::with_progress).
pub type Tell = Arc<dyn Fn(f64) -> Option<i32> + Send + Sync>;

const EVERY: Duration = Duration::from_millis(10);

#[derive(Default)]
struct Progress {
    /// The bits of the largest part that is done: those of positive numbers have their order.
    part: AtomicU64,
    stop: Stop,
}

impl Progress {
    fn report(&self, tell: &Tell) {
        if !self.stop.is_asked()
            && let Some(code) = tell(f64::from_bits(self.part.load(Ordering::Relaxed)))
        {
            self.stop.ask(code);
        }
    }

    /// Waits for a result, and reports; none comes of a thread that panicked.
    fn wait<R>(&self, tell: &Tell, result: &Receiver<Result<R>>) -> Option<Result<R>> {
        loop {
            match result.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => self.report(tell),
                Ok(result) => {
                    if result.is_ok() {
                        tell(1.0);
                    }
                    return Some(result);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}
