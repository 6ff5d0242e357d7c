//! The arrays of one problem as a kernel sees them, in the reference program's names, and the orders in which kernels
//! find `wx` and `aqsm_local`.

use num_complex::{Complex, Complex64};

use crate::intrinsics::{load, opt_barrier};
use crate::plan::Plan;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// `gamma²` in eV²: nearer to the pole than this, the first branch does not hold.
    pub limittwo: f64,
    /// `1 / (4 · 1e-6)`: bound on `|delw|²` in the first branch.
    pub limitone: f64,
    /// Bound on `|ssx| / |eps|` if `wx < 0`.
    pub sexcut: f64,
}

/// Pointers to one problem's arrays and their dimensions.
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
    /// Coulomb interaction of each `igp`, `(ngpown)`.
    pub vcoul_loc: *const f64,
    /// Occupation of each band: 0, ½ or 1, `(nbands)`.
    pub occ: *const f64,
    pub nbands: u32,
    /// `igp` of the slab.
    pub ngpown: u32,
    /// `ig`.
    pub ncouls: u32,
    /// Energies held in `wx`.
    pub nw: u32,
    pub limits: Limits,
    /// The plan, of versions that follow one.
    pub plan: Plan,
}

/// Element reads, for `ig < ncouls`, `igp < ngpown`, `n < nbands` and `iw < nw`.
impl Arrays {
    #[inline(always)]
    pub unsafe fn wtilde(&self, ig: u32, igp: u32) -> Complex64 {
        load(self.wtilde, igp * self.ncouls + ig)
    }

    #[inline(always)]
    pub unsafe fn eps(&self, ig: u32, igp: u32) -> Complex64 {
        load(self.eps, igp * self.ncouls + ig)
    }

    /// `M = conj(aqsm_local(igp, n)) · aqsn(ig, n)`.
    #[inline(always)]
    pub unsafe fn matngmatmgp<L: Order>(&self, ig: u32, igp: u32, n: u32) -> Complex64 {
        let (aqsm, aqsn) = (
            load(self.aqsm_local, L::aqsm_local(self, igp, n)),
            load(self.aqsn, n * self.ncouls + ig),
        );
        let m = aqsm.conj() * aqsn;
        Complex::new(opt_barrier(m.re), opt_barrier(m.im))
    }

    #[inline(always)]
    pub unsafe fn wx<L: Order>(&self, iw: u32, n: u32) -> f64 {
        opt_barrier(*self.wx.add(L::wx(self, iw, n) as usize))
    }

    #[inline(always)]
    pub unsafe fn vcoul_loc(&self, igp: u32) -> f64 {
        *self.vcoul_loc.add(igp as usize)
    }

    #[inline(always)]
    pub unsafe fn occ(&self, n: u32) -> f64 {
        *self.occ.add(n as usize)
    }
}

/// Index order of `wx` and `aqsm_local`, and order of the bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `wx(iw,n)`, `aqsm_local(igp,n)`.
    Original,
    /// `wx(n,iw)`, `aqsm_local(n,igp)`.
    Swapped,
    /// `wx(iw,n)`, `aqsm_local(igp,n)` padded ([`Planned`]), bands in the order of [`crate::plan`],
    /// whose arguments the entries take.
    Planned,
    /// The same with [lists](crate::lists) of a slab's pairs.
    Listed,
    /// Pairs sorted by their poles, bands fastest: see [`crate::sigma`].
    Clusters,
}

/// A [`Layout`] as a type: offsets of elements.
pub trait Order {
    fn wx(a: &Arrays, iw: u32, n: u32) -> u32;
    fn aqsm_local(a: &Arrays, igp: u32, n: u32) -> u32;
}

/// The reference's order: `wx(iw,n)`, `aqsm_local(igp,n)`.
pub struct Original;

/// The order of v7 and v8: `wx(n,iw)`, `aqsm_local(n,igp)`.
pub struct Swapped;

/// The original order, each band of `aqsm_local` and of `wx` padded with zeros: blocks read whole tiles, and 16 bytes at
/// once.
pub struct Planned;

impl Order for Original {
    #[inline(always)]
    fn wx(a: &Arrays, iw: u32, n: u32) -> u32 {
        n * a.nw + iw
    }

    #[inline(always)]
    fn aqsm_local(a: &Arrays, igp: u32, n: u32) -> u32 {
        n * a.ngpown + igp
    }
}

impl Order for Swapped {
    #[inline(always)]
    fn wx(a: &Arrays, iw: u32, n: u32) -> u32 {
        iw * a.nbands + n
    }

    #[inline(always)]
    fn aqsm_local(a: &Arrays, igp: u32, n: u32) -> u32 {
        igp * a.nbands + n
    }
}

impl Planned {
    /// Energies of a band in `wx`, padding included.
    pub const ENERGIES: u32 = 4;

    /// `igp` of a band in `aqsm_local`, padding included: whole blocks of every shape of tiles.
    #[inline(always)]
    pub const fn rows(ngpown: u32) -> u32 {
        ngpown.next_multiple_of(48)
    }
}

impl Order for Planned {
    #[inline(always)]
    fn wx(_: &Arrays, iw: u32, n: u32) -> u32 {
        n * Planned::ENERGIES + iw
    }

    #[inline(always)]
    fn aqsm_local(a: &Arrays, igp: u32, n: u32) -> u32 {
        n * Planned::rows(a.ngpown) + igp
    }
}
