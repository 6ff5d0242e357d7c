//! The definition: the factors of one `(ig, igp)` pair, a term, and how it is added to the sums.
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
//! How the quotients, the absolute values and the branch are written is what v0 to v3 differ in. All of them take the
//! two denominators from [`first_denominator`] and [`second_denominator`], which lose no digits however near `w` is to
//! `ω̃` or `−ω̃`. [`term`] is v3's form, by which later versions sum fallback pairs. On a pole itself (`wdiff = 0`)
//! `delw` is not a number, no comparison holds and the term is zero, as in the reference. At `w = −ω̃` `ssx` is
//! infinite, NaN in the arithmetic, and cut off like every other that is too large: see [`Term::cut`].

use core::hint::select_unpredictable;

use num_complex::{Complex, Complex64};

use crate::arrays::{Arrays, Limits};
use crate::intrinsics::{approximate_reciprocal, opt_barrier, sqrt};

/// Smallest `|delw|²` that the second branch takes.
pub const TOL_ZERO: f64 = 1e-12;

/// `1 / (4 · 1e-6)`, the reference's bound on `|delw|²` in the first branch.
pub const LIMITONE: f64 = 1.0 / (4.0 * 1e-6);

/// A bound that no `|delw|²` reaches, so that the first branch holds but at the pole itself. Its root has a reciprocal.
pub const UNLIMITED: f64 = 1e100;

impl Limits {
    /// Whether they are those of the time-ordered formula with a window, whose square `limittwo` then is: see
    /// [`windowed`].
    pub fn has_window(&self) -> bool {
        self.limitone == UNLIMITED && self.limittwo > 0.0
    }
}

/// Factors of a term that depend on `(ig, igp)` only.
#[derive(Clone, Copy)]
pub struct Pair {
    /// ω̃ in eV.
    pub wtilde: Complex64,
    pub wtilde2: Complex64,
    /// `δ − ε⁻¹`.
    pub eps: Complex64,
    /// Ω² = ω̃² · eps.
    pub omega2: Complex64,
}

impl Pair {
    #[inline(always)]
    pub fn new(wtilde: Complex64, eps: Complex64) -> Self {
        let wtilde2 = wtilde * wtilde;
        Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps }
    }

    #[inline(always)]
    pub unsafe fn load(arrays: &Arrays, ig: u32, igp: u32) -> Self {
        Pair::new(arrays.wtilde(ig, igp), arrays.eps(ig, igp))
    }
}

#[derive(Clone, Copy)]
pub struct Term {
    pub ssx: Complex64,
    pub sch: Complex64,
}

impl Term {
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = Complex::new(0.0, 0.0);
        Term { ssx: zero, sch: zero }
    }

    /// Without `ssx` if the cutoff takes it: `w < 0` and `size`, as a version writes absolute values, is above `bound`, or
    /// NaN.
    #[inline(always)]
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "an infinite ssx arrives as NaN")]
    pub fn cut(mut self, w: f64, size: impl FnOnce(Complex64) -> f64, bound: f64) -> Self {
        if w < 0.0 && !(size(self.ssx) <= bound) {
            self.ssx = Term::zero().ssx;
        }
        self
    }

    /// The derivative of both with respect to `w`, by `q = 1/(w − ω̃)` and `p = 1/(w + ω̃)`.
    #[inline(always)]
    fn derivative(self, q: Complex64, p: Complex64) -> Term {
        let Term { ssx, sch } = self;
        Term { ssx: unless_zero(ssx, -(ssx * (q + p))), sch: -(sch * q) }
    }
}

#[inline(always)]
pub fn abs(z: Complex64) -> f64 {
    sqrt(abs2(z))
}

#[inline(always)]
pub fn abs2(z: Complex64) -> f64 {
    z.norm_sqr()
}

/// One term, with reciprocals, squares and a two-way branch.
#[inline]
pub fn term(pair: &Pair, w: f64, limits: &Limits) -> Term {
    let term = branches(pair, w, limits);
    term.cut(w, abs2, limits.sexcut * limits.sexcut * abs2(pair.eps))
}

/// The same before the cutoff.
#[inline(always)]
pub fn branches(pair: &Pair, w: f64, limits: &Limits) -> Term {
    let Pair { wtilde, wtilde2, eps, omega2 } = *pair;
    let wsum = opt_barrier(w + wtilde.re);
    let wdiff = wdiff(w, wtilde);
    let wdiffr = wdiff.norm_sqr();
    let rden = 1.0 / wdiffr;
    let delw = wtilde * wdiff.conj() * rden;
    let delwr = delw.norm_sqr();
    let mut term = Term::zero();
    if wdiffr > limits.limittwo && delwr < limits.limitone {
        let cden = first_denominator(wsum, wdiff, wtilde, wtilde2);
        term.sch = delw * eps;
        term.ssx = omega2 * reciprocal(cden);
    } else if delwr > TOL_ZERO {
        let cden = second_denominator(wsum, wtilde);
        term.ssx -= omega2 * reciprocal(cden);
    }
    term
}

/// A term of the time-ordered formula for a real pole, with a window `g`, `limittwo = g²`: `1/x` becomes
/// `(x − ig)/(x² + g²)` if `x = w − ω̃`, or `(x + ig)/(x² + g²)` if `x = w + ω̃`, where `|x| ≤ g`.
#[inline(always)]
pub fn windowed(pair: &Pair, w: f64, limits: &Limits) -> Term {
    let [q, p] = window_quotients(pair, w, limits);
    let residue = pair.wtilde * pair.eps;
    Term { ssx: residue * (q - p) * 0.5, sch: residue * q }
}

/// What `1/(w − ω̃)` and `1/(w + ω̃)` become with a window.
#[inline(always)]
fn window_quotients(pair: &Pair, w: f64, limits: &Limits) -> [Complex64; 2] {
    let (of, window2) = (pair.wtilde.re, limits.limittwo);
    let window = sqrt(window2);
    [broadened(w - of, -window, window2), broadened(w + of, window, window2)]
}

/// A term, and its derivative with respect to `w` of the form that holds there: with `q = 1/(w − ω̃)`, zero near the pole,
/// and `p = 1/(w + ω̃)`, `ssx` falls by `(q + p)·ssx` and `sch` by `q·sch`.
#[inline(always)]
pub fn term_and_derivative(pair: &Pair, w: f64, limits: &Limits) -> [Term; 2] {
    let (term, Pair { wtilde, .. }) = (term(pair, w, limits), *pair);
    let q = unless_zero(term.sch, reciprocal(wdiff(w, wtilde)));
    let p = reciprocal(Complex::new(w + wtilde.re, wtilde.im));
    [term, term.derivative(q, p)]
}

/// The same of [`windowed`].
#[inline(always)]
pub fn windowed_and_derivative(pair: &Pair, w: f64, limits: &Limits) -> [Term; 2] {
    let ([q, p], term) = (window_quotients(pair, w, limits), windowed(pair, w, limits));
    [term, term.derivative(q, p)]
}

/// `z`; zero if `of` is, whatever `z` is.
#[inline(always)]
fn unless_zero(of: Complex64, z: Complex64) -> Complex64 {
    if of == Term::zero().sch { of } else { z }
}

/// `1/x`, or `(x + i·window)/(x² + g²)` within the window.
#[inline(always)]
fn broadened(x: f64, window: f64, window2: f64) -> Complex64 {
    let square = x * x;
    let is_inside = square <= window2;
    let one = 1.0 / (square + select_unpredictable(is_inside, window2, 0.0));
    Complex::new(x * one, select_unpredictable(is_inside, window * one, 0.0))
}

#[inline(always)]
pub fn wdiff(w: f64, wtilde: Complex64) -> Complex64 {
    Complex::new(w - wtilde.re, -wtilde.im)
}

/// `w² − ω̃²`, the first branch's denominator. Its real part is `(w − Re ω̃)(w + Re ω̃) + (Im ω̃)²`:
/// if these two cancel, the imaginary part is as large as they are.
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

/// Values of one energy, in the order in which blocks store them: `Re asx`, `Im asx`, `Re ach`, `Im ach`.
pub const VALUES: usize = 4;

/// Most values of a launch: three energies.
pub const MAX_VALUES: usize = 3 * VALUES;

/// The sums of a thread, a block or a launch: a complex pair for each energy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThreadSums<const NW: usize> {
    /// Screened-exchange sums, with the sign of the definition.
    pub asx: [Complex64; NW],
    pub ach: [Complex64; NW],
}

impl<const NW: usize> ThreadSums<NW> {
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = Complex::new(0.0, 0.0);
        ThreadSums { asx: [zero; NW], ach: [zero; NW] }
    }

    /// Adds one term: `asx −= vcoul·occ·ssx·M`, `ach += vcoul·½·sch·M`. The barriers keep the compiler from computing
    /// the terms of two energies at once, with the registers of both.
    #[inline(always)]
    pub fn update(&mut self, iw: usize, vcoul: f64, occ: f64, term: Term, matngmatmgp: Complex64) {
        let asx = term.ssx * (vcoul * occ) * matngmatmgp;
        let ach = term.sch * (vcoul * 0.5) * matngmatmgp;
        let (asx, ach) = (self.asx[iw] - asx, self.ach[iw] + ach);
        self.asx[iw] = Complex::new(opt_barrier(asx.re), opt_barrier(asx.im));
        self.ach[iw] = Complex::new(opt_barrier(ach.re), opt_barrier(ach.im));
    }
}

/// `sum + a·b`, four fused operations.
#[inline(always)]
pub fn plus_product(sum: Complex64, a: Complex64, b: Complex64) -> Complex64 {
    let re = sum.re + a.re * b.re - a.im * b.im;
    let im = sum.im + a.re * b.im + a.im * b.re;
    Complex::new(re, im)
}

/// `1 / z` with one real reciprocal.
#[inline(always)]
pub fn reciprocal(z: Complex64) -> Complex64 {
    let rden = 1.0 / z.norm_sqr();
    z.conj() * rden
}

/// `1 / z`, or zero if `unless` holds, whatever finite number `z` is: the hardware's approximation and a cubic
/// correction. The approximation's relative error is `e = 1 − z·r₀`, at most 2⁻¹⁹; `r₀·(1 + e + e²)` leaves e³, below
/// the last bit. `z` must be neither zero nor so far from one that `r₀` is subnormal.
#[inline(always)]
pub fn reciprocal_unless(unless: bool, z: f64) -> f64 {
    let approximate = select_unpredictable(unless, 0.0, approximate_reciprocal(z));
    let error = 1.0 - z * approximate;
    let correction = error + error * error;
    approximate + approximate * correction
}
