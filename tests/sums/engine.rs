//! The engine on the CPU: slabs of whole groups, of any size and on any number of workers, give the
//! bits of the whole; the paper's grids give the same bits for the same slabs.

pub mod hooked;
mod workers;

use gpp::catalogue::{self, Listed};
use gpp::devices::Device;
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::measure::same_bits;
use gpp::problem::{Problem, Sums};
use gpp::reference::{Outcome, verify};

use crate::common::on_device::two_problems;
use crate::common::{Kind, Make, at_energies, fixture, made};
use crate::referenced;

fn summed(
    problem: &Problem,
    listed: Listed,
    igp: usize,
    workers: usize,
) -> gpp::error::Result<Sums> {
    let device = Host::new();
    let workers = (0..workers).map(|_| device.worker(problem)).collect::<Result<_, _>>()?;
    let mut engine = Engine::new(problem, igp, workers)?;
    let first = engine.run(listed.kernel)?;
    let again = engine.run(listed.kernel)?;
    assert!(same_bits(&first.sums, &again.sums), "{}: two runs differ", listed.id());
    Ok(first.sums)
}

/// `igp` of a group of the kernels that sum this problem; `None` where the slab is one.
fn group(problem: &Problem, listed: Listed) -> Option<usize> {
    listed.kernel.igp_of_group(&listed.kernel.batches(problem).first().plan)
}

fn problems() -> Vec<Problem> {
    let made = [Kind::Mixed, Kind::Real].map(|kind| made([19, 85, 37, 2], kind, 12));
    let many = at_energies(
        Make { nbands: 13, ngpown: 85, ncouls: 37, nw: 2, kind: Kind::Mixed, seed: 4 },
        7,
    );
    made.into_iter().chain([fixture("poles"), fixture("three-energies"), many]).collect()
}

#[test]
fn two_problems_of_the_same_ranges_are_two() {
    two_problems(&Host::new()).unwrap();
}

#[test]
fn slabs_of_whole_groups_give_the_bits_of_the_whole() {
    let mut compared = 0;
    for problem in problems() {
        let ngpown = problem.header().ngpown;
        for listed in catalogue::versions() {
            let Some(group) = group(&problem, listed) else { continue };
            let whole = summed(&problem, listed, ngpown, 1).unwrap();
            for (groups, workers) in [(1, 1), (1, 5), (2, 2), (3, 5), (5, 2)] {
                let parted = summed(&problem, listed, groups * group, workers).unwrap();
                let what = format!("{} of {}: {groups} groups", listed.id(), problem.name());
                assert!(same_bits(&whole, &parted), "{what}, {workers} workers");
                compared += usize::from(groups * group < ngpown);
            }
        }
    }
    assert!(compared > 100, "only {compared} comparisons of more than one slab");
}

#[test]
fn the_papers_grids_give_the_same_bits_for_the_same_slabs() {
    for problem in problems() {
        let reference = referenced(&problem);
        for listed in catalogue::versions() {
            if group(&problem, listed).is_some() {
                continue;
            }
            for igp in [7, 48] {
                let one = summed(&problem, listed, igp, 1).unwrap();
                let three = summed(&problem, listed, igp, 3).unwrap();
                assert!(same_bits(&one, &three), "{} of {}", listed.id(), problem.name());
                let sums = problem.start().plus(&one);
                let verification = verify(&problem, &sums, Some(&reference)).unwrap();
                assert_eq!(verification.outcome, Outcome::Passed, "{}", listed.id());
            }
        }
    }
}

#[test]
fn slabs_that_part_a_group_are_refused() {
    let problem = &problems()[1];
    let best = catalogue::best(catalogue::BackEnd::Gpu);
    let error = summed(problem, best, group(problem, best).unwrap() + 1, 1).unwrap_err();
    assert!(error.to_string().contains("slabs of whole groups"), "{error}");
}

#[test]
fn what_a_kernel_cannot_count_is_refused_by_name() {
    let ngpown = 1 << 19;
    let problem = made([1, ngpown, 1, 1], Kind::First, 1);
    let v6 = catalogue::find("v6").unwrap();
    let text = summed(&problem, v6, ngpown, 1).unwrap_err().to_string();
    assert!(text.starts_with("v6 on ") && text.contains("of the collapsed loops"), "{text}");
}
