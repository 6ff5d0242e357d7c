//! The face of `gpp` for C, and through `capi/fortran/gpp.f90` for Fortran: a handle, arrays in the host's
//! memory, a status and a message.
//!
//! No call prints, ends the process, handles a signal or lets a panic out. Threads may call at the same time;
//! calls that calculate with one handle take turns. A process that forks opens its handles after that.
//!
//! In the header `include/gpp.h`, which cbindgen makes of this file, types are called `gpp_…`.

mod border;
mod open;
mod status;
mod told;
mod types;

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use gpp_core::problem::header::MOST_ENERGIES;
use gpp_core::problem::memory;
use gpp_core::{Aqsm, Calculator, catalogue};
use num_complex::Complex64;

use border::{Out, Seen, addresses, extent, finite};
use open::{call, call_of};
use status::Failure;
pub use status::Status;
pub use types::{Bands, Complex, Formula, Handle, Screening};

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
            drop(open::locked(&open.calculator).take());
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
    call_of(handle, |open| {
        // SAFETY: the caller's word.
        let id = unsafe { text("id", id) }?;
        let mut place = open::locked(&open.calculator);
        let calculator = place.take().ok_or_else(|| open::unknown(handle))?;
        // Looked at first: what refuses a version does not give the calculator back.
        let refused = refused(&calculator, id);
        match refused {
            None => *place = Some(calculator.with_version(id)?),
            Some(_) => *place = Some(calculator),
        }
        refused.map_or(Ok(()), Err)
    })
}

fn refused(calculator: &Calculator, id: &str) -> Option<Failure> {
    const BEST: &str = "best";
    if id == BEST {
        return None;
    }
    let Some(found) = catalogue::find(id) else {
        let known = catalogue::versions().map(|listed| listed.id()).chain([BEST]);
        return Some(gpp_core::Error::unknown("version", id, known).into());
    };
    found.kernel.require_on(calculator.device().back_end()).err().map(Failure::from)
}

/// What the device is called: a string that is valid until this thread calls the function again; empty for
/// what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_device_name(handle: *const Handle) -> *const c_char {
    let open = open::find(handle);
    told::returned(told::Of::DeviceName, open.as_ref().map_or("", |open| &open.name))
}

/// The version that `gpp_sums` ran last: a string that is valid until this thread calls the function again;
/// empty where none ran, and for what is no handle.
#[unsafe(no_mangle)]
pub extern "C" fn gpp_last_version(handle: *const Handle) -> *const c_char {
    let version = open::find(handle).map_or("", |open| open.told().version);
    told::returned(told::Of::LastVersion, version)
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
/// All pointers are to the host's memory; pointers to a device's are not taken. They are at multiples of 8
/// bytes, those to `int32_t` of 4. `asx` and `ach` share no byte with each other or anything else that is
/// given. A null `formula` is BerkeleyGW's. Memory beside the caller's is needed for the rows of `aqsm`, for
/// copies of arrays whose columns do not follow each other, and for what a version lays out anew.
///
/// # Safety
/// Pointers that are not null point to as many elements as the extents say, which no thread changes during
/// the call; no thread reads `asx` and `ach` meanwhile.
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
) -> Status {
    open::calculate(handle, |calculator, open| {
        // SAFETY: the caller's word.
        let (given, [asx, ach]) =
            unsafe { Given::seen(screening, bands, (nw, omega), formula, [asx, ach]) }?;
        let found = given.sums(calculator)?;
        open.told().version = found.version;
        // SAFETY: the caller's word.
        unsafe {
            asx.write(&found.sums.asx);
            ach.write(&found.sums.ach);
        }
        Ok(())
    })
}

/// Bytes that the system is not asked about.
const ALWAYS_THERE: usize = 1 << 24;

/// A caller's arrays, looked at.
struct Given<'a> {
    wtilde: Cow<'a, [Complex64]>,
    eps: Cow<'a, [Complex64]>,
    vcoul: &'a [f64],
    inv_igp_index: &'a [i32],
    indinv: &'a [i32],
    aqsn: Cow<'a, [Complex64]>,
    aqsm: Cow<'a, [Complex64]>,
    aqsm_local: bool,
    e: &'a [f64],
    occ: &'a [f64],
    omega: &'a [f64],
    formula: gpp_core::Formula,
}

impl Given<'_> {
    /// # Safety
    /// As of [`gpp_sums`].
    unsafe fn seen<'a>(
        screening: *const Screening,
        bands: *const Bands,
        (nw, omega): (i64, *const f64),
        formula: *const Formula,
        [asx, ach]: [*mut Complex; 2],
    ) -> Result<(Given<'a>, [Out; 2])> {
        let mut seen = Seen::default();
        // SAFETY: of all in the block, the caller's word.
        let given = unsafe {
            let s: &Screening = seen.one("screening", screening)?;
            let b: &Bands = seen.one("bands", bands)?;
            let formula = match formula.is_null() {
                true => gpp_core::Formula::default(),
                false => {
                    let &Formula { gamma, sexcut } = seen.one("formula", formula)?;
                    gpp_core::Formula { gamma, sexcut }
                }
            };
            let indexed = |name, found| extent(name, found, i32::MAX as usize);
            let (ncouls, ngpown) = (indexed("ncouls", s.ncouls)?, indexed("ngpown", s.ngpown)?);
            let (ng, nbands) = (indexed("ng", s.ng)?, indexed("nbands", b.nbands)?);
            let nw = extent("nw", nw, MOST_ENERGIES)?;
            let aqsm_local = match b.aqsm_local {
                0 | 1 => b.aqsm_local == 1,
                other => {
                    let either = format!("aqsm_local must be 0 or 1, found {other}");
                    return Err(Failure::argument(either));
                }
            };
            let rows = if aqsm_local { ngpown } else { ncouls };
            let omega = seen.array("omega", omega, nw)?;
            Given {
                vcoul: seen.array("vcoul", s.vcoul, ncouls)?,
                inv_igp_index: seen.array("inv_igp_index", s.inv_igp_index, ngpown)?,
                indinv: seen.array("indinv", s.indinv, ng)?,
                e: seen.array("e", b.e, nbands)?,
                occ: seen.array("occ", b.occ, nbands)?,
                wtilde: seen.matrix("wtilde", s.wtilde, [ncouls, ngpown], s.ld_wtilde)?,
                eps: seen.matrix("eps", s.eps, [ncouls, ngpown], s.ld_eps)?,
                aqsn: seen.matrix("aqsn", b.aqsn, [ncouls, nbands], b.ld_aqsn)?,
                aqsm: seen.matrix("aqsm", b.aqsm, [rows, nbands], b.ld_aqsm)?,
                aqsm_local,
                omega,
                formula,
            }
        };
        let nw = given.omega.len();
        let out = [seen.written("asx", asx, nw)?, seen.written("ach", ach, nw)?];
        given.require_memory()?;
        finite("e", given.e)?;
        finite("omega", given.omega)?;
        Ok((given, out))
    }

    /// Fails where there is no room for what is copied of the arrays: an allocation that fails ends the process.
    fn require_memory(&self) -> Result<()> {
        let Given { vcoul, inv_igp_index, indinv, e, omega, .. } = self;
        let rows = if self.aqsm_local { 0 } else { inv_igp_index.len() };
        let of_bands = rows * size_of::<Complex64>() + size_of_val(*omega) + 32;
        let others = [size_of_val(*vcoul), size_of_val(*inv_igp_index), size_of_val(*indinv)];
        let bands = of_bands.saturating_mul(e.len());
        let needed = others.into_iter().fold(bands, usize::saturating_add);
        if needed > ALWAYS_THERE {
            memory::require("the rows of aqsm and the energies", needed as u64)?;
        }
        Ok(())
    }

    fn sums(&self, calculator: &Calculator) -> Result<gpp_core::Found> {
        let Given { vcoul, inv_igp_index, indinv, e, occ, omega, formula, .. } = *self;
        let (wtilde, eps) = (&self.wtilde, &self.eps);
        let screening = gpp_core::Screening { wtilde, eps, vcoul, inv_igp_index, indinv };
        let aqsm = if self.aqsm_local { Aqsm::Local(&self.aqsm) } else { Aqsm::Whole(&self.aqsm) };
        let bands = gpp_core::Bands { aqsn: &self.aqsn, aqsm, e, occ };
        Ok(calculator.sums(&screening, &bands, omega, formula)?)
    }
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
