//! The face of `gpp` for C, and through `capi/fortran/gpp.f90` for Fortran: a handle, arrays in the memory of the
//! host or of a GPU, a status and a message.
//!
//! No call prints, ends the process, handles a signal or lets a panic out; a fault of gpp itself says on
//! standard error where it is. Threads may call at the same time;
//! calls that calculate with one handle take turns. A process that forks opens its handles after that.
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

/// The library's version, as in "0.1.0": a string that is always there.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero byte"),
        };
    VERSION.as_ptr()
}

/// Opens a device: "cpu", "gpu", "gpu:0", "gpu:1" and so on, or "auto", which is the first GPU, or the
/// CPU if there is none. Writes a handle to `handle`, null after a failure. The caller gives it
/// back to `gpp_close`.
///
/// Programs in C call it by the macro `gpp_open(device, handle)`. `version` is the `GPP_VERSION` of the header that the
/// program was compiled with: structures differ between minor versions, so one of another is refused. `first_index`
/// is what messages count indices from, 0 or 1.
///
/// # Safety
/// `device` is null or a string with its end; `handle` is null or may be written.
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

/// Gives a handle back, once whoever calculates with it has finished; those who wait for their turn get
/// `GPP_STATUS_BAD_ARGUMENT`. Null is taken and does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_close(handle: *mut Handle) -> Status {
    call(|| {
        if !handle.is_null() {
            open::close(handle)?;
        }
        Ok(())
    })
}

/// Runs this version, of those that `gpp list` prints, in place of the fastest for each problem, as in "v13"
/// or "cpu:paired"; "best" is the fastest again. Waits for whoever calculates with the handle. After a failure
/// it stays what it was.
///
/// # Safety
/// `id` is null or a string with its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_set_version(handle: *mut Handle, id: *const c_char) -> Status {
    calculate(handle, |work| {
        // SAFETY: the caller's word.
        let id = unsafe { text("id", id) }?;
        Ok(work.calculator.set_version(id)?)
    })
}

/// Arrays on the GPU are made in this stream of the caller's, a `CUstream` or `cudaStream_t` of the device's
/// primary context, which the CUDA runtime uses; null is the default stream. A call that reads such arrays
/// begins when all that the stream has under way is done. The stream has to be there as long as it is set.
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

/// Has `progress` called with the part of a call of this handle that is done, from 0 to 1: about every 10 ms, by the
/// thread that has made the call, and at the end. A number other than 0 that it returns ends the call with
/// GPP_STATUS_STOPPED: within 50 ms on a CPU, and on a GPU after what is launched. Sums do not depend on it. Null takes
/// it back.
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

/// The memory that a call takes at most beside the caller's arrays, in bytes, with the static CH: on the host, and
/// on each GPU for the whole problem at once. Arrays of the host go to a GPU with less room in slabs. Nothing is
/// allocated.
///
/// `screening_on_device` is 1 if `wtilde` and `eps` are on the GPU, else 0; `bands_on_device` is 1 if matrix elements
/// are, else 0.
///
/// # Safety
/// `host` and `device` are null or may be written.
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
/// `gpp_release`. On one GPU `wtilde` and `eps` stay there from the first sums on, if there is room. `wtilde`
/// and `eps` have to stay as they are meanwhile; what is small is copied. Those that are on the GPU are brought to
/// the host here, once, and stay there too. After a failure what was placed before is still there.
///
/// # Safety
/// As of `gpp_sums`; `wtilde` and `eps` are there, and nobody changes them, as long as they are placed.
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

/// Lets go of what `gpp_place` has placed; nothing if that is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_release(handle: *mut Handle) -> Status {
    calculate(handle, |work| {
        work.placed = None;
        Ok(())
    })
}

/// Computes on so many threads of the CPU from now on, 1 to 65535; 0 takes that back: then there are as many
/// as OMP_NUM_THREADS said at `gpp_open`, else as many as the affinity mask and the cgroup of the thread that called
/// it leave room for. Sums have the same bits for any number. Threads are bound to no core: they have the mask of the
/// thread that calls first, whose own mask stays as it is. For a handle of a GPU they look at arrays. Waits for whoever calculates with the handle. After a failure the number stays what it was.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_set_threads(handle: *mut Handle, threads: i32) -> Status {
    calculate(handle, |work| {
        let number = u16::try_from(threads).map_err(|_| {
            Failure::argument(format!("threads must be from 0 to {}, found {threads}", u16::MAX))
        })?;
        Ok(work.calculator.set_threads(number.into())?)
    })
}

/// How many threads of the CPU a calculation has at most; 0 for what is no handle. Like all that a handle
/// answers, it waits for whoever calculates with it.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_threads(handle: *const Handle) -> i32 {
    ask(handle, |work| i32::try_from(work.calculator.threads()).unwrap_or(i32::MAX))
}

/// What the device is called: a string that is valid until this thread calls the function again; empty for
/// what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_device_name(handle: *const Handle) -> *const c_char {
    store(open::Text::DeviceName, &ask(handle, |work| work.calculator.device().name.clone()));
    stored(open::Text::DeviceName)
}

/// The version that `gpp_sums` or `gpp_matrix` ran last: a string that is valid until this thread calls the
/// function again; empty if none ran, and for what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_version(handle: *const Handle) -> *const c_char {
    store(open::Text::LastVersion, ask(handle, |work| work.version));
    stored(open::Text::LastVersion)
}

/// Seconds that the kernels of the last `gpp_sums` or `gpp_matrix` took; with uploads if the device had no room
/// for the whole problem. 0 if none ran, and for what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_seconds(handle: *const Handle) -> f64 {
    ask(handle, |work| work.seconds)
}

/// Why the last call of this thread that failed did so: a string that is valid until another one fails; empty if
/// none did.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_message() -> *const c_char {
    stored(open::Text::Message)
}

/// Fails with `GPP_STATUS_BAD_ARGUMENT` and this message: how a module in another language refuses an argument before
/// it calls.
///
/// # Safety
/// `message` is null or a string with its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_refuse(message: *const c_char) -> Status {
    // SAFETY: the caller's word.
    call(|| Err(Failure::argument(unsafe { text("message", message) }?.into())))
}

/// Sums screened exchange and Coulomb hole over bands, G' and G at `nw` energies `omega` in eV, from 1 to
/// 100000 of them; the zero of energy is that of the bands. Writes them to `asx` and `ach`, `(nw)` each, in
/// the unit of `vcoul`: of this rank's G', to be summed over ranks by the caller. After a failure they are
/// as they were.
///
/// Where `static_ch` is not null, it is given the static CH of the same bands, the sum of `-vcoul * eps *
/// conj(aqsm) * aqsn / 2` over bands, G' and G: what BerkeleyGW's `acc_static_ch` sums for `exact_static_ch 1`.
///
/// A null `screening` is the one of `gpp_place`. Arrays are where their structures say; `asx`, `ach`, `static_ch`
/// and what is small are in the host's memory, and what is small may be on the handle's GPU. Pointers are at
/// multiples of 8 bytes, those to `int32_t` of 4, matrices on a GPU of 16. What is written shares no byte with
/// anything else that is given. A null `formula` is BerkeleyGW's. Memory beside the caller's is needed for the
/// rows of `aqsm`, for copies of arrays whose columns do not follow each other, and for what a version lays out
/// anew. Numbers of matrix elements on a GPU are not looked at: sums with one that is none are none.
///
/// # Safety
/// Pointers that are not null point to as many elements as the extents say, which no thread changes during
/// the call, nor a stream but that of `gpp_set_stream` before; no thread reads what is written meanwhile.
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

/// Sums the elements of screened exchange and Coulomb hole between all bands l and m over bands n, G' and G at `nw`
/// energies `omega` in eV. Writes them to `sx` and `ch`, `(bands, bands, nw)` each, l fastest, then m: element (l,
/// m) at energy iw is entry `l + bands * (m + bands * iw)`, counted from 0. Those of l = m are what `gpp_sums` finds
/// with the elements of l as `aqsn` and `aqsm`. They have the unit of `vcoul` and are of this rank's G', to be
/// summed over ranks by the caller. After a failure `sx` and `ch` are as they were.
///
/// With `at_bands` they are `(bands, bands, 2)`: rows at the energies of their bands, `Sigma_lm(omega_l)`, then columns,
/// `Sigma_lm(omega_m)`.
///
/// Other arguments as of `gpp_sums`, with the same rules; the screening may be one of the GPU's. The version is the
/// fastest for matrices, whatever `gpp_set_version` says: "ring", "m16n8k16" or "wide" on recent GPUs, "cpu" on a
/// CPU. A GPU keeps nothing for the next call but what `gpp_place` has placed.
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
