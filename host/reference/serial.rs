//! The defining formula, term by term, with compensated sums: written from the definition and
//! sharing nothing with the kernels.
//!
//! For one column, band and energy the factor `vcoul·conj(aqsm)` is outside the sum over `ig`, which
//! runs in 8 interleaved compensated sums. Columns are evaluated side by side and added in
//! their order, and nothing is fused, so the bits depend neither on the threads nor on the
//! processor's vector width.

use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::{Header, Problem, Sums};
use crate::progress::Progress;

/// Interleaved sums, as many as the widest vectors hold.
const LANES: usize = 8;

/// `|delw|²` that the second branch needs to exceed.
const TOL_ZERO: f64 = 1e-12;

/// The sums of a problem and how large their terms are.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Sums that the kernels must find, without the starting sums.
    pub sums: Sums,
    /// Σ|terms| of each energy's `asx` and `ach`, by the 1-norm.
    pub magnitudes: Vec<[f64; 2]>,
}

/// Evaluates all terms of `problem`.
pub fn evaluate(problem: &Problem, progress: Progress) -> Evaluation {
    let ngpown = problem.header.ngpown;
    let bar = progress.bar("serial reference", ngpown as u64);
    let columns: Vec<Vec<Pair>> = (0..ngpown)
        .into_par_iter()
        .map(|igp| {
            let column = column(problem, igp);
            bar.inc(1);
            column
        })
        .collect();
    bar.finish_and_clear();

    let nw = problem.nw();
    let mut totals = vec![Pair::default(); nw];
    for column in &columns {
        for (total, part) in totals.iter_mut().zip(column) {
            total.add_pair(part);
        }
    }
    let sums = Sums {
        asx: totals.iter().map(|t| -t.ssx.value()).collect(),
        ach: totals.iter().map(|t| t.sch.value() * 0.5).collect(),
    };
    let magnitudes = totals.iter().map(|t| [t.magnitudes[0], t.magnitudes[1] * 0.5]).collect();
    Evaluation { sums, magnitudes }
}

/// The sums over `n` and `ig` for one `igp`, energy by energy.
fn column(problem: &Problem, igp: usize) -> Vec<Pair> {
    let Header { nbands, ngpown, ncouls, .. } = problem.header;
    let nw = problem.nw();
    let limits = problem.limits();
    let rows = igp * ncouls..(igp + 1) * ncouls;
    let (wtilde, eps) = (&problem.wtilde[rows.clone()], &problem.eps[rows]);
    let vcoul = problem.vcoul_loc[igp];

    let mut sums = vec![Pair::default(); nw];
    for n in 0..nbands {
        let aqsn = &problem.aqsn[n * ncouls..(n + 1) * ncouls];
        let factor = problem.aqsm_local[n * ngpown + igp].conj() * vcoul;
        for (iw, sum) in sums.iter_mut().enumerate() {
            let w = problem.wx[n * nw + iw];
            let at = Energy {
                w,
                limittwo: limits.limittwo,
                limitone: limits.limitone,
                cutoff: if w < 0.0 { limits.sexcut * limits.sexcut } else { f64::INFINITY },
            };
            let over_ig = at.sum_over_ig(wtilde, eps, aqsn);
            sum.ssx.add(factor * problem.occ[n] * over_ig.ssx);
            sum.sch.add(factor * over_ig.sch);
            let [ssx, sch] = over_ig.magnitudes;
            sum.magnitudes[0] += factor.l1_norm() * problem.occ[n] * ssx;
            sum.magnitudes[1] += factor.l1_norm() * sch;
        }
    }
    sums
}

/// `Σ ssx·aqsn` and `Σ sch·aqsn` over `ig`, and the sums of their terms' 1-norms.
struct OverIg {
    ssx: Complex64,
    sch: Complex64,
    magnitudes: [f64; 2],
}

/// What one band and energy fix.
#[derive(Clone, Copy)]
struct Energy {
    w: f64,
    limittwo: f64,
    limitone: f64,
    /// Bound on `|ssx|² / |eps|²`, infinite where there is none.
    cutoff: f64,
}

impl Energy {
    /// The sums over `ig`, with the widest vectors there are.
    fn sum_over_ig(self, wtilde: &[Complex64], eps: &[Complex64], aqsn: &[Complex64]) -> OverIg {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f")]
            fn avx512(e: Energy, a: &[Complex64], b: &[Complex64], c: &[Complex64]) -> OverIg {
                e.sum_in_lanes(a, b, c)
            }
            #[target_feature(enable = "avx2")]
            fn avx2(e: Energy, a: &[Complex64], b: &[Complex64], c: &[Complex64]) -> OverIg {
                e.sum_in_lanes(a, b, c)
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has the feature.
                return unsafe { avx512(self, wtilde, eps, aqsn) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has the feature.
                return unsafe { avx2(self, wtilde, eps, aqsn) };
            }
        }
        self.sum_in_lanes(wtilde, eps, aqsn)
    }

    #[inline(always)]
    fn sum_in_lanes(self, wtilde: &[Complex64], eps: &[Complex64], aqsn: &[Complex64]) -> OverIg {
        let mut lanes = [Lanes::default(); 4];
        let mut sizes = [[0.0; LANES]; 2];
        let (wtilde, wtilde_rest) = wtilde.as_chunks::<LANES>();
        let (eps, eps_rest) = eps.as_chunks::<LANES>();
        let (aqsn, aqsn_rest) = aqsn.as_chunks::<LANES>();
        for ((wtilde, eps), aqsn) in wtilde.iter().zip(eps).zip(aqsn) {
            self.add_terms(wtilde, eps, aqsn, &mut lanes, &mut sizes);
        }
        if !wtilde_rest.is_empty() {
            // Vanished modes contribute nothing.
            let filled = |rest: &[Complex64]| {
                let mut all = [Complex64::ZERO; LANES];
                all[..rest.len()].copy_from_slice(rest);
                all
            };
            self.add_terms(
                &filled(wtilde_rest),
                &filled(eps_rest),
                &filled(aqsn_rest),
                &mut lanes,
                &mut sizes,
            );
        }
        let [ssx_re, ssx_im, sch_re, sch_im] = lanes.map(|lanes| lanes.value());
        OverIg {
            ssx: Complex64::new(ssx_re, ssx_im),
            sch: Complex64::new(sch_re, sch_im),
            magnitudes: sizes.map(|lanes| lanes.iter().sum()),
        }
    }

    /// Adds the terms of 8 neighbouring `ig`: the parts of `ssx·aqsn` and of `sch·aqsn`.
    #[inline(always)]
    fn add_terms(
        self,
        wtilde: &[Complex64; LANES],
        eps: &[Complex64; LANES],
        aqsn: &[Complex64; LANES],
        sums: &mut [Lanes; 4],
        sizes: &mut [[f64; LANES]; 2],
    ) {
        let mut parts = [[0.0; LANES]; 4];
        for lane in 0..LANES {
            let (ssx, sch) = self.term(wtilde[lane], eps[lane]);
            let (asx, ach) = (times(ssx, aqsn[lane]), times(sch, aqsn[lane]));
            parts[0][lane] = asx.re;
            parts[1][lane] = asx.im;
            parts[2][lane] = ach.re;
            parts[3][lane] = ach.im;
            sizes[0][lane] += asx.re.abs() + asx.im.abs();
            sizes[1][lane] += ach.re.abs() + ach.im.abs();
        }
        for (sum, part) in sums.iter_mut().zip(&parts) {
            sum.add(part);
        }
    }

    /// `ssx` and `sch` of one pair, as the formula defines them, with selects for the branches.
    #[inline(always)]
    fn term(self, wtilde: Complex64, eps: Complex64) -> (Complex64, Complex64) {
        let w = self.w;
        let wtilde2 = times(wtilde, wtilde);
        let omega2 = times(wtilde2, eps);
        let wdiff = Complex64::new(w - wtilde.re, -wtilde.im);
        let delw = over(wtilde, wdiff);
        let delw2 = delw.re * delw.re + delw.im * delw.im;
        let wdiff2 = wdiff.re * wdiff.re + wdiff.im * wdiff.im;

        let first = (wdiff2 > self.limittwo) & (delw2 < self.limitone);
        let second = !first & (delw2 > TOL_ZERO);
        let far = Complex64::new(w * w - wtilde2.re, -wtilde2.im);
        let delw_half = Complex64::new(delw.re + 0.5, delw.im);
        let near = times(Complex64::new(4.0 * wtilde2.re, 4.0 * wtilde2.im), delw_half);
        let ssx = over(select(first, omega2, -times(omega2, delw)), select(first, far, near));
        let ssx2 = ssx.re * ssx.re + ssx.im * ssx.im;
        let eps2 = eps.re * eps.re + eps.im * eps.im;
        // Infinity times a zero eps is no bound either.
        let kept = (ssx2 <= self.cutoff * eps2) | (self.cutoff == f64::INFINITY);

        (
            select((first | second) & kept, ssx, Complex64::ZERO),
            select(first, times(delw, eps), Complex64::ZERO),
        )
    }
}

#[inline(always)]
fn times(a: Complex64, b: Complex64) -> Complex64 {
    Complex64::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

#[inline(always)]
fn over(a: Complex64, b: Complex64) -> Complex64 {
    let norm = b.re * b.re + b.im * b.im;
    Complex64::new((a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm)
}

#[inline(always)]
fn select(condition: bool, a: Complex64, b: Complex64) -> Complex64 {
    Complex64::new(if condition { a.re } else { b.re }, if condition { a.im } else { b.im })
}

/// `a + b` and what rounding it lost (Knuth).
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

/// Interleaved compensated sums.
#[derive(Clone, Copy, Default)]
struct Lanes {
    sum: [f64; LANES],
    lost: [f64; LANES],
}

impl Lanes {
    #[inline(always)]
    fn add(&mut self, terms: &[f64; LANES]) {
        for ((sum, lost), term) in self.sum.iter_mut().zip(&mut self.lost).zip(terms) {
            let (rounded, error) = two_sum(*sum, *term);
            *sum = rounded;
            *lost += error;
        }
    }

    fn value(self) -> f64 {
        let mut total = Compensated::default();
        for lane in 0..LANES {
            total.add(self.sum[lane]);
            total.add(self.lost[lane]);
        }
        total.value()
    }
}

/// One compensated sum.
#[derive(Clone, Copy, Debug, Default)]
struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    fn add(&mut self, x: f64) {
        let (sum, lost) = two_sum(self.sum, x);
        self.sum = sum;
        self.lost += lost;
    }

    fn value(self) -> f64 {
        self.sum + self.lost
    }
}

/// A compensated complex sum.
#[derive(Clone, Copy, Debug, Default)]
struct ComplexSum {
    re: Compensated,
    im: Compensated,
}

impl ComplexSum {
    fn add(&mut self, z: Complex64) {
        self.re.add(z.re);
        self.im.add(z.im);
    }

    fn value(self) -> Complex64 {
        Complex64::new(self.re.value(), self.im.value())
    }
}

/// The two sums of one energy.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    ssx: ComplexSum,
    sch: ComplexSum,
    magnitudes: [f64; 2],
}

impl Pair {
    fn add_pair(&mut self, part: &Pair) {
        for (to, from) in self.magnitudes.iter_mut().zip(part.magnitudes) {
            *to += from;
        }
        for (to, from) in [(&mut self.ssx, &part.ssx), (&mut self.sch, &part.sch)] {
            for (to, from) in [(&mut to.re, &from.re), (&mut to.im, &from.im)] {
                to.add(from.sum);
                to.add(from.lost);
            }
        }
    }
}
