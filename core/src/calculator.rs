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
//! [`Calculator::place`] keeps ω̃ and eps in place while bands change. [`lent`] is for arrays that are on a GPU
//! already. [`Calculator::matrix`] is for Σ between many bands.

mod arrays;
mod found;
mod last;
pub mod lent;
mod matrix;
mod opened;
mod place;
mod placed;
mod progress;
mod threads;
mod words;
mod workspace;

use std::sync::Arc;

use crate::catalogue::{self, Kernel};
use crate::devices::gpu::driver::ForeignStream;
use crate::devices::{DeviceInfo, Watch};
use crate::engine::{Calculation, Engine};
use crate::error::{Error, Result};
use crate::problem::{Header, Outline, Problem};
pub use arrays::{Aqsm, Bands, Formula, Screening};
pub use found::Found;
pub use matrix::{FoundMatrix, MatrixBands};
use opened::Opened;
pub use placed::Placed;
use progress::Tell;
use words::Words;
pub use workspace::{Sizes, Workspace};

/// A device or several, open, and the version to run there; a clone has the same devices. Several threads may call it at once; on a GPU each
/// call then needs memory for its own arrays.
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
    /// Opens `auto`, `cpu`, `gpu`, `gpu:N`, `gpu:N,M,…` or `gpu:all`: `gpu` is the first GPU, `auto` too, or the
    /// CPU where there is none. Several GPUs share the columns of each problem.
    ///
    /// # Errors
    /// [`Error::UnknownName`], [`Error::Data`] where one is named twice; [`Error::NoGpu`], [`Error::Driver`].
    pub fn open(device: &str) -> Result<Calculator> {
        let opened = Arc::new(Opened::new(&device.parse()?)?);
        let stream = ForeignStream::default();
        let (version, progress) = (None, None);
        Ok(Calculator { opened, version, progress, stream, static_ch: false, index_base: 0 })
    }

    /// Runs this version, of `gpp list`, in place of the fastest for each problem; `best` is that again. After
    /// an error it stays what it was.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Data`] for a version of other devices.
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

    /// Has `tell` called with the part of a calculation that is done, from 0 to 1: about every 10 ms, on the thread that
    /// has called the calculator, and at the end. A number that it returns ends the calculation with
    /// [`Error::Stopped`]: within 50 ms on a CPU, and on a GPU after what is launched. Sums do not depend on it. Of
    /// versions for GPUs on a CPU each block of threads runs to its end.
    pub fn set_progress(&mut self, tell: impl Fn(f64) -> Option<i32> + Send + Sync + 'static) {
        self.progress = Some(Arc::new(tell));
    }

    /// Takes [`Calculator::set_progress`] back.
    pub fn clear_progress(&mut self) {
        self.progress = None;
    }

    /// Whether sums come with the static CH of the same bands, `−½ Σ vcoul · eps · conj(aqsm) · aqsn`: what
    /// BerkeleyGW's `acc_static_ch` sums for `exact_static_ch 1`. Another kernel sums it, after those of the
    /// version and with the same arrays in place; its bits depend on neither.
    pub fn set_static_ch(&mut self, is_wanted: bool) {
        self.static_ch = is_wanted;
    }

    /// This calculator with [`Calculator::set_static_ch`].
    #[must_use]
    pub fn with_static_ch(self, is_wanted: bool) -> Calculator {
        Calculator { static_ch: is_wanted, ..self }
    }

    /// The index that the caller's language has for a first element, 0 or 1: indices in errors count from it. It is 0
    /// until this is called.
    pub fn set_index_base(&mut self, base: usize) {
        self.index_base = base;
    }

    /// The stream of the caller's that arrays on a GPU are made in: a calculation that reads them begins when
    /// all that the stream has under way is done. Without it, that is the default stream.
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

    /// The sums at these energies ω in eV, zero without columns or bands. Nothing large is copied on the host but rows
    /// of `aqsmtemp`, and arrays with numbers below 1e-120, which are taken for zero, or with poles next to real at an
    /// energy.
    ///
    /// # Errors
    /// [`Error::Problem`] where an array has the wrong size, an index is out of range, or a number is not finite
    /// or out of [range](crate::problem::range); the message names the array and the place, see
    /// [`Calculator::set_index_base`]. [`Error::Memory`], [`Error::Driver`], [`Error::Stopped`]. The calculator stays
    /// usable.
    pub fn sums(
        &self,
        screening: &Screening,
        bands: &Bands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Found> {
        let mut placed = self.place(screening)?;
        // A GPU keeps nothing of it, and takes it in slabs.
        placed.resident = None;
        self.sums_at(&mut placed, bands, omega, formula)
    }

    /// The words of who calls; `whole` is the screening's header, where `aqsm` has a row for each G.
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
                Err(error) if igp > GROUPS && is_of_device(&error) => {
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
            let workers = self.opened.all().map(|device| device.worker(problem.frame()));
            Engine::new(problem, igp, workers.collect::<Result<_>>()?)?
        };
        let calculation = engine.run_telling(version, watch)?;
        let found = Found::of(calculation.sums, version, calculation.seconds);
        if !self.static_ch {
            return Ok(found);
        }
        let unheard = Watch { done: &|_| (), ..watch };
        let Calculation { sums, seconds, .. } = engine.static_ch(self.of_static_ch(), unheard)?;
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
        let best = || catalogue::best_for(self.opened.first().back_end(), &problem.task()).kernel;
        self.version.unwrap_or_else(best)
    }
}

/// `igp` that are whole groups of any version.
const GROUPS: usize = 64;

/// Whether a device has no room.
fn is_of_device(error: &Error) -> bool {
    match error {
        Error::Device { error, .. } => is_of_device(error),
        error => matches!(error, Error::Memory { place: "device", .. }),
    }
}

/// The name of the fastest version.
const BEST: &str = "best";
