//! The arrays of one problem as a kernel sees them, in the reference program's names.

use num_complex::{Complex, Complex64};

use crate::intrinsics::{load, settle};
use crate::layout::{Lengths, Order};
use crate::plan::Plan;

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
    /// Matrix elements of G′, `(ngpown, nbands)` or, [swapped](crate::layout::Swapped), `(nbands, ngpown)`.
    pub aqsm_local: *const Complex64,
    /// Energies in eV, `(nw, nbands)` or, [swapped](crate::layout::Swapped), `(nbands, nw)`.
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
    fn lengths(&self) -> Lengths {
        Lengths { nbands: self.nbands, ngpown: self.ngpown, nw: self.nw }
    }

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
            load(self.aqsm_local, L::aqsm_local(self.lengths(), igp, n)),
            load(self.aqsn, n * self.ncouls + ig),
        );
        let m = aqsm.conj() * aqsn;
        Complex::new(settle(m.re), settle(m.im))
    }

    #[inline(always)]
    pub unsafe fn wx<L: Order>(&self, iw: u32, n: u32) -> f64 {
        settle(*self.wx.add(L::wx(self.lengths(), iw, n) as usize))
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
