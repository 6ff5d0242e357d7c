//! A caller's arrays in, sums out.
//!
//! ```
//! use gpp_core::{Aqsm, Bands, Calculator, Formula, Screening};
//! use num_complex::Complex64;
//!
//! // Two G vectors, one G′ (the first of them), one occupied band.
//! let wtilde = [Complex64::new(10.0, 0.0), Complex64::new(12.0, 0.0)];
//! let eps = [Complex64::new(0.5, 0.0), Complex64::new(0.1, 0.0)];
//! let aqs = [Complex64::new(1.0, 0.0), Complex64::new(0.2, 0.1)];
//! let screening = Screening {
//!     wtilde: &wtilde,
//!     eps: &eps,
//!     vcoul: &[2.0, 1.0],
//!     inv_igp_index: &[1],
//!     indinv: &[1, 2],
//! };
//! let bands = Bands { aqsn: &aqs, aqsm: Aqsm::Whole(&aqs), e: &[-3.0], occ: &[1.0] };
//! let calculator = Calculator::open("cpu")?;
//! let found = calculator.sums(&screening, &bands, &[0.0, 1.0], Formula::default())?;
//! assert_eq!(found.sums.asx.len(), 2);
//! # Ok::<(), gpp_core::Error>(())
//! ```
//!
//! [`Calculator::place`] keeps ω̃ and eps in place while bands change. [`on_gpu`] is for arrays that are on a GPU
//! already. [`Calculator::matrix`] is for Σ between many bands.

mod arrays;
pub(crate) mod matrix;
pub mod on_gpu;
mod opened;
pub(crate) mod placed;

use std::sync::Arc;

use gpp_cpu::pool::{MOST, Threads};
use gpp_kernels::arrays::Layout;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

pub use crate::calculator::arrays::{Aqsm, Bands, Formula, Screening};
use crate::calculator::arrays::{Words, batch, check_omega, small, wrong};
use crate::calculator::opened::{Opened, Tell};
use crate::catalogue;
use crate::catalogue::Kernel;
use crate::devices::gpu::driver::ForeignStream;
use crate::devices::{DeviceInfo, HostWorkspace, Watch};
use crate::engine::{Calculation, Engine};
use crate::error::{Error, Result};
use crate::problem::arrays::{AQSM_LOCAL, Of, WTILDE, partial_sums};
use crate::problem::plan::BySize;
use crate::problem::{Extents, Header, Outline, Problem, Sums};
use crate::system::memory::require;

/// One or more open devices and the version to run there. Clones share the devices. Several threads may call
/// it at once; on a GPU each call then needs memory for its own arrays.
#[derive(Clone)]
pub struct Calculator {
    opened: Arc<Opened>,
    version: Option<Kernel>,
    progress: Option<Tell>,
    stream: ForeignStream,
    static_ch: bool,
    index_base: usize,
}

impl Calculator {
    /// Opens `auto`, `cpu`, `gpu`, `gpu:N`, `gpu:N,M,…` or `gpu:all`. `gpu` is the first GPU; `auto` is too,
    /// or the CPU if there is no GPU. Several GPUs share the columns of each problem.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Input`] if one is named twice; [`Error::NoGpu`], [`Error::Driver`].
    pub fn open(device: &str) -> Result<Calculator> {
        let opened = Arc::new(Opened::new(&device.parse()?)?);
        let stream = ForeignStream::default();
        let (version, progress) = (None, None);
        Ok(Calculator { opened, version, progress, stream, static_ch: false, index_base: 0 })
    }

    /// Selects a version of `gpp list`. `best`, the default, selects the fastest for each problem. After an
    /// error the selection is unchanged.
    ///
    /// # Errors
    /// [`Error::Unknown`]; [`Error::Input`] for a version of other devices.
    pub fn set_version(&mut self, id: &str) -> Result<()> {
        if id == BEST {
            self.version = None;
            return Ok(());
        }
        let known = || catalogue::versions().map(|listed| listed.id()).chain([BEST]);
        let found = catalogue::find(id).ok_or_else(|| Error::unknown("version", id, known()))?;
        found.kernel.require_on(self.opened.first().back_end())?;
        self.version = Some(found.kernel);
        Ok(())
    }

    /// This calculator with [`Calculator::set_version`].
    ///
    /// # Errors
    /// Those of [`Calculator::set_version`].
    pub fn with_version(mut self, id: &str) -> Result<Calculator> {
        self.set_version(id)?;
        Ok(self)
    }

    /// Registers a progress callback. `tell` gets the fraction done, from 0 to 1, about every 10 ms on the
    /// calling thread, and at the end. If it returns a number, the calculation ends with [`Error::Stopped`]:
    /// within 50 ms on a CPU, on a GPU after what is launched; a version for GPUs on a CPU finishes its block
    /// of threads. Results do not depend on it.
    pub fn set_progress(&mut self, tell: impl Fn(f64) -> Option<i32> + Send + Sync + 'static) {
        self.progress = Some(Arc::new(tell));
    }

    /// Removes the progress callback.
    pub fn clear_progress(&mut self) {
        self.progress = None;
    }

    /// Whether results include the static CH of the same bands, `−½ Σ vcoul · eps · conj(aqsm) · aqsn`, which
    /// BerkeleyGW's `acc_static_ch` sums for `exact_static_ch 1`. A separate kernel computes it after the
    /// version's; its bits depend on neither version nor energies.
    pub fn set_static_ch(&mut self, is_wanted: bool) {
        self.static_ch = is_wanted;
    }

    /// This calculator with [`Calculator::set_static_ch`].
    #[must_use]
    pub fn with_static_ch(self, is_wanted: bool) -> Calculator {
        Calculator { static_ch: is_wanted, ..self }
    }

    /// The index of a first element in the caller's language, 0 (the default) or 1: indices in errors count
    /// from it.
    pub fn set_index_base(&mut self, base: usize) {
        self.index_base = base;
    }

    /// Sets the CUDA stream that produces the caller's arrays on a GPU. Calls wait for its pending work.
    /// Without it that is the default stream.
    pub fn set_stream(&mut self, stream: ForeignStream) {
        self.stream = stream;
    }

    /// The device, the first of several.
    pub fn device(&self) -> &DeviceInfo {
        self.opened.first().info()
    }

    /// All devices.
    pub fn devices(&self) -> impl Iterator<Item = &DeviceInfo> {
        self.opened.all().map(|device| device.info())
    }

    /// The words of who calls; `whole` is the screening's header, if `aqsm` has a row for each G.
    fn words<'a>(&self, whole: Option<&'a Header>) -> Words<'a> {
        Words { base: self.index_base, whole }
    }

    /// The sums of a problem on the host: in one slab for each device, or in smaller ones until they find room.
    fn summed(&self, problem: &Problem, watch: Watch) -> Result<Found> {
        watch.check()?;
        self.require_laid(problem.outline())?;
        let version = self.version_for(problem.outline());
        let (ngpown, devices) = (problem.header().ngpown, self.opened.count());
        let mut igp = match devices {
            1 => ngpown,
            devices => ngpown.div_ceil(devices).next_multiple_of(GROUPS).min(ngpown),
        };
        loop {
            match self.run(problem, igp, version, watch) {
                Err(error) if igp > GROUPS && error.is_of_device_memory() => {
                    igp = ((igp - 1) / 2 / GROUPS * GROUPS).max(GROUPS);
                }
                found => return found,
            }
        }
    }

    fn run(&self, problem: &Problem, igp: usize, version: Kernel, watch: Watch) -> Result<Found> {
        let is_whole = igp == problem.header().ngpown && self.opened.count() == 1;
        let mut engine = if is_whole {
            Engine::whole(self.opened.first(), problem)?
        } else {
            let workers = self.opened.all().map(|device| device.worker(problem));
            Engine::new(problem, igp, workers.collect::<Result<_>>()?)?
        };
        let calculation = engine.run_with(version, watch)?;
        let found = Found::of(calculation.sums, version, calculation.seconds);
        if !self.static_ch {
            return Ok(found);
        }
        let unheard = Watch { done: &|_| (), ..watch };
        let Calculation { sums, seconds, .. } =
            engine.run_at(&[0], self.of_static_ch(), unheard)?;
        Ok(found.with_static_ch(&sums, seconds))
    }

    /// What sums the static CH.
    fn of_static_ch(&self) -> Kernel {
        catalogue::static_ch(self.opened.first().back_end())
    }

    /// All that runs with a version.
    fn kernels(&self, version: Kernel) -> Vec<Kernel> {
        [version].into_iter().chain(self.static_ch.then(|| self.of_static_ch())).collect()
    }

    fn version_for(&self, problem: Outline) -> Kernel {
        let best = || catalogue::best_for(self.opened.first().back_end(), problem).kernel;
        self.version.unwrap_or_else(best)
    }
}

/// `igp` that are whole groups of any version.
const GROUPS: usize = 64;

/// The name of the fastest version.
const BEST: &str = "best";

// What comes of a calculation.

/// The result of a calculation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Screened exchange and Coulomb hole at each energy, summed over bands, G′ and G; to be summed over ranks.
    pub sums: Sums,
    /// The static CH of the same bands, if [`set_static_ch`](Calculator::set_static_ch) asks for it; to be
    /// summed over ranks.
    pub static_ch: Option<Complex64>,
    /// The version that ran.
    pub version: &'static str,
    /// Kernel time in seconds, with that of the static CH; it includes uploads if the problem was streamed or
    /// shared by several devices.
    pub seconds: f64,
}

impl Found {
    fn of(sums: Sums, version: Kernel, seconds: f64) -> Found {
        Found { sums, static_ch: None, version: version.id(), seconds }
    }

    /// With the sums of [`crate::catalogue::static_ch`] and their seconds.
    fn with_static_ch(self, sums: &Sums, seconds: f64) -> Found {
        Found { static_ch: Some(sums.ach[0]), seconds: self.seconds + seconds, ..self }
    }
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
        check_omega(nw).and_then(|()| extents.check()).map_err(wrong)?;
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
    fn require_laid(&self, problem: Outline) -> Result<()> {
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
