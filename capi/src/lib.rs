//! The C interface of `gpp`, also used by `capi/fortran/gpp.f90`: a handle, arrays on the host or on a GPU, a
//! status and a message.
//!
//! No call prints, exits, handles a signal or unwinds; only an internal error prints a line on standard error.
//! Threads may call at the same time; calls with one handle take turns. A process that forks opens its handles
//! afterwards.
//!
//! In the header `include/gpp.h`, which cbindgen makes of this file, types are called `gpp_…`.

mod convert;
mod open;
mod types;

use std::ffi::{CStr, c_char, c_void};

use gpp_core::Calculator;
use gpp_core::offdiag::MOST_BANDS;
use gpp_core::on_gpu::ForeignStream;

use crate::convert::{
    Arrays, BandEnergies, CallScreening, Checks, Matrix, SumBands, addresses, energies, extent,
    flag, indexed,
};
use crate::open::{Work, ask, calculate, call, store, stored};
use crate::types::Failure;
pub use crate::types::{Bands, Complex, Formula, Handle, MatrixBands, Progress, Screening, Status};

type Result<T> = std::result::Result<T, Failure>;

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

/// The library's version, such as "0.1.0", a static string.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero byte"),
        };
    VERSION.as_ptr()
}

/// Opens a device: "cpu", "gpu", "gpu:0", "gpu:1" and so on, or "auto", which is the first GPU, or the CPU if
/// there is none. Writes a handle to `handle`, null after a failure. Close it with `gpp_close`.
///
/// Programs in C use the macro `gpp_open(device, handle)`. `version` is the `GPP_VERSION` of the header that
/// the program was compiled with; another minor version, whose structures may differ, is refused. `first_index`
/// is the index of a first element in messages, 0 or 1.
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
        unsafe { handle.write(std::ptr::null_mut()) };
        if version / 100 != VERSION / 100 {
            let [header, own] = [version, VERSION].map(|all| [all / 10_000, all / 100 % 100]);
            return Err(Failure::argument(format!(
                "the program was compiled for version {}.{} of gpp, and this is the library of version {}.{}",
                header[0], header[1], own[0], own[1]
            )));
        }
        let first_index = flag("first_index", first_index)?.into();
        // SAFETY: the caller's word.
        let device = unsafe { text("device", device) }?;
        let mut calculator = Calculator::open(device)?;
        calculator.set_index_base(first_index);
        // SAFETY: as above.
        unsafe { handle.write(open::add(calculator)) };
        Ok(())
    })
}

/// Closes a handle after calls in progress have finished; calls that are waiting fail with
/// `GPP_STATUS_BAD_ARGUMENT`. Null does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_close(handle: *mut Handle) -> Status {
    call(|| {
        if !handle.is_null() {
            open::close(handle)?;
        }
        Ok(())
    })
}

/// Selects a version of `gpp list`, such as "v13" or "cpu:paired"; "best", the default, is the fastest for each
/// problem. Waits for calls in progress. After a failure the selection is unchanged.
///
/// # Safety
/// `id` is null or a null-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_set_version(handle: *mut Handle, id: *const c_char) -> Status {
    calculate(handle, |work| {
        // SAFETY: the caller's word.
        let id = unsafe { text("id", id) }?;
        Ok(work.calculator.set_version(id)?)
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
    calculate(handle, |work| {
        // SAFETY: the caller's word.
        work.calculator.set_stream(unsafe { ForeignStream::new(stream) });
        Ok(())
    })
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
    calculate(handle, |work| {
        let Some(progress) = progress else {
            work.calculator.clear_progress();
            return Ok(());
        };
        let context = context.expose_provenance();
        work.calculator.set_progress(move |part| {
            let context = std::ptr::with_exposed_provenance_mut(context);
            // SAFETY: the caller's word.
            let said = unsafe { progress(part, context) };
            (said != 0).then_some(said)
        });
        Ok(())
    })
}

/// Maximum additional memory of a call in bytes, with the static CH: on the host, and on each GPU for the whole
/// problem at once. With less memory on a GPU arrays of the host are streamed. Nothing is allocated.
///
/// `screening_on_device` is 1 if `wtilde` and `eps` are on the GPU, else 0; `bands_on_device` is 1 if matrix elements
/// are, else 0.
///
/// # Safety
/// `host` and `device` are null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_workspace(
    handle: *mut Handle,
    ncouls: i64,
    ngpown: i64,
    nbands: i64,
    nw: i64,
    screening_on_device: i32,
    bands_on_device: i32,
    host: *mut u64,
    device: *mut u64,
) -> Status {
    calculate(handle, |work| {
        addresses("host", host, 1)?;
        addresses("device", device, 1)?;
        let calculator = work.calculator.clone().with_static_ch(true);
        let found = calculator.workspace(gpp_core::Sizes {
            ncouls: indexed("ncouls", ncouls)?,
            ngpown: indexed("ngpown", ngpown)?,
            nbands: indexed("nbands", nbands)?,
            nw: energies(nw)?,
            screening_on_gpu: flag("screening_on_device", screening_on_device)?,
            bands_on_gpu: flag("bands_on_device", bands_on_device)?,
        })?;
        // SAFETY: not null and aligned; the caller's word.
        unsafe {
            host.write(found.host);
            device.write(found.device);
        }
        Ok(())
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
pub unsafe extern "C" fn gpp_place(handle: *mut Handle, screening: *const Screening) -> Status {
    calculate(handle, |work| {
        let calculator = &work.calculator;
        // SAFETY: the caller's word.
        work.placed = Some(unsafe {
            Arrays::check(&mut Checks::by(calculator), screening)?.placed(calculator)
        }?);
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
    calculate(handle, |work| {
        let number = u16::try_from(threads).map_err(|_| {
            Failure::argument(format!("threads must be from 0 to {}, found {threads}", u16::MAX))
        })?;
        Ok(work.calculator.set_threads(number.into())?)
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
    store(open::Text::DeviceName, &ask(handle, |work| work.calculator.device().name.clone()));
    stored(open::Text::DeviceName)
}

/// The version of the last `gpp_sums` or `gpp_matrix`, valid until this thread calls the function again; empty
/// if none ran, and for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_version(handle: *const Handle) -> *const c_char {
    store(open::Text::LastVersion, ask(handle, |work| work.version));
    stored(open::Text::LastVersion)
}

/// Kernel time of the last `gpp_sums` or `gpp_matrix` in seconds, with uploads if the problem was streamed. 0
/// if none ran, and for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_seconds(handle: *const Handle) -> f64 {
    ask(handle, |work| work.seconds)
}

/// Reason of the last failed call of this thread, valid until another one fails; empty if none did.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_message() -> *const c_char {
    stored(open::Text::Message)
}

/// Fails with `GPP_STATUS_BAD_ARGUMENT` and this message, for modules in other languages that check arguments
/// before a call.
///
/// # Safety
/// `message` is null or a null-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_refuse(message: *const c_char) -> Status {
    // SAFETY: the caller's word.
    call(|| Err(Failure::argument(unsafe { text("message", message) }?.into())))
}

/// Computes screened exchange and Coulomb hole, summed over bands, G' and G, at `nw` energies `omega` in eV, 1
/// to 100000 of them, with the zero of the band energies. Writes them to `asx` and `ach`, `(nw)` each, in the
/// unit of `vcoul`. They are of this rank's G': the caller sums them over ranks. After a failure they are
/// unchanged.
///
/// If `static_ch` is not null, the static CH of the same bands is written there, the sum of `-vcoul * eps *
/// conj(aqsm) * aqsn / 2` over bands, G' and G, as in BerkeleyGW's `acc_static_ch` for `exact_static_ch 1`.
///
/// A null `screening` is the placed one, a null `formula` has BerkeleyGW's defaults. Matrices are where their
/// structures say; results are on the host, small arrays on the host or on the handle's GPU. Pointers are
/// aligned to 8 bytes, to `int32_t` to 4, matrices on a GPU to 16. Results must not overlap each other or an
/// input. Additional memory is needed for the rows of `aqsm`, for arrays whose columns have gaps, and for what
/// a version reorders. Matrix elements on a GPU are not checked: NaN gives NaN.
///
/// # Safety
/// Pointers that are not null point to as many elements as the dimensions say. No thread changes inputs during
/// the call, nor does a stream but that of `gpp_set_stream` before; no thread reads results meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_sums(
    handle: *mut Handle,
    screening: *const Screening,
    bands: *const Bands,
    nw: i64,
    omega: *const f64,
    formula: *const Formula,
    asx: *mut Complex,
    ach: *mut Complex,
    static_ch: *mut Complex,
) -> Status {
    calculate(handle, |work| {
        let Work { calculator, placed, .. } = work;
        let calculator = &calculator.clone().with_static_ch(!static_ch.is_null());
        let mut checks = Checks::by(calculator);
        // SAFETY: the caller's word.
        let (found, [asx, ach], static_ch) = unsafe {
            let of = CallScreening::check(&mut checks, screening, placed)?;
            let energies = (nw, omega);
            let bands = SumBands::check(&mut checks, of.extents(), bands, energies, formula)?;
            let nw = bands.small.omega.len();
            let out = [checks.written("asx", asx, nw)?, checks.written("ach", ach, nw)?];
            let static_ch = match static_ch.is_null() {
                true => None,
                false => Some(checks.written("static_ch", static_ch, 1)?),
            };
            (bands.sums(calculator, of)?, out, static_ch)
        };
        (work.version, work.seconds) = (found.version, found.seconds);
        // SAFETY: the caller's word.
        unsafe {
            asx.write(&found.sums.asx);
            ach.write(&found.sums.ach);
            if let Some((to, found)) = static_ch.zip(found.static_ch) {
                to.write(&[found]);
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
/// Other arguments are as in `gpp_sums`; the screening may be on the GPU. The version is the fastest for
/// matrices, whatever `gpp_set_version` says: "ring", "m16n8k16" or "wide" on recent GPUs, "cpu" on a CPU. A
/// GPU keeps only the placed screening for the next call.
///
/// # Safety
/// As of `gpp_sums`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_matrix(
    handle: *mut Handle,
    screening: *const Screening,
    bands: *const MatrixBands,
    nw: i64,
    omega: *const f64,
    formula: *const Formula,
    sx: *mut Complex,
    ch: *mut Complex,
) -> Status {
    calculate(handle, |work| {
        let Work { calculator, placed, .. } = work;
        let mut checks = Checks::by(calculator);
        // SAFETY: the caller's word.
        let (found, [sx, ch]) = unsafe {
            let of = CallScreening::check(&mut checks, screening, placed)?;
            let [ncouls, _] = of.extents();
            let b: &MatrixBands = checks.one("bands", bands)?;
            let (bands, nbands) =
                (extent("bands", b.bands, [1, MOST_BANDS])?, indexed("nbands", b.nbands)?);
            let small =
                BandEnergies::check(&mut checks, (nbands, b.e, b.occ), (nw, omega), formula)?;
            let (shape, on_device) =
                ([ncouls, nbands * bands], flag("bands.on_device", b.on_device)?);
            let a = checks.matrix("a", b.a, shape, b.ld_a, on_device)?;
            let at_bands = flag("bands.at_bands", b.at_bands)?;
            let len = bands * bands * if at_bands { 2 } else { small.omega.len() };
            let out = [checks.written("sx", sx, len)?, checks.written("ch", ch, len)?];
            let a = match a {
                Matrix::Host(a) => a,
                Matrix::Device(a) => calculator.fetch_matrix("a", a, shape)?.into(),
            };
            let mut once = None;
            let placed = of.in_place(calculator, &mut once)?;
            let BandEnergies { e, occ, omega, formula } = &small;
            let bands = gpp_core::MatrixBands { a: &a, e, occ, at_bands };
            (calculator.matrix_at(placed, &bands, omega, *formula)?, out)
        };
        (work.version, work.seconds) = (found.version, found.seconds);
        // SAFETY: the caller's word.
        unsafe {
            sx.write(&found.sums.sx);
            ch.write(&found.sums.ch);
        }
        Ok(())
    })
}

/// A string of C's.
///
/// # Safety
/// It is null or has its end.
unsafe fn text<'a>(name: &str, at: *const c_char) -> Result<&'a str> {
    addresses(name, at, 1)?;
    // SAFETY: not null; the caller's word.
    let text = unsafe { CStr::from_ptr(at) };
    text.to_str().map_err(|_| Failure::argument(format!("{name} is not in UTF-8")))
}

// `hypot` has a version of its own since glibc 2.35, with which older systems do not load. `hypotf64` is the same
// function, there since 2.27: the shared library, linked with `--wrap=hypot`, calls it by that name.

#[cfg(all(target_env = "gnu", target_arch = "x86_64"))]
std::arch::global_asm!(".globl __wrap_hypot; .hidden __wrap_hypot; __wrap_hypot: jmp hypotf64@PLT");

#[cfg(all(target_env = "gnu", target_arch = "aarch64"))]
std::arch::global_asm!(".globl __wrap_hypot; .hidden __wrap_hypot; __wrap_hypot: b hypotf64");
