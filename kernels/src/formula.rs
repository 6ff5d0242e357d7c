//! What all versions share of the formula: the factors of one `(ig, igp)` pair and the update.
//!
//! With `w = wx(iw,n)`, `wdiff = w − ω̃`, `delw = ω̃ / wdiff` and `Ω² = ω̃² · eps`, a term is
//!
//! ```text
//! |wdiff|² > limittwo and |delw|² < limitone :  sch = delw · eps,  ssx = Ω² / (w² − ω̃²)
//! else if |delw|² > TOL_ZERO                 :  sch = 0,           ssx = −Ω² · delw / (4ω̃²(delw + ½))
//! else                                       :  sch = ssx = 0
//! if |ssx| > sexcut·|eps| and w < 0          :  ssx = 0
//! ```
//!
//! How the quotients, the absolute values and the branch are written is what v0 to v3 differ in;
//! see `term` in each. All of them take the two denominators from [`first_denominator`] and
//! [`second_denominator`], which lose no digits however near `w` is to `ω̃` or `−ω̃`. On a pole itself
//! (`wdiff = 0`) `delw` is not a number, no comparison holds and the term is zero, as in the reference. At
//! `w = −ω̃` `ssx` is infinite, NaN in the arithmetic, and cut off like every other that is too large: see
//! [`is_cut_off`].

use num_complex::{Complex, Complex64};

use crate::arrays::{Arrays, Limits};
use crate::intrinsics::settle;
use crate::sums::Sums;

/// Smallest `|delw|²` that the second branch takes.
pub const TOL_ZERO: f64 = 1e-12;

/// `1 / (4 · 1e-6)`, the reference's bound on `|delw|²` in the first branch.
pub const LIMITONE: f64 = 1.0 / (4.0 * 1e-6);

/// Factors of a term that depend on `(ig, igp)` only.
#[derive(Clone, Copy)]
pub struct Pair {
    /// ω̃ in eV.
    pub wtilde: Complex64,
    /// ω̃².
    pub wtilde2: Complex64,
    /// `δ − ε⁻¹`.
    pub eps: Complex64,
    /// Ω² = ω̃² · eps.
    pub omega2: Complex64,
}

impl Pair {
    /// Reads `wtilde(ig, igp)` and `eps(ig, igp)`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), `ig < ncouls` and `igp < ngpown`.
    #[inline(always)]
    pub unsafe fn load(arrays: &Arrays, ig: u32, igp: u32) -> Self {
        // SAFETY: the launch contract, the pair in range.
        let (wtilde, eps) = unsafe { (arrays.wtilde(ig, igp), arrays.eps(ig, igp)) };
        let wtilde2 = wtilde * wtilde;
        Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps }
    }
}

/// What a thread has of a pair before it goes through the bands: a [`Pair`], or more.
pub trait Factors: Sized {
    /// Reads and computes them for `(ig, igp)`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), `ig < ncouls` and `igp < ngpown`.
    unsafe fn load(arrays: &Arrays, ig: u32, igp: u32) -> Self;
}

impl Factors for Pair {
    #[inline(always)]
    unsafe fn load(arrays: &Arrays, ig: u32, igp: u32) -> Self {
        // SAFETY: the launch contract, the pair in range.
        unsafe { Pair::load(arrays, ig, igp) }
    }
}

/// `ssx` and `sch` of one term.
#[derive(Clone, Copy)]
pub struct Term {
    /// Screened exchange.
    pub ssx: Complex64,
    /// Coulomb hole.
    pub sch: Complex64,
}

impl Term {
    /// Both zero.
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = Complex::new(0.0, 0.0);
        Term { ssx: zero, sch: zero }
    }

    /// Without `ssx` where the cutoff takes it: see [`is_cut_off`].
    #[inline(always)]
    pub fn cut<S: Size>(mut self, w: f64, ssxcutoff: f64) -> Self {
        if is_cut_off(w, || S::of(self.ssx), ssxcutoff) {
            self.ssx = Term::zero().ssx;
        }
        self
    }
}

/// How a version writes one term: its factors, `wx(iw,n)` and the limits.
pub trait TermFn<P = Pair>: Fn(&P, f64, &Limits) -> Term {}
impl<P, F: Fn(&P, f64, &Limits) -> Term> TermFn<P> for F {}

/// How a version writes `|ssx|` and `sexcut·|eps|`, which are only compared: as they are, or squared.
pub trait Size {
    /// The size of `ssx`.
    fn of(ssx: Complex64) -> f64;
    /// What it is compared with.
    fn ssxcutoff(sexcut: f64, eps: Complex64) -> f64;
}

/// `wdiff = w − ω̃`.
#[inline(always)]
pub fn wdiff(w: f64, wtilde: Complex64) -> Complex64 {
    Complex::new(w - wtilde.re, -wtilde.im)
}

/// `w² − ω̃²`, the first branch's denominator. Its real part is `(w − Re ω̃)(w + Re ω̃) + (Im ω̃)²`:
/// where these two cancel, the imaginary part is as large as they are.
#[inline(always)]
pub fn first_denominator(
    wsum: f64,
    wdiff: Complex64,
    wtilde: Complex64,
    wtilde2: Complex64,
) -> Complex64 {
    Complex::new(wdiff.re * wsum + wtilde.im * wtilde.im, -wtilde2.im)
}

/// `2ω̃(w + ω̃)`, which is the second branch's `4ω̃²(delw + ½) / delw`.
#[inline(always)]
pub fn second_denominator(wsum: f64, wtilde: Complex64) -> Complex64 {
    wtilde * (Complex::new(wsum, wtilde.im) * 2.0)
}

/// Whether the cutoff takes a term: `w < 0` and the size of its `ssx` is above `bound`, or NaN.
#[inline(always)]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "an infinite ssx arrives as NaN")]
pub fn is_cut_off(w: f64, size: impl FnOnce() -> f64, bound: f64) -> bool {
    w < 0.0 && !(size() <= bound)
}

impl<const NW: usize> Sums<NW> {
    /// Adds one term: `asx −= vcoul·occ·ssx·M`, `ach += vcoul·½·sch·M`. Settled, so that the terms of
    /// two energies are not computed at once, with the registers of both.
    #[inline(always)]
    pub fn update(&mut self, iw: usize, vcoul: f64, occ: f64, term: Term, matngmatmgp: Complex64) {
        let asx = term.ssx * (vcoul * occ) * matngmatmgp;
        let ach = term.sch * (vcoul * 0.5) * matngmatmgp;
        let (asx, ach) = (self.asx[iw] - asx, self.ach[iw] + ach);
        self.asx[iw] = Complex::new(settle(asx.re), settle(asx.im));
        self.ach[iw] = Complex::new(settle(ach.re), settle(ach.im));
    }
}
