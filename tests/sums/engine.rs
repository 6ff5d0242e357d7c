//! The engine on the CPU: slabs of whole groups, of any size and on any number of workers, give the
//! bits of the whole; the paper's grids give the same bits for the same slabs.

pub mod hooked;
mod workers;

use gpp::catalogue;
use gpp::devices::cpu::CpuDevice;
use gpp::problem::Problem;

use crate::common::on_device::{group, slabs, summed, two_problems};
use crate::common::{Kind, at_energies, fixture, made};

fn problems() -> Vec<Problem> {
    let many = at_energies(&made([13, 85, 37, 2], Kind::Mixed, 4), 7);
    let made = [Kind::Mixed, Kind::Real].map(|kind| made([19, 85, 37, 2], kind, 12));
    made.into_iter().chain([fixture("poles"), fixture("three-energies"), many]).collect()
}

#[test]
fn two_problems_of_the_same_ranges_are_two() {
    two_problems(&CpuDevice::new()).unwrap();
}

#[test]
fn slabs_and_workers_change_no_bit() {
    let mut compared = 0;
    for problem in problems() {
        let kernels = catalogue::versions();
        compared += slabs(&CpuDevice::new(), &problem, kernels).unwrap();
    }
    assert!(compared > 100, "only {compared} comparisons of more than one slab");
}

#[test]
fn slabs_that_part_a_group_are_refused() {
    let problem = &problems()[1];
    let best = catalogue::best(catalogue::BackEnd::Gpu);
    let igp = group(problem, best).unwrap() + 1;
    let error = summed(&CpuDevice::new(), problem, best, igp, 1).unwrap_err();
    assert!(error.to_string().contains("slabs of whole groups"), "{error}");
}

#[test]
fn what_a_kernel_cannot_count_is_refused_by_name() {
    let ngpown = 1 << 19;
    let problem = made([1, ngpown, 1, 1], Kind::First, 1);
    let v6 = catalogue::find("v6").unwrap();
    let text = summed(&CpuDevice::new(), &problem, v6, ngpown, 1).unwrap_err().to_string();
    assert!(text.starts_with("v6 on ") && text.contains("of the collapsed loops"), "{text}");
}
