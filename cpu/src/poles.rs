//! `ssx` and `sch` of many pairs at one energy, as matrices: what Σ as a matrix multiplies by matrix elements.

use std::ops::Range;

use fearless_simd::prelude::*;
use gpp_kernels::arrays::Limits;
use num_complex::Complex64;

use crate::definition::Definition;
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
        Some(ssx) => {
            let mut planes = [sch, ssx];
            at_level!(level, token => fill(token, pairs, w, limits, &mut planes));
        }
        None => {
            let mut planes = [sch];
            at_level!(level, token => fill(token, pairs, w, limits, &mut planes));
        }
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
    let definition = Definition::<S, true>::new(token, limits);
    let (count, columns) = (ig.len(), wtilde.len() / ncouls);
    for igp in 0..columns {
        let from = igp * ncouls + ig.start;
        let (wtilde, eps) = (&wtilde[from..from + count], &eps[from..from + count]);
        let to = igp * stride;
        let mut at = 0;
        while at + S::f64s::LEN <= count {
            let pair = [Complex::load(token, &wtilde[at..]), Complex::load(token, &eps[at..])];
            let terms = definition.sch_ssx(pair, w);
            for value in 0..N {
                let (parts, to) = (parts(terms[value]), to + at);
                for part in 0..3 {
                    store(token, parts[part], &mut planes[value][part][to..]);
                }
            }
            at += S::f64s::LEN;
        }
        if at < count {
            // The last few, filled up with pairs of no weight.
            let (mut last, mut weights) = ([Complex64::ONE; WIDTH], [Complex64::ZERO; WIDTH]);
            last[..count - at].copy_from_slice(&wtilde[at..]);
            weights[..count - at].copy_from_slice(&eps[at..]);
            let pair = [Complex::load(token, &last), Complex::load(token, &weights)];
            let terms = definition.sch_ssx(pair, w);
            for value in 0..N {
                let parts = parts(terms[value]);
                for part in 0..3 {
                    let mut all = [0.0; WIDTH];
                    store(token, parts[part], &mut all);
                    planes[value][part][to + at..to + count].copy_from_slice(&all[..count - at]);
                }
            }
        }
    }
}

/// Real part, imaginary part, and their sum.
#[inline(always)]
fn parts<S: Simd>(z: Complex<S>) -> [S::f64s; 3] {
    [z.re, z.im, z.re + z.im]
}
