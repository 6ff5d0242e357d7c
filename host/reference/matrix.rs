//! Σ as a matrix by the definition, element by element, and the comparison with it.
//!
//! **Errors are relative to Σ|terms|** of the element: of `vcoul · |A_m| · |A_l| · |P|`, in 1-norms. With `u = ε/2`,
//! `a` and `p` the 1-norms of an A and a P, and chains of k additions, three real products lose
//!
//! - in `Re = t1 − t2` at most `k·u·Σap`, for `|Re A·Re P| + |Im A·Im P| ≤ ap`;
//! - in `Im = t3 − t1 − t2` at most `(k + 2)·u·Σap` of `t3`, of rounded sums, and `k·u·Σap` of the others.
//!
//! So both parts lose `3k·u = 1.5·k·ε` of Σ|terms|, however small they are themselves, and a few roundings more. The
//! second product takes what the first one gives, and loses as much by its own chain: the chains add. That of the
//! first is all `ig`. That of the second is on a CPU a portion of igp (`PORTION`), then all portions of the bands
//! of a part; on a GPU all igp of the bands of a group ([`GROUP`]), then groups of a part and slots. Then parts add.
//!
//! To that comes what a term loses, and what rounding decides of a branch or the cutoff, as in [`mod@crate::reference`].

use gpp_core::offdiag::{GROUP, MatrixEnergies, MatrixSums, MatrixTask};
use gpp_core::reference::{BoundedSum, Energy, SumsOverG, TERM, add_sums_over_ig, sums_over_ig};
use num_complex::Complex64;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::output::Progress;
use crate::reference::{Outcome, SAMPLED_TERMS, Undecided};

/// igp of a partial sum of the second product on a CPU.
const PORTION: usize = 64;

/// Elements of the matrices at some energies: those of some bands l and m.
#[derive(Clone, Debug)]
pub struct SampledElements {
    pub bands: Vec<usize>,
    /// Energies (0-based).
    pub energies: Vec<usize>,
}

impl SampledElements {
    /// Those of three bands, the first, the middle and the last, at as many energies as take seconds, one at least.
    pub fn few(task: &MatrixTask) -> SampledElements {
        let (bands, nw) = (task.bands(), task.nw());
        let mut bands = vec![0, bands / 2, bands - 1];
        bands.dedup();
        let each = task.problem.terms() / nw as u64;
        let count = (SAMPLED_TERMS / each.max(1)).clamp(1, nw as u64) as usize;
        let mut energies: Vec<usize> = match task.at {
            MatrixEnergies::Energies => {
                (0..count).map(|at| at * (nw - 1) / (count - 1).max(1)).collect()
            }
            MatrixEnergies::Bands(of) => bands.iter().take(count).map(|&band| of[band]).collect(),
        };
        energies.sort_unstable();
        energies.dedup();
        SampledElements { bands, energies }
    }

    fn places(&self) -> impl Iterator<Item = [usize; 3]> {
        let bands = &self.bands;
        self.energies.iter().flat_map(move |&iw| {
            bands.iter().flat_map(move |&m| bands.iter().map(move |&l| [l, m, iw]))
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixVerification {
    pub outcome: Outcome,
    /// Elements that were compared, SX and CH of each, or Σ.
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

pub fn tolerance(task: &MatrixTask) -> f64 {
    let (of_part, ngpown) = (task.part(0).len(), task.problem.header().ngpown);
    let on_processor = PORTION.min(ngpown) + of_part * ngpown.div_ceil(PORTION);
    let on_gpu = ngpown * of_part + GROUP;
    let chain = task.problem.header().ncouls + on_processor.max(on_gpu) + task.parts();
    f64::EPSILON * (TERM + 1.5 * chain as f64)
}

/// Compares elements with what the definition gives, in the sample's order.
pub fn compare(
    task: &MatrixTask,
    sums: &MatrixSums,
    sample: &SampledElements,
    expected: &[ExpectedElement],
) -> MatrixVerification {
    let tolerance = tolerance(task);
    let mut elements = 0;
    let errors = sample.places().zip(expected).flat_map(|([l, m, iw], element)| {
        elements += task.at.planes(l, m, iw).count();
        task.at.planes(l, m, iw).flat_map(move |plane| {
            [0, 1].map(|part| {
                let found = [&sums.sx, &sums.ch][part][sums.at(l, m, plane)];
                let difference = (found - element.value[part]).norm();
                [0.0, element.undecided[part]].map(|decided| {
                    let excess = difference - decided;
                    if excess <= 0.0 { 0.0 } else { excess / (element.magnitude[part] + decided) }
                })
            })
        })
    });
    let larger = |worst: f64, error| if error <= worst || worst.is_nan() { worst } else { error };
    // All of it, and what is beyond the terms that rounding decides.
    let [worst, beyond] = errors.fold([0.0; 2], |[worst, beyond], error| {
        [larger(worst, error[0]), larger(beyond, error[1])]
    });
    let passed = beyond <= tolerance && sums.nw() == task.planes();
    let sizes = |element: &ExpectedElement| {
        [0, 1].map(|i| (element.undecided[i], element.magnitude[i], element.value[i]))
    };
    MatrixVerification {
        outcome: if passed { Outcome::Passed } else { Outcome::Incorrect },
        elements,
        bands: sample.bands.iter().map(|band| band + 1).collect(),
        energies: sample.energies.clone(),
        max_rel_error: Some(worst).filter(|worst| worst.is_finite()),
        tolerance,
        undecided: Undecided::largest(expected.iter().flat_map(sizes), tolerance),
    }
}

/// Bands n between two additions of what they give.
const AT_ONCE: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedElement {
    pub value: [Complex64; 2],
    /// Σ|terms| of each, with what products below the smallest normal number may lose.
    pub magnitude: [f64; 2],
    /// What rounding may add or take away, where it decides about a branch or the cutoff.
    pub undecided: [f64; 2],
}

/// Evaluates elements by terms in double numbers, with compensated sums.
pub fn evaluate(
    task: &MatrixTask,
    sample: &SampledElements,
    progress: Progress,
) -> Vec<ExpectedElement> {
    let nbands = task.problem.header().nbands;
    let mut totals = vec![[BoundedSum::default(); 2]; sample.places().count()];
    let bar = progress.bar("comparing", nbands as u64);
    for first in (0..nbands).step_by(AT_ONCE) {
        let bands = (first..nbands.min(first + AT_ONCE)).into_par_iter();
        let bands = bands.map(|n| sums_of_band(task, n, sample)).inspect(|_| bar.step());
        for sums in bands.collect::<Vec<_>>() {
            let parts = totals.as_flattened_mut().iter_mut().zip(sums.as_flattened());
            parts.for_each(|(total, part)| total.merge(part));
        }
    }
    drop(bar);
    let element = |[ssx, sch]: &[BoundedSum; 2]| {
        let (sx, ch) = (-ssx.sum.value(), 0.5 * sch.sum.value());
        // Σ alone is in the place of CH, without SX.
        let sizes = |sx, ch| if task.sigma_alone { [0.0, sx + ch] } else { [sx, ch] };
        ExpectedElement {
            value: if task.sigma_alone { [Complex64::ZERO, sx + ch] } else { [sx, ch] },
            magnitude: sizes(ssx.magnitude, 0.5 * sch.magnitude),
            undecided: sizes(ssx.undecided, 0.5 * sch.undecided),
        }
    };
    totals.iter().map(element).collect()
}

/// What a band n gives to each element, of `ssx` and of `sch`.
fn sums_of_band(task: &MatrixTask, n: usize, sample: &SampledElements) -> Vec<[BoundedSum; 2]> {
    let (problem, count) = (task.problem, sample.bands.len());
    let (ncouls, occ) = (problem.header().ncouls, problem.occ()[n]);
    let column = |&l: &usize| {
        let mut column = vec![Complex64::ZERO; ncouls];
        task.elements.column(l, n, &mut column);
        column
    };
    let columns: Vec<Vec<Complex64>> = sample.bands.iter().map(column).collect();
    let mut sums = vec![[BoundedSum::default(); 2]; count * count * sample.energies.len()];
    for (&iw, sums) in sample.energies.iter().zip(sums.chunks_mut(count * count)) {
        let energy = Energy::new(problem.wx()[n * problem.nw() + iw], problem.limits());
        for (igp, row) in problem.header().rows().enumerate() {
            let Some(row) = row else { continue };
            let vcoul = problem.vcoul_loc()[igp];
            let pairs = igp * ncouls..(igp + 1) * ncouls;
            let (wtilde, eps) = (&problem.wtilde()[pairs.clone()], &problem.eps()[pairs]);
            let over_ig = |column: &Vec<Complex64>| sums_over_ig(energy, wtilde, eps, column);
            let over_ig: Vec<SumsOverG> = columns.iter().map(over_ig).collect();
            for (column, sums) in columns.iter().zip(sums.chunks_mut(count)) {
                for (sum, over_ig) in sums.iter_mut().zip(&over_ig) {
                    add_sums_over_ig(sum, over_ig, column[row], vcoul, occ);
                }
            }
        }
    }
    sums
}
