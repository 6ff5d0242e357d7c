//! Types of the C interface.

use std::ffi::c_void;

use gpp_core::Error;

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
}

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    pub message: String,
}

impl Failure {
    /// An argument that cannot be taken.
    pub fn argument(message: String) -> Failure {
        Failure { status: Status::BadArgument, message }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { status: status(&error), message: error.to_string() }
    }
}

fn status(error: &Error) -> Status {
    match error {
        Error::Unknown { .. } | Error::Input { .. } => Status::BadArgument,
        Error::NoGpu { .. } => Status::NoDevice,
        Error::Driver(_) => Status::DeviceFailed,
        Error::Memory { .. } => Status::Memory,
        Error::Stopped { .. } => Status::Stopped,
        _ => Status::Internal,
    }
}

/// A complex number, laid out as C's `double _Complex`, C++'s `std::complex<double>` and Fortran's
/// `complex(c_double_complex)`: cast a pointer to one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
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
/// the host; on a handle of one GPU `wtilde` and `eps` may be on the GPU if `on_device` says so, and small
/// arrays in either. The caller owns them; a call only reads them. Dimensions are from 0 to 2147483647; most
/// problems are limited before that, by memory or by 4294967295 elements of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Screening {
    /// G vectors, the rows of `wtilde` and `eps`.
    pub ncouls: i64,
    /// G' vectors of this rank, the columns of `wtilde` and `eps`.
    pub ngpown: i64,
    /// Length of `indinv`.
    pub ng: i64,
    /// Plasmon poles in eV, `wtilde_array(ig, igp)`.
    pub wtilde: *const Complex,
    /// Elements from one column of `wtilde` to the next; at least `ncouls`. If it is more, a call copies.
    pub ld_wtilde: i64,
    /// Identity less the inverse dielectric matrix, `I_eps_array(ig, igp)`, no unit.
    pub eps: *const Complex,
    /// Elements from one column of `eps` to the next; at least `ncouls`. If it is more, a call copies.
    pub ld_eps: i64,
    /// Coulomb interaction of each G, `(ncouls)`; the sums have its unit.
    pub vcoul: *const f64,
    /// G' of each column, `(ngpown)`: an index into `indinv`, from 1 to `ng`.
    pub inv_igp_index: *const i32,
    /// Row of each G vector, `(ng)`, from 1 to `ncouls`; other values mean no row, which adds nothing.
    pub indinv: *const i32,
    /// 1 if `wtilde` and `eps` are in the memory of the handle's GPU, else 0.
    pub on_device: i32,
}

/// The bands that are summed over. Arrays as in `gpp_screening`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bands {
    /// Bands.
    pub nbands: i64,
    /// Matrix elements of G, `aqsntemp(ig, n)`, `ncouls` rows, no unit.
    pub aqsn: *const Complex,
    /// Elements from one column of `aqsn` to the next; at least `ncouls`. If it is more, a call copies.
    pub ld_aqsn: i64,
    /// Matrix elements of G', no unit: `aqsmtemp(ig, n)` with `ncouls` rows, from which those of G' are copied,
    /// or with `aqsm_local` 1 `(igp, n)` with `ngpown` rows.
    pub aqsm: *const Complex,
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
}

/// The bands l and m of a matrix, and the bands n that are summed over. Arrays as in `gpp_screening`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MatrixBands {
    /// Bands l and m, from 1 to 8192.
    pub bands: i64,
    /// Bands n.
    pub nbands: i64,
    /// Matrix elements of band l with band n, `a(ig, n, l)`, no unit: what `aqsntemp(ig, n)` is if l is the
    /// state. Column (n, l) begins at element `ld_a * (n + nbands * l)`, both counted from 0.
    pub a: *const Complex,
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
/// other than 0 stops the calculation: the call ends with `GPP_STATUS_STOPPED`. It runs on the calling thread
/// and must not call functions of this handle.
pub type Progress = Option<unsafe extern "C" fn(part: f64, context: *mut c_void) -> i32>;

/// Limits of the formula; BerkeleyGW's defaults are 0.5 and 4.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    /// Distance from a pole in eV below which the near form of a term applies, `sig_gamma`.
    pub gamma: f64,
    /// Bound on |ssx| / |eps| for energies below the band, `sexcut`; larger terms are dropped.
    pub sexcut: f64,
}
