//! What the functions are given and return, as C has it.

use std::ffi::c_void;

use gpp_core::Error;

/// How a call ended. What went wrong is in `gpp_message`. A handle stays usable after each of them.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All went well.
    Ok = 0,
    /// An argument that cannot be taken; the message names it.
    BadArgument = 1,
    /// The device asked for is not there.
    NoDevice = 2,
    /// The device or its driver refused an operation.
    DeviceFailed = 3,
    /// Too little memory on the host or on the device.
    Memory = 4,
    /// The function of `gpp_set_progress` stopped it.
    Stopped = 5,
    /// A fault of the library.
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

/// A complex number: the real part, then the imaginary one. C's `double _Complex`, C++'s
/// `std::complex<double>` and Fortran's `complex(c_double_complex)` lie in memory like this: cast a pointer
/// to one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

/// An open device, by which calls name it. It points to nothing that a caller may read.
pub struct Handle {
    _opaque: [u8; 0],
}

/// The screening of one rank at one q. Arrays are column-major, the first index fastest. They are in the host's
/// memory; on a handle of one GPU `wtilde` and `eps` may be in that of the GPU, if `on_device` says so, and
/// what is small may be in either. The caller owns them; a call reads them and keeps none. Extents are from 0 to
/// 2147483647; most problems are bounded before that, by memory or by 4294967295 elements of an array.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Screening {
    /// G vectors, the rows of `wtilde` and `eps`.
    pub ncouls: i64,
    /// G' vectors of this rank, the columns of `wtilde` and `eps`.
    pub ngpown: i64,
    /// Length of `indinv`.
    pub ng: i64,
    /// Plasmon-pole modes in eV, `wtilde_array(ig, igp)`.
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
    /// Row of each G vector, `(ng)`: from 1 to `ncouls`; others have none, and add nothing.
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
    /// Matrix elements of G', no unit: `aqsmtemp(ig, n)`, `ncouls` rows, of which those of G' are taken; or
    /// `(igp, n)`, `ngpown` rows, if `aqsm_local` is 1.
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
    /// 1 if `a` is in the memory of the handle's GPU, else 0. A call brings it to the host as a whole.
    pub on_device: i32,
    /// 1 if `omega` has the energy of each band l, so that `nw` is `bands`; else 0. Two matrices come of it then,
    /// as QSGW and GWPT take them.
    pub at_bands: i32,
}

/// Told which part of a calculation is done, from 0 to 1, with the context that was given beside it. A number
/// other than 0 stops the calculation: the call ends with `GPP_STATUS_STOPPED`. It is called by the thread that made
/// the call, while that is under way, and must not call functions of this handle.
pub type Progress = Option<unsafe extern "C" fn(part: f64, context: *mut c_void) -> i32>;

/// Limits of the formula; BerkeleyGW's are 0.5 and 4.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    /// Width of a pole in eV, `sig_gamma`.
    pub gamma: f64,
    /// Bound on |ssx| / |eps| below the band, `sexcut`.
    pub sexcut: f64,
}
