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

use std::{panic, thread};

use num_complex::Complex64;

use crate::catalogue::{self, Kernel, choice};
use crate::devices::choice::Choice;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::devices::{Device, DeviceInfo};
use crate::engine::Engine;
use crate::error::{DataError, Error, Result};
use crate::problem::memory::AQSMTEMP;
use crate::problem::{self, Header, Matrix, Origin, Problem, Slab, Sums};
use crate::stop::{self, Stop};
use crate::system::memory;

/// The screening of one rank at one q: what bands and states have in common. Column-major, the first index
/// named fastest; indices are 1-based, as BerkeleyGW and the mini-app have them.
#[derive(Clone, Copy, Debug)]
pub struct Screening<'a> {
    /// Plasmon-pole modes in eV, `wtilde_array(ncouls, ngpown)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, `I_eps_array(ncouls, ngpown)`.
    pub eps: &'a [Complex64],
    /// Coulomb interaction of each G, `(ncouls)`; its length says how many there are.
    pub vcoul: &'a [f64],
    /// G′ of each column, an index into `indinv`, `(ngpown)`; its length says how many there are.
    pub inv_igp_index: &'a [i32],
    /// Row of each G vector; outside of 1..=ncouls it has none. 1, 2, 3, … where G′ are rows themselves.
    pub indinv: &'a [i32],
}

/// Matrix elements of G′.
#[derive(Clone, Copy, Debug)]
pub enum Aqsm<'a> {
    /// `aqsmtemp(ncouls, nbands)`: the rows of G′ are taken from it.
    Whole(&'a [Complex64]),
    /// `(ngpown, nbands)`: those rows.
    Local(&'a [Complex64]),
}

/// The bands that are summed over.
#[derive(Clone, Copy, Debug)]
pub struct Bands<'a> {
    /// Matrix elements of G, `aqsntemp(ncouls, nbands)`.
    pub aqsn: &'a [Complex64],
    /// Matrix elements of G′.
    pub aqsm: Aqsm<'a>,
    /// Energy of each band in eV, `(nbands)`; its length says how many there are.
    pub e: &'a [f64],
    /// Occupation of each band, 0 to 1, `(nbands)`.
    pub occ: &'a [f64],
}

/// Limits of the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    /// How near to a pole the other formula begins, in eV, `sig_gamma`: see [`gpp_kernels::formula`].
    pub gamma: f64,
    /// Bound on `|ssx| / |eps|` where ω is below the band's energy, `sexcut`: larger ones count as zero.
    pub sexcut: f64,
}

/// BerkeleyGW's.
impl Default for Formula {
    fn default() -> Formula {
        Formula { gamma: 0.5, sexcut: 4.0 }
    }
}

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
    /// or out of [range](problem::range). Messages name arrays as the mini-app does: `wfnkq_ekq` is [`Bands::e`],
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

/// How messages call the problem.
const NAME: &str = "the arrays given";

/// The problem of these arrays.
///
/// # Safety
/// It refers to them, and has to be dropped before they are.
unsafe fn made(
    screening: &Screening,
    bands: &Bands,
    omega: &[f64],
    formula: Formula,
) -> Result<Problem> {
    let (ncouls, ngpown) = (screening.vcoul.len(), screening.inv_igp_index.len());
    let nbands = bands.e.len();
    let header = Header {
        sig_ntband: nbands,
        gvec_ng: screening.indinv.len(),
        ncoul: ncouls,
        epsmpi_ngpown_max: ngpown,
        peinf_ntband_max: nbands,
        nbands,
        ispin: 1,
        ngpown,
        ncouls,
        peinf_indext_dist: (1..).take(nbands).collect(),
        wfnkq_ekq: bands.e.to_vec(),
        nstart: 1,
        nend: omega.len(),
        energies: Some(omega.to_vec()),
        sig_gamma: formula.gamma,
        inv_igp_index: screening.inv_igp_index.to_vec(),
        indinv: screening.indinv.to_vec(),
        vcoul: screening.vcoul.to_vec(),
        sexcut: formula.sexcut,
        ..Header::default()
    };
    let wrong = |what| Error::Problem { origin: NAME.into(), what };
    header.validate().map_err(wrong)?;
    // SAFETY: this function's own contract.
    let kept = |array: &[Complex64]| unsafe { Matrix::kept(array) };
    let aqsm_local = match bands.aqsm {
        Aqsm::Local(local) => kept(local),
        Aqsm::Whole(whole) => rows(whole, &header).map_err(wrong)?.into(),
    };
    let parts = || -> std::result::Result<_, DataError> {
        let (wx, occ) = (header.wx(), bands.occ.to_vec());
        let of_bands = problem::Bands::new(header, kept(bands.aqsn))?.with_energies(wx, occ)?;
        let (wtilde, eps) = (kept(screening.wtilde), kept(screening.eps));
        let slab = Slab::new(&of_bands, 0..ngpown, wtilde, eps, aqsm_local)?;
        Ok((of_bands, slab))
    };
    let (of_bands, slab) = parts().map_err(wrong)?;
    Problem::of(NAME, Origin::Made, of_bands.into(), slab)
}

/// The rows of G′ of `aqsmtemp(ncouls, nbands)`: `(ngpown, nbands)`; zero for a G′ without a row.
fn rows(aqsm: &[Complex64], header: &Header) -> std::result::Result<Vec<Complex64>, DataError> {
    AQSMTEMP.check(header.extents(), aqsm.len())?;
    let of_column = |column: &[Complex64]| -> Vec<Complex64> {
        header.rows().map(|row| row.map_or(Complex64::ZERO, |ig| column[ig])).collect()
    };
    Ok(aqsm.chunks_exact(header.ncouls).flat_map(of_column).collect())
}
