//! Sums of built-in systems: those that `data/golden.json` holds, and those that a file is written with.

use gpp_core::offdiag::{Synthesised, Task};

use super::source::Source;
use crate::error::{Error, Result};
use crate::problem::grid::Grid;
use crate::problem::systems::{DEFAULT_SEED, System};
use crate::problem::{Problem, Sums};
use crate::process::progress::Progress;
use crate::reference;
use crate::reference::golden::{At, Golden};
use crate::reference::matrix::golden::GoldenMatrix;
use crate::reference::matrix::{self, Sample};

/// Evaluates the sums of these systems, at other energies than their own where some are given.
///
/// # Errors
/// Those of [`Source::load`].
pub fn golden(
    systems: &[&'static System],
    seed: u64,
    grid: Option<&Grid>,
    progress: Progress,
) -> Result<Vec<Golden>> {
    let of = |&system: &&'static System| {
        let problem = Source::System(system, seed).at(grid.cloned()).load(progress)?;
        let sums = reference::evaluate(&problem, progress)?.sums;
        let at = grid.map(|_| At::of(problem.header()));
        Ok(Golden { system: system.name.clone(), seed, at, sums })
    };
    systems.iter().map(of).collect()
}

/// Evaluates the elements of these systems' matrices between some bands, counted from 1.
///
/// # Errors
/// As [`golden`].
pub fn matrices(
    systems: &[&'static System],
    seed: u64,
    grid: Option<&Grid>,
    bands: &[usize],
    progress: Progress,
) -> Result<Vec<GoldenMatrix>> {
    let mut bands = bands.to_vec();
    bands.sort_unstable();
    bands.dedup();
    let of = |&system: &&'static System| {
        let problem = Source::System(system, seed).at(grid.cloned()).load(progress)?;
        let synthesised = Synthesised::new(system, seed, bands.iter().copied().fold(0, usize::max));
        let task = Task::new(&problem, &synthesised);
        let own = bands.iter().map(|band| band - 1).collect();
        let sample = Sample { bands: own, energies: (0..problem.nw()).collect() };
        let elements = matrix::evaluate(&task, &sample, progress);
        let (system, at) = (system.name.clone(), At::of(problem.header()));
        Ok(GoldenMatrix { system, seed, at, bands: bands.clone(), elements })
    };
    systems.iter().map(of).collect()
}

/// A problem and its reference sums, stored or evaluated now.
///
/// # Errors
/// Those of [`Source::load`]; [`Error::Data`] where it has too many terms to evaluate its sums.
pub fn with_sums(source: &Source, progress: Progress) -> Result<(Problem, Sums)> {
    let problem = source.load(progress)?;
    let sums = reference::whole(&problem, progress)?.ok_or_else(|| Error::Data {
        origin: source.name(),
        what: format!(
            "no golden sums for this seed and these energies, and too many terms to evaluate them now; \
             golden sums exist for seed {DEFAULT_SEED} and a system's own energies"
        ),
    })?;
    Ok((problem, sums))
}
