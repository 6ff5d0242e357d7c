//! Elements of P, made of a pole and an item's `w = E − e(n)` in eV.

use crate::intrinsics::approximate_reciprocal;

/// What decides on branch and cutoff.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bits of the smallest `|w − ω̃|` of the first branch.
    pub first: u64,
    /// Bits of `sexcut`: where `w < 0` an `ssx` is cut off if those of `|ssx / eps|` are above.
    pub sexcut: u64,
}

/// How an element of a right operand is made of the words of an image.
pub trait Make<const WORDS: usize> {
    /// Whether some are cut off.
    const CUTS: bool = false;

    /// How it is made where `w ≥ 0`, and nothing is cut off.
    type Uncut: Make<WORDS>;

    /// Real and imaginary part.
    fn make(words: [f64; WORDS], w: f64, limits: Limits) -> [f64; 2];
}

/// V, which is in the image.
pub struct Given;

impl Make<2> for Given {
    type Uncut = Given;

    #[inline(always)]
    fn make(words: [f64; 2], _: f64, _: Limits) -> [f64; 2] {
        words
    }
}

/// `sch` of a real pole: of the words ω̃ and ω̃·eps.
pub struct Hole;

impl Make<3> for Hole {
    type Uncut = Hole;

    #[inline(always)]
    fn make([wtilde, re, im]: [f64; 3], w: f64, limits: Limits) -> [f64; 2] {
        let wdiff = w - wtilde;
        let inverse = reciprocal(wdiff);
        let inverse = if size(wdiff) < limits.first { 0.0 } else { inverse };
        [re * inverse, im * inverse]
    }
}

/// `ssx` of a real pole: of the words ω̃ and ω̃·eps; of `w < 0` only where terms are `CUT`.
pub struct Exchange<const CUT: bool>;

impl<const CUT: bool> Make<3> for Exchange<CUT> {
    const CUTS: bool = CUT;
    type Uncut = Exchange<false>;

    #[inline(always)]
    fn make([wtilde, re, im]: [f64; 3], w: f64, limits: Limits) -> [f64; 2] {
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
