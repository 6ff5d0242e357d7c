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
mod states;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use gpp_cpu::pool::{DefaultThreads, MOST, Pool, in_default_environment, start_rayon};
use gpp_cpu::work::Stop;
use num_complex::Complex64;

pub use crate::calculator::arrays::{Bands, Formula, Screening};
pub use crate::calculator::states::State;
use crate::catalogue;
use crate::catalogue::{BEST, Version};
use crate::devices::gpu::driver::{ForeignStream, Visit};
use crate::devices::{Control, DeviceInfo};
use crate::engine::{Calculation, Engine};
use crate::error::{Error, Result, invalid};
pub use crate::problem::arrays::MatrixRef;
use crate::problem::heavy::TOLERANCE;
use crate::problem::{Outline, Sums};
use crate::ranks::Alone;
use crate::session::{MemoryLimits, Session, on_own_thread};

/// One or more open devices and what is computed there. Clones share devices and threads, with settings of their own.
/// Several threads may call one at once; on a GPU each call needs memory for its own arrays.
#[derive(Clone)]
pub struct Calculator {
    session: Arc<Session<'static>>,
    /// The fastest for each problem if none is selected.
    version: Option<Version>,
    progress: Option<Callback>,
    stream: ForeignStream,
    static_ch: bool,
    ach_of_bands: Option<usize>,
    sigma_alone: bool,
    derivative: bool,
    precision: Precision,
    tolerance: f64,
    index_base: usize,
}

/// The precision of terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Errors are below 1e-13 of Σ|terms|.
    #[default]
    Double,
    /// Σ alone, in FP32 but for the pairs with the largest share of Σ|terms|, with a bound on the error.
    Single,
}

/// The result of a calculation.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Screened exchange and Coulomb hole at each energy, summed over bands, G′ and G; to be summed over ranks. Of
    /// [Σ alone](Calculator::with_sigma_alone) zero and Σ.
    pub sums: Sums,
    /// The derivative of Σ with respect to ω if [asked for](Calculator::with_derivative), in the unit of `vcoul` per eV, `(nw)`;
    /// to be summed over ranks.
    pub derivative: Option<Vec<Complex64>>,
    /// The static CH of each band if [asked for](Calculator::with_static_ch), `(nbands)`; to be summed over ranks.
    pub static_ch: Option<Vec<Complex64>>,
    /// CH of each band at one energy if [asked for](Calculator::with_ach_of_bands), `(nbands)`; to be summed over ranks.
    pub ach_of_bands: Option<Vec<Complex64>>,
    /// What single precision may have lost of Σ at any energy, in the unit of `vcoul`, to be summed over ranks: zero in double
    /// precision, infinite of a version without a bound.
    pub error_bound: f64,
    /// The largest difference, over all energies, between single and double precision in a sample: one group of columns in
    /// 48, at least one, is summed in both. In the unit of `vcoul`; zero in double precision.
    pub error_found: f64,
    /// The version that ran.
    pub version: &'static str,
    /// Kernel time in seconds, that of CH of each band included; on several devices of the one that takes longest.
    pub seconds: f64,
    /// Seconds of the whole call: with checks, lists of pairs and copies, and for [`Calculator::sums`] its placing.
    pub call_seconds: f64,
}

impl Calculator {
    /// Opens `auto`, `cpu`, `gpu` (the first GPU), `gpu:N`, `gpu:N,M,…` or `gpu:all`. `auto` is
    /// `gpu`, or `cpu` if there is no GPU. Several GPUs share the columns of each problem.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Input`] if one is named twice; [`Error::NoGpu`], [`Error::Driver`].
    pub fn open(device: &str) -> Result<Calculator> {
        let choice = device.parse()?;
        let open = || Session::open(&choice, MemoryLimits::default(), &Alone);
        let session = Arc::new(in_default_environment(open)?);
        if session.cpu().is_none() {
            // They make what is laid out for GPUs.
            start_rayon(None).map_err(Error::threads)?;
        }
        Ok(Calculator {
            session,
            version: None,
            progress: None,
            stream: ForeignStream::default(),
            static_ch: false,
            ach_of_bands: None,
            sigma_alone: false,
            derivative: false,
            precision: Precision::Double,
            tolerance: TOLERANCE,
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
        found.require_on(self.session.first().back_end())?;
        Ok(Calculator { version: Some(found), ..self })
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
            return Err(invalid("threads", what));
        }
        self.session.require_process()?;
        self.session.team.set(threads);
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
    /// BerkeleyGW's `acc_static_ch` for `exact_static_ch 1`. Its bits depend on neither version
    /// nor energies. Calls with another formula than BerkeleyGW's fail then.
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

    /// Whether only Σ, the sum of screened exchange and Coulomb hole, is wanted, which on a GPU takes up to 43 % less
    /// time, as a matrix on a CPU too: it is in the place of `ach` or CH, and `asx` or SX is zero. A version for Σ alone
    /// gives this whatever is wanted.
    #[must_use]
    pub fn with_sigma_alone(self, is_wanted: bool) -> Calculator {
        Calculator { sigma_alone: is_wanted, ..self }
    }

    /// Whether results include the derivative of Σ with respect to ω at each energy, as Z factors need it: of the terms' own
    /// forms, which have steps at BerkeleyGW's bounds. It implies Σ alone, by v15 or cpu:alone, one energy a launch, which takes
    /// about a third longer. Calls in single precision, by other versions and of a matrix fail then.
    #[must_use]
    pub fn with_derivative(self, is_wanted: bool) -> Calculator {
        Calculator { derivative: is_wanted, ..self }
    }

    /// The precision of terms, double if not set. Single needs [Σ alone](Calculator::with_sigma_alone), and a version in single
    /// if one is selected; matrix elements on a GPU are copied to the host, where heavy pairs are chosen.
    /// [`Calculator::matrix`] is in double.
    #[must_use]
    pub fn with_precision(self, precision: Precision) -> Calculator {
        Calculator { precision, ..self }
    }

    /// What single precision may lose of Σ|terms|, 1e-7 if not set: as many pairs are summed in double, at most one in a hundred,
    /// as bound the error by this. [`Found::error_bound`] is larger if these do not suffice.
    ///
    /// # Errors
    /// [`Error::Input`] if it is negative or no number.
    pub fn with_tolerance(self, tolerance: f64) -> Result<Calculator> {
        if tolerance >= 0.0 {
            return Ok(Calculator { tolerance, ..self });
        }
        Err(invalid("tolerance", format!("must be positive or zero; found {tolerance}")))
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
        self.session.first().info()
    }

    /// Maximum number of CPU threads of a calculation; cpu:threads to cpu:blocked run one per core by default.
    pub fn threads(&self) -> usize {
        self.session.team.count(DefaultThreads::All)
    }

    /// The version for a problem, and the kernels of bands that are asked for.
    fn kernels_for(&self, problem: Outline) -> Result<Vec<Version>> {
        let of_bands = self.of_bands().into_iter().flatten().map(|(kernel, _)| kernel);
        let kernels: Vec<_> = [self.version_for(problem)].into_iter().chain(of_bands).collect();
        kernels.iter().try_for_each(|version| version.require_for(problem))?;
        Ok(kernels)
    }

    /// The kernels of the static CH and of CH of each band that are asked for, and at which energy (0-based).
    fn of_bands(&self) -> [Option<(Version, usize)>; 2] {
        let kernel = |is_static| catalogue::ch_of_bands(self.session.first().back_end(), is_static);
        let static_ch = self.static_ch.then(|| (kernel(true), 0));
        [static_ch, self.ach_of_bands.map(|iw| (kernel(false), iw))]
    }

    /// What an engine sums by the version for its problem and by the kernels of bands, one after the other.
    fn found(&self, engine: &mut Engine, control: Control) -> Result<Found> {
        let (version, of_bands) = (self.version_for(engine.problem().outline()), self.of_bands());
        let parts = 1.0 + of_bands.iter().flatten().count() as f64;
        let (mut finished, mut seconds) = (0.0, 0.0);
        let mut derivative = None;
        let [mut error_bound, mut error_found] = [0.0; 2];
        engine.samples = true;
        if self.precision == Precision::Single {
            engine.problem().require_single()?;
        }
        let mut run = |of_band: Option<(Version, usize)>| -> Result<Sums> {
            let advance = |part: f64| (control.advance)((finished + part) / parts);
            let control = Control { advance: &advance, ..control };
            let found = match of_band {
                None => engine.run_with(version, None, control)?,
                Some((kernel, iw)) => engine.run_with(kernel, Some(&[iw]), control)?,
            };
            derivative = derivative.take().or(found.derivative);
            let Calculation { sums, bound, sample, workers, .. } = found;
            finished += 1.0;
            error_bound += bound;
            if let Some(sample) = sample {
                error_found = sample.lost;
                if !sample.is_within(bound) {
                    return Err(Error::Inaccurate { found: error_found, bound });
                }
            }
            seconds += workers.iter().map(|worker| worker.kernels_s).fold(0.0, f64::max);
            Ok(sums)
        };
        let mut sums = run(None)?;
        if self.sigma_alone {
            sums = sums.alone();
        }
        let [static_ch, ach_of_bands] =
            of_bands.map(|kernel| kernel.map(|kernel| run(Some(kernel)).map(|sums| sums.ach)));
        let (static_ch, ach_of_bands) = (static_ch.transpose()?, ach_of_bands.transpose()?);
        let version = version.id();
        Ok(Found {
            sums,
            derivative,
            static_ch,
            ach_of_bands,
            error_bound,
            error_found,
            version,
            seconds,
            ..Found::default()
        })
    }

    /// Whether sums are in single precision, asked for by itself or by a version.
    pub(super) fn is_single(&self) -> bool {
        self.version.map_or(self.precision == Precision::Single, Version::is_single)
    }

    fn version_for(&self, problem: Outline) -> Version {
        let back_end = self.session.first().back_end();
        if self.derivative {
            return catalogue::with_derivative(self.version.map_or(back_end, Version::back_end));
        }
        self.version.unwrap_or_else(|| match self.sigma_alone {
            _ if self.precision == Precision::Single => {
                let ratio = self.session.first().info().single_over_double;
                catalogue::best_single_on(back_end, ratio)
            }
            true => catalogue::best_alone_for(back_end, problem),
            false => catalogue::best_for(back_end, problem),
        })
    }
}

impl Session<'_> {
    /// Does what the CPU computes, on its threads.
    fn computed<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.require_process()?;
        self.pool()?.install(work)
    }

    /// Does a call's work on these threads of the CPU, or without any on one of its own, which may wait for the CPU's; the
    /// caller's reports progress.
    fn called<R: Send>(
        &self,
        pool: Option<Arc<Pool>>,
        callback: Option<&Callback>,
        work: impl FnOnce(Control) -> Result<R> + Send,
    ) -> Result<R> {
        self.require_process()?;
        let report = &Report::default();
        let advance = &|part: f64| _ = report.part.fetch_max(part.to_bits(), Ordering::Relaxed);
        let control = Control { advance, stop: &report.stop };
        let Some(callback) = callback else {
            let work = || work(control);
            return match pool {
                Some(pool) => pool.install(work),
                None => on_own_thread(work, || ())?.0,
            };
        };
        report.tell(callback);
        control.check()?;
        let (ended, end) = mpsc::channel();
        // A panic drops the sender, which ends the wait.
        let work = move || _ = ended.send(work(control));
        let wait = || report.wait(callback, &end);
        let result = match pool {
            Some(pool) => pool.beside(work, wait),
            None => on_own_thread(work, wait)?.1,
        };
        result.expect("a panic goes on here")
    }

    /// Does work for a GPU on the caller's thread, which has its context and floating-point environment afterwards.
    fn here<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.require_process()?;
        let _visit = Visit::begin();
        in_default_environment(work)
    }
}

/// A caller's function: see [`Calculator::with_progress`](crate::Calculator::with_progress).
type Callback = Arc<dyn Fn(f64) -> Option<i32> + Send + Sync>;

const EVERY: Duration = Duration::from_millis(10);

/// What a call's work has told the caller's thread, and the other way round.
#[derive(Default)]
struct Report {
    /// The bits of the largest part that is done: those of positive numbers have their order.
    part: AtomicU64,
    stop: Stop,
}

impl Report {
    fn tell(&self, callback: &Callback) {
        if !self.stop.is_asked()
            && let Some(code) = callback(f64::from_bits(self.part.load(Ordering::Relaxed)))
        {
            self.stop.ask(code);
        }
    }

    /// Waits for a result, and reports; none comes of a thread that panicked.
    fn wait<R>(&self, callback: &Callback, result: &Receiver<Result<R>>) -> Option<Result<R>> {
        loop {
            match result.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => self.tell(callback),
                Ok(result) => {
                    if result.is_ok() {
                        callback(1.0);
                    }
                    return Some(result);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}
