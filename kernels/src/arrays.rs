//! The arrays of one problem as a kernel sees them, in the reference program's names.

use num_complex::{Complex, Complex64};

use crate::plan::Plan;
use crate::real::Real;
use crate::target;

/// The three limits of the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// `gamma²` in eV²: nearer to the pole than this, the first branch does not hold.
    pub limittwo: f64,
    /// `1 / (4 · 1e-6)`: bound on `|delw|²` in the first branch.
    pub limitone: f64,
    /// Bound on `|ssx| / |eps|` where `wx < 0`.
    pub sexcut: f64,
}

/// Pointers to one problem's arrays and their extents.
///
/// All arrays are column-major with 0-based indices; the first index named runs fastest.
/// An element's offset is computed in 32 bits, so no array may hold `2³²` elements or more.
#[derive(Clone, Copy)]
pub struct Arrays {
    /// Plasmon-pole modes ω̃ in eV, `(ncouls, ngpown)`.
    pub wtilde: *const Complex64,
    /// `δ − ε⁻¹`, `(ncouls, ngpown)`.
    pub eps: *const Complex64,
    /// Matrix elements of G, `(ncouls, nbands)`.
    pub aqsn: *const Complex64,
    /// Matrix elements of G′, `(ngpown, nbands)` or, [`Swapped`], `(nbands, ngpown)`.
    pub aqsm_local: *const Complex64,
    /// Energies in eV, `(nw, nbands)` or, [`Swapped`], `(nbands, nw)`.
    pub wx: *const f64,
    /// Coulomb interaction of each G′, `(ngpown)`.
    pub vcoul_loc: *const f64,
    /// Occupation of each band: 0, ½ or 1, `(nbands)`.
    pub occ: *const f64,
    /// Bands.
    pub nbands: u32,
    /// G′ vectors of this rank.
    pub ngpown: u32,
    /// G vectors.
    pub ncouls: u32,
    /// Energies held in `wx`.
    pub nw: u32,
    /// Limits of the formula.
    pub limits: Limits,
    /// The plan, of versions that follow one.
    pub plan: Plan,
}

/// Index order of `wx` and `aqsm_local`.
pub trait Layout {
    /// Offset of `wx(iw, n)`.
    fn wx(arrays: &Arrays, iw: u32, n: u32) -> u32;
    /// Offset of `aqsm_local(igp, n)`.
    fn aqsm_local(arrays: &Arrays, igp: u32, n: u32) -> u32;
}

/// The reference's order: `wx(iw,n)`, `aqsm_local(igp,n)`.
pub struct Original;

/// The order of v7 and v8: `wx(n,iw)`, `aqsm_local(n,igp)`.
pub struct Swapped;

impl Layout for Original {
    #[inline(always)]
    fn wx(arrays: &Arrays, iw: u32, n: u32) -> u32 {
        n * arrays.nw + iw
    }

    #[inline(always)]
    fn aqsm_local(arrays: &Arrays, igp: u32, n: u32) -> u32 {
        n * arrays.ngpown + igp
    }
}

impl Layout for Swapped {
    #[inline(always)]
    fn wx(arrays: &Arrays, iw: u32, n: u32) -> u32 {
        iw * arrays.nbands + n
    }

    #[inline(always)]
    fn aqsm_local(arrays: &Arrays, igp: u32, n: u32) -> u32 {
        igp * arrays.nbands + n
    }
}

/// The original order with rows of zeros added to `aqsm_local` and `wx`: blocks read whole tiles and
/// 16 bytes at once.
pub struct Planned;

impl Planned {
    /// Rows of `wx`.
    pub const ENERGIES: u32 = 4;

    /// Rows of `aqsm_local` for `ngpown` G′: whole blocks of every shape of tiles.
    #[inline(always)]
    pub const fn rows(ngpown: u32) -> u32 {
        ngpown.next_multiple_of(48)
    }
}

impl Layout for Planned {
    #[inline(always)]
    fn wx(_: &Arrays, iw: u32, n: u32) -> u32 {
        n * Planned::ENERGIES + iw
    }

    #[inline(always)]
    fn aqsm_local(arrays: &Arrays, igp: u32, n: u32) -> u32 {
        n * Planned::rows(arrays.ngpown) + igp
    }
}

/// Element reads. `ig < ncouls`, `igp < ngpown`, `n < nbands` and `iw < nw` are the caller's
/// to keep, as is that the pointers are valid for the extents (the contract of every body).
impl Arrays {
    /// `wtilde(ig, igp)`.
    ///
    /// # Safety
    /// Indices in range, arrays valid for their extents.
    #[inline(always)]
    pub unsafe fn wtilde<R: Real>(&self, ig: u32, igp: u32) -> Complex<R> {
        // SAFETY: in range by the caller's contract.
        R::complex(unsafe { target::load(self.wtilde, igp * self.ncouls + ig) })
    }

    /// `eps(ig, igp)`.
    ///
    /// # Safety
    /// Indices in range, arrays valid for their extents.
    #[inline(always)]
    pub unsafe fn eps<R: Real>(&self, ig: u32, igp: u32) -> Complex<R> {
        // SAFETY: in range by the caller's contract.
        R::complex(unsafe { target::load(self.eps, igp * self.ncouls + ig) })
    }

    /// `M = conj(aqsm_local(igp, n)) · aqsn(ig, n)`.
    ///
    /// # Safety
    /// Indices in range, arrays valid for their extents in the order of `L`.
    #[inline(always)]
    pub unsafe fn matngmatmgp<R: Real, L: Layout>(&self, ig: u32, igp: u32, n: u32) -> Complex<R> {
        // SAFETY: in range by the caller's contract.
        let (aqsm, aqsn) = unsafe {
            (
                target::load(self.aqsm_local, L::aqsm_local(self, igp, n)),
                target::load(self.aqsn, n * self.ncouls + ig),
            )
        };
        let m = R::complex(aqsm).conj() * R::complex(aqsn);
        Complex::new(m.re.settle(), m.im.settle())
    }

    /// `wx(iw, n)`.
    ///
    /// # Safety
    /// Indices in range, arrays valid for their extents in the order of `L`.
    #[inline(always)]
    pub unsafe fn wx<R: Real, L: Layout>(&self, iw: u32, n: u32) -> R {
        // SAFETY: in range by the caller's contract.
        R::of(unsafe { *self.wx.add(L::wx(self, iw, n) as usize) }).settle()
    }

    /// `vcoul_loc(igp)`.
    ///
    /// # Safety
    /// Index in range, array valid for its extent.
    #[inline(always)]
    pub unsafe fn vcoul_loc<R: Real>(&self, igp: u32) -> R {
        // SAFETY: in range by the caller's contract.
        R::of(unsafe { *self.vcoul_loc.add(igp as usize) })
    }

    /// `occ(n)`.
    ///
    /// # Safety
    /// Index in range, array valid for its extent.
    #[inline(always)]
    pub unsafe fn occ<R: Real>(&self, n: u32) -> R {
        // SAFETY: in range by the caller's contract.
        R::of(unsafe { *self.occ.add(n as usize) })
    }
}

/// What one thread, one block or one launch has summed: a complex pair for each energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums<R, const NW: usize> {
    /// Screened-exchange sums, with the sign of the definition.
    pub asx: [Complex<R>; NW],
    /// Coulomb-hole sums.
    pub ach: [Complex<R>; NW],
}

impl<R: Real, const NW: usize> Sums<R, NW> {
    /// Nothing summed yet.
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = Complex::new(R::zero(), R::zero());
        Sums { asx: [zero; NW], ach: [zero; NW] }
    }
}
