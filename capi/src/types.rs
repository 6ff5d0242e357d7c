//! What the functions are given, as C has it.

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

/// The screening of one rank at one q. All arrays are in the host's memory, column-major, the first index
/// fastest. The caller owns them; they are read during a call and never kept. Extents are from 1 to
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
}

/// Limits of the formula; BerkeleyGW's are 0.5 and 4.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    /// Width of a pole in eV, `sig_gamma`.
    pub gamma: f64,
    /// Bound on |ssx| / |eps| below the band, `sexcut`.
    pub sexcut: f64,
}
