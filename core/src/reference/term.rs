//! One term by the definition, in any precision, with what rounding may decide about it.
//!
//! `ssx` and `sch` are products of `ω̃/(w − ω̃)`, `ω̃/(w + ω̃)` and `eps`, so no digits are lost near a pole.

use std::ops::{Add, Div, Mul, Neg, Sub};

use gpp_kernels::arrays::Limits;
use num_complex::Complex;
use twofloat::TwoFloat;

/// `|delw|²` that the second branch needs to exceed.
const TOL_ZERO: f64 = 1e-12;

/// Relative distance of a comparison below which the rounding of v0 to v3 may decide it: each side is a
/// product of some ten factors.
const UNDECIDED: f64 = 64.0 * f64::EPSILON;

/// A real number of some precision.
pub trait Number:
    Copy
    + From<f64>
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn rounded(self) -> f64;
}

impl Number for f64 {
    #[inline(always)]
    fn rounded(self) -> f64 {
        self
    }
}

impl Number for TwoFloat {
    fn rounded(self) -> f64 {
        self.hi()
    }
}

/// What one band and energy fix.
#[derive(Clone, Copy)]
pub struct Energy {
    /// `wx(iw,n)`.
    pub w: f64,
    pub limittwo: f64,
    pub limitone: f64,
    /// Bound on `|ssx| / |eps|`, infinite if there is none.
    pub cutoff: f64,
}

#[derive(Clone, Copy)]
pub struct Term<T> {
    pub ssx: Complex<T>,
    pub sch: Complex<T>,
    /// Sizes of what rounding may add to either, or take away.
    pub undecided: [f64; 2],
    /// Sizes of what either multiplies `eps` by, zero if that is no number.
    pub quotients: [f64; 2],
}

impl Energy {
    /// An energy under the limits of the formula.
    pub fn of(w: f64, limits: Limits) -> Energy {
        let Limits { limittwo, limitone, sexcut } = limits;
        let cutoff = if w < 0.0 { sexcut } else { f64::INFINITY };
        Energy { w, limittwo, limitone, cutoff }
    }

    /// The term of one pair, with selects for the branches.
    #[inline(always)]
    pub fn term<T: Number>(self, wtilde: Complex<f64>, eps: Complex<f64>) -> Term<T> {
        let number = |z: Complex<f64>| Complex { re: T::from(z.re), im: T::from(z.im) };
        let (w, wtilde, eps) = (T::from(self.w), number(wtilde), number(eps));
        let zero = Complex { re: T::from(0.0), im: T::from(0.0) };
        let wdiff = Complex { re: w - wtilde.re, im: -wtilde.im };
        let wsum = Complex { re: w + wtilde.re, im: wtilde.im };
        let (delw, behind) = (over(wtilde, wdiff), over(wtilde, wsum));
        let (wdiffr, delwr) = (norm_sqr(wdiff), norm_sqr(delw));

        let first = (wdiffr > T::from(self.limittwo)) & (delwr < T::from(self.limitone));
        let second = !first & (delwr > T::from(TOL_ZERO));
        // ssx / eps of either branch.
        let far = times(delw, behind);
        let near = Complex { re: behind.re * T::from(-0.5), im: behind.im * T::from(-0.5) };
        let quotient = select(first, far, near);
        let size2 = norm_sqr(quotient);
        let cutoff2 = self.cutoff * self.cutoff;
        let kept = (size2 <= T::from(cutoff2)) | (self.cutoff == f64::INFINITY);
        let sch = times(delw, eps);

        // A comparison decides only if the other does not.
        let (two, one) = (is_close(wdiffr, self.limittwo), is_close(delwr, self.limitone));
        let branch = two & ((delwr < T::from(self.limitone)) | one)
            | one & ((wdiffr > T::from(self.limittwo)) | two);
        let size = size(eps);
        let quotients = [quotient, delw].map(|z| size_of(z, 1.0));
        let [far, near, delw] = [far, near, delw].map(|z| size_of(z, size));
        let either = if branch { far + near } else { 0.0 };
        let vanishing = if !first & is_close(delwr, TOL_ZERO) { near } else { 0.0 };
        let cut = if (first | second) & is_close(size2, cutoff2) {
            if first { far } else { near }
        } else {
            0.0
        };
        Term {
            ssx: select((first | second) & kept, times(quotient, eps), zero),
            sch: select(first, sch, zero),
            undecided: [either + vanishing + cut, if branch { delw } else { 0.0 }],
            quotients,
        }
    }
}

/// Whether rounding may take `a` for less than `b`, or for more.
#[inline(always)]
fn is_close<T: Number>(a: T, b: f64) -> bool {
    (a.rounded() - b).abs() <= UNDECIDED * b && b > 0.0 && b < f64::INFINITY
}

/// What a factor of this size makes an error grow by that is in another factor of a product.
#[inline(always)]
pub fn growth(size: f64) -> f64 {
    size.max(1.0)
}

/// `|z|` by the 1-norm.
#[inline(always)]
pub fn size<T: Number>(z: Complex<T>) -> f64 {
    z.re.rounded().abs() + z.im.rounded().abs()
}

/// `|z|·factor`, zero if that is no number.
#[inline(always)]
fn size_of<T: Number>(z: Complex<T>, factor: f64) -> f64 {
    let product = size(z) * factor;
    if product < f64::INFINITY { product } else { 0.0 }
}

#[inline(always)]
fn norm_sqr<T: Number>(z: Complex<T>) -> T {
    z.re * z.re + z.im * z.im
}

/// `a·b`.
#[inline(always)]
pub fn times<T: Number>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}

#[inline(always)]
fn over<T: Number>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    let norm = norm_sqr(b);
    Complex { re: (a.re * b.re + a.im * b.im) / norm, im: (a.im * b.re - a.re * b.im) / norm }
}

#[inline(always)]
fn select<T: Number>(condition: bool, a: Complex<T>, b: Complex<T>) -> Complex<T> {
    Complex { re: if condition { a.re } else { b.re }, im: if condition { a.im } else { b.im } }
}
