//! The face of `gpp` for C, and through `capi/fortran/gpp.f90` for Fortran: a handle, arrays in the memory of the
//! host or of a GPU, a status and a message.
//!
//! No call prints, ends the process, handles a signal or lets a panic out; a fault of gpp itself says on
//! standard error where it is. Threads may call at the same time;
//! calls that calculate with one handle take turns. A process that forks opens its handles after that.
//!
//! In the header `include/gpp.h`, which cbindgen makes of this file, types are called `gpp_…`.

mod border;
mod bound;
mod given;
mod matrix;
mod open;
mod small;
mod status;
mod threads;
mod told;
mod types;

use std::ffi::{CStr, c_char, c_void};

use gpp_core::Calculator;
use gpp_core::lent::ForeignStream;

use border::{Seen, addresses};
pub use bound::gpp_bound;
use given::Given;
pub use matrix::{MatrixBands, gpp_matrix};
use open::{Work, call};
use status::Failure;
pub use status::Status;
pub use threads::{gpp_set_threads, gpp_threads};
pub use types::{Bands, Complex, Formula, Handle, Progress, Screening, Sizes};

type Result<T> = std::result::Result<T, Failure>;

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
/// processor where there is none. Writes a handle to `handle`, null after a failure. The caller gives it
/// back to `gpp_close`.
///
/// # Safety
/// `device` is null or a string with its end; `handle` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_open(device: *const c_char, handle: *mut *mut Handle) -> Status {
    call(|| {
        addresses("handle", handle, 1)?;
        // SAFETY: not null and aligned; the caller's word is that it may be written.
        unsafe { handle.write(std::ptr::null_mut()) };
        // SAFETY: the caller's word.
        let device = unsafe { text("device", device) }?;
        let calculator = Calculator::open(device)?;
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
            let open = open::remove(handle)?;
            drop(open::locked(&open.work).take());
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
    open::calculate(handle, |work, _| {
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
    open::calculate(handle, |work, _| {
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
    open::calculate(handle, |work, _| {
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
/// # Safety
/// Pointers that are not null point to what their types say; `host` and `device` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_workspace(
    handle: *mut Handle,
    sizes: *const Sizes,
    host: *mut u64,
    device: *mut u64,
) -> Status {
    open::calculate(handle, |work, _| {
        addresses("host", host, 1)?;
        addresses("device", device, 1)?;
        // SAFETY: the caller's word.
        let sizes = unsafe { Seen::default().one("sizes", sizes) }?;
        let calculator = work.calculator.clone().with_static_ch(true);
        let found = calculator.workspace(given::sizes(sizes)?)?;
        // SAFETY: not null and aligned; the caller's word.
        unsafe {
            host.write(found.host);
            device.write(found.device);
        }
        Ok(())
    })
}

/// Places a screening for calls of `gpp_sums` and `gpp_matrix` with a null `screening`, until the next one or
/// `gpp_release`. On one GPU `wtilde` and `eps` stay there from the first sums on, where there is room. `wtilde`
/// and `eps` have to stay as they are meanwhile; what is small is copied. Those that are on the GPU are brought to
/// the host here, once, and stay there too. After a failure what was placed before is still there.
///
/// # Safety
/// As of `gpp_sums`; `wtilde` and `eps` are there, and nobody changes them, as long as they are placed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gpp_place(handle: *mut Handle, screening: *const Screening) -> Status {
    open::calculate(handle, |work, _| {
        let mut seen = Seen::of(work.on_gpu());
        // SAFETY: the caller's word.
        work.placed = Some(unsafe { given::placed(&work.calculator, &mut seen, screening) }?);
        Ok(())
    })
}

/// Lets go of what `gpp_place` has placed; nothing where that is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_release(handle: *mut Handle) -> Status {
    open::calculate(handle, |work, _| {
        work.placed = None;
        Ok(())
    })
}

/// What the device is called: a string that is valid until this thread calls the function again; empty for
/// what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_device_name(handle: *const Handle) -> *const c_char {
    let open = open::find(handle);
    told::returned(told::Of::DeviceName, open.as_ref().map_or("", |open| &open.name))
}

/// The version that `gpp_sums` or `gpp_matrix` ran last: a string that is valid until this thread calls the
/// function again; empty where none ran, and for what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_version(handle: *const Handle) -> *const c_char {
    let version = open::find(handle).map_or("", |open| open.told().version);
    told::returned(told::Of::LastVersion, version)
}

/// Seconds that the kernels of the last `gpp_sums` or `gpp_matrix` took; with uploads where the device had no room
/// for the whole problem. 0 where none ran, and for what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_seconds(handle: *const Handle) -> f64 {
    open::find(handle).map_or(0.0, |open| open.told().seconds)
}

/// Why the last call of this handle that failed did so, on whatever thread. For null, and for what is no
/// handle, it is the last call of this thread that failed, `gpp_open` for instance. A string that is valid
/// until this thread calls the function again; empty where nothing failed.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_message(handle: *const Handle) -> *const c_char {
    let message =
        open::find(handle).map_or_else(|_| told::kept(), |open| open.told().message.clone());
    told::returned(told::Of::Message, &message)
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
    open::calculate(handle, |work, open| {
        let mut seen = Seen::of(work.on_gpu());
        let Work { calculator, placed } = work;
        let calculator = &calculator.clone().with_static_ch(!static_ch.is_null());
        // SAFETY: the caller's word.
        let (found, [asx, ach], static_ch) = unsafe {
            let (once, extents) = given::once(calculator, &mut seen, screening, placed.as_ref())?;
            let given = Given::seen(calculator, &mut seen, extents, bands, (nw, omega), formula)?;
            let out =
                [seen.written("asx", asx, given.nw())?, seen.written("ach", ach, given.nw())?];
            let static_ch = match static_ch.is_null() {
                true => None,
                false => Some(seen.written("static_ch", static_ch, 1)?),
            };
            (given.sums(calculator, once, placed.as_mut())?, out, static_ch)
        };
        let mut told = open.told();
        (told.version, told.seconds) = (found.version, found.seconds);
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
