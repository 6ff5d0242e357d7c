//! `ssx` and `sch` of many pairs at one energy, as matrices: what Σ as a matrix multiplies by matrix elements.

use std::ops::Range;

use fearless_simd::prelude::*;
use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::definition::{Definition, filled_up};
use crate::simd::{Complex, Level, WIDTH, at_level, store};

/// Real parts, imaginary parts, and their sums: element (ig, igp) of each at `ig + stride · igp`.
pub type Planes<'a> = [&'a mut [f64]; 3];

/// Pairs of some `ig` and `igp`.
#[derive(Clone)]
pub struct Pairs<'a> {
    /// ω̃ in eV, `(ncouls, igp)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, alike.
    pub eps: &'a [Complex64],
    /// Rows of both.
    pub ncouls: usize,
    /// The `ig`.
    pub ig: Range<usize>,
    /// Columns of the planes are so far apart.
    pub stride: usize,
}

/// Makes `sch`, and `ssx` if there are planes for it, at `w = wx(iw,n)`.
///
/// # Panics
/// If planes are too short, or the CPU does not have the level.
pub fn make(
    level: Level,
    pairs: &Pairs,
    (w, limits): (f64, Limits),
    sch: Planes,
    ssx: Option<Planes>,
) {
    match ssx {
        Some(ssx) => at_level!(level, token => fill(token, pairs, w, limits, &mut [sch, ssx])),
        None => at_level!(level, token => fill(token, pairs, w, limits, &mut [sch])),
    }
}

/// Fills the planes of `sch`, or of `sch` and `ssx`.
#[inline(always)]
fn fill<S: Simd, const N: usize>(
    token: S,
    pairs: &Pairs,
    w: f64,
    limits: Limits,
    planes: &mut [Planes; N],
) {
    let Pairs { wtilde, eps, ncouls, ref ig, stride } = *pairs;
    let definition = Definition::<S, true> { token, limits };
    let count = ig.len();
    for igp in 0..wtilde.len() / ncouls {
        let from = igp * ncouls + ig.start;
        let (wtilde, eps) = (&wtilde[from..from + count], &eps[from..from + count]);
        for at in (0..count).step_by(S::f64s::LEN) {
            let is_whole = at + S::f64s::LEN <= count;
            let pair = if is_whole {
                [Complex::load(token, &wtilde[at..]), Complex::load(token, &eps[at..])]
            } else {
                // The last few, and pairs of no weight.
                let wtilde = filled_up(&wtilde[at..], Complex64::ONE);
                [
                    Complex::load(token, &wtilde),
                    Complex::load(token, &filled_up(&eps[at..], Complex64::ZERO)),
                ]
            };
            let terms = definition.sch_ssx(pair, w);
            for value in 0..N {
                let Complex { re, im } = terms[value];
                let parts = [re, im, re + im];
                for part in 0..3 {
                    let to = &mut planes[value][part][igp * stride + at..igp * stride + count];
                    if is_whole {
                        store(token, parts[part], to);
                    } else {
                        let mut all = [0.0; WIDTH];
                        store(token, parts[part], &mut all);
                        to.copy_from_slice(&all[..count - at]);
                    }
                }
            }
        }
    }
}
