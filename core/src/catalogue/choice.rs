//! Which version is the fastest for a problem: what `best` is, and what runs where no version is named.
//!
//! A version that takes a term for each energy takes as many as there are bands, pairs and energies. One that
//! sorts pairs takes the moments of all pairs, for each batch of energies anew, and evaluates those of each cell at
//! every energy. Cells are as wide as is worth while, so that there are about as many as the root of the pairs.
//! And each batch takes its launches. These four, weighed as they were measured, tell which version is the faster.

use gpp_kernels::plan::Poles;

use super::journey::{BackEnd, best};
use super::{Listed, find};

/// What the time of a version depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// Bands.
    pub nbands: usize,
    /// Pairs of a G and a G′.
    pub pairs: u64,
    /// Energies.
    pub nw: usize,
    /// What all contributing poles have in common.
    pub poles: Poles,
}

/// What a version takes for some poles, in the time of one term of real poles.
struct Cost {
    back_end: BackEnd,
    version: &'static str,
    poles: Poles,
    /// For each batch of energies.
    batch: f64,
    /// For each pair and band, in each batch.
    moments: f64,
    /// For each pair, band and energy.
    term: f64,
    /// For each band and energy, times the root of the pairs.
    cells: f64,
}

impl Cost {
    /// A version that takes a term for each energy.
    const fn by_terms(back_end: BackEnd, version: &'static str, poles: Poles, term: f64) -> Cost {
        let batch = Cost::batch(back_end);
        Cost { back_end, version, poles, batch, moments: 0.0, term, cells: 0.0 }
    }

    /// A version that sorts pairs.
    const fn by_cells(
        back_end: BackEnd,
        version: &'static str,
        poles: Poles,
        [moments, cells]: [f64; 2],
    ) -> Cost {
        let batch = Cost::batch(back_end);
        Cost { back_end, version, poles, batch, moments, term: 0.0, cells }
    }

    /// Launches of a GPU.
    const fn batch(back_end: BackEnd) -> f64 {
        match back_end {
            BackEnd::Gpu => 8e7,
            BackEnd::Cpu => 0.0,
        }
    }
}

/// On one H200, whose term takes 0.9 ps, and on two cores with AVX-512, where it takes 0.2 ns.
static COSTS: [Cost; 8] = [
    Cost::by_terms(BackEnd::Gpu, "v13", Poles::Real, 1.0),
    Cost::by_cells(BackEnd::Gpu, "sigma:blocks", Poles::Real, [4.1, 130.0]),
    Cost::by_terms(BackEnd::Gpu, "v13", Poles::Any, 1.8),
    Cost::by_cells(BackEnd::Gpu, "sigma:blocks", Poles::Any, [10.2, 440.0]),
    Cost::by_terms(BackEnd::Cpu, "cpu:paired", Poles::Real, 1.0),
    Cost::by_cells(BackEnd::Cpu, "sigma:cells", Poles::Real, [4.4, 75.0]),
    Cost::by_terms(BackEnd::Cpu, "cpu:paired", Poles::Any, 1.9),
    Cost::by_cells(BackEnd::Cpu, "sigma:cells", Poles::Any, [14.0, 110.0]),
];

impl Cost {
    fn of(&self, task: &Task) -> f64 {
        let holds = find(self.version).map_or(1, |listed| listed.kernel.holds(task.poles));
        let batches = super::batches(task.nw, holds).count() as f64;
        let (pairs, nbands) = (task.pairs as f64, task.nbands as f64);
        let of_batch = self.batch + self.moments * pairs * nbands;
        let of_energy = nbands * (self.term * pairs + self.cells * pairs.sqrt());
        batches * of_batch + task.nw as f64 * of_energy
    }
}

/// The fastest version for a problem on a back end.
pub fn best_for(back_end: BackEnd, task: &Task) -> Listed {
    let suits = |cost: &&Cost| cost.back_end == back_end && cost.poles == task.poles;
    let fastest = COSTS.iter().filter(suits).min_by(|a, b| a.of(task).total_cmp(&b.of(task)));
    fastest.and_then(|cost| find(cost.version)).unwrap_or_else(|| best(back_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(back_end: BackEnd, [nbands, pairs, nw]: [usize; 3], poles: Poles) -> &'static str {
        best_for(back_end, &Task { nbands, pairs: pairs as u64, nw, poles }).id()
    }

    const SI214: [usize; 2] = [800, 1385 * 11075];
    const DEMO: [usize; 2] = [96, 139 * 1111];
    const TINY: [usize; 2] = [21, 9 * 67];

    #[test]
    fn the_choice_is_by_energies_size_and_poles() {
        let at = |back_end, [nbands, pairs]: [usize; 2], nw| {
            chosen(back_end, [nbands, pairs, nw], Poles::Real)
        };
        for system in [SI214, DEMO] {
            assert_eq!(at(BackEnd::Cpu, system, 2), "cpu:paired");
            assert_eq!(at(BackEnd::Gpu, system, 2), "v13");
            for nw in [16, 64, 501, 100_000] {
                assert_eq!(at(BackEnd::Cpu, system, nw), "sigma:cells");
                assert_eq!(at(BackEnd::Gpu, system, nw), "sigma:blocks");
            }
        }
        for nw in [1, 2, 6, 64, 501, 100_000] {
            assert_eq!(at(BackEnd::Cpu, TINY, nw), "cpu:paired");
        }
        // Moments of poles off the real axis take longer.
        let [nbands, pairs] = SI214;
        let any = |back_end, nw| chosen(back_end, [nbands, pairs, nw], Poles::Any);
        assert_eq!([6, 64].map(|nw| any(BackEnd::Cpu, nw)), ["cpu:paired", "sigma:cells"]);
        assert_eq!([6, 64].map(|nw| any(BackEnd::Gpu, nw)), ["v13", "sigma:blocks"]);
        // Launches are what takes long.
        assert_eq!(
            [3, 4, 501].map(|nw| at(BackEnd::Gpu, TINY, nw)),
            ["v13", "sigma:blocks", "sigma:blocks"]
        );
    }

    #[test]
    fn every_version_is_the_best_of_its_journey() {
        for cost in &COSTS {
            let journey = super::super::journey_of(cost.version).unwrap();
            assert_eq!(journey.best(cost.back_end).unwrap().version, cost.version);
        }
    }
}
