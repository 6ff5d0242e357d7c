//! Σ as a matrix by the definition, element by element, and the comparison with it.
//!
//! **Errors are relative to Σ|terms|** of the element: of `vcoul · |A_m| · |A_l| · |P|`, in 1-norms. With `u = ε/2`,
//! `a` and `p` the 1-norms of an A and a P, and chains of k additions, three real products lose
//!
//! - in `Re = t1 − t2` at most `k·u·Σap`, for `|Re A·Re P| + |Im A·Im P| ≤ ap`;
//! - in `Im = t3 − t1 − t2` at most `(k + 2)·u·Σap` of `t3`, whose factors are rounded sums, and `k·u·Σap` of the
//!   others.
//!
//! So both parts lose `3k·u = 1.5·k·ε` of Σ|terms|, however small they are themselves, and a few roundings more. The
//! second product takes what the first one gives, and loses as much by its own chain: the chains add. That of the
//! first is all `ig`. That of the second is on a CPU a portion of igp (`PORTION`), then all portions of the bands
//! of a part; on a GPU all igp of the bands of a group ([`GROUP`]), then groups of a part and slots. Then parts add.
//!
//! To that comes what a term loses, and what rounding decides of a branch or the cutoff, as in [`mod@crate::reference`].

use gpp_core::offdiag::{At, GROUP, Sums, Task};
use gpp_core::reference::{
    Energy, MAX_PRECISE_TERMS, Number, TERM, UNDERFLOW, VANISHING, growth, size, times,
};
use num_complex::{Complex, Complex64};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use twofloat::TwoFloat;

use crate::output::Progress;
use crate::reference::{Outcome, SAMPLED_TERMS, Undecided};

/// igp of a partial sum of the second product on a CPU.
const PORTION: usize = 64;

/// Elements of the matrices at some energies: those of some bands l and m.
#[derive(Clone, Debug)]
pub struct Sample {
    pub bands: Vec<usize>,
    /// Energies (0-based).
    pub energies: Vec<usize>,
}

impl Sample {
    /// Those of three bands, the first, the middle and the last, at as many energies as take seconds, one at least.
    pub fn few(task: &Task) -> Sample {
        let (bands, nw) = (task.bands(), task.nw());
        let mut bands = vec![0, bands / 2, bands - 1];
        bands.dedup();
        let each = task.problem.terms() / nw as u64;
        let count = (SAMPLED_TERMS / each.max(1)).clamp(1, nw as u64) as usize;
        let mut energies: Vec<usize> = match task.at {
            At::Energies => (0..count).map(|at| at * (nw - 1) / (count - 1).max(1)).collect(),
            At::Bands(of) => bands.iter().take(count).map(|&band| of[band]).collect(),
        };
        energies.sort_unstable();
        energies.dedup();
        Sample { bands, energies }
    }

    fn places(&self) -> impl Iterator<Item = [usize; 3]> {
        let bands = &self.bands;
        self.energies.iter().flat_map(move |&iw| {
            bands.iter().flat_map(move |&m| bands.iter().map(move |&l| [l, m, iw]))
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub outcome: Outcome,
    /// Elements that were compared, SX and CH of each.
    pub elements: usize,
    /// Their bands l and m, from 1.
    pub bands: Vec<usize>,
    /// Their energies, from 0.
    pub energies: Vec<usize>,
    /// Largest error, relative to Σ|terms|; null where it is not a number.
    pub max_rel_error: Option<f64>,
    pub tolerance: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
}

pub fn tolerance(task: &Task) -> f64 {
    let (of_part, ngpown) = (task.part(0).len(), task.problem.header().ngpown);
    let on_processor = PORTION.min(ngpown) + of_part * ngpown.div_ceil(PORTION);
    let on_gpu = ngpown * of_part + GROUP;
    let chain = task.problem.header().ncouls + on_processor.max(on_gpu) + task.parts();
    f64::EPSILON * (TERM + 1.5 * chain as f64)
}

/// Compares elements with what the definition gives, in the sample's order.
pub fn compare(task: &Task, sums: &Sums, sample: &Sample, expected: &[Element]) -> Verdict {
    let tolerance = tolerance(task);
    let mut elements = 0;
    let errors = sample.places().zip(expected).flat_map(|([l, m, iw], element)| {
        elements += task.at.planes(l, m, iw).count();
        task.at.planes(l, m, iw).flat_map(move |plane| {
            [0, 1].map(|part| {
                let found = [&sums.sx, &sums.ch][part][sums.at(l, m, plane)];
                let difference = (found - element.value[part]).norm();
                [0.0, element.undecided[part]].map(|decided| {
                    let rest = difference - decided;
                    if rest <= 0.0 { 0.0 } else { rest / (element.magnitude[part] + decided) }
                })
            })
        })
    });
    let larger = |worst: f64, error| if error <= worst || worst.is_nan() { worst } else { error };
    // All of it, and what is beyond the terms that rounding decides.
    let [worst, beyond] = errors
        .fold([0.0; 2], |[worst, beyond], [all, rest]| [larger(worst, all), larger(beyond, rest)]);
    let passed = beyond <= tolerance && sums.nw() == task.planes();
    let sizes = |of: &Element| [0, 1].map(|at| (of.undecided[at], of.magnitude[at], of.value[at]));
    Verdict {
        outcome: if passed { Outcome::Passed } else { Outcome::Incorrect },
        elements,
        bands: sample.bands.iter().map(|band| band + 1).collect(),
        energies: sample.energies.clone(),
        max_rel_error: Some(worst).filter(|worst| worst.is_finite()),
        tolerance,
        undecided: Undecided::of(expected.iter().flat_map(sizes), tolerance),
    }
}

/// Terms that are added in the numbers that they are in; beyond, double-double numbers add.
const CHAIN: usize = 64;
/// Bands n between two additions of what they give.
const AT_ONCE: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
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

/// Terms in numbers of type `T`, sums in double-double numbers.
fn evaluated<T: Number + Into<TwoFloat> + Send>(
    task: &Task,
    sample: &Sample,
    progress: Progress,
) -> Vec<Element> {
    let nbands = task.problem.header().nbands;
    let count = sample.bands.len() * sample.bands.len() * sample.energies.len();
    let mut totals = vec![[Part::ZERO; 2]; count];
    let bar = progress.bar("comparing", nbands as u64);
    for first in (0..nbands).step_by(AT_ONCE) {
        let some = (first..nbands.min(first + AT_ONCE)).into_par_iter();
        let some = some.map(|n| of_band::<T>(task, n, sample)).inspect(|_| bar.step());
        for of_n in some.collect::<Vec<_>>() {
            for (total, part) in totals.as_flattened_mut().iter_mut().zip(of_n.as_flattened()) {
                total.add(part);
            }
        }
    }
    drop(bar);
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
        let energy = Energy::of(problem.wx()[n * problem.nw() + iw], problem.limits());
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
    const ZERO: Part = {
        let zero = TwoFloat::from_f64(0.0);
        Part { re: zero, im: zero, magnitude: 0.0, undecided: 0.0 }
    };

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
