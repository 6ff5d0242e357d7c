//! Elements by the definition: all their terms.

use gpp_core::offdiag::Task;
use gpp_core::reference::term::{Energy, Number, growth, size, times};
use gpp_core::reference::{MAX_PRECISE_TERMS, UNDERFLOW, VANISHING};
use num_complex::{Complex, Complex64};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use twofloat::TwoFloat;

use super::Sample;
use crate::process::progress::Progress;

/// Terms that are added in the numbers that they are in; beyond, double-double numbers add.
const CHAIN: usize = 64;
/// Bands n between two additions of what they give.
const AT_ONCE: usize = 64;

/// An element by the definition: SX and CH.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Element {
    /// Both.
    pub value: [Complex64; 2],
    /// Σ|terms| of each, with what products below the smallest normal number may lose.
    pub magnitude: [f64; 2],
    /// What rounding may add or take away, where it decides about a branch or the cutoff.
    pub undecided: [f64; 2],
}

/// Evaluates elements: in double-double numbers where terms are few.
pub fn evaluate(task: &Task, sample: &Sample, progress: Progress) -> Vec<Element> {
    let each = task.problem.terms() / task.nw() as u64;
    if each.saturating_mul(sample.energies.len() as u64) <= MAX_PRECISE_TERMS {
        evaluated::<TwoFloat>(task, sample, progress)
    } else {
        evaluated::<f64>(task, sample, progress)
    }
}

/// Terms in numbers of one precision, sums in double-double ones.
fn evaluated<T: Number + Into<TwoFloat> + Send>(
    task: &Task,
    sample: &Sample,
    progress: Progress,
) -> Vec<Element> {
    let nbands = task.problem.header().nbands;
    let count = sample.bands.len() * sample.bands.len() * sample.energies.len();
    let mut totals = vec![[Part::ZERO; 2]; count];
    let bar = progress.bar("comparing", nbands as u64);
    for n in (0..nbands).step_by(AT_ONCE) {
        let some: Vec<_> = (n..nbands.min(n + AT_ONCE))
            .into_par_iter()
            .map(|n| {
                let of_n = of_band::<T>(task, n, sample);
                bar.inc(1);
                of_n
            })
            .collect();
        for of_n in &some {
            totals.iter_mut().zip(of_n).for_each(|(total, parts)| {
                total.iter_mut().zip(parts).for_each(|(total, part)| total.add(part));
            });
        }
    }
    bar.finish_and_clear();
    let element = |[ssx, sch]: &[Part; 2]| Element {
        value: [ssx.rounded(-1.0), sch.rounded(0.5)],
        magnitude: [ssx.magnitude, 0.5 * sch.magnitude],
        undecided: [ssx.undecided, 0.5 * sch.undecided],
    };
    totals.iter().map(element).collect()
}

/// What a band n gives to each element, of `ssx` and of `sch`.
fn of_band<T: Number + Into<TwoFloat>>(task: &Task, n: usize, sample: &Sample) -> Vec<[Part; 2]> {
    let (problem, count) = (task.problem, sample.bands.len());
    let (ncouls, occ) = (problem.header().ncouls, problem.occ()[n]);
    let column = |&l: &usize| {
        let mut column = vec![Complex64::ZERO; ncouls];
        task.elements.column(l, n, &mut column);
        column
    };
    let columns: Vec<Vec<Complex64>> = sample.bands.iter().map(column).collect();
    let mut sums = vec![[Part::ZERO; 2]; count * count * sample.energies.len()];
    for (&iw, sums) in sample.energies.iter().zip(sums.chunks_mut(count * count)) {
        let energy = Energy::of(problem.wx()[n * problem.nw() + iw], task.limits());
        for (igp, row) in problem.header().rows().enumerate() {
            let Some(row) = row else { continue };
            let vcoul = problem.vcoul_loc()[igp];
            let some = igp * ncouls..(igp + 1) * ncouls;
            let (wtilde, eps) = (&problem.wtilde()[some.clone()], &problem.eps()[some]);
            let of_igp = over_ig::<T>(energy, wtilde, eps, &columns);
            for (m, sums) in sums.chunks_mut(count).enumerate() {
                let aqsm = columns[m][row].conj();
                let grown = UNDERFLOW * growth(vcoul.abs()) * growth(size(aqsm)) * growth(occ);
                for (sum, of_l) in sums.iter_mut().zip(&of_igp) {
                    for ((sum, over), occ) in sum.iter_mut().zip(of_l).zip([occ, 1.0]) {
                        sum.add(&over.times(aqsm, vcoul * occ, grown));
                    }
                }
            }
        }
    }
    sums
}

/// `Σ A_l·ssx` and `Σ A_l·sch` over ig, for each l.
fn over_ig<T: Number + Into<TwoFloat>>(
    energy: Energy,
    wtilde: &[Complex64],
    eps: &[Complex64],
    columns: &[Vec<Complex64>],
) -> Vec<[Over; 2]> {
    let zero = Complex { re: T::from(0.0), im: T::from(0.0) };
    let mut all = vec![[Over { part: Part::ZERO, grown: 0.0 }; 2]; columns.len()];
    for first in (0..wtilde.len()).step_by(CHAIN) {
        let some = first..wtilde.len().min(first + CHAIN);
        let terms: Vec<_> = some.clone().map(|ig| energy.term::<T>(wtilde[ig], eps[ig])).collect();
        for (column, over) in columns.iter().zip(&mut all) {
            let mut sums = [zero; 2];
            for (term, ig) in terms.iter().zip(some.clone()) {
                let (a, weight) = (column[ig], size(eps[ig]));
                let (number, size_a) = (Complex { re: T::from(a.re), im: T::from(a.im) }, size(a));
                for (kind, value) in [term.ssx, term.sch].into_iter().enumerate() {
                    let product = times(number, value);
                    sums[kind].re = sums[kind].re + product.re;
                    sums[kind].im = sums[kind].im + product.im;
                    let Over { part, grown } = &mut over[kind];
                    part.magnitude += size_a * (size(value) + VANISHING[kind] * weight);
                    part.undecided += size_a * term.undecided[kind];
                    *grown += growth(size_a) * growth(weight) * growth(term.quotients[kind]);
                }
            }
            for (over, Complex { re, im }) in over.iter_mut().zip(sums) {
                over.part.re += re.into();
                over.part.im += im.into();
            }
        }
    }
    all
}

/// A sum over ig, and the growth of its terms' factors, added.
#[derive(Clone, Copy)]
struct Over {
    part: Part,
    grown: f64,
}

impl Over {
    /// It by a matrix element and a real factor.
    fn times(&self, by: Complex64, factor: f64, grown: f64) -> Part {
        let Part { re, im, magnitude, undecided } = self.part;
        let size = size(by) * factor.abs();
        Part {
            re: (re * by.re - im * by.im) * factor,
            im: (re * by.im + im * by.re) * factor,
            magnitude: size * magnitude + grown * self.grown,
            undecided: size * undecided,
        }
    }
}

/// One sum, how large its terms are, and what rounding may decide of it.
#[derive(Clone, Copy)]
struct Part {
    re: TwoFloat,
    im: TwoFloat,
    magnitude: f64,
    undecided: f64,
}

impl Part {
    const NONE: TwoFloat = TwoFloat::from_f64(0.0);
    const ZERO: Part = Part { re: Part::NONE, im: Part::NONE, magnitude: 0.0, undecided: 0.0 };

    fn add(&mut self, other: &Part) {
        self.re += other.re;
        self.im += other.im;
        self.magnitude += other.magnitude;
        self.undecided += other.undecided;
    }

    fn rounded(&self, factor: f64) -> Complex64 {
        Complex64::new(factor * f64::from(self.re), factor * f64::from(self.im))
    }
}
