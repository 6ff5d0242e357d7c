//! What the functions are given, as C has it.

use std::ffi::c_void;

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
/// memory; on a handle of one GPU `wtilde` and `eps` may be in that of the GPU, where `on_device` says so, and
/// what is small may be in either. The caller owns them; a call reads them and keeps none. Extents are from 1 to
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
    /// Elements from one column of `wtilde` to the next; at least `ncouls`. Where it is more, a call copies.
    pub ld_wtilde: i64,
    /// Identity less the inverse dielectric matrix, `I_eps_array(ig, igp)`, no unit.
    pub eps: *const Complex,
    /// Elements from one column of `eps` to the next; at least `ncouls`. Where it is more, a call copies.
    pub ld_eps: i64,
    /// Coulomb interaction of each G, `(ncouls)`; the sums have its unit.
    pub vcoul: *const f64,
    /// G' of each column, `(ngpown)`: an index into `indinv`, from 1 to `ng`.
    pub inv_igp_index: *const i32,
    /// Row of each G vector, `(ng)`: from 1 to `ncouls`; others have none, and add nothing.
    pub indinv: *const i32,
    /// 1 where `wtilde` and `eps` are in the memory of the handle's GPU, else 0.
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
    /// Elements from one column of `aqsn` to the next; at least `ncouls`. Where it is more, a call copies.
    pub ld_aqsn: i64,
    /// Matrix elements of G', no unit: `aqsmtemp(ig, n)`, `ncouls` rows, of which those of G' are taken; or
    /// `(igp, n)`, `ngpown` rows, where `aqsm_local` is 1.
    pub aqsm: *const Complex,
    /// Elements from one column of `aqsm` to the next; at least its rows.
    pub ld_aqsm: i64,
    /// 0 where `aqsm` has a row for each G, 1 where it has one for each G'.
    pub aqsm_local: i32,
    /// Energy of each band in eV, `(nbands)`.
    pub e: *const f64,
    /// Occupation of each band, from 0 to 1, `(nbands)`.
    pub occ: *const f64,
    /// 1 where `aqsn` and `aqsm` are in the memory of the handle's GPU, else 0.
    pub on_device: i32,
}

/// What the memory of a call depends on.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// G vectors.
    pub ncouls: i64,
    /// G' vectors.
    pub ngpown: i64,
    /// Bands.
    pub nbands: i64,
    /// Energies.
    pub nw: i64,
    /// 1 where `wtilde` and `eps` are on the GPU, else 0.
    pub screening_on_device: i32,
    /// 1 where matrix elements are, else 0.
    pub bands_on_device: i32,
}

/// Told which part of a calculation is done, from 0 to 1, with the context that was given beside it. A number
/// other than 0 stops the calculation: the call ends with `GPP_STATUS_STOPPED`. It is called by the thread
/// that has made the call, while it is under way, and must not call functions of this handle.
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
