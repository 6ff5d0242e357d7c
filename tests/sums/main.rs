//! Sums on the CPU: every version against more precise references, in slabs and on workers, and the verdicts on them.

#[path = "../common/mod.rs"]
mod common;
mod cpu;
mod derivative;
mod energies;
mod engine;
mod hard;
mod heavy;
#[path = "../../benches/hecbench/mod.rs"]
mod hecbench;
mod measure;
mod precise;
mod reference;
mod single;
mod static_ch;
mod verdict;
mod versions;

use gpp::catalogue::{self, Version};
use gpp::devices::cpu::CpuDevice;
use gpp::engine::Engine;
use gpp::problem::{Problem, Sums};
use gpp::reference::{Outcome, Reference, verify_version};

fn sums(problem: &Problem, kernel: Version) -> Sums {
    Engine::whole(&CpuDevice::new(), problem).unwrap().run(kernel).unwrap().sums
}

fn referenced(problem: &Problem) -> Reference {
    gpp::reference::for_problem(problem, common::QUIET).unwrap().unwrap()
}

/// What is wrong with these versions: two runs of each, which have the same bits.
fn failures_of(
    versions: impl Iterator<Item = Version>,
    problem: &Problem,
    reference: &Reference,
) -> Vec<String> {
    let device = CpuDevice::new();
    let (mut engine, mut all) = (Engine::whole(&device, problem).unwrap(), Vec::new());
    for version in versions {
        let sums = engine.run(version).unwrap().sums;
        let again = engine.run(version).unwrap().sums;
        assert!(gpp::measure::same_bits(&sums, &again), "{} of {}", version.id(), problem.name());
        let (_, found) = verify_version(version, problem, &sums, Some(reference)).unwrap();
        if found.outcome != Outcome::Passed {
            all.push(format!("{}: {found:?}", version.id()));
        }
    }
    all
}

fn assert_passes(problem: &Problem, reference: &Reference) {
    let failures = failures_of(catalogue::versions(), problem, reference);
    assert!(failures.is_empty(), "{}:\n{}", problem.name(), failures.join("\n"));
}

fn check(problem: &Problem) {
    assert_passes(problem, &referenced(problem));
}
