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
//! first is all `ig`. That of the second is on a processor a portion of igp (`PORTION`), then all portions of the bands
//! of a part; on a GPU all igp of the bands of a group ([`GROUP`]), then groups of a part and slots. Then parts add.
//!
//! To that comes what a term loses, and what rounding decides of a branch or the cutoff, as in [`super::verify`].

pub mod golden;

mod definition;

use gpp_core::offdiag::images::GROUP;
use gpp_core::offdiag::parts;
use gpp_core::offdiag::{At, Sums, Task};
use gpp_core::reference::TERM;
use serde::{Deserialize, Serialize};

pub use definition::{Element, evaluate};

use super::verify::{Outcome, Undecided};
use super::{SAMPLED_TERMS, Source};
use crate::process::progress::Progress;

/// igp of a partial sum of the second product on a processor.
const PORTION: usize = 64;

/// Elements of the matrices at some energies: those of some bands l and m.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Bands, of A's own numbers.
    pub bands: Vec<usize>,
    /// Energies (0-based).
    pub energies: Vec<usize>,
}

impl Sample {
    /// All elements.
    pub fn all(task: &Task) -> Sample {
        Sample { bands: (0..task.bands()).collect(), energies: (0..task.nw()).collect() }
    }

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

    /// l, m and energy of each element, in the order in which they are evaluated.
    fn places(&self) -> impl Iterator<Item = [usize; 3]> {
        let bands = &self.bands;
        self.energies.iter().flat_map(move |&iw| {
            bands.iter().flat_map(move |&m| bands.iter().map(move |&l| [l, m, iw]))
        })
    }
}

/// How a comparison came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict.
    pub outcome: Outcome,
    /// What they were compared with; null in older records, which took the definition.
    pub reference: Option<Source>,
    /// Elements that were compared, SX and CH of each.
    pub elements: usize,
    /// The bands l and m that they are of, from 1.
    pub bands: Vec<usize>,
    /// Their energies, from 0.
    pub energies: Vec<usize>,
    /// Largest error, relative to Σ|terms|; null where it is not a number.
    pub max_rel_error: Option<f64>,
    /// Largest error that passes, beside what rounding decides.
    pub tolerance: f64,
    /// What rounding decides, where that is more than the tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
}

/// Largest error of an element, relative to Σ|terms|.
pub fn tolerance(task: &Task) -> f64 {
    let (of_part, ngpown) = (parts::bands(task, 0).len(), task.problem.header().ngpown);
    let on_processor = PORTION.min(ngpown) + of_part * ngpown.div_ceil(PORTION);
    let on_gpu = ngpown * of_part + GROUP;
    let chain = task.problem.header().ncouls + on_processor.max(on_gpu) + parts::count(task);
    f64::EPSILON * (TERM + 1.5 * chain as f64)
}

/// Compares elements with what the definition gives.
pub fn verify(task: &Task, sums: &Sums, sample: &Sample, progress: Progress) -> Verdict {
    compare(task, sums, sample, &evaluate(task, sample, progress), Source::Serial)
}

/// Compares elements with those expected, in the sample's order.
pub fn compare(
    task: &Task,
    sums: &Sums,
    sample: &Sample,
    expected: &[Element],
    reference: Source,
) -> Verdict {
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
                    if rest <= 0.0 { 0.0 } else { rest / element.magnitude[part] }
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
        reference: Some(reference),
        elements,
        bands: sample.bands.iter().map(|band| band + 1).collect(),
        energies: sample.energies.clone(),
        max_rel_error: Some(worst).filter(|worst| worst.is_finite()),
        tolerance,
        undecided: Undecided::of(expected.iter().flat_map(sizes), tolerance),
    }
}
