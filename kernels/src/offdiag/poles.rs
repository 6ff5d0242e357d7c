//! Elements of P, made of a pole and an item's `w = E − e(n)` in eV.
//!
//! The packed operand holds ω̃ and ω̃·eps of *regular* pairs, whose branch depends on `|w − ω̃|` alone: see [`is_regular`].
//! The ω̃·eps of a [`FallbackPair`] is zero there; the definition sums it.

use num_complex::Complex64;

use crate::arrays;
use crate::formula::{Pair, UNLIMITED, term};
use crate::intrinsics::approximate_reciprocal;

/// Bounds of the branch and of the cutoff.
#[derive(Clone, Copy, Debug)]
pub struct MatrixLimits {
    /// Bits of the smallest `|w − ω̃|` of the first branch, or of its square for complex poles.
    pub first: u64,
    /// Bits of `sexcut`, or of its square for complex poles: for `w < 0` an `ssx` is cut off if the bits of
    /// `|ssx / eps|` are above.
    pub sexcut: u64,
}

/// A pair that is summed by the definition.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FallbackPair {
    /// ω̃ in eV.
    pub wtilde: Complex64,
    /// `δ − ε⁻¹`.
    pub eps: Complex64,
    pub ig: u32,
    pub igp: u32,
}

impl FallbackPair {
    /// `ssx` or `sch`.
    #[inline(always)]
    pub fn element(&self, exchange: bool, w: f64, limits: &arrays::Limits) -> Complex64 {
        let wtilde2 = self.wtilde * self.wtilde;
        let (wtilde, eps) = (self.wtilde, self.eps);
        let term = term(&Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps }, w, limits);
        if exchange { term.ssx } else { term.sch }
    }
}

/// Whether a pole's branch depends on `|w − ω̃|` alone at every `w` up to `largest`: it is not so small that its
/// second branch is zero, and if it is large enough to be near `w` within a 500th of itself, no `w` is as large.
pub fn is_regular(wtilde: Complex64, limits: &arrays::Limits, largest: f64) -> bool {
    let (size, gamma2) = (wtilde.norm_sqr(), limits.limittwo);
    let near_itself = 0.9 * gamma2 * limits.limitone..=1.1 * largest * largest;
    let is_near_itself = limits.limitone < UNLIMITED && near_itself.contains(&size);
    size > 2e-12 * gamma2 && size < HUGE * HUGE && !is_near_itself
}

/// No regular pole is as large; the padding of packed operands is.
pub const HUGE: f64 = 1e15;

/// An element of B from the words of the packed operand.
pub trait ElementB<const WORDS: usize> {
    /// Whether the cutoff is tested for `w < 0`.
    const CUTS: bool = false;

    /// The same without the cutoff, for `w ≥ 0`.
    type Uncut: ElementB<WORDS>;

    /// Real and imaginary part.
    fn element(words: [f64; WORDS], w: f64, limits: MatrixLimits) -> [f64; 2];
}

/// V, which is packed as it is.
pub struct PackedV;

impl ElementB<2> for PackedV {
    type Uncut = PackedV;

    #[inline(always)]
    fn element(words: [f64; 2], _: f64, _: MatrixLimits) -> [f64; 2] {
        words
    }
}

/// `sch` of a real pole: of the words ω̃ and ω̃·eps.
pub struct Sch;

impl ElementB<3> for Sch {
    type Uncut = Sch;

    #[inline(always)]
    fn element([wtilde, re, im]: [f64; 3], w: f64, limits: MatrixLimits) -> [f64; 2] {
        let wdiff = w - wtilde;
        let inverse = reciprocal(wdiff);
        let inverse = if size(wdiff) < limits.first { 0.0 } else { inverse };
        [re * inverse, im * inverse]
    }
}

/// `ssx` of a real pole: of the words ω̃ and ω̃·eps; for `w < 0` only if `CUT`.
pub struct Ssx<const CUT: bool>;

impl<const CUT: bool> ElementB<3> for Ssx<CUT> {
    const CUTS: bool = CUT;
    type Uncut = Ssx<false>;

    #[inline(always)]
    fn element([wtilde, re, im]: [f64; 3], w: f64, limits: MatrixLimits) -> [f64; 2] {
        let (wdiff, wsum) = (w - wtilde, w + wtilde);
        let near = size(wdiff) < limits.first;
        // ω̃ / ((w − ω̃)(w + ω̃)), or −ω̃ / (2ω̃(w + ω̃)).
        let first = if near { minus_twice(wtilde) } else { wdiff };
        let inverse = wtilde * reciprocal(first * wsum);
        let cut = CUT && w < 0.0 && size(wtilde * inverse) > limits.sexcut;
        let inverse = if cut | (size(wdiff) == 0) { 0.0 } else { inverse };
        [re * inverse, im * inverse]
    }
}

/// `sch` of any pole: of the words of ω̃ and ω̃·eps.
pub struct ComplexSch;

impl ElementB<4> for ComplexSch {
    type Uncut = ComplexSch;

    #[inline(always)]
    fn element([re, im, nre, nim]: [f64; 4], w: f64, limits: MatrixLimits) -> [f64; 2] {
        let wdiff = w - re;
        let square = fma(wdiff, wdiff, im * im);
        let inverse = reciprocal(square);
        let inverse = if size(square) < limits.first { 0.0 } else { inverse };
        let (qre, qim) = (wdiff * inverse, im * inverse);
        [fma(nre, qre, -nim * qim), fma(nre, qim, nim * qre)]
    }
}

/// `ssx` of any pole; for `w < 0` only if `CUT`.
pub struct ComplexSsx<const CUT: bool>;

impl<const CUT: bool> ElementB<4> for ComplexSsx<CUT> {
    const CUTS: bool = CUT;
    type Uncut = ComplexSsx<false>;

    #[inline(always)]
    fn element([re, im, nre, nim]: [f64; 4], w: f64, limits: MatrixLimits) -> [f64; 2] {
        let (wdiff, wsum) = (w - re, w + re);
        let square = fma(wdiff, wdiff, im * im);
        let near = size(square) < limits.first;
        // The denominator is f·(w + ω̃), with f = w − ω̃ or −2ω̃.
        let (fre, fim) = if near { (-2.0 * re, -2.0 * im) } else { (wdiff, -im) };
        let (zre, zim) = (fma(fre, wsum, -fim * im), fma(fre, im, fim * wsum));
        let inverse = reciprocal(fma(zre, zre, zim * zim));
        let size2 = fma(re, re, im * im);
        let cut = CUT && w < 0.0 && size(size2 * size2 * inverse) > limits.sexcut;
        let inverse = if cut | (size(square) == 0) { 0.0 } else { inverse };
        // ω̃ / z.
        let qre = fma(re, zre, im * zim) * inverse;
        let qim = fma(im, zre, -re * zim) * inverse;
        [fma(nre, qre, -nim * qim), fma(nre, qim, nim * qre)]
    }
}

/// `sch − 2·ssx` of a real pole: `ω̃·eps/(w + ω̃)` in both branches, and `sch` if the cutoff takes `ssx`, for `w < 0`
/// only if `CUT`.
pub struct Occupied<const CUT: bool>;

impl<const CUT: bool> ElementB<3> for Occupied<CUT> {
    const CUTS: bool = CUT;
    type Uncut = Occupied<false>;

    #[inline(always)]
    fn element([wtilde, re, im]: [f64; 3], w: f64, limits: MatrixLimits) -> [f64; 2] {
        let (mut pole, mut vanishes) = (wtilde, false);
        if CUT {
            let (wdiff, wsum) = (w - wtilde, w + wtilde);
            let near = size(wdiff) < limits.first;
            let first = if near { minus_twice(wtilde) } else { wdiff };
            let cut = (w < 0.0) & is_cut(wtilde * wtilde, (first * wsum).abs(), limits);
            pole = negated_if(cut, wtilde);
            vanishes = cut & near;
        }
        let inverse = reciprocal(w + pole);
        let inverse = if vanishes { 0.0 } else { inverse };
        [re * inverse, im * inverse]
    }
}

/// `sch − 2·ssx` of any pole; for `w < 0` only if `CUT`.
pub struct ComplexOccupied<const CUT: bool>;

impl<const CUT: bool> ElementB<4> for ComplexOccupied<CUT> {
    const CUTS: bool = CUT;
    type Uncut = ComplexOccupied<false>;

    #[inline(always)]
    fn element([re, im, nre, nim]: [f64; 4], w: f64, limits: MatrixLimits) -> [f64; 2] {
        let (mut pole, mut vanishes) = ([re, im], false);
        if CUT {
            let (wdiff, wsum) = (w - re, w + re);
            let [wdiff2, wsum2, size2] = [wdiff, wsum, re].map(|x| fma(x, x, im * im));
            let near = size(wdiff2) < limits.first;
            let first = if near { 4.0 * size2 } else { wdiff2 };
            let cut = (w < 0.0) & is_cut(size2 * size2, first * wsum2, limits);
            pole = [re, im].map(|part| negated_if(cut, part));
            vanishes = cut & near;
        }
        let (x, y) = (w + pole[0], pole[1]);
        let inverse = reciprocal(fma(x, x, y * y));
        let inverse = if vanishes { 0.0 } else { inverse };
        let (qre, qim) = (x * inverse, -y * inverse);
        [fma(nre, qre, -nim * qim), fma(nre, qim, nim * qre)]
    }
}

/// Whether the cutoff takes an `ssx` whose `|ssx / eps|`, for complex poles its square, is this quotient.
#[inline(always)]
#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "zero times infinity is not a number")]
fn is_cut(numerator: f64, denominator: f64, limits: MatrixLimits) -> bool {
    !(numerator <= f64::from_bits(limits.sexcut) * denominator)
}

/// The bits of `|x|`, which rise with it; those of NaN are above all others.
#[inline(always)]
fn size(x: f64) -> u64 {
    x.to_bits() & (u64::MAX >> 1)
}

/// `−2x` of a number that is neither zero nor huge, without arithmetic: of a pole.
#[inline(always)]
fn minus_twice(x: f64) -> f64 {
    f64::from_bits((x.to_bits() + (1 << 52)) ^ (1 << 63))
}

/// `−x` or `x`, without arithmetic.
#[inline(always)]
fn negated_if(negated: bool, x: f64) -> f64 {
    f64::from_bits(x.to_bits() ^ u64::from(negated) << 63)
}

/// `1 / x` to the last bit or two: an approximation and a cubic correction.
#[inline(always)]
fn reciprocal(x: f64) -> f64 {
    let y = approximate_reciprocal(x);
    let error = fma(-x, y, 1.0);
    fma(y, fma(error, error, error), y)
}

/// `a·b + c`, rounded once: the compiler for PTX fuses it.
#[inline(always)]
fn fma(a: f64, b: f64, c: f64) -> f64 {
    #[cfg(target_arch = "nvptx64")]
    {
        a * b + c
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        a.mul_add(b, c)
    }
}
