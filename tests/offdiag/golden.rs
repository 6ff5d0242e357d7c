//! Golden elements: what they are of, that they are reproduced, and that v3, v13 and the matrices of a GPU have them.

use gpp::catalogue;
use gpp::engine::Engine;
use gpp::problem::systems::{self, DEFAULT_SEED};
use gpp::reference::Source;
use gpp::reference::matrix::{compare, evaluate, find_golden, tolerance};
use gpp::reference::verify::Outcome;
use gpp_core::offdiag::{Sums, Synthesised, Task};
use gpp_core::problem::synthesis::synthesise;

use super::common::QUIET;
use super::common::matrices::{Given, element};
use super::{GPU, processor, ways};

#[test]
fn small_golden_elements_are_reproduced() {
    for (name, bands) in [("tiny", 256), ("demo", 16)] {
        let system = systems::find(name).unwrap();
        let problem = synthesise(system, DEFAULT_SEED, QUIET).unwrap();
        let elements = Synthesised::new(system, DEFAULT_SEED, bands);
        let task = Task::new(&problem, &elements);
        let (sample, golden) = find_golden(&task, 0).unwrap();
        assert_eq!((sample.bands[0], sample.bands.last()), (0, Some(&(bands - 1))));
        assert_eq!(evaluate(&task, &sample, QUIET), golden, "{name}");
        let mut sums = processor(&task).unwrap();
        let outcome = |sums: &Sums| compare(&task, sums, &sample, &golden, Source::Golden).outcome;
        assert_eq!(outcome(&sums), Outcome::Passed, "{name}");
        let last = sums.at(bands - 1, 0, 0);
        sums.ch[last].re += golden[sample.bands.len() - 1].magnitude[1] * 3.0 * tolerance(&task);
        assert_eq!(outcome(&sums), Outcome::Incorrect, "{name}");
    }
}

#[test]
fn other_tasks_have_no_golden_elements() {
    let system = systems::find("tiny").unwrap();
    let own = synthesise(system, DEFAULT_SEED, QUIET).unwrap();
    let other = synthesise(system, DEFAULT_SEED + 1, QUIET).unwrap();
    let elements = |bands| Synthesised::new(system, DEFAULT_SEED, bands);
    assert!(find_golden(&Task::new(&own, &elements(16)), 0).is_some());
    assert!(find_golden(&Task::new(&own, &elements(16)), 1).is_none());
    assert!(find_golden(&Task::new(&own, &elements(17)), 0).is_none());
    assert!(find_golden(&Task::new(&other, &elements(16)), 0).is_none());
    let made = element(&own, &Given::of(&own, 1, 1), [0, 0]);
    assert!(find_golden(&Task::new(&made, &elements(16)), 0).is_none());
}

/// si214 at 128 bands: every version against golden elements, v3 against some of them, v13 against the diagonal.
#[test]
fn golden_elements_of_si214_are_those_of_a_gpu() {
    let Some(gpu) = GPU.as_ref() else { return };
    let system = systems::find("si214").unwrap();
    let problem = synthesise(system, DEFAULT_SEED, QUIET).unwrap();
    let elements = Synthesised::new(system, DEFAULT_SEED, 128);
    let task = Task::new(&problem, &elements);
    let (sample, golden) = find_golden(&task, 0).unwrap();
    let count = sample.bands.len();
    assert_eq!((count, sample.energies.len()), (6, 2));
    for (name, way) in ways(false).into_iter().filter(|(name, _)| name.ends_with("GPU")) {
        let found = compare(&task, &way(&task).unwrap(), &sample, &golden, Source::Golden);
        assert_eq!(found.outcome, Outcome::Passed, "{name}: {found:?}");
    }
    for (id, l, m) in [("v3", 0, 5), ("v3", 5, 0), ("v3", 3, 2), ("v3", 5, 5), ("v13", 5, 5)] {
        let alone = element(&problem, &elements, [sample.bands[l], sample.bands[m]]);
        let mut engine = Engine::whole(gpu, &alone).unwrap();
        let sums = engine.run(catalogue::find(id).unwrap().kernel).unwrap().sums;
        for iw in 0..2 {
            let of = &golden[l + count * (m + count * iw)];
            for (part, found) in [sums.asx[iw], sums.ach[iw]].into_iter().enumerate() {
                let allowed = tolerance(&task) * of.magnitude[part] + of.undecided[part];
                let error = (found - of.value[part]).norm();
                assert!(error <= allowed, "{id} {l} {m} {iw}: {found}, not {}", of.value[part]);
            }
        }
    }
}
