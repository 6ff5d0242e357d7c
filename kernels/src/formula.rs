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

use num_complex::Complex;

use crate::arrays::{Arrays, Limits};
use crate::real::Real;
use crate::sums::Sums;

/// Smallest `|delw|²` that the second branch takes.
pub const TOL_ZERO: f64 = 1e-12;

/// `1 / (4 · 1e-6)`, the reference's bound on `|delw|²` in the first branch.
pub const LIMITONE: f64 = 1.0 / (4.0 * 1e-6);

/// Factors of a term that depend on `(ig, igp)` only.
#[derive(Clone, Copy)]
pub struct Pair<R> {
    /// ω̃ in eV.
    pub wtilde: Complex<R>,
    /// ω̃².
    pub wtilde2: Complex<R>,
    /// `δ − ε⁻¹`.
    pub eps: Complex<R>,
    /// Ω² = ω̃² · eps.
    pub omega2: Complex<R>,
}

impl<R: Real> Pair<R> {
    /// Reads `wtilde(ig, igp)` and `eps(ig, igp)`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), `ig < ncouls` and `igp < ngpown`.
    #[inline(always)]
    pub unsafe fn load(arrays: &Arrays, ig: u32, igp: u32) -> Self {
        // SAFETY: the launch contract, the pair in range.
        let (wtilde, eps) = unsafe { (arrays.wtilde::<R>(ig, igp), arrays.eps::<R>(ig, igp)) };
        let wtilde2 = wtilde * wtilde;
        Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps }
    }
}

/// What a thread has of a pair before it goes through the bands: a [`Pair`], or more.
pub trait Factors<R>: Sized {
    /// Reads and computes them for `(ig, igp)`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), `ig < ncouls` and `igp < ngpown`.
    unsafe fn load(arrays: &Arrays, ig: u32, igp: u32) -> Self;
}

impl<R: Real> Factors<R> for Pair<R> {
    #[inline(always)]
    unsafe fn load(arrays: &Arrays, ig: u32, igp: u32) -> Self {
        // SAFETY: the launch contract, the pair in range.
        unsafe { Pair::load(arrays, ig, igp) }
    }
}

/// `ssx` and `sch` of one term.
#[derive(Clone, Copy)]
pub struct Term<R> {
    /// Screened exchange.
    pub ssx: Complex<R>,
    /// Coulomb hole.
    pub sch: Complex<R>,
}

impl<R: Real> Term<R> {
    /// Both zero.
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = Complex::new(R::zero(), R::zero());
        Term { ssx: zero, sch: zero }
    }

    /// Without `ssx` where the cutoff takes it: see [`is_cut_off`].
    #[inline(always)]
    pub fn cut<S: Size>(mut self, w: R, ssxcutoff: R) -> Self {
        if is_cut_off(w, || S::of(self.ssx), ssxcutoff) {
            self.ssx = Term::zero().ssx;
        }
        self
    }
}

/// How a version writes one term: its factors, `wx(iw,n)` and the limits.
pub trait TermFn<R, P = Pair<R>>: Fn(&P, R, &Limits) -> Term<R> {}
impl<R, P, F: Fn(&P, R, &Limits) -> Term<R>> TermFn<R, P> for F {}

/// How a version writes `|ssx|` and `sexcut·|eps|`, which are only compared: as they are, or squared.
pub trait Size {
    /// The size of `ssx`.
    fn of<R: Real>(ssx: Complex<R>) -> R;
    /// What it is compared with.
    fn ssxcutoff<R: Real>(sexcut: R, eps: Complex<R>) -> R;
}

/// `wdiff = w − ω̃`.
#[inline(always)]
pub fn wdiff<R: Real>(w: R, wtilde: Complex<R>) -> Complex<R> {
    Complex::new(w - wtilde.re, -wtilde.im)
}

/// `w² − ω̃²`, the first branch's denominator. Its real part is `(w − Re ω̃)(w + Re ω̃) + (Im ω̃)²`:
/// where these two cancel, the imaginary part is as large as they are.
#[inline(always)]
pub fn first_denominator<R: Real>(
    wsum: R,
    wdiff: Complex<R>,
    wtilde: Complex<R>,
    wtilde2: Complex<R>,
) -> Complex<R> {
    Complex::new(wdiff.re * wsum + wtilde.im * wtilde.im, -wtilde2.im)
}

/// `2ω̃(w + ω̃)`, which is the second branch's `4ω̃²(delw + ½) / delw`.
#[inline(always)]
pub fn second_denominator<R: Real>(wsum: R, wtilde: Complex<R>) -> Complex<R> {
    wtilde * (Complex::new(wsum, wtilde.im) * R::of(2.0))
}

/// Whether the cutoff takes a term: `w < 0` and the size of its `ssx` is above `bound`, or NaN.
#[inline(always)]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "an infinite ssx arrives as NaN")]
pub fn is_cut_off<R: Real>(w: R, size: impl FnOnce() -> R, bound: R) -> bool {
    w < R::zero() && !(size() <= bound)
}

impl<R: Real, const NW: usize> Sums<R, NW> {
    /// Adds one term: `asx −= vcoul·occ·ssx·M`, `ach += vcoul·½·sch·M`. Settled, so that the terms of
    /// two energies are not computed at once, with the registers of both.
    #[inline(always)]
    pub fn update(&mut self, iw: usize, vcoul: R, occ: R, term: Term<R>, matngmatmgp: Complex<R>) {
        let asx = term.ssx * (vcoul * occ) * matngmatmgp;
        let ach = term.sch * (vcoul * R::of(0.5)) * matngmatmgp;
        let (asx, ach) = (self.asx[iw] - asx, self.ach[iw] + ach);
        self.asx[iw] = Complex::new(asx.re.settle(), asx.im.settle());
        self.ach[iw] = Complex::new(ach.re.settle(), ach.im.settle());
    }
}
