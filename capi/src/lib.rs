//! The C interface of `gpp`, also used by `capi/fortran/gpp.f90`: a handle, arrays on the host or on a GPU, a
//! status and a message.
//!
//! No call prints, exits, handles a signal or unwinds; only an internal error prints a line on standard error.
//! Threads may call at the same time; calls with one handle take turns. A process that forks opens its handles
//! afterwards.
//!
//! In the header `include/gpp.h`, which cbindgen makes of this file, types are called `gpp_…`.

mod convert;
mod handles;

use std::ffi::{c_char, c_void};
use std::ptr;

use gpp_core::error::invalid;
use gpp_core::offdiag::MOST_BANDS;
use gpp_core::on_gpu::ForeignStream;
use gpp_core::{Calculator, Error, Precision, State};

use crate::convert::{Checks, addresses, dimension, energies, flag, indexed, text, write};
use crate::handles::{Text, ask, calculate, call, set, store, stored};

/// The library's version as a number, `GPP_VERSION` of the header: 10000 * major + 100 * minor + patch.
pub const VERSION: i32 = 10_000 * number(env!("CARGO_PKG_VERSION_MAJOR"))
    + 100 * number(env!("CARGO_PKG_VERSION_MINOR"))
    + number(env!("CARGO_PKG_VERSION_PATCH"));

const fn number(digits: &str) -> i32 {
    match i32::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("a part of a version is a number"),
    }
}

/// Result of a call; `gpp_message` has the reason of a failure. The handle stays usable.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// An invalid argument, which the message names.
    BadArgument = 1,
    /// The device does not exist.
    NoDevice = 2,
    /// The device or its driver failed.
    DeviceFailed = 3,
    /// Too little memory on the host or on the device.
    Memory = 4,
    /// Stopped by the callback of `gpp_set_progress`.
    Stopped = 5,
    /// Internal error.
    Internal = 6,
    /// Single precision is off by more than its bound in the sample of `gpp_last_error_found`: the device fails, or gpp.
    Inaccurate = 7,
}

fn argument(what: impl Into<String>) -> Error {
    invalid("", what)
}

fn status(error: &Error) -> Status {
    match error.cause() {
        Error::Unknown { .. } | Error::Input { .. } | Error::Data { .. } => Status::BadArgument,
        Error::NoGpu { .. } => Status::NoDevice,
        Error::Driver(_) => Status::DeviceFailed,
        Error::Memory { .. } | Error::Threads(_) => Status::Memory,
        Error::Stopped { .. } => Status::Stopped,
        Error::Inaccurate { .. } => Status::Inaccurate,
        _ => Status::Internal,
    }
}

/// A complex number, laid out as C's `double _Complex`, C++'s `std::complex<double>` and Fortran's
/// `complex(c_double_complex)`: cast a pointer to one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CComplex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

/// An open device. The pointer is opaque.
pub struct Handle {
    _opaque: [u8; 0],
}

/// The screening of one MPI rank at one q. Arrays are column-major, the first index fastest, in the memory of
/// the host; on a handle of one GPU `wtilde` and `eps` may be on the GPU if `on_device` says so. The caller owns
/// them; a call only reads them. Dimensions are from 0 to 2147483647; most problems are limited before that, by
/// memory or by 4294967295 elements of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CScreening {
    /// G vectors, the rows of `wtilde` and `eps`.
    pub ncouls: i64,
    /// G' vectors of this rank, the columns of `wtilde` and `eps`.
    pub ngpown: i64,
    /// Length of `indinv`.
    pub ng: i64,
    /// Plasmon poles in eV, `wtilde_array(ig, igp)`.
    pub wtilde: *const CComplex,
    /// Elements from one column of `wtilde` to the next; at least `ncouls`. If it is more, a call copies.
    pub ld_wtilde: i64,
    /// Identity less the inverse dielectric matrix, `I_eps_array(ig, igp)`, no unit.
    pub eps: *const CComplex,
    /// Elements from one column of `eps` to the next; at least `ncouls`. If it is more, a call copies.
    pub ld_eps: i64,
    /// Coulomb interaction of each G, `(ncouls)`; the sums have its unit.
    pub vcoul: *const f64,
    /// G' of each column, `(ngpown)`: an index into `indinv`, from 1 to `ng`. Several columns of a G' are several poles.
    pub inv_igp_index: *const i32,
    /// Row of each G vector, `(ng)`, from 1 to `ncouls`; other values mean no row, which adds nothing.
    pub indinv: *const i32,
    /// 1 if `wtilde` and `eps` are in the memory of the handle's GPU, else 0.
    pub on_device: i32,
}

/// The bands that are summed over. Arrays as in `gpp_screening`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CBands {
    /// Bands.
    pub nbands: i64,
    /// Matrix elements of G, `aqsntemp(ig, n)`, `ncouls` rows, no unit: of `gpp_complex`, or with `single` 1 of two floats.
    pub aqsn: *const c_void,
    /// Elements from one column of `aqsn` to the next; at least `ncouls`. If it is more, a call copies.
    pub ld_aqsn: i64,
    /// Matrix elements of G', no unit: `aqsmtemp(ig, n)` with `ncouls` rows, from which the rows of G' are copied,
    /// or with `aqsm_local` 1 `(igp, n)` with `ngpown` rows.
    pub aqsm: *const c_void,
    /// Elements from one column of `aqsm` to the next; at least its rows.
    pub ld_aqsm: i64,
    /// 0 if `aqsm` has a row for each G, 1 if it has one for each G'.
    pub aqsm_local: i32,
    /// Energy of each band in eV, `(nbands)`.
    pub e: *const f64,
    /// Occupation of each band, from 0 to 1, `(nbands)`.
    pub occ: *const f64,
    /// 1 if `aqsn` and `aqsm` are in the memory of the handle's GPU, else 0.
    pub on_device: i32,
    /// 1 if `aqsn` and `aqsm` are in single precision, from which a call makes a copy in double, else 0. On the host only.
    pub single: i32,
}

/// One of several states of a call, and where its results go. Arrays as in `gpp_screening`; those of states may be the
/// same, or parts of larger ones.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CState {
    /// The bands that are summed over, with the matrix elements of this state.
    pub bands: CBands,
    /// Energies, from 1 to 100000.
    pub nw: i64,
    /// Energies in eV, `(nw)`.
    pub omega: *const f64,
    /// Screened exchange, `(nw)`, or null.
    pub asx: *mut CComplex,
    /// Coulomb hole, or if `asx` is null the self-energy, `(nw)`.
    pub ach: *mut CComplex,
    /// Derivative of the self-energy, as of `gpp_sums_and_derivative`, `(nw)`, or null; with it `asx` is null.
    pub derivative: *mut CComplex,
}

/// The bands l and m of a matrix, and the bands n that are summed over. Arrays as in `gpp_screening`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CMatrixBands {
    /// Bands l and m, from 1 to 8192.
    pub bands: i64,
    /// Bands n.
    pub nbands: i64,
    /// Matrix elements of band l with band n, `a(ig, n, l)`, no unit: what `aqsntemp(ig, n)` is if l is the
    /// state. Column (n, l) begins at element `ld_a * (n + nbands * l)`, both counted from 0.
    pub a: *const CComplex,
    /// Elements from one column of `a` to the next; at least `ncouls`. If it is more, a call copies.
    pub ld_a: i64,
    /// Energy of each band n in eV, `(nbands)`.
    pub e: *const f64,
    /// Occupation of each band n, from 0 to 1, `(nbands)`.
    pub occ: *const f64,
    /// 1 if `a` is in the memory of the handle's GPU, else 0. A call copies it to the host.
    pub on_device: i32,
    /// 1 if `omega` has the energy of each band l, so that `nw` is `bands`; else 0. The result is then two
    /// matrices, as QSGW and GWPT use them.
    pub at_bands: i32,
}

/// Callback with the fraction of a calculation done, from 0 to 1, and the registered context. A return value
/// other than 0 stops the calculation: the call ends with `GPP_STATUS_STOPPED`. It runs on the calling thread.
/// Functions of this handle fail there with `GPP_STATUS_BAD_ARGUMENT`. It must return: an exception that leaves
/// it aborts the process, and after a longjmp out of it the handle cannot be used or closed.
pub type Progress = Option<unsafe extern "C" fn(part: f64, context: *mut c_void) -> i32>;

/// `kind` of BerkeleyGW's formula, with a near form and a cutoff.
pub const FORMULA_BERKELEYGW: i32 = 1;

/// `kind` of the time-ordered formula of other plasmon-pole codes, without either. With the occupation f of a band and
/// w = ω − e(n), SX − X and CH add up to ½·vcoul·ω̃·eps·M·[(1 − f)/(w − ω̃ + iη) + f/(w + ω̃ − iη)].
pub const FORMULA_TIME_ORDERED: i32 = 2;

/// `precision` of terms in FP64, the default.
pub const PRECISION_DOUBLE: i32 = 1;

/// `precision` of terms in FP32, but for the pairs with the largest share of them, with a bound on the error.
pub const PRECISION_SINGLE: i32 = 2;

/// What a term is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CFormula {
    /// `GPP_FORMULA_BERKELEYGW` or `GPP_FORMULA_TIME_ORDERED`; no other number is allowed, zero neither.
    pub kind: i32,
    /// BerkeleyGW's distance from a pole in eV below which the near form of a term applies, `sig_gamma`, by default 0.5.
    pub gamma: f64,
    /// BerkeleyGW's bound on |ssx| / |eps| for energies below the band, `sexcut`, by default 4; larger terms are dropped,
    /// with infinity none.
    pub sexcut: f64,
    /// Broadening η of the time-ordered formula in eV.
    pub eta: f64,
    /// Its window in eV, zero for none: ABINIT's zcut, the distance from a real pole within which the broadening is as
    /// large; eta must be zero, and Σ alone is summed. Matrices need a CPU.
    pub window: f64,
}

/// The library's version, such as "0.2.0", a static string.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The library's version as a number, as `GPP_VERSION` is the header's.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_version_number() -> i32 {
    VERSION
}

/// Opens a device: "cpu", "gpu", "gpu:0", "gpu:1" and so on, or "auto", which is the first GPU, or the CPU if
/// there is none. Writes a handle to `handle`, null after a failure. Close it with `gpp_close`.
///
/// Programs in C use `gpp_open`. `version` is the `GPP_VERSION` of the header that the program was compiled with;
/// another minor version, whose structures may differ, is refused. `first_index` is the index of a first element
/// in messages, 0 or 1.
///
/// # Safety
/// `device` is null or a null-terminated string; `handle` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_open_version(
    device: *const c_char,
    version: i32,
    first_index: i32,
    handle: *mut *mut Handle,
) -> Status {
    call(|| {
        addresses("handle", handle, 1)?;
        // SAFETY: not null and aligned; the caller's word is that it may be written.
        unsafe { handle.write(ptr::null_mut()) };
        if version / 100 != VERSION / 100 {
            let [header, own] = [version, VERSION].map(|all| [all / 10_000, all / 100 % 100]);
            return Err(argument(format!(
                "the program was compiled for gpp {}.{}, but the library has version {}.{}",
                header[0], header[1], own[0], own[1]
            )));
        }
        let first_index = flag("first_index", first_index)?.into();
        // SAFETY: the caller's word.
        let device = unsafe { text("device", device) }?;
        let calculator = Calculator::open(device)?.with_index_base(first_index);
        // SAFETY: as above.
        unsafe { handle.write(handles::add(calculator)) };
        Ok(())
    })
}

/// `gpp_open_version` with indices from 0. In C a macro of this name passes the version of the header; the function
/// itself, for whoever looks it up by name, passes the library's.
///
/// # Safety
/// As of `gpp_open_version`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_open(device: *const c_char, handle: *mut *mut Handle) -> Status {
    // SAFETY: the caller's word.
    unsafe { gpp_open_version(device, VERSION, 0, handle) }
}

/// Closes a handle after calls in progress have finished; calls that are waiting fail with
/// `GPP_STATUS_BAD_ARGUMENT`. Null does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_close(handle: *mut Handle) -> Status {
    call(|| if handle.is_null() { Ok(()) } else { handles::close(handle) })
}

/// Selects a version of `gpp list`, such as "v13" or "cpu:paired"; "best", the default, depends on the problem.
/// Waits for calls in progress. After a failure the selection is unchanged.
///
/// # Safety
/// `id` is null or a null-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_set_version(handle: *mut Handle, id: *const c_char) -> Status {
    // SAFETY: the caller's word.
    set(handle, |calculator| calculator.with_version(unsafe { text("id", id) }?))
}

/// Sets the precision of terms, `GPP_PRECISION_DOUBLE` or `GPP_PRECISION_SINGLE`. Single is of the self-energy alone, so
/// `gpp_sums` then needs a null `asx`, and `gpp_matrix` fails. As many pairs are summed in double, at most one in a
/// hundred, as bound the error by `tolerance` times the sum of the sizes of all terms, by default 1e-7; without so many
/// the bound is larger: `gpp_last_error_bound`. Matrix elements on a GPU are copied to the host. After a failure nothing
/// is changed.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_set_precision(handle: *mut Handle, precision: i32, tolerance: f64) -> Status {
    set(handle, |calculator| {
        let precision = match precision {
            PRECISION_DOUBLE => Precision::Double,
            PRECISION_SINGLE => Precision::Single,
            _ => {
                let needs = "GPP_PRECISION_DOUBLE (1) or GPP_PRECISION_SINGLE (2)";
                return Err(argument(format!("precision needs {needs}, found {precision}")));
            }
        };
        calculator.with_precision(precision).with_tolerance(tolerance)
    })
}

/// Sets the stream that produces the caller's arrays on the GPU, a `CUstream` or `cudaStream_t` of the device's
/// primary context, which the CUDA runtime uses; null is the default stream. A call that reads such arrays
/// waits for its pending work. The stream must exist as long as it is set.
///
/// # Safety
/// `stream` is such a stream or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_set_stream(handle: *mut Handle, stream: *mut c_void) -> Status {
    // SAFETY: the caller's word.
    let stream = unsafe { ForeignStream::new(stream) };
    set(handle, |calculator| Ok(calculator.with_stream(stream)))
}

/// Registers a callback with the fraction done, from 0 to 1: about every 10 ms on the calling thread, and at
/// the end. A return value other than 0 ends the call with `GPP_STATUS_STOPPED`, within 50 ms on a CPU, on a
/// GPU after what is launched. Results do not depend on it. Null removes it.
///
/// # Safety
/// `progress` may be called with `context` as long as it is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_set_progress(
    handle: *mut Handle,
    progress: Progress,
    context: *mut c_void,
) -> Status {
    let context = context.expose_provenance();
    set(handle, |calculator| {
        let Some(progress) = progress else { return Ok(calculator.without_progress()) };
        Ok(calculator.with_progress(move |part| {
            let context = ptr::with_exposed_provenance_mut(context);
            // SAFETY: the caller's word.
            let code = unsafe { progress(part, context) };
            (code != 0).then_some(code)
        }))
    })
}

/// Places a screening for calls of `gpp_sums` and `gpp_matrix` with a null `screening`, until the next one or
/// `gpp_release`. On one GPU `wtilde` and `eps` stay there from the first call on, if there is room. Keep
/// `wtilde` and `eps` unchanged meanwhile; small arrays are copied. Matrices on the GPU are copied to the host
/// here, once. After a failure the earlier screening is still placed.
///
/// # Safety
/// As of `gpp_sums`; `wtilde` and `eps` stay valid and unchanged while they are placed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_place(handle: *mut Handle, screening: *const CScreening) -> Status {
    calculate(handle, |work| {
        // SAFETY: the caller's word.
        work.placed = Some(unsafe { Checks::by(&work.calculator).place(screening) }?);
        Ok(())
    })
}

/// Releases the placed screening, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_release(handle: *mut Handle) -> Status {
    calculate(handle, |work| {
        work.placed = None;
        Ok(())
    })
}

/// Sets the number of CPU threads, 1 to 65535. 0 restores the default: `OMP_NUM_THREADS` at `gpp_open`, or else
/// what the affinity mask and the cgroup of the opening thread allow. Results do not depend on it. Threads
/// inherit the mask of the thread that calls first and are bound to no core. Waits for calls in progress. After
/// a failure the number is unchanged.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_set_threads(handle: *mut Handle, threads: i32) -> Status {
    set(handle, |calculator| {
        calculator.with_threads(dimension("threads", threads.into(), [0, u16::MAX.into()])?)
    })
}

/// Number of CPU threads of a calculation; 0 for an invalid handle. Waits for calls in progress, as all queries
/// do.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_threads(handle: *const Handle) -> i32 {
    ask(handle, |work| i32::try_from(work.calculator.threads()).unwrap_or(i32::MAX))
}

/// Name of the device, valid until this thread calls the function again; empty for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_device_name(handle: *const Handle) -> *const c_char {
    store(Text::DeviceName, &ask(handle, |work| work.calculator.device().name.clone()))
}

/// The version of the last `gpp_sums` or `gpp_matrix`, valid until this thread calls the function again; empty
/// if none ran, and for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_version(handle: *const Handle) -> *const c_char {
    store(Text::LastVersion, ask(handle, |work| work.version))
}

/// Kernel time of the last `gpp_sums` or `gpp_matrix` in seconds, on several GPUs of the one that takes longest.
/// 0 if none ran, and for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_seconds(handle: *const Handle) -> f64 {
    ask(handle, |work| work.seconds[0])
}

/// Time of the last whole `gpp_sums` or `gpp_matrix` in seconds: in addition to the kernels its checks, copies and
/// uploads, and lists of pairs, which a placed screening keeps for the next call with the same energies.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_call_seconds(handle: *const Handle) -> f64 {
    ask(handle, |work| work.seconds[1])
}

/// What single precision may have lost of the self-energy at any energy in the last `gpp_sums`, or at most of one state in
/// the last `gpp_sums_of_states`, in the unit of `vcoul`. The caller sums it over ranks. 0 in double precision, if none
/// ran, and for an invalid handle; infinite of a version without a bound.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_error_bound(handle: *const Handle) -> f64 {
    ask(handle, |work| work.errors[0])
}

/// What single precision has lost at most, of the energies, of the sums of one group of columns in 48, at least of one,
/// which are summed in double too: otherwise as `gpp_last_error_bound`. A call in which this is more than the bound fails.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_error_found(handle: *const Handle) -> f64 {
    ask(handle, |work| work.errors[1])
}

/// Reason of the last failed call of this thread, valid until another one fails; empty if none did.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_message() -> *const c_char {
    stored(Text::Message)
}

/// Fails with `GPP_STATUS_BAD_ARGUMENT` and this message, for modules in other languages that check arguments
/// before a call.
///
/// # Safety
/// `message` is null or a null-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_refuse(message: *const c_char) -> Status {
    // SAFETY: the caller's word.
    call(|| Err(argument(unsafe { text("message", message) }?)))
}

/// Computes screened exchange and Coulomb hole, summed over bands, G' and G, at `nw` energies `omega` in eV, 1
/// to 100000 of them, with the zero of the band energies. Writes them to `asx` and `ach`, `(nw)` each, in the
/// unit of `vcoul`. They are of this rank's G': the caller sums them over ranks. After a failure they are
/// unchanged.
///
/// If `asx` is null, only their sum is computed, the self-energy, and written to `ach`: on a GPU this takes up to a
/// third less time, in single precision (`gpp_set_precision`) less than half.
///
/// If `static_ch` is not null, the static CH of each band is written there, `(nbands)`: the sum of `-vcoul * eps *
/// conj(aqsm) * aqsn / 2` over G' and G, as in BerkeleyGW's `acc_static_ch` for `exact_static_ch 1`. If `ach_of_bands`
/// is not null, CH of each band at energy `iw` is written there, `(nbands)`; else `iw` is ignored. The first energy is 0,
/// or 1 if the handle counts from 1.
///
/// A null `screening` is the placed one, a null `formula` has BerkeleyGW's defaults. Matrices are where their
/// structures say; results and other arrays are on the host. Pointers are aligned to 8 bytes, to `int32_t` to 4,
/// matrices on a GPU to 16. Results must not overlap each other or an input. Additional memory is needed for the
/// rows of `aqsm`, for arrays whose columns have gaps, and for what a version reorders. Matrix elements on a GPU
/// are not checked: NaN gives NaN.
///
/// # Safety
/// Pointers that are not null point to as many elements as the dimensions say. No thread changes inputs during
/// the call, nor does a stream but that of `gpp_set_stream` before; no thread reads results meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_sums(
    handle: *mut Handle,
    screening: *const CScreening,
    bands: *const CBands,
    nw: i64,
    omega: *const f64,
    formula: *const CFormula,
    asx: *mut CComplex,
    ach: *mut CComplex,
    static_ch: *mut CComplex,
    iw: i64,
    ach_of_bands: *mut CComplex,
) -> Status {
    calculate(handle, |work| {
        let (mut checks, mut once) = (Checks::by(&work.calculator), None);
        // SAFETY: of all in the block, the caller's word. `once` is dropped when this returns.
        unsafe {
            let placed = checks.screening(screening, &mut work.placed, &mut once)?;
            let bands = checks.one("bands", bands)?;
            let omega = checks.array("omega", omega, energies(nw)?)?;
            let formula = checks.formula(formula)?;
            let bands = checks.bands(bands, placed.dimensions())?;
            let nbands = bands.e.len();
            let asx = checks.wanted("asx", asx, omega.len())?;
            let ach = checks.output("ach", ach, omega.len())?;
            let static_ch = checks.wanted("static_ch", static_ch, nbands)?;
            let ach_of_bands = checks.wanted("ach_of_bands", ach_of_bands, nbands)?;
            let first = work.calculator.index_base();
            let index = |_| dimension("iw", iw, [first, first + omega.len() - 1]);
            let iw = ach_of_bands.map(index).transpose()?.map(|iw| iw - first);
            let calculator = work.calculator.clone().with_static_ch(static_ch.is_some());
            let calculator = calculator.with_ach_of_bands(iw).with_sigma_alone(asx.is_none());
            let found = calculator.sums_at(placed, &bands, omega, formula)?;
            (work.version, work.seconds) = (found.version, [found.seconds, found.call_seconds]);
            work.errors = [found.error_bound, found.error_found];
            write(ach, &found.sums.ach);
            let of_bands = [(static_ch, found.static_ch), (ach_of_bands, found.ach_of_bands)];
            for (to, found) in [(asx, Some(found.sums.asx))].into_iter().chain(of_bands) {
                to.zip(found).into_iter().for_each(|(to, found)| write(to, &found));
            }
        }
        Ok(())
    })
}

/// Computes the self-energy alone, as `gpp_sums` with a null `asx`, and its derivative with respect to `omega`, and writes
/// them to `sigma` and `derivative`, `(nw)` each, in the unit of `vcoul` and in that per eV. The version is v15 or
/// cpu:alone, the precision double. Other arguments are as in `gpp_sums`.
///
/// # Safety
/// As of `gpp_sums`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_sums_and_derivative(
    handle: *mut Handle,
    screening: *const CScreening,
    bands: *const CBands,
    nw: i64,
    omega: *const f64,
    formula: *const CFormula,
    sigma: *mut CComplex,
    derivative: *mut CComplex,
) -> Status {
    calculate(handle, |work| {
        let (mut checks, mut once) = (Checks::by(&work.calculator), None);
        // SAFETY: of all in the block, the caller's word. `once` is dropped when this returns.
        unsafe {
            let placed = checks.screening(screening, &mut work.placed, &mut once)?;
            let bands = checks.one("bands", bands)?;
            let omega = checks.array("omega", omega, energies(nw)?)?;
            let formula = checks.formula(formula)?;
            let bands = checks.bands(bands, placed.dimensions())?;
            let sigma = checks.output("sigma", sigma, omega.len())?;
            let derivative = checks.output("derivative", derivative, omega.len())?;
            let calculator = work.calculator.clone().with_sigma_alone(true).with_derivative(true);
            let found = calculator.sums_at(placed, &bands, omega, formula)?;
            (work.version, work.seconds) = (found.version, [found.seconds, found.call_seconds]);
            work.errors = [found.error_bound, found.error_found];
            write(sigma, &found.sums.ach);
            write(derivative, &found.derivative.unwrap_or_default());
        }
        Ok(())
    })
}

/// Computes for each of `count` states what `gpp_sums` with the placed screening computes, to the bit, and writes it to
/// `asx` and `ach` of the state; after a failure none are written. One call takes less time than a call for each: on a
/// GPU the arrays of some are copied while others are summed. `asx` is null for all states or for none, `derivative` too;
/// a null `asx` means as in `gpp_sums`. `gpp_last_seconds` are those of all states added up, which on a GPU may run at the same time.
///
/// Messages name the state, by its index. Other arguments are as in `gpp_sums`.
///
/// # Safety
/// As of `gpp_sums`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_sums_of_states(
    handle: *mut Handle,
    count: i64,
    states: *const CState,
    formula: *const CFormula,
) -> Status {
    calculate(handle, |work| {
        let mut checks = Checks::by(&work.calculator);
        // SAFETY: of all in the block, the caller's word.
        unsafe {
            let placed = work.placed.as_mut().ok_or_else(|| argument("no screening is placed"))?;
            let given = checks.array("states", states, indexed("count", count)?)?;
            let formula = checks.formula(formula)?;
            let (mut states, mut results) = (Vec::new(), Vec::new());
            let asked = |of: &CState| [!of.asx.is_null(), !of.derivative.is_null()];
            let [has_sx, has_derivative] = given.first().map_or([true, false], asked);
            let base = work.calculator.index_base();
            for (number, of) in given.iter().enumerate() {
                let mut state = || {
                    let bands = checks.bands(&of.bands, placed.dimensions())?;
                    let omega = checks.array("omega", of.omega, energies(of.nw)?)?;
                    states.push(State { bands, omega });
                    for (name, at) in [("asx", 0), ("derivative", 1)] {
                        if asked(of)[at] != [has_sx, has_derivative][at] {
                            let what = "is null for some states, and not for others";
                            return Err(argument(format!("{name} {what}")));
                        }
                    }
                    if has_sx && has_derivative {
                        return Err(argument("derivative needs a null asx"));
                    }
                    results.push([
                        checks.wanted("asx", of.asx, omega.len())?,
                        Some(checks.output("ach", of.ach, omega.len())?),
                        checks.wanted("derivative", of.derivative, omega.len())?,
                    ]);
                    Ok(())
                };
                state().map_err(|error| argument(format!("state {}: {error}", number + base)))?;
            }
            let calculator = work.calculator.clone().with_sigma_alone(!has_sx);
            let calculator = calculator.with_derivative(has_derivative);
            let found = calculator.sums_of_states(placed, &states, formula)?;
            for (found, results) in found.iter().zip(results) {
                let derivative = found.derivative.as_deref().unwrap_or_default();
                let of_state = [&found.sums.asx[..], &found.sums.ach, derivative];
                for (to, numbers) in results.into_iter().zip(of_state) {
                    to.into_iter().for_each(|to| write(to, numbers));
                }
            }
            let seconds = found.iter().map(|found| found.seconds).sum();
            if let Some(last) = found.last() {
                (work.version, work.seconds) = (last.version, [seconds, last.call_seconds]);
                let errors = found.iter().map(|found| [found.error_bound, found.error_found]);
                work.errors = errors.fold([0.0; 2], |a, b| [a[0].max(b[0]), a[1].max(b[1])]);
            }
        }
        Ok(())
    })
}

/// Computes all elements of screened exchange and Coulomb hole between bands l and m, summed over bands n, G'
/// and G, at `nw` energies `omega` in eV. Writes them to `sx` and `ch`, `(bands, bands, nw)` each, l fastest,
/// then m: element (l, m) at energy iw is entry `l + bands * (m + bands * iw)`, counted from 0. For l = m they
/// are what `gpp_sums` returns with the elements of l as `aqsn` and `aqsm`. They have the unit of `vcoul` and
/// are of this rank's G', to be summed over ranks by the caller. After a failure they are unchanged.
///
/// With `at_bands` they are `(bands, bands, 2)`: rows at the energies of their bands, `Sigma_lm(omega_l)`, then columns,
/// `Sigma_lm(omega_m)`.
///
/// If `sx` is null, only their sum is computed, the self-energy, and written to `ch`: this takes up to a third less
/// time.
///
/// Other arguments are as in `gpp_sums`; the screening may be on the GPU. The version is the fastest for
/// matrices, whatever `gpp_set_version` says: "ring", "m16n8k16" or "wide" on recent GPUs, "cpu" on a CPU. A
/// GPU keeps only the placed screening for the next call.
///
/// # Safety
/// As of `gpp_sums`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_matrix(
    handle: *mut Handle,
    screening: *const CScreening,
    bands: *const CMatrixBands,
    nw: i64,
    omega: *const f64,
    formula: *const CFormula,
    sx: *mut CComplex,
    ch: *mut CComplex,
) -> Status {
    calculate(handle, |work| {
        let calculator = &work.calculator;
        let (mut checks, mut once) = (Checks::by(calculator), None);
        // SAFETY: of all in the block, the caller's word. `once` is dropped when this returns.
        unsafe {
            let placed = checks.screening(screening, &mut work.placed, &mut once)?;
            let b: &CMatrixBands = checks.one("bands", bands)?;
            let bands = dimension("bands", b.bands, [1, MOST_BANDS])?;
            let nbands = indexed("nbands", b.nbands)?;
            let e = checks.array("e", b.e, nbands)?;
            let occ = checks.array("occ", b.occ, nbands)?;
            let omega = checks.array("omega", omega, energies(nw)?)?;
            let formula = checks.formula(formula)?;
            let shape = [placed.dimensions()[0], nbands * bands];
            let on_device = flag("bands.on_device", b.on_device)?;
            let a = checks.matrix("a", b.a.cast(), shape, b.ld_a, [on_device, false])?;
            let at_bands = flag("bands.at_bands", b.at_bands)?;
            let len = bands * bands * if at_bands { 2 } else { omega.len() };
            let sx = checks.wanted("sx", sx, len)?;
            let ch = checks.output("ch", ch, len)?;
            let a = calculator.on_host("a", a, shape)?;
            let bands = gpp_core::MatrixBands { a: &a, e, occ, at_bands };
            let calculator = calculator.clone().with_sigma_alone(sx.is_none());
            let found = calculator.matrix_at(placed, &bands, omega, formula)?;
            (work.version, work.seconds) = (found.version, [found.seconds, found.call_seconds]);
            work.errors = [0.0; 2];
            sx.into_iter().for_each(|sx| write(sx, &found.sums.sx));
            write(ch, &found.sums.ch);
        }
        Ok(())
    })
}

include!("../../build/hypot.rs");
