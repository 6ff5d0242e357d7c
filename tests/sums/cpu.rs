//! Versions made for CPUs: each level of vectors, any number of threads, their errors beside v3's.

use gpp::catalogue::{self, Version};
use gpp::devices::cpu::CpuDevice;
use gpp::problem::{Problem, Sums};
use gpp::reference::{Outcome, RelativeTo, verify_version};
use gpp_cpu::pool::DefaultThreads;
use gpp_cpu::simd::Level;

use crate::common::families::{FAMILIES, family};
use crate::common::{FIXTURES, Kind, assorted, at_energies, fixture, hard, made};
use crate::referenced;

fn versions() -> impl Iterator<Item = Version> {
    catalogue::versions().filter(|listed| matches!(listed, Version::Cpu(_)))
}

fn sums(host: &CpuDevice, problem: &Problem, kernel: Version) -> Sums {
    gpp::engine::Engine::whole(host, problem).unwrap().run(kernel).unwrap().sums
}

fn files() -> impl Iterator<Item = Problem> {
    FIXTURES.map(fixture).into_iter().chain(hard().into_iter().map(|name| fixture(&name)))
}

#[test]
fn each_level_passes_and_threads_change_no_bit() {
    let others = |level| {
        [1, 3, 5].map(|threads| {
            let host = CpuDevice::at(level);
            host.team().set(threads);
            host
        })
    };
    let of_level = |level| (CpuDevice::at(level), others(level));
    let hosts: Vec<_> = Level::available().into_iter().map(of_level).collect();
    assert!(hosts.iter().any(|(host, _)| host.level() == Level::Scalar));
    let families = FAMILIES.into_iter().flat_map(|kind| (0..5).map(move |at| family(kind, at)));
    let (kinds, mut failed) = ([Kind::Mixed, Kind::Real], Vec::new());
    let many = kinds.map(|kind| at_energies(&made([33, 7, 90, 2], kind, 5), 21));
    // So many bands that cpu:alone has vectors of them.
    let bands = [1, 2, 3].map(|nw| made([300, 3, 40, nw], Kind::Real, 7));
    for problem in assorted().step_by(5).chain(many).chain(bands).chain(files()).chain(families) {
        let reference = referenced(&problem);
        for (host, others) in &hosts {
            for listed in versions() {
                let what = format!("{} at {} of {}", listed.id(), host.level(), problem.name());
                let found = sums(host, &problem, listed);
                let verified = verify_version(listed, &problem, &found, Some(&reference));
                let (_, verified) = verified.unwrap();
                if verified.outcome != Outcome::Passed {
                    failed.push(format!("{what}: {:?}", verified.worst));
                }
                for other in others {
                    let threads = other.team().count(DefaultThreads::All);
                    let again = sums(other, &problem, listed);
                    assert!(gpp::measure::same_bits(&found, &again), "{what}: {threads} threads");
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn errors_are_no_larger_than_those_of_v3() {
    let (v3, host) = (catalogue::find("v3").unwrap(), CpuDevice::new());
    for mut problem in files() {
        problem.stored = None;
        let reference = referenced(&problem);
        let error = |kernel: Version| {
            let found = sums(&host, &problem, kernel);
            let verified = verify_version(kernel, &problem, &found, Some(&reference));
            let (_, verification) = verified.unwrap();
            assert_eq!(verification.relative_to, RelativeTo::Terms);
            verification.max_rel_error.unwrap_or(f64::NAN)
        };
        let of_v3 = error(v3);
        for listed in versions().filter(|listed| !listed.is_single()) {
            let own = error(listed);
            let what = format!("{} of {}: {own:e}, v3 {of_v3:e}", listed.id(), problem.name());
            // So much a few roundings of each term explain, where they are not random.
            assert!(own <= of_v3.max(8.0 * f64::EPSILON), "{what}");
        }
    }
}
