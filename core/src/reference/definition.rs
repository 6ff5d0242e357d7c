//! One term by the definition, the terms of a problem, and what sums of them come to.

use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::problem::{Extents, Slabs, Sums};
use crate::reference::ComplexSum;

// One term by the definition, with what rounding may decide about it: `ssx` and `sch` are products of
// `ω̃/(w − ω̃)`, `ω̃/(w + ω̃)` and `eps`, so no digits are lost near a pole.

/// `|delw|²` that the second branch needs to exceed.
const TOL_ZERO: f64 = 1e-12;

/// Relative distance of a comparison that rounding in v0 to v3 may decide: each side has some ten factors.
const UNDECIDED: f64 = 64.0 * f64::EPSILON;

/// Part of `|vcoul·M·eps|` below which a term of `asx` or `ach` may vanish: squares of its factors underflow.
pub const VANISHING: [f64; 2] = [1e-130, 1e-250];

/// Size that each term counts for at least, times the growth ([`growth`]) of its factors: a smaller product loses up
/// to half of the smallest subnormal number, ε/2 of this, and what follows multiplies that by other factors.
pub const UNDERFLOW: f64 = f64::MIN_POSITIVE;

/// The factors of a term that depend on band and energy only.
#[derive(Clone, Copy)]
pub struct Energy {
    /// `wx(iw,n)`.
    pub w: f64,
    pub limittwo: f64,
    pub limitone: f64,
    /// Bound on `|ssx| / |eps|`, infinite if there is none.
    pub cutoff: f64,
    has_window: bool,
    is_derivative: bool,
}

#[derive(Clone, Copy)]
pub struct ReferenceTerm {
    pub ssx: Complex64,
    pub sch: Complex64,
    /// Sizes of what rounding may add to either, or take away.
    pub undecided: [f64; 2],
    /// Sizes of what either multiplies `eps` by, zero if that is no number.
    pub quotients: [f64; 2],
}

impl Energy {
    pub fn new(w: f64, limits: Limits) -> Energy {
        let Limits { limittwo, limitone, sexcut } = limits;
        let cutoff = if w < 0.0 { sexcut } else { f64::INFINITY };
        Energy {
            w,
            limittwo,
            limitone,
            cutoff,
            has_window: limits.has_window(),
            is_derivative: false,
        }
    }

    /// The same for derivatives of terms with respect to `w`.
    #[must_use]
    pub fn derivative(self, is_derivative: bool) -> Energy {
        Energy { is_derivative, ..self }
    }

    /// The term of one pair, with selects for the branches; or the derivatives of `ssx` and `sch`.
    #[inline(always)]
    pub fn term(self, wtilde: Complex64, eps: Complex64) -> ReferenceTerm {
        if self.has_window {
            return self.windowed_term(wtilde, eps);
        }
        if self.is_derivative {
            return self.falling_term(wtilde, eps);
        }
        let wdiff = Complex64::new(self.w - wtilde.re, -wtilde.im);
        let wsum = Complex64::new(self.w + wtilde.re, wtilde.im);
        let (delw, behind) = (over(wtilde, wdiff), over(wtilde, wsum));
        let (wdiffr, delwr) = (wdiff.norm_sqr(), delw.norm_sqr());

        let first = (wdiffr > self.limittwo) & (delwr < self.limitone);
        let second = !first & (delwr > TOL_ZERO);
        // ssx / eps of either branch.
        let far = delw * behind;
        let near = behind * -0.5;
        let quotient = select(first, far, near);
        let size2 = quotient.norm_sqr();
        let cutoff2 = self.cutoff * self.cutoff;
        let kept = (size2 <= cutoff2) | (self.cutoff == f64::INFINITY);
        let sch = delw * eps;

        // A comparison decides only if the other does not.
        let (two, one) = (is_close(wdiffr, self.limittwo), is_close(delwr, self.limitone));
        let branch = two & ((delwr < self.limitone) | one) | one & ((wdiffr > self.limittwo) | two);
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
        ReferenceTerm {
            ssx: select((first | second) & kept, quotient * eps, Complex64::ZERO),
            sch: select(first, sch, Complex64::ZERO),
            undecided: [either + vanishing + cut, if branch { delw } else { 0.0 }],
            quotients,
        }
    }

    /// `sch` falls by `1/(w − ω̃)` of itself. So does `ssx` in the first branch, and by `1/(w + ω̃)` in both.
    #[inline(always)]
    fn falling_term(self, wtilde: Complex64, eps: Complex64) -> ReferenceTerm {
        let ReferenceTerm { ssx, sch, undecided, quotients } =
            self.derivative(false).term(wtilde, eps);
        let front = over(Complex64::ONE, self.w - wtilde);
        let behind = over(Complex64::ONE, self.w + wtilde);
        // On a pole a part is zero.
        let front = select(sch != Complex64::ZERO, front, Complex64::ZERO);
        let both = front + behind;
        let rates = [both, front].map(|rate| size_of(rate, 1.0));
        ReferenceTerm {
            ssx: select(ssx != Complex64::ZERO, -ssx * both, Complex64::ZERO),
            sch: -sch * front,
            undecided: [0, 1].map(|part| undecided[part] * rates[part]),
            quotients: [0, 1].map(|part| quotients[part] * rates[part]),
        }
    }

    /// The term of a real pole, whose quotients within the window are broadened.
    #[inline(always)]
    fn windowed_term(self, wtilde: Complex64, eps: Complex64) -> ReferenceTerm {
        let (pole, window2) = (wtilde.re, self.limittwo);
        // ω̃ times a quotient, and whether rounding may decide.
        let quotient = |x: f64, window: f64| {
            let is_inside = x * x <= window2;
            let size2 = x * x + if is_inside { window2 } else { 0.0 };
            let im = if is_inside { window } else { 0.0 };
            let one = Complex64::new(pole * x / size2, pole * im / size2);
            // The derivative of (x + i·im)/(x² + window²), where the window may be zero.
            let falling = pole / size2 - one * (2.0 * x / size2);
            (if self.is_derivative { falling } else { one }, is_close(x * x, window2))
        };
        let window = window2.sqrt();
        let (q, q_is_close) = quotient(self.w - pole, -window);
        let (p, p_is_close) = quotient(self.w + pole, window);
        let both = (q - p) * 0.5;
        // At the bound all three are of one size.
        let undecided = [(&q, q_is_close), (&p, p_is_close)]
            .map(|(&of, is_close)| if is_close { 2.0 * size_of(of, size(eps)) } else { 0.0 });
        ReferenceTerm {
            ssx: both * eps,
            sch: q * eps,
            undecided: [undecided[0] + undecided[1], undecided[0]],
            quotients: [size_of(both, 1.0), size_of(q, 1.0)],
        }
    }
}

/// Whether rounding may take `a` for less than `b`, or for more.
#[inline(always)]
fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= UNDECIDED * b && b > 0.0 && b < f64::INFINITY
}

/// What a factor of this size makes an error grow by that is in another factor of a product.
#[inline(always)]
pub fn growth(size: f64) -> f64 {
    size.max(1.0)
}

/// `|z|` by the 1-norm.
#[inline(always)]
pub fn size(z: Complex64) -> f64 {
    z.re.abs() + z.im.abs()
}

/// `|z|·factor`, zero if that is no number.
#[inline(always)]
fn size_of(z: Complex64, factor: f64) -> f64 {
    let product = size(z) * factor;
    if product < f64::INFINITY { product } else { 0.0 }
}

#[inline(always)]
fn over(a: Complex64, b: Complex64) -> Complex64 {
    let norm = b.norm_sqr();
    Complex64::new((a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm)
}

#[inline(always)]
fn select(condition: bool, a: Complex64, b: Complex64) -> Complex64 {
    Complex64::new(if condition { a.re } else { b.re }, if condition { a.im } else { b.im })
}

/// All bands and `ig` of a problem, at some energies, of some `igp`.
#[derive(Clone)]
pub struct Terms<'a> {
    pub(super) slabs: Slabs<'a>,
    energies: Vec<usize>,
    /// One `igp` of so many.
    pub(super) every: usize,
    /// Whether they are derivatives of terms.
    pub(super) are_derivatives: bool,
}

impl<'a, P: Into<Slabs<'a>>> From<P> for Terms<'a> {
    fn from(problem: P) -> Terms<'a> {
        let slabs = problem.into();
        let energies = (0..slabs.problem().nw()).collect();
        Terms { slabs, energies, every: 1, are_derivatives: false }
    }
}

impl<'a> Terms<'a> {
    /// The same at these energies (0-based) only.
    #[must_use]
    pub fn at(self, energies: &[usize]) -> Terms<'a> {
        Terms { energies: energies.to_vec(), ..self }
    }

    #[must_use]
    pub fn derivatives(self) -> Terms<'a> {
        Terms { are_derivatives: true, ..self }
    }

    /// The terms of as many `igp`, evenly spaced, as have `most` terms together; of one at least.
    #[must_use]
    pub fn at_most(self, most: u64) -> Terms<'a> {
        let of_igp = self.count() / self.igp().max(1) as u64;
        let igp = (most / of_igp.max(1)).max(1) as usize;
        let every = self.slabs.problem().header().ngpown.div_ceil(igp);
        Terms { every: every.max(self.every), ..self }
    }

    pub fn energies(&self) -> &[usize] {
        &self.energies
    }

    pub fn igp(&self) -> usize {
        self.slabs.problem().header().ngpown.div_ceil(self.every)
    }

    pub fn count(&self) -> u64 {
        let (ngpown, nw) = (self.igp(), self.energies.len());
        Extents { ngpown, nw, ..self.slabs.problem().extents() }.terms()
    }
}

#[derive(Clone, Copy, Default)]
pub struct BoundedSum {
    pub sum: ComplexSum,
    /// Σ|terms| by the 1-norm, with what products below the smallest normal number may lose.
    pub magnitude: f64,
    /// What rounding may add or take away.
    pub undecided: f64,
}

impl BoundedSum {
    pub fn merge(&mut self, other: &BoundedSum) {
        self.sum.merge(&other.sum);
        self.magnitude += other.magnitude;
        self.undecided += other.undecided;
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Sums that the kernels must find, without the starting sums.
    pub sums: Sums,
    pub scale: Scale,
}

/// The scale of errors: Σ|terms| of `asx` and `ach` at each energy.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Σ|terms|, by the 1-norm, with what products below the smallest normal number may lose (`UNDERFLOW`).
    pub magnitudes: Vec<[f64; 2]>,
    /// What rounding may add or take away, if it decides about a branch or the cutoff.
    pub undecided: Vec<[f64; 2]>,
}

impl Scale {
    /// That of Σ in the place of CH.
    #[must_use]
    pub fn alone(&self) -> Scale {
        let add = |parts: &[[f64; 2]]| parts.iter().map(|[sx, ch]| [0.0, sx + ch]).collect();
        Scale { magnitudes: add(&self.magnitudes), undecided: add(&self.undecided) }
    }
}
