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

mod arrays;

use std::{panic, thread};

use crate::catalogue::{self, Kernel, choice};
use crate::devices::choice::Choice;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::devices::{Device, DeviceInfo};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::problem::{Problem, Sums};
use crate::stop::{self, Stop};
use crate::system::memory;
use arrays::made;
pub use arrays::{Aqsm, Bands, Formula, Screening};

/// What came of a calculation.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Screened exchange and Coulomb hole at each energy, summed over bands, G′ and G; to be summed over ranks.
    pub sums: Sums,
    /// The version that calculated them.
    pub version: &'static str,
    /// Seconds that its kernels took; with the uploads where the device had no room for the whole problem.
    pub seconds: f64,
}

/// A device, open, and the version to run there. Several threads may call it at once; on a GPU each call then
/// needs memory for its own arrays.
pub struct Calculator {
    /// There until this is dropped.
    device: Option<Opened>,
    version: Option<Kernel>,
    stop: Stop,
}

type Opened = Box<dyn Device + Send>;

impl Calculator {
    /// Opens `auto`, `cpu`, `gpu` or `gpu:N`: `gpu` is the first GPU, `auto` too, or the processor where there is
    /// none.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Data`] where several devices are named; [`Error::NoGpu`],
    /// [`Error::Driver`].
    pub fn open(device: &str) -> Result<Calculator> {
        let host = || Box::new(Host::new()) as Opened;
        let gpu = |index| apart(|| Gpu::open(index).map(|gpu| Box::new(gpu) as Opened));
        let device = match device.parse()? {
            Choice::Cpu => host(),
            Choice::Auto => match gpu(0) {
                Err(Error::NoGpu { .. }) => host(),
                gpu => gpu?,
            },
            Choice::Gpus(indices) if indices.len() == 1 => gpu(indices[0])?,
            Choice::Gpus(_) | Choice::AllGpus => {
                let what =
                    "a calculator has one device: open one for each, with a share of the columns";
                return Err(Error::Data { origin: device.into(), what: what.into() });
            }
        };
        Ok(Calculator { device: Some(device), version: None, stop: stop::never })
    }

    /// Runs this version, of `gpp list`, in place of the fastest for each problem; `best` is that again.
    ///
    /// # Errors
    /// [`Error::UnknownName`]; [`Error::Data`] for a version of other devices.
    pub fn with_version(mut self, id: &str) -> Result<Calculator> {
        if id == BEST {
            self.version = None;
            return Ok(self);
        }
        let known = || catalogue::versions().map(|listed| listed.id()).chain([BEST]);
        let found = catalogue::find(id).ok_or_else(|| Error::unknown("version", id, known()))?;
        found.kernel.require_on(self.opened().back_end())?;
        self.version = Some(found.kernel);
        Ok(self)
    }

    /// Has `stop` looked at between the parts of a problem that does not fit the device at once.
    #[must_use]
    pub fn stopping(mut self, stop: Stop) -> Calculator {
        self.stop = stop;
        self
    }

    fn opened(&self) -> &dyn Device {
        self.device.as_deref().expect("it is there until this is dropped")
    }

    /// The device.
    pub fn device(&self) -> &DeviceInfo {
        self.opened().info()
    }

    /// The sums at these energies ω in eV. Nothing large is copied on the host but rows of `aqsmtemp`, and
    /// arrays with numbers below 1e-120, which are taken for zero, or with poles next to real at an energy.
    ///
    /// # Errors
    /// [`Error::Problem`] where an array has the wrong size, an index is out of range, or a number is not finite
    /// or out of [range](crate::problem::range). Messages name arrays as the mini-app does: `wfnkq_ekq` is [`Bands::e`],
    /// `nstart` and `energies` are of `omega`. [`Error::Memory`], [`Error::Driver`], [`Error::Stopped`]. The
    /// calculator stays usable.
    pub fn sums(
        &self,
        screening: &Screening,
        bands: &Bands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<Found> {
        // SAFETY: the problem goes at the end of this call, which the caller's borrows outlast.
        let problem = unsafe { made(screening, bands, omega, formula) }?;
        let version = self.version.unwrap_or_else(|| best(self.opened(), &problem));
        let beside = self.opened().beside(problem.frame(), &[version], problem.extents());
        memory::require(
            "what versions lay out of the arrays",
            beside.bands.saturating_add(beside.slab),
        )?;
        apart(|| self.in_slabs(&problem, version))
    }

    /// In one slab, or in smaller ones until they find room.
    fn in_slabs(&self, problem: &Problem, version: Kernel) -> Result<Found> {
        let ngpown = problem.header().ngpown;
        let mut igp = ngpown;
        loop {
            match self.run(problem, igp, version) {
                Err(Error::Memory { place: "device", .. }) if igp > GROUPS => {
                    igp = (igp - 1) / 2 / GROUPS * GROUPS;
                    igp = igp.max(GROUPS);
                }
                found => return found,
            }
        }
    }

    fn run(&self, problem: &Problem, igp: usize, version: Kernel) -> Result<Found> {
        let engine = match igp == problem.header().ngpown {
            true => Engine::whole(self.opened(), problem)?,
            false => Engine::new(problem, igp, vec![self.opened().worker(problem.frame())?])?,
        };
        let calculation = engine.stopping(self.stop).run(version)?;
        Ok(Found { sums: calculation.sums, version: version.id(), seconds: calculation.seconds })
    }
}

/// What the driver keeps of a thread, its current context above all, is the caller's own.
impl Drop for Calculator {
    fn drop(&mut self) {
        let device = self.device.take();
        // Without a thread it goes here.
        let _ = apart(|| {
            drop(device);
            Ok(())
        });
    }
}

/// Does work on a thread of its own, with as much stack as a program's first one.
fn apart<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("gpp-call".into()).stack_size(8 << 20);
        let working = thread
            .spawn_scoped(scope, work)
            .map_err(|error| Error::Threads { reason: error.to_string() })?;
        working.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}

/// `igp` that are whole groups of any version.
const GROUPS: usize = 64;

/// The name of the fastest version.
const BEST: &str = "best";

fn best(device: &dyn Device, problem: &Problem) -> Kernel {
    let task = choice::Task {
        nbands: problem.header().nbands,
        pairs: problem.wtilde().len() as u64,
        nw: problem.nw(),
        poles: problem.poles(),
    };
    choice::best_for(device.back_end(), &task).kernel
}
