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

pub mod on_gpu;
mod opened;
mod placed;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use gpp_cpu::stop::Stop;
use num_complex::Complex64;

use crate::calculator::opened::{Opened, Words};
pub use crate::calculator::opened::{Sizes, Workspace};
pub use crate::calculator::placed::Placed;
use crate::catalogue::Kernel;
use crate::devices::gpu::driver::ForeignStream;
use crate::devices::{DeviceInfo, Watch};
use crate::engine::{Calculation, Engine};
use crate::error::{Error, Result};
use crate::offdiag::calculation::{on_cpu, on_gpus};
use crate::offdiag::{At, Borrowed, Elements, Sums as MatrixSums, Task, once_each};
use crate::problem::memory::{AQSM_LOCAL, AQSMTEMP, Extents, require, zeros};
use crate::problem::{Header, Matrix, Outline, Problem, Sums, Unmasked};
use crate::{catalogue, problem};

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

    /// SX − X and CH at these energies ω in eV; zero without columns or bands. Arrays are read in place,
    /// except that the rows of G′ are copied out of `aqsmtemp`, and that an array is copied if it has numbers
    /// below 1e-120, which count as zero, or complex poles exactly on an energy.
    ///
    /// # Errors
    /// [`Error::Input`] if an array has the wrong size, an index is out of range, or a number is not finite
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

// A caller's arrays, and the problem that they make.

/// The screening of one MPI rank at one q, shared by all states. Column-major, the first index named fastest;
/// indices are 1-based, as in BerkeleyGW and the mini-app.
#[derive(Clone, Copy, Debug)]
pub struct Screening<'a> {
    /// Plasmon poles ω̃ in eV, `wtilde_array(ncouls, ngpown)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, `I_eps_array(ncouls, ngpown)`.
    pub eps: &'a [Complex64],
    /// Coulomb interaction of each G, `(ncouls)`; its length says how many there are.
    pub vcoul: &'a [f64],
    /// G′ of each column, an index into `indinv`, `(ngpown)`; its length says how many there are.
    pub inv_igp_index: &'a [i32],
    /// Row of each G vector in `wtilde`, from 1; other values than 1..=ncouls mean no row. Use 1, 2, 3, … if
    /// G′ are rows already.
    pub indinv: &'a [i32],
}

/// Matrix elements of G′.
#[derive(Clone, Copy, Debug)]
pub enum Aqsm<'a> {
    /// `aqsmtemp(ncouls, nbands)`: all rows, from which those of G′ are copied.
    Whole(&'a [Complex64]),
    /// `(ngpown, nbands)`: only the rows of G′.
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
    /// Distance from a pole in eV below which the near form of the term applies, `sig_gamma`: see
    /// [`gpp_kernels::formula`].
    pub gamma: f64,
    /// Bound on `|ssx| / |eps|` if ω is below the band's energy, `sexcut`; larger terms are dropped.
    pub sexcut: f64,
}

/// BerkeleyGW's defaults: gamma 0.5 eV, sexcut 4.
impl Default for Formula {
    fn default() -> Formula {
        Formula { gamma: 0.5, sexcut: 4.0 }
    }
}

/// A screening and a band whose sums are zero at all energies: the G′ has no row.
const NOTHING: (Screening<'static>, Bands<'static>) = (
    Screening {
        wtilde: &[Complex64::ONE],
        eps: &[Complex64::ZERO],
        vcoul: &[1.0],
        inv_igp_index: &[1],
        indinv: &[0],
    },
    Bands { aqsn: &[Complex64::ONE], aqsm: Aqsm::Whole(&[Complex64::ONE]), e: &[0.0], occ: &[1.0] },
);

/// How messages call the problem.
const NAME: &str = "the arrays given";

/// A screening's part of a header.
fn screening_header(screening: &Screening) -> Header {
    let (ncouls, ngpown) = (screening.vcoul.len(), screening.inv_igp_index.len());
    Header {
        gvec_ng: screening.indinv.len(),
        ncoul: ncouls,
        epsmpi_ngpown_max: ngpown,
        ispin: 1,
        ngpown,
        ncouls,
        inv_igp_index: screening.inv_igp_index.to_vec(),
        indinv: screening.indinv.to_vec(),
        vcoul: screening.vcoul.to_vec(),
        ..Header::default()
    }
}

/// The header of a screening's with bands.
fn header(screening: Header, e: &[f64], omega: &[f64], formula: Formula) -> Header {
    let nbands = e.len();
    Header {
        sig_ntband: nbands,
        peinf_ntband_max: nbands,
        nbands,
        peinf_indext_dist: (1..).take(nbands).collect(),
        wfnkq_ekq: e.to_vec(),
        nstart: 1,
        nend: omega.len(),
        energies: Some(omega.to_vec()),
        sig_gamma: formula.gamma,
        sexcut: formula.sexcut,
        ..screening
    }
}

/// Matrix elements of the G′ of a header, `(ngpown, nbands)`: those given, if none is left out.
///
/// # Safety
/// It may refer to them, and has to be dropped before they are.
unsafe fn aqsm_local(aqsm: Aqsm, header: &Header) -> Result<Matrix> {
    match (aqsm, &header.unmasked) {
        (Aqsm::Whole(whole), _) => {
            AQSMTEMP.check(header.extents(), whole.len()).map_err(wrong)?;
            let rows: Vec<_> = header.rows().collect();
            taken(whole.chunks_exact(header.ncouls), header, |igp| rows[igp])
        }
        // SAFETY: this function's own contract.
        (Aqsm::Local(local), None) => Ok(unsafe { Matrix::kept(local) }),
        (Aqsm::Local(local), Some(Unmasked { all, columns })) => {
            let extents = Extents { ngpown: *all, ..header.extents() };
            AQSM_LOCAL.check(extents, local.len()).map_err(wrong)?;
            taken(local.chunks_exact(*all), header, |igp| Some(columns[igp]))
        }
    }
}

/// Of each band the element that each G′ of a header has there, `(ngpown, nbands)`; zero for one without.
fn taken<'a>(
    bands: impl Iterator<Item = &'a [Complex64]>,
    header: &Header,
    row: impl Fn(usize) -> Option<usize>,
) -> Result<Matrix> {
    let mut all = zeros(AQSM_LOCAL.name, header.ngpown * header.nbands)?;
    for (to, from) in all.chunks_exact_mut(header.ngpown).zip(bands) {
        let element = |igp: usize| row(igp).map_or(Complex64::ZERO, |row| from[row]);
        to.iter_mut().enumerate().for_each(|(igp, to)| *to = element(igp));
    }
    Ok(all.into())
}

/// The error of arrays that are wrong.
fn wrong(what: Error) -> Error {
    problem::wrong(NAME, what)
}

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

// Tells a caller, on his own thread, how far a calculation is, and has it stop when he says so.

/// A caller's function.
pub type Tell = Arc<dyn Fn(f64) -> Option<i32> + Send + Sync>;

/// How often it is called.
const EVERY: Duration = Duration::from_millis(10);

/// One calculation.
#[derive(Default)]
pub struct Progress {
    /// The bits of the largest part that is done: those of positive numbers have their order.
    part: AtomicU64,
    pub stop: Stop,
}

impl Progress {
    /// A part is done, from 0 to 1.
    pub fn done(&self, part: f64) {
        self.part.fetch_max(part.to_bits(), Ordering::Relaxed);
    }

    /// Calls the caller's function, unless it has had it stop.
    pub fn tell(&self, tell: &Tell) {
        if !self.stop.is_asked()
            && let Some(code) = tell(f64::from_bits(self.part.load(Ordering::Relaxed)))
        {
            self.stop.ask(code);
        }
    }

    /// Waits for a result, and tells how far it is; none comes of a thread that panicked.
    pub fn wait<R>(&self, tell: &Tell, result: &Receiver<Result<R>>) -> Option<Result<R>> {
        loop {
            match result.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => self.tell(tell),
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

// Σ as a matrix, of a caller's arrays: see [`crate::offdiag`].

/// The bands l and m of a matrix, and the bands n that are summed over.
#[derive(Clone, Copy, Debug)]
pub struct MatrixBands<'a> {
    /// `A_l(ig,n)`, the matrix elements of band l with band n, no unit: `a(ncouls, nbands, bands)`, ig fastest,
    /// then n. Its length says how many bands l there are, 1 to [`MOST_BANDS`](crate::offdiag::MOST_BANDS).
    pub a: &'a [Complex64],
    /// Energy of each band n in eV, `(nbands)`; its length says how many there are.
    pub e: &'a [f64],
    /// Occupation of each band n, 0 to 1, `(nbands)`.
    pub occ: &'a [f64],
    /// Whether `omega` has the energy of each band l. Then the result is two matrices, as QSGW and GWPT use
    /// them, instead of one for each energy: rows at their band's energy, `Σ_lm(ω_l)`, then columns,
    /// `Σ_lm(ω_m)`.
    pub at_bands: bool,
}

/// The result of a matrix calculation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FoundMatrix {
    /// Screened exchange and Coulomb hole of all l and m at each energy, or of [`MatrixBands::at_bands`] in rows and
    /// columns, in the unit of `vcoul`; to be summed over ranks.
    pub sums: MatrixSums,
    /// The version of [`crate::offdiag::versions`] that ran, on several GPUs that of the first; `cpu` on a
    /// CPU.
    pub version: &'static str,
    /// Seconds of the products; with several GPUs the longest.
    pub seconds: f64,
}

impl Calculator {
    /// The matrices `SX_lm` and `CH_lm` at these energies ω in eV, zero without columns, by the fastest
    /// version, whatever [`Calculator::set_version`] names. `a` is read in place, column by column. A GPU
    /// keeps nothing of it for the next call.
    ///
    /// # Errors
    /// As [`Calculator::sums`]. [`Error::Input`] names `a`, if it is not of whole bands, or has a number that is not
    /// finite or above 1e50. It names `omega`, if that is to have an energy for each band and has not.
    pub fn matrix(
        &self,
        screening: &Screening,
        bands: &MatrixBands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<FoundMatrix> {
        self.matrix_at(&mut self.place(screening)?, bands, omega, formula)
    }

    /// The same with a screening that this calculator has placed.
    ///
    /// # Errors
    /// As [`Calculator::matrix`]; [`Error::Input`] for a screening that another calculator has
    /// placed.
    pub fn matrix_at(
        &self,
        placed: &mut Placed,
        bands: &MatrixBands,
        omega: &[f64],
        formula: Formula,
    ) -> Result<FoundMatrix> {
        self.require_own(placed)?;
        self.opened.called(self.progress.as_ref(), |Watch { done, stop }| {
            let [ncouls, ngpown] = placed.extents();
            let elements = Borrowed::new(bands.a, [ncouls, bands.e.len()], self.index_base, stop)?;
            require_own(bands, elements.bands(), omega)?;
            if ngpown == 0 {
                let planes = if bands.at_bands { 2 } else { omega.len() };
                let count = 2 * elements.bands() * elements.bands() * planes;
                require("the matrices", (count * size_of::<Complex64>()) as u64)?;
                let sums = MatrixSums::zero(elements.bands(), planes);
                return Ok(FoundMatrix { sums, version: "cpu", seconds: 0.0 });
            }
            let own = bands.at_bands.then(|| once_each(omega));
            let each = own.as_ref().map_or(omega, |(each, _)| each);
            let small = [bands.e, bands.occ];
            // SAFETY: it goes at the end of this call, which the borrows outlast.
            let problem = unsafe { self.problem(placed, small, None, each, formula) }?;
            let at = own.as_ref().map_or(At::Energies, |(_, numbers)| At::Bands(numbers));
            let task = Task { at, stop, ..Task::new(&problem, &elements) };
            let found = match self.opened.host() {
                Some(host) => on_cpu(host, &task, done).map(|summed| (summed, "cpu")),
                None => on_gpus(&self.opened.gpus(), &task, done),
            };
            elements.check()?;
            let (summed, version) = found?;
            Ok(FoundMatrix { sums: summed.sums, version, seconds: summed.seconds })
        })
    }
}

/// Fails if bands at their own energies have not one for each.
fn require_own(bands: &MatrixBands, count: usize, omega: &[f64]) -> Result<()> {
    if !bands.at_bands || omega.len() == count {
        return Ok(());
    }
    let found = omega.len();
    let what = format!("needs an energy for each of {count} bands, with at_bands; found {found}");
    Err(Error::Input { origin: "omega".into(), what })
}
